//! Reading a password from the process's terminal without echo.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;

use crate::error::{IoError, IoErrorKind};

const TERMINAL: &str = "/dev/tty";
/// Keys.
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const BACKSPACE: [u8; 2] = [8, 127];
const CTRL_U: u8 = 21;

/// Switches off echo and signal keys of the terminal; restores them when dropped.
struct Silenced {
    terminal: File,
    before: libc::termios,
}

impl Silenced {
    fn begin(terminal: File) -> Result<Silenced, IoError> {
        // SAFETY: plain data, filled by the call below.
        let mut before: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: a valid descriptor and room for the answer.
        if unsafe { libc::tcgetattr(terminal.as_raw_fd(), &mut before) } != 0 {
            return Err(IoError::last("ask the terminal"));
        }
        let mut silent = before;
        silent.c_lflag &= !(libc::ICANON | libc::ECHO | libc::ISIG);
        silent.c_cc[libc::VMIN] = 1;
        silent.c_cc[libc::VTIME] = 0;
        // SAFETY: a valid descriptor and settings that the system has given, but for those flags.
        if unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSADRAIN, &silent) } != 0 {
            return Err(IoError::last("silence the terminal"));
        }
        Ok(Silenced { terminal, before })
    }
}

impl Drop for Silenced {
    fn drop(&mut self) {
        // SAFETY: a valid descriptor and the settings that the system has given.
        unsafe { libc::tcsetattr(self.terminal.as_raw_fd(), libc::TCSADRAIN, &self.before) };
    }
}

/// Asks the user at the process's terminal for a secret: a line without echo. `None`: there is no terminal.
///
/// # Errors
/// `Interrupted` when Ctrl-C, or Ctrl-D on an empty line, is the answer.
pub fn ask_secret(prompt: &str) -> Result<Option<String>, IoError> {
    let Ok(terminal) = OpenOptions::new().read(true).write(true).open(TERMINAL) else {
        return Ok(None);
    };
    let failed = |error: std::io::Error| IoError::from_std(&error, "talk to the terminal");
    let mut silenced = Silenced::begin(terminal)?;
    silenced.terminal.write_all(prompt.as_bytes()).map_err(failed)?;
    let answer = read_line(&mut silenced.terminal);
    silenced.terminal.write_all(b"\n").map_err(failed)?;
    answer.map(Some)
}

fn read_line(input: &mut impl Read) -> Result<String, IoError> {
    let given_up = || IoError::new(IoErrorKind::Interrupted, "ask for a password");
    let mut line: Vec<u8> = Vec::new();
    let mut key = [0];
    loop {
        let count =
            input.read(&mut key).map_err(|error| IoError::from_std(&error, "read from the terminal"))?;
        match key[0] {
            _ if count == 0 => return Err(given_up()),
            b'\n' | b'\r' => break,
            CTRL_C => return Err(given_up()),
            CTRL_D if line.is_empty() => return Err(given_up()),
            CTRL_U => line.clear(),
            key if BACKSPACE.contains(&key) => {
                // A letter may have several bytes.
                while line.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
            }
            key => line.push(key),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_as_at_a_terminal() {
        let read = |mut keys: &[u8]| read_line(&mut keys).map_err(|error| error.kind);
        assert_eq!(read("p\u{e4}ss\n".as_bytes()), Ok("p\u{e4}ss".into()));
        assert_eq!(read("ab\u{e4}\x7f\x08c\r".as_bytes()), Ok("ac".into()));
        assert_eq!(read(b"wrong\x15right\n"), Ok("right".into()));
        assert_eq!(read(b"\x7f\n"), Ok(String::new()));
        assert_eq!(read(b"ab\x03"), Err(IoErrorKind::Interrupted));
        assert_eq!(read(b"\x04"), Err(IoErrorKind::Interrupted));
        assert_eq!(read(b"ab"), Err(IoErrorKind::Interrupted));
    }
}

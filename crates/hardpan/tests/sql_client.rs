//! The real `hardpan sql`: directives, separators, files and exit status, and the effect of Ctrl-C on a batch, a script, a prompt.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test prepares its folders itself and starts processes"
)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, PASSWORD, PROGRAM, Server, serve_plainly};

/// Far longer than any test waits.
const LONG: &str = "WAITFOR DELAY '01:00:00'";
const PATIENCE: Duration = Duration::from_secs(30);
const INTERRUPTED: Option<i32> = Some(130);

/// A server with a folder of its own.
struct Served {
    server: Server,
    folder: Folder,
}

impl Served {
    fn start(name: &str) -> Served {
        let folder = Folder::new(&format!("client-{name}"));
        Served { server: Server::start(&mut serve_plainly(&folder.join("data"))), folder }
    }

    fn address(&self) -> String {
        self.server.address()
    }

    fn client(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["sql", "-S", &self.address(), "-W"]).args(arguments);
        if !arguments.contains(&"-h") {
            command.args(["-h", "-1"]);
        }
        command.env("HARDPAN_SA_PASSWORD", PASSWORD).current_dir(&self.folder.0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.client(arguments).output().unwrap())
    }

    /// Runs a script from a file.
    fn script(&self, text: &str) -> Ran {
        let file = self.folder.write("script.sql", format!("SET NOCOUNT ON\nGO\n{text}"));
        self.run(&["-i", &file])
    }

    /// Waits until so many requests sleep in WAITFOR.
    fn wait_for_sleepers(&self, count: &str) {
        let began = Instant::now();
        let question =
            "SET NOCOUNT ON; SELECT COUNT(*) FROM sys.dm_exec_requests WHERE wait_type = 'WAITFOR'";
        loop {
            let answer = self.run(&["-Q", question]).out;
            if answer.trim() == count {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{answer} requests sleep, not {count}");
        }
    }
}

/// The output of a client, and how it ended.
#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Non-empty lines of its output.
    fn lines(&self) -> Vec<&str> {
        self.out.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
    }

    #[track_caller]
    fn is(&self, status: i32, lines: &[&str]) {
        assert_eq!((self.status, self.lines().as_slice()), (Some(status), lines), "{self:?}");
    }

    /// It has failed with these words, and run nothing after the error: the scripts below print `behind` there.
    #[track_caller]
    fn refuses(&self, words: &str) {
        assert_eq!(self.status, Some(1), "{self:?}");
        assert!(self.err.contains(words), "{words} in {self:?}");
        assert!(!self.out.contains("behind"), "{self:?}");
    }
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits for the end; a client that Ctrl-C does not stop would sleep for an hour.
fn ended(mut child: Child) -> Ran {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            drop(child.kill());
            panic!("Ctrl-C did not end it: {:?}", Ran::of(child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn files_are_read_where_they_are_named() {
    let server = Served::start("read");
    let folder = &server.folder;
    folder.write("one.sql", "SELECT 'one'\n");
    folder.write("deep/two.sql", "SELECT 'two'\n:r three.sql\nGO\n");
    folder.write("deep/three.sql", "SELECT 'three'");
    // The batch goes on through the files and ends at GO only.
    server.script("DECLARE @v int = 4\n:r one.sql\nSELECT @v\nGO").is(0, &["one", "4"]);
    server
        .script(":setvar where deep\n:r \"$(where)/two.sql\"\nSELECT 'end'")
        .is(0, &["two", "three", "end"]);
    server.script("PRINT 'before'\nGO\n:r missing.sql\nGO\nPRINT 'behind'").refuses("missing.sql");
    folder.write("circle.sql", "PRINT 'round'\n:r circle.sql\n");
    server.script(":r circle.sql\nGO\nPRINT 'behind'").refuses("32 files");
    // Not a directive inside a comment, a string or a name.
    server.script("/*\n:r missing.sql\n*/ SELECT '\n:r missing.sql' AS [\n:x]").is(0, &[":r missing.sql"]);
    server.run(&["-i", "nowhere.sql"]).refuses("nowhere.sql");
}

/// Each directive is executed or is an error; GO with a count repeats its batch (claim 198).
#[test]
fn directives_are_done_or_refused() {
    let server = Served::start("directives");
    for (line, words) in [
        (":x", "':x'"),
        (":xml on", "':xml' is not supported"),
        ("!!rm -rf /", "'!!' is not supported"),
        (":error file", "':error' is not supported"),
        (":setvar", ":setvar"),
        (":on error perhaps", "perhaps"),
        ("GO x", "'GO x'"),
        ("GO -1", "'GO -1'"),
        ("SELECT '$(unset)'", "unset"),
        (":out /no/such/folder/file", "/no/such/folder/file"),
    ] {
        server.script(&format!("PRINT 'before'\nGO\n{line}\nPRINT 'behind'\nGO")).refuses(words);
        let ran = server.script(&format!("PRINT 'before'\nGO\n{line}\n"));
        assert!(ran.err.contains("script.sql, line 5"), "{ran:?}");
        assert_eq!(ran.lines(), ["before"]);
    }
    // Later lines only; quotes; not in comments.
    server
        .script(
            "-- $(v)\n:setvar v \"a b\"\nSELECT '$(v)'\nGO\n:setvar V 2\nSELECT $(v) /* $(w) */\n:listvar",
        )
        .is(0, &["a b", "v = \"2\"", "2"]);
    server.script(":setvar v 1\n:setvar v\nSELECT '$(v)'").refuses("'v' scripting variable not defined");
    server.run(&["-v", "who=me", "-Q", "SET NOCOUNT ON; SELECT '$(who)'"]).is(0, &["me"]);
    server.script("PRINT 'lost'\n:reset\nPRINT 'kept'").is(0, &["kept"]);
    server
        .script("PRINT 'twice'\nGO 2\nPRINT 'never'\nGO 0")
        .is(0, &["Beginning execution loop", "twice", "twice", "Batch execution completed 2 times."]);
    // Output into a file, and back.
    server.script(":out told.txt\nPRINT 'into'\nGO\n:out stdout\nPRINT 'out of'").is(0, &["out of"]);
    assert_eq!(std::fs::read_to_string(server.folder.0.join("told.txt")).unwrap().trim(), "into");
    // Another connection, with the login that was in force.
    let script = format!(
        "CREATE TABLE #t(i int)\nGO\n:connect {}\nSET NOCOUNT ON; SELECT 'none' WHERE OBJECT_ID('tempdb..#t') IS NULL",
        server.address()
    );
    server.script(&script).is(0, &["none"]);
    server.script(":connect 127.0.0.1,1\nPRINT 'behind'").refuses("127.0.0.1");
}

#[test]
fn a_script_leaves_with_the_status_it_says() {
    let server = Served::start("status");
    for word in ["EXIT", "quit", ":exit", ":quit", "exit;"] {
        server
            .script(&format!("PRINT 'first'\nGO\nPRINT 'not run'\n{word}\nPRINT 'behind'"))
            .is(0, &["first"]);
    }
    server.script("DECLARE @s int = 7\nEXIT(SELECT @s)\nPRINT 'behind'").is(7, &["7"]);
    server.script(":exit(SELECT '12')").is(12, &["12"]);
    server.script("EXIT(SELECT 1 WHERE 1 = 0)").is(156, &[]);
    server.script("EXIT(SELECT 'word')").is(154, &["word"]);
    server.script("PRINT 'runs'\nEXIT()\nPRINT 'behind'").is(0, &["runs"]);
    // Errors: they stop a script with -b or when it says so, above severity 10.
    let failing = "SELECT 1/0\nGO\nPRINT 'after'\nGO";
    let ran = server.script(failing);
    assert!(ran.status == Some(0) && ran.out.contains("Msg 8134") && ran.out.contains("after"), "{ran:?}");
    let stopped = server.script(&format!(":on error exit\n{failing}"));
    assert!(stopped.status == Some(1) && !stopped.out.contains("after"), "{stopped:?}");
    let file = server.folder.write("b.sql", failing);
    let stopped = server.run(&["-b", "-i", &file]);
    assert!(stopped.status == Some(1) && !stopped.out.contains("after"), "{stopped:?}");
    let file = server.folder.write("ignored.sql", format!(":on error ignore\n{failing}"));
    let ran = server.run(&["-b", "-i", &file]);
    assert!(ran.status == Some(0) && ran.out.contains("after"), "{ran:?}");
    let mild = server.run(&["-b", "-Q", "RAISERROR('mild', 10, 1); RAISERROR('low', 5, 1); PRINT 'on'"]);
    assert!(mild.status == Some(0) && mild.lines().ends_with(&["on"]), "{mild:?}");
    // Arguments that would be dropped.
    for arguments in
        [&["-Q", "PRINT 1", "-i", "x.sql"][..], &["-x"], &["-h", "-2"], &["-Q", "PRINT 1", "more"]]
    {
        let ran = server.run(arguments);
        assert!(ran.status == Some(2) && !ran.err.is_empty(), "{ran:?}");
    }
    let headed =
        server.run(&["-h", "2", "-Q", "SET NOCOUNT ON; SELECT v AS head FROM (VALUES(1),(2),(3)) t(v)"]);
    headed.is(0, &["head", "----", "1", "2", "head", "----", "3"]);
}

#[test]
fn what_a_file_leaves_open_is_an_error() {
    let server = Served::start("open");
    for (text, what) in [
        ("PRINT 'behind'\n/* never closed\nGO\nPRINT 'behind'\n", "a comment"),
        ("PRINT 'behind'\nPRINT 'never closed\nGO\n", "a string"),
        ("PRINT 'behind'\nSELECT 1 AS [never\nGO\n", "a name in brackets"),
        ("PRINT 'behind'\nSELECT 1 AS \"never\nGO\n", "a quoted name"),
    ] {
        let ran = server.script(&format!("PRINT 'before'\nGO\n{text}"));
        ran.refuses(what);
        assert!(ran.err.contains("line 6") && ran.lines() == ["before"], "{ran:?}");
    }
    server.script("SELECT 'a\nGO\n' AS b\nGO\nSELECT 'c' -- it's /* open\nGO").is(0, &["a", "GO", "c"]);
}

#[test]
fn files_come_in_every_unicode_form() {
    let server = Served::start("unicode");
    let script = "SET NOCOUNT ON\r\nGO\r\nSELECT N'grün'\r\nGO 1\r\n:setvar v w\r\nSELECT '$(v)'\r\n";
    let units = |unit: fn(u16) -> [u8; 2]| script.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let marked = |mark: &[u8], rest: Vec<u8>| [mark, &rest].concat();
    for bytes in [
        script.as_bytes().to_vec(),
        marked(b"\xEF\xBB\xBF", script.as_bytes().to_vec()),
        marked(b"\xFF\xFE", units(u16::to_le_bytes)),
        marked(b"\xFE\xFF", units(u16::to_be_bytes)),
        units(u16::to_le_bytes),
        units(u16::to_be_bytes),
    ] {
        let file = server.folder.write("unicode.sql", &bytes);
        server.run(&["-i", &file]).is(0, &["grün", "w"]);
    }
    let file = server.folder.write("odd.sql", marked(b"\xFF\xFE", b"G\0O".to_vec()));
    server.run(&["-i", &file]).refuses("odd.sql");
}

#[test]
fn an_interrupt_cancels_the_batch_and_ends_the_script() {
    let server = Served::start("interrupt");
    let script = format!("PRINT 'begun'\nGO\n{LONG}\nGO\nPRINT 'behind'\nGO\n");
    let file = server.folder.write("long.sql", &script);
    for arguments in [&["-i", &file][..], &["-Q", LONG]] {
        let child = server.client(arguments).spawn().unwrap();
        server.wait_for_sleepers("1");
        interrupt(&child);
        let ran = ended(child);
        assert!(ran.status == INTERRUPTED && ran.err.contains("cancelled"), "{ran:?}");
        assert!(!ran.out.contains("behind"), "{ran:?}");
        server.wait_for_sleepers("0");
    }
    // A transaction that was open is rolled back when the client ends: the attention was a clean end.
    let mut child = server.client(&[]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(script.as_bytes()).unwrap();
    server.wait_for_sleepers("1");
    interrupt(&child);
    let ran = ended(child);
    assert!(ran.status == INTERRUPTED && !ran.out.contains("behind"), "{ran:?}");
    // No batch runs: the client ends.
    let mut child = server.client(&[]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"PRINT 'typed'\nGO\n").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "typed");
    interrupt(&child);
    assert_eq!(ended(child).status, INTERRUPTED);
}

#[test]
fn an_interrupt_ends_a_stream_of_rows() {
    let server = Served::start("stream");
    let endless = "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000) \
                   SELECT i FROM n OPTION (MAXRECURSION 0)";
    let child = server.client(&["-Q", endless]).spawn().unwrap();
    let began = Instant::now();
    let question = "SET NOCOUNT ON; SELECT COUNT(*) FROM sys.dm_exec_requests \
                    WHERE session_id > 50 AND session_id <> @@SPID";
    while server.run(&["-Q", question]).out.trim() != "1" {
        assert!(began.elapsed() < PATIENCE, "the query runs");
    }
    interrupt(&child);
    assert_eq!(ended(child).status, INTERRUPTED);
}

#[test]
fn an_interrupt_cancels_a_batch_in_this_process() {
    let folder = Folder::new("client-local");
    let data = folder.0.join("data");
    let local = |arguments: &[&str], data: &Path| {
        let mut command = Command::new(PROGRAM);
        command.args(["sql", "-W", "-h", "-1", "--data"]).arg(data).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let file = folder.write(
        "long.sql",
        format!("CREATE TABLE t(i int); PRINT 'begun'\nGO\nBEGIN TRAN; INSERT t VALUES(1); {LONG}\nGO\nPRINT 'behind'\n"),
    );
    let mut child = local(&["-i", &file], &data).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "begun");
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    let ran = ended(child);
    assert!(ran.status == INTERRUPTED && !ran.out.contains("behind"), "{ran:?}");
    // It was a clean end: the directory opens, and the open transaction was rolled back.
    Ran::of(local(&["-Q", "SET NOCOUNT ON; SELECT COUNT(*) FROM t"], &data).output().unwrap()).is(0, &["0"]);
}

/// A reader that reads only the beginning of a subcommand's output closes the pipe: no panic.
#[test]
fn a_reader_that_has_seen_enough_ends_a_subcommand_in_peace() {
    let folder = Folder::new("client-pipe");
    let file = folder.write("wrong.sql", "SELECT FROM\nGO\n".repeat(20_000));
    let mut child = Command::new(PROGRAM)
        .args(["check", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("Msg "), "{line}");
    let ran = ended(child);
    assert!(ran.status == Some(0) && ran.err.is_empty(), "{ran:?}");
}

/// A client on a terminal, emulated by `script` of util-linux.
struct AtTerminal {
    child: Child,
    input: std::process::ChildStdin,
    shown: std::sync::mpsc::Receiver<String>,
    seen: String,
}

impl AtTerminal {
    fn start(server: &Served, password: Option<&str>) -> AtTerminal {
        let command = format!("{PROGRAM} sql -S {} -W -h -1", server.address());
        let mut script = Command::new("script");
        script.args(["-qfec", &command, "/dev/null"]).env("TERM", "xterm").env_remove("HARDPAN_SA_PASSWORD");
        script.envs(password.map(|password| ("HARDPAN_SA_PASSWORD", password)));
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().expect("util-linux's script");
        let input = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let (sender, shown) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                drop(sender.send(String::from_utf8_lossy(&buffer[..count]).into_owned()));
            }
        });
        AtTerminal { child, input, shown, seen: String::new() }
    }

    /// Waits for these words, and drops the output before them.
    #[track_caller]
    fn until(&mut self, words: &str) -> String {
        let began = Instant::now();
        while !self.seen.contains(words) {
            assert!(began.elapsed() < PATIENCE, "no {words} in {}", self.seen);
            self.seen.push_str(&self.shown.recv_timeout(Duration::from_millis(200)).unwrap_or_default());
        }
        let end = self.seen.find(words).unwrap() + words.len();
        self.seen.drain(..end).collect()
    }

    fn say(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
    }

    /// From the first prompt on: Ctrl-C cancels a long batch, and the prompt appears again.
    fn cancel_a_long_batch(&mut self, server: &Served) {
        self.until("1> ");
        self.say(&format!("{LONG}\r"));
        self.until("2> ");
        self.say("GO\r");
        server.wait_for_sleepers("1");
        self.say("\u{3}");
        self.until("cancelled");
        self.until("1> ");
    }

    fn ended(self) -> Ran {
        ended(self.child)
    }
}

/// Ctrl-C cancels the batch and the prompt is there again.
#[test]
fn at_a_prompt_ctrl_c_cancels_and_a_second_one_leaves() {
    let server = Served::start("prompt");
    let mut client = AtTerminal::start(&server, Some(PASSWORD));
    client.cancel_a_long_batch(&server);
    server.wait_for_sleepers("0");
    client.say(":nonsense\r");
    client.until("no command");
    // Pasted, as terminals mark it.
    client.say("\u{1b}[200~SELECT 'still ' + 'here'\nGO\u{1b}[201~\r");
    client.until("still here");
    client.until("1> ");
    // Each of these drops some text, so none of them ends the client.
    client.say("SELECT 'thrown");
    client.say("\u{3}");
    client.until("Ctrl-C again");
    client.until("1> ");
    client.say("SELECT 'thrown, too");
    client.say("\u{3}");
    client.until("Ctrl-C again");
    client.until("1> ");
    client.say("SELECT 'a line that waits'\r");
    client.until("2> ");
    client.say("\u{3}");
    client.until("Ctrl-C again");
    client.until("1> ");
    client.say("\u{3}");
    let ran = client.ended();
    assert_eq!(ran.status, INTERRUPTED, "{ran:?}");
}

/// The Ctrl-C that cancels a batch counts as the first.
#[test]
fn at_a_fresh_prompt_ctrl_c_leaves_after_one_that_has_cancelled() {
    let server = Served::start("fresh");
    let mut client = AtTerminal::start(&server, Some(PASSWORD));
    client.cancel_a_long_batch(&server);
    client.say("\u{3}");
    assert_eq!(client.ended().status, INTERRUPTED);
}

/// Text typed while a batch runs, and text pasted without marks, all runs.
#[test]
fn at_a_prompt_nothing_that_is_typed_ahead_is_lost() {
    let server = Served::start("ahead");
    let mut client = AtTerminal::start(&server, Some(PASSWORD));
    client.until("1> ");
    client.say("SELECT 'pasted' + '-one'\rGO\rSELECT 'pasted' + '-two'\rGO\r");
    client.until("pasted-one");
    client.until("pasted-two");
    client.until("1> ");
    client.say(
        "WHILE NOT EXISTS (SELECT * FROM sys.databases WHERE name = 'go_on') WAITFOR DELAY '00:00:00.050'\r",
    );
    client.until("2> ");
    client.say("GO\r");
    server.wait_for_sleepers("1");
    client.say("SELECT 'typed' + '-one'\rGO\r");
    let many: String = (1..=200).map(|n| format!("PRINT 'ahead-' + '{n}-done'\rGO\r")).collect();
    client.say(&many);
    server.run(&["-Q", "CREATE DATABASE go_on"]).is(0, &[]);
    client.until("typed-one");
    for n in [1, 2, 100, 199, 200] {
        client.until(&format!("ahead-{n}-done"));
    }
    client.until("1> ");
    client.say("EXIT\r");
    assert_eq!(client.ended().status, Some(0));
}

#[test]
fn a_password_is_asked_for_and_not_shown() {
    let server = Served::start("password");
    let mut client = AtTerminal::start(&server, None);
    client.until("Password of sa: ");
    client.say(&format!("wrong\u{15}{PASSWORD}x\u{7f}\r"));
    let shown = client.until("1> ");
    assert!(!shown.contains(PASSWORD), "{shown}");
    client.say("EXIT\r");
    assert_eq!(client.ended().status, Some(0));
    let mut client = AtTerminal::start(&server, None);
    client.until("Password of sa: ");
    client.say("\u{3}");
    assert_eq!(client.ended().status, Some(1));
}

/// An error that ends the session, a KILL, a server that stops: the client reports a failure.
#[test]
fn a_session_that_the_server_ends_is_a_failure() {
    let server = Served::start("ended");
    let ran = server.run(&["-Q", "RAISERROR('the end', 20, 1) WITH LOG"]);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let ran = server.script("RAISERROR('the end', 20, 1) WITH LOG\nGO\nPRINT 'behind'\nGO\n");
    assert_eq!((ran.status, ran.out.contains("behind")), (Some(1), false), "{ran:?}");
    let sleeping = server.client(&["-Q", LONG]).spawn().unwrap();
    server.wait_for_sleepers("1");
    let kill = "DECLARE @s nvarchar(50) = (SELECT 'KILL ' + CAST(session_id AS varchar(9)) FROM sys.dm_exec_requests WHERE wait_type = 'WAITFOR'); EXEC (@s)";
    assert_eq!(server.run(&["-Q", kill]).status, Some(0));
    assert_eq!(ended(sleeping).status, Some(1));
    let sleeping = server.client(&["-Q", LONG]).spawn().unwrap();
    server.wait_for_sleepers("1");
    let Served { server, folder: _folder } = server;
    server.stop();
    assert_eq!(ended(sleeping).status, Some(1));
}

#[test]
fn a_server_that_cannot_be_reached_is_told_in_words() {
    let folder = Folder::new("client-unreachable");
    for (server, words) in [
        ("127.0.0.1:1433", "127.0.0.1,1433"),
        ("127.0.0.1,x", "HOST,PORT"),
        ("no-such-host.invalid", "name that no host is known by"),
        ("127.0.0.1,1", "refused"),
    ] {
        let mut command = Command::new(PROGRAM);
        command.args(["sql", "-S", server, "-P", "x", "-Q", "SELECT 1"]).current_dir(&folder.0);
        let ran = Ran::of(command.output().unwrap());
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains(words), "{ran:?}");
        assert!(!ran.err.contains(": Io") && !ran.err.contains("Invalid"), "{ran:?}");
    }
}

/// With all places taken the administrator still connects through the administrators' port, with sqlcmd's name for it.
#[test]
fn an_administrator_gets_in_when_all_places_are_taken() {
    let folder = Folder::new("client-administrator");
    let mut command = serve_plainly(&folder.join("data"));
    command.args(["--max-connections", "1", "--admin-listen", "127.0.0.1:0"]);
    let server = Served { server: Server::start(&mut command), folder };
    let sleeping = server.client(&["-Q", "BACK: WAITFOR DELAY '00:00:00.010' GOTO BACK"]).spawn().unwrap();
    let administrator = server.server.administrator().to_string();
    let asked = |question: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["sql", "-S", &administrator, "-W", "-h", "-1", "-Q", question]);
        Ran::of(command.env("HARDPAN_SA_PASSWORD", PASSWORD).output().unwrap())
    };
    // The client's login may still be in progress; only it and the administrator are there.
    let began = Instant::now();
    let count = "SET NOCOUNT ON; SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1";
    while asked(count).out.trim() != "2" {
        assert!(began.elapsed() < PATIENCE, "{:?}", asked(count));
    }
    let refused = server.run(&["-Q", "SELECT 1"]);
    assert_eq!(refused.status, Some(1), "{refused:?}");
    assert!(refused.err.contains("maximum of 1 user connections"), "{refused:?}");
    let kill = "DECLARE @s nvarchar(50) = (SELECT 'KILL ' + CAST(session_id AS varchar(9)) FROM sys.dm_exec_sessions WHERE is_user_process = 1 AND session_id <> @@SPID); EXEC (@s)";
    assert_eq!(asked(kill).status, Some(0));
    assert_eq!(ended(sleeping).status, Some(1));
}

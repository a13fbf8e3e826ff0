//! Many sessions that each run a statement, wait for the answer and repeat: one thread with an event loop, so that the
//! client uses little processor time.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::work::{KEYS, Load};

/// The format of an answer to one execution.
#[derive(Clone, Copy, Debug)]
pub enum Wire {
    /// One TDS packet.
    Tds,
    /// One packet of MySQL and MariaDB.
    MySql,
}

impl Wire {
    /// Length of the answer that begins with these bytes, once it is known.
    fn answer_bytes(self, bytes: &[u8]) -> Option<usize> {
        Some(match self {
            // Type, status, length (big-endian).
            Wire::Tds => usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?])),
            // Length without the four bytes of the head (little-endian).
            Wire::MySql => 4 + usize::from(u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?])),
        })
    }

    /// Is this whole answer the last packet, and no error?
    fn is_success(self, answer: &[u8]) -> bool {
        match self {
            Wire::Tds => answer[1] & 1 == 1 && answer.get(8).is_some_and(|token| *token != 0xAA),
            Wire::MySql => answer.get(4) == Some(&0),
        }
    }
}

/// The state of one session, as small as possible: with hundreds of sessions, each access misses the processor's cache.
struct Session {
    stream: TcpStream,
    /// Its request.
    request: usize,
    /// The beginning of an incomplete answer.
    answer: Vec<u8>,
    asked: Instant,
}

/// The state shared by all sessions.
struct Client {
    wire: Wire,
    /// One execution for each distinct request.
    requests: Vec<Vec<u8>>,
}

/// Runs `count` sessions for `seconds`. `open` returns a logged-in connection and the bytes of one execution, which
/// end with the four bytes of its value.
pub fn run(
    wire: Wire,
    count: usize,
    seconds: f64,
    open: impl Fn() -> Result<(std::net::TcpStream, Vec<u8>), String>,
) -> Result<Load, String> {
    let poll = Poll::new().map_err(|error| error.to_string())?;
    let mut sessions = Vec::with_capacity(count);
    let mut client = Client { wire, requests: Vec::new() };
    for number in 0..count {
        let (stream, request) = open()?;
        stream.set_nonblocking(true).map_err(|error| error.to_string())?;
        let mut stream = TcpStream::from_std(stream);
        let registered = poll.registry().register(&mut stream, Token(number), Interest::READABLE);
        registered.map_err(|error| error.to_string())?;
        let known = client.requests.iter().position(|other| *other == request);
        let request = known.unwrap_or_else(|| {
            client.requests.push(request);
            client.requests.len() - 1
        });
        sessions.push(Session { stream, request, answer: Vec::new(), asked: Instant::now() });
    }
    client.drive(poll, &mut sessions, seconds)
}

impl Client {
    fn drive(&mut self, mut poll: Poll, sessions: &mut [Session], seconds: f64) -> Result<Load, String> {
        let mut events = Events::with_capacity(1024);
        let mut latencies_us: Vec<u32> = Vec::with_capacity(1 << 20);
        let began = Instant::now();
        for session in sessions.iter_mut() {
            self.ask(session, 1)?;
        }
        let until = Duration::from_secs_f64(seconds);
        let mut open = sessions.len();
        while open > 0 {
            poll.poll(&mut events, Some(Duration::from_secs(60))).map_err(|error| error.to_string())?;
            if events.is_empty() {
                return Err("no answer for a minute".into());
            }
            for event in &events {
                let session = &mut sessions[event.token().0];
                if !self.take_answer(session)? {
                    continue;
                }
                latencies_us.push(session.asked.elapsed().as_micros() as u32);
                if began.elapsed() < until {
                    // All keys of a table in turn, with successive keys far apart.
                    let key = (latencies_us.len() as u64 * 7_919 % u64::from(KEYS)) as i32 + 1;
                    self.ask(session, key)?;
                } else {
                    open -= 1;
                }
            }
        }
        let rate = latencies_us.len() as f64 / began.elapsed().as_secs_f64();
        latencies_us.sort_unstable();
        let at =
            |share: f64| f64::from(latencies_us[((latencies_us.len() - 1) as f64 * share) as usize]) / 1e3;
        Ok(Load { rate, p50_ms: at(0.5), p99_ms: at(0.99) })
    }

    fn ask(&mut self, session: &mut Session, value: i32) -> Result<(), String> {
        let request = &mut self.requests[session.request];
        let at = request.len() - 4;
        request[at..].copy_from_slice(&value.to_le_bytes());
        session.asked = Instant::now();
        session.stream.write_all(request).map_err(|error| error.to_string())
    }

    /// True when the answer is complete; an error in it ends the measurement.
    fn take_answer(&self, session: &mut Session) -> Result<bool, String> {
        let mut buffer = [0; 1024];
        loop {
            let count = match session.stream.read(&mut buffer) {
                Ok(0) => return Err("the server closed the connection".into()),
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.to_string()),
            };
            if session.answer.is_empty() && self.is_whole(&buffer[..count])? {
                return Ok(true);
            }
            session.answer.extend_from_slice(&buffer[..count]);
            if self.is_whole(&session.answer)? {
                session.answer.clear();
                return Ok(true);
            }
        }
    }

    fn is_whole(&self, answer: &[u8]) -> Result<bool, String> {
        let Some(length) = self.wire.answer_bytes(answer).filter(|length| answer.len() >= *length) else {
            return Ok(false);
        };
        if answer.len() > length || !self.wire.is_success(answer) {
            return Err(format!("an unexpected answer of {length} bytes"));
        }
        Ok(true)
    }
}

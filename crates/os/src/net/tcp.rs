//! TCP of this machine.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Listener, Net, Poller, Stream};
use crate::clock::monotonic_ns;
use crate::error::{IoError, IoErrorKind};
use crate::wait::WaitType;
use crate::waiting::Waiting;

/// Most unsent bytes in a server's socket: the client reads all of them before the response to an attention. (By default some MB.)
const UNSENT_BYTES_MAX: libc::c_int = 128 << 10;

pub(super) struct TcpNet;

struct TcpListening {
    listener: TcpListener,
    address: String,
    closed: AtomicBool,
}

struct TcpConnection {
    stream: TcpStream,
    peer: String,
    local: String,
    loopback: bool,
}

impl Net for TcpNet {
    fn listen(&self, address: &str) -> Result<Arc<dyn Listener>, IoError> {
        let fail = |error: std::io::Error| IoError::from_std(&error, format!("listen on {address}"));
        let listener = TcpListener::bind(&addresses_of(address, "listen on")?[..]).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        // A longer queue than the library's 128, for floods of connections. SAFETY: listen on a bound socket.
        unsafe { libc::listen(listener.as_raw_fd(), 4096) };
        let address = listener.local_addr().map_err(fail)?.to_string();
        Ok(Arc::new(TcpListening { listener, address, closed: AtomicBool::new(false) }))
    }

    fn connect(&self, address: &str, timeout_ns: u64) -> Result<Arc<dyn Stream>, IoError> {
        let fail = |error: &std::io::Error| IoError::from_std(error, format!("connect to {address}"));
        let mut last = IoError::new(IoErrorKind::NotFound, format!("connect to {address}: no such address"));
        let timeout = Duration::from_nanos(timeout_ns.max(1));
        let _waiting = Waiting::begin(WaitType::ASYNC_NETWORK_IO);
        for candidate in addresses_of(address, "connect to")? {
            match TcpStream::connect_timeout(&candidate, timeout) {
                Ok(stream) => return Ok(Arc::new(TcpConnection::new(stream).map_err(|error| fail(&error))?)),
                Err(error) => last = fail(&error),
            }
        }
        Err(last)
    }

    fn poller(&self) -> Result<Poller, IoError> {
        Poller::new()
    }
}

/// The addresses of `HOST:PORT`.
fn addresses_of(address: &str, attempt: &str) -> Result<Vec<SocketAddr>, IoError> {
    let wrong = |kind, why: &str| IoError::new(kind, format!("{attempt} {address}, {why}"));
    let port = address.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    if !matches!(port, Some(Ok(_))) {
        return Err(wrong(IoErrorKind::Invalid, "which is not a host and a port as in 127.0.0.1:1433"));
    }
    match address.to_socket_addrs() {
        Ok(found) => Ok(found.collect()),
        Err(error) if error.raw_os_error().is_some() => {
            Err(IoError::from_std(&error, format!("{attempt} {address}")))
        }
        Err(_) => Err(wrong(IoErrorKind::NotFound, "a name that no host is known by")),
    }
}

impl Listener for TcpListening {
    fn accept(&self, timeout_ns: Option<u64>) -> Result<Option<Arc<dyn Stream>>, IoError> {
        let fail = |error: std::io::Error| IoError::from_std(&error, format!("accept on {}", self.address));
        let deadline_ns = timeout_ns.map(|timeout| monotonic_ns().saturating_add(timeout));
        loop {
            if self.closed.load(Ordering::Acquire) {
                return Ok(None);
            }
            match self.listener.accept() {
                Ok((stream, _)) => match TcpConnection::accepted(stream) {
                    Ok(connection) => return Ok(Some(Arc::new(connection))),
                    // Reset while it waited in the queue: its socket has no peer any more, and no client to report to.
                    Err(_) => continue,
                },
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => {}
                    // The peer gave up before it was accepted, or its network failed (accept(2) passes such errors on): not a failure of the
                    // listener.
                    Some(code) if is_of_the_peer(code) => continue,
                    Some(libc::EINVAL) if self.closed.load(Ordering::Acquire) => return Ok(None),
                    _ => return Err(fail(error)),
                },
            }
            if !wait_readable(self.listener.as_raw_fd(), deadline_ns) {
                return Ok(None);
            }
        }
    }

    fn local_address(&self) -> String {
        self.address.clone()
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        // Shutting a listening socket down ends polls on it. SAFETY: a valid descriptor.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

/// Errors of accept(2) about one connection, which accept(2) has removed from the queue.
fn is_of_the_peer(code: i32) -> bool {
    let gone = [libc::ECONNABORTED, libc::ECONNRESET, libc::EINTR, libc::EPERM, libc::ETIMEDOUT];
    let network = [
        libc::EPROTO,
        libc::ENOPROTOOPT,
        libc::ENETDOWN,
        libc::EHOSTDOWN,
        libc::ENONET,
        libc::EHOSTUNREACH,
        libc::EOPNOTSUPP,
        libc::ENETUNREACH,
    ];
    gone.contains(&code) || network.contains(&code)
}

/// Waits for readability; false when the deadline passed.
fn wait_readable(descriptor: i32, deadline_ns: Option<u64>) -> bool {
    let timeout_ms = match deadline_ns {
        None => -1,
        Some(deadline) => match deadline.checked_sub(monotonic_ns()) {
            None | Some(0) => return false,
            Some(left_ns) => i32::try_from(left_ns.div_ceil(1_000_000)).unwrap_or(i32::MAX),
        },
    };
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&mut poll, 1, timeout_ms) };
    true
}

/// Sets an option to a number. An error is ignored.
fn set_option(stream: &TcpStream, level: libc::c_int, name: libc::c_int, value: libc::c_int) {
    let (pointer, size) = ((&raw const value).cast(), size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: a valid descriptor and an int of the size told.
    unsafe { libc::setsockopt(stream.as_raw_fd(), level, name, pointer, size) };
}

/// Dead peers are noticed in about two minutes.
fn set_keepalive(stream: &TcpStream) {
    let set = |level, name, value| set_option(stream, level, name, value);
    set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 60);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 15);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4);
}

impl TcpConnection {
    /// A connection from the listener's queue.
    fn accepted(stream: TcpStream) -> std::io::Result<TcpConnection> {
        // One that was reset has no peer: nothing is set up for it, so that thousands of them do not delay other connections.
        stream.peer_addr()?;
        stream.set_nonblocking(false)?;
        set_option(&stream, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT_BYTES_MAX);
        TcpConnection::new(stream)
    }

    fn new(stream: TcpStream) -> std::io::Result<TcpConnection> {
        stream.set_nodelay(true)?;
        set_keepalive(&stream);
        let (peer, local) = (stream.peer_addr()?, stream.local_addr()?);
        let loopback = peer.ip().to_canonical().is_loopback() && local.ip().to_canonical().is_loopback();
        Ok(TcpConnection { stream, peer: peer.to_string(), local: local.to_string(), loopback })
    }

    fn fail(&self, verb: &str, error: &std::io::Error) -> IoError {
        IoError::from_std(error, format!("{verb} {}", self.peer))
    }

    /// MSG_DONTWAIT first, so that ready bytes cost no accounting.
    fn receive_now(&self, buffer: &mut [u8], flags: i32) -> Result<Option<usize>, IoError> {
        let (descriptor, flags) = (self.stream.as_raw_fd(), flags | libc::MSG_DONTWAIT);
        self.try_now("read from", || {
            // SAFETY: the buffer is valid for its length.
            unsafe { libc::recv(descriptor, buffer.as_mut_ptr().cast(), buffer.len(), flags) }
        })
    }

    /// Sends without waiting what the socket buffer takes: only a client that does not read makes its server wait.
    fn send_now(&self, bytes: &[u8]) -> Result<Option<usize>, IoError> {
        let (descriptor, flags) = (self.stream.as_raw_fd(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        self.try_now("write to", || {
            // SAFETY: the bytes are valid for their length.
            unsafe { libc::send(descriptor, bytes.as_ptr().cast(), bytes.len(), flags) }
        })
    }

    /// `None` when the call would have to wait.
    fn try_now(&self, verb: &str, mut call: impl FnMut() -> isize) -> Result<Option<usize>, IoError> {
        loop {
            let count = call();
            if count >= 0 {
                return Ok(Some(count as usize));
            }
            let error = std::io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EAGAIN) => return Ok(None),
                Some(libc::EINTR) => {}
                _ => return Err(self.fail(verb, &error)),
            }
        }
    }
}

impl Stream for TcpConnection {
    fn read(&self, buffer: &mut [u8]) -> Result<usize, IoError> {
        if let Some(count) = self.receive_now(buffer, 0)? {
            return Ok(count);
        }
        let _waiting = Waiting::begin(WaitType::ASYNC_NETWORK_IO);
        loop {
            match std::io::Read::read(&mut &self.stream, buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail("read from", &error)),
            }
        }
    }

    fn read_now(&self, buffer: &mut [u8]) -> Result<Option<usize>, IoError> {
        self.receive_now(buffer, 0)
    }

    fn write(&self, bytes: &[u8]) -> Result<usize, IoError> {
        if let Some(count) = self.send_now(bytes)? {
            return Ok(count);
        }
        let _waiting = Waiting::begin(WaitType::ASYNC_NETWORK_IO);
        loop {
            match std::io::Write::write(&mut &self.stream, bytes) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail("write to", &error)),
            }
        }
    }

    fn peek_now(&self, buffer: &mut [u8]) -> Result<Option<usize>, IoError> {
        self.receive_now(buffer, libc::MSG_PEEK)
    }

    fn has_hung_up(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
        // SAFETY: one valid pollfd; returns at once.
        let ready = unsafe { libc::poll(&mut poll, 1, 0) };
        ready > 0 && poll.revents & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR) != 0
    }

    fn set_read_timeout(&self, timeout_ns: Option<u64>) -> Result<(), IoError> {
        let set = self.stream.set_read_timeout(timeout_ns.map(|ns| Duration::from_nanos(ns.max(1_000))));
        set.map_err(|error| self.fail("set the read time-out of", &error))
    }

    fn set_write_timeout(&self, timeout_ns: Option<u64>) -> Result<(), IoError> {
        let set = self.stream.set_write_timeout(timeout_ns.map(|ns| Duration::from_nanos(ns.max(1_000))));
        set.map_err(|error| self.fail("set the write time-out of", &error))
    }

    fn shutdown(&self) {
        // An error because the peer has closed does not matter.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn peer_address(&self) -> String {
        self.peer.clone()
    }

    fn local_address(&self) -> String {
        self.local.clone()
    }

    fn is_loopback(&self) -> bool {
        self.loopback
    }

    fn descriptor(&self) -> Option<i32> {
        Some(self.stream.as_raw_fd())
    }
}

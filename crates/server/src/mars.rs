//! The bytes of a connection with several sessions (MARS): the multiplex protocol between the channel and the stream.
//!
//! The requests of all sessions run one after another, in the connection's one session of the engine. An answer that its client does not
//! take yet waits here, so that another session can be served first. While a request runs, the monitor may read the stream as well
//! ([`Mars::look`]), because an attention can stand behind packets of other sessions, and inside TLS.

use std::cell::RefCell;
use std::sync::Arc;

use os::{IoError, IoErrorKind, Latch, LatchRank, Stream};
use tds::packet::{MessageReader, Piece, ReadLimits};
use tds::smp::Multiplexer;

use crate::received::{ChannelError, LARGE_MESSAGE_BYTES, Next, READ_BYTES};
use crate::tls::TlsSession;

/// The size that buffers keep.
const KEPT_BYTES: usize = 64 * 1024;
/// Most reads of a stream at once: others wait for the thread.
const READS_MAX: usize = 16;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into_boxed_slice());
}

/// One connection with several sessions.
pub struct Mars {
    stream: Arc<dyn Stream>,
    state: Latch<State>,
}

struct State {
    tls: Option<Box<TlsSession>>,
    multiplexer: Multiplexer,
    plain: Vec<u8>,
    /// Why the connection cannot go on.
    failure: Option<ChannelError>,
    /// The client has closed it.
    is_closed: bool,
    /// The owner of the connection waits for the stream: nobody else may read it.
    is_read: bool,
}

impl State {
    fn take_in(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.is_closed = true;
            return;
        }
        let fed = match &mut self.tls {
            None => self.multiplexer.feed(bytes).map_err(ChannelError::from),
            Some(tls) => {
                let received = tls.receive(bytes, &mut self.plain).map_err(ChannelError::from);
                let fed = self.multiplexer.feed(&self.plain).map_err(ChannelError::from);
                self.plain.clear();
                self.plain.shrink_to(KEPT_BYTES);
                received.and(fed)
            }
        };
        if let Err(error) = fed {
            self.failure.get_or_insert(error);
        }
    }

    /// What may be sent now.
    fn outgoing(&mut self) -> Result<Vec<u8>, IoError> {
        let mut frames = Vec::new();
        self.multiplexer.put(&mut frames);
        let Some(tls) = &mut self.tls else { return Ok(frames) };
        let mut records = Vec::new();
        tls.take_records(&mut records)?;
        tls.send(&frames, &mut records)?;
        Ok(records)
    }

    fn is_over(&self) -> bool {
        self.is_closed || self.failure.is_some()
    }
}

impl Mars {
    /// For a connection whose login has ended. `unread` has been received behind it, and decrypted.
    pub fn new(
        stream: Arc<dyn Stream>,
        tls: Option<Box<TlsSession>>,
        unread: &[u8],
        limits: ReadLimits,
    ) -> Mars {
        let mut multiplexer = Multiplexer::new(limits);
        let failure = multiplexer.feed(unread).err().map(ChannelError::from);
        let state = State { tls, multiplexer, plain: Vec::new(), failure, is_closed: false, is_read: false };
        Mars { stream, state: Latch::new(LatchRank::ClientBytes, state) }
    }

    /// Reads what is there; false when nothing is.
    fn take_now(&self, state: &mut State) -> bool {
        let mut reads = 0;
        while reads < READS_MAX && !state.is_over() && !state.is_read {
            let read = BUFFER.with_borrow_mut(|buffer| {
                let count = self.stream.read_now(buffer)?;
                Ok::<_, IoError>(count.map(|count| state.take_in(&buffer[..count])))
            });
            match read {
                Ok(Some(())) => reads += 1,
                Ok(None) => break,
                Err(error) => state.failure = Some(error.into()),
            }
        }
        reads > 0
    }

    /// Waits for the client and takes what it sends.
    fn wait(&self) -> Result<(), ChannelError> {
        self.state.lock().is_read = true;
        BUFFER.with_borrow_mut(|buffer| {
            let read = self.stream.read(buffer);
            let mut state = self.state.lock();
            state.is_read = false;
            state.take_in(&buffer[..read?]);
            state.failure.clone().map_or(Ok(()), Err)
        })
    }

    /// Sends what may be sent now.
    fn flush(&self) -> Result<(), IoError> {
        let bytes = self.state.lock().outgoing()?;
        if bytes.is_empty() { Ok(()) } else { self.stream.write_all(&bytes) }
    }

    /// The monitor looks for an attention to the request that runs, or the end of its session or of the connection.
    pub fn look(&self) -> bool {
        let Some(mut state) = self.state.try_lock() else { return false };
        if state.is_read {
            return false;
        }
        self.take_now(&mut state);
        state.multiplexer.is_cancelled() || state.is_over()
    }

    /// The same for the owner, who also tells the client what it may send.
    pub fn is_cancelled(&self) -> bool {
        self.take_now(&mut self.state.lock());
        self.flush().is_err() || self.has_attention()
    }

    /// Has the request in service been cancelled by what was received so far?
    pub fn has_attention(&self) -> bool {
        let state = self.state.lock();
        state.multiplexer.is_cancelled() || state.is_over()
    }

    /// Has anything been received that no message was made of?
    pub fn has_arrived(&self) -> bool {
        let state = self.state.lock();
        state.multiplexer.has_arrived() || state.is_over()
    }

    /// Must the answers in store not become more?
    pub fn is_overfull(&self) -> bool {
        self.state.lock().multiplexer.is_overfull()
    }

    /// The next message of any session, if it is there; `reader` holds it.
    pub fn next(&self, reader: &mut MessageReader) -> Result<Next, ChannelError> {
        loop {
            let mut state = self.state.lock();
            let found = state.multiplexer.take_message(reader);
            state
                .multiplexer
                .give_up_large(|bytes| bytes <= LARGE_MESSAGE_BYTES || os::memory::may_take_in(bytes));
            let failure = state.failure.clone();
            drop(state);
            self.flush()?;
            if let Some(head) = found? {
                return Ok(Next::Message(head));
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
            let mut state = self.state.lock();
            if !self.take_now(&mut state) && state.failure.is_none() {
                return Ok(if state.is_closed { Next::Closed } else { Next::Nothing });
            }
        }
    }

    /// The next packet of a bulk load; waits for it.
    pub fn next_piece(&self, reader: &mut MessageReader) -> Result<Piece, ChannelError> {
        loop {
            let is_ended = {
                let mut state = self.state.lock();
                state.multiplexer.bring(reader)?;
                state.multiplexer.is_ended() || state.is_closed
            };
            self.flush()?;
            if let Some(piece) = reader.next_piece()? {
                return Ok(piece);
            }
            if is_ended {
                let told = "the client ended its session inside a bulk load";
                return Err(IoError::new(IoErrorKind::UnexpectedEof, told).into());
            }
            self.wait()?;
        }
    }

    /// Sends packets to the session in service, and waits while its client has much to take, unless another session wants to be served.
    pub fn send(&self, packets: &[u8]) -> Result<(), IoError> {
        self.state.lock().multiplexer.queue(packets);
        loop {
            self.flush()?;
            {
                let state = self.state.lock();
                if state.is_over() || !state.multiplexer.must_wait() {
                    return Ok(());
                }
            }
            if let Err(error) = self.wait() {
                return match error {
                    ChannelError::Io(error) => Err(error),
                    // `next` reports it.
                    ChannelError::Protocol(_) => Ok(()),
                };
            }
        }
    }
}

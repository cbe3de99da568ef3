//! What waits to be written to a client.
//!
//! Answers and deliveries are appended to one buffer; the writer takes all of it at once. So what
//! gathers while a write is under way leaves with the next one, and nothing is delayed. The bound is
//! kept by asking for room before making more: [`Outbox::room`].

use parking_lot::Mutex;
use prom_protocol::websocket::{Role, encode};
use tokio::sync::Notify;

/// Hubs do not mask.
const NO_MASK: [u8; 4] = [0; 4];

/// A buffer this large is not kept for later.
const KEPT_BYTES: usize = 64 * 1024;

pub struct Outbox {
    state: Mutex<OutboxState>,
    limit: usize,
    filled: Notify,
    eased: Notify,
}

#[derive(Default)]
struct OutboxState {
    buffer: Vec<u8>,
    /// Taken by the writer and not written yet.
    under_way: usize,
    /// The close frame is in the buffer: nothing comes after it.
    closing: bool,
}

impl Outbox {
    pub fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit, filled: Notify::new(), eased: Notify::new() }
    }

    /// Ready when there is room for more.
    pub async fn room(&self) {
        loop {
            let eased = self.eased.notified();
            tokio::pin!(eased);
            // Registered before looking, so that nothing is missed in between.
            eased.as_mut().enable();
            if self.state.lock().has_room(self.limit) {
                return;
            }
            eased.await;
        }
    }

    pub fn has_room(&self) -> bool {
        self.state.lock().has_room(self.limit)
    }

    /// Bytes that the client has not taken.
    pub fn unwritten_bytes(&self) -> usize {
        let state = self.state.lock();
        state.buffer.len() + state.under_way
    }

    /// The last frame is written: what is put from now on goes nowhere.
    pub fn is_closing(&self) -> bool {
        self.state.lock().closing
    }

    /// Appends whole frames; `write` puts their texts down with [`frame`].
    pub fn put(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state.lock();
        if state.closing {
            return;
        }
        write(&mut state.buffer);
        drop(state);
        self.filled.notify_one();
    }

    pub fn pong(&self, payload: &[u8]) {
        self.put(|out| encode::pong(out, payload, Role::Hub, NO_MASK));
    }

    pub fn ping(&self) {
        self.put(|out| encode::ping(out, Role::Hub, NO_MASK));
    }

    /// The last frame.
    pub fn close(&self, code: u16, reason: &str) {
        let mut state = self.state.lock();
        if !state.closing {
            encode::close(&mut state.buffer, code, reason, Role::Hub, NO_MASK);
            state.closing = true;
        }
        drop(state);
        self.filled.notify_one();
        self.eased.notify_waiters();
    }

    /// Everything that gathered; waits for it. `None` after the close frame. `written` is what was
    /// taken before, for its memory.
    pub async fn take(&self, mut written: Vec<u8>) -> Option<Vec<u8>> {
        written.clear();
        if written.capacity() > KEPT_BYTES {
            written = Vec::new();
        }
        loop {
            match self.swap(&mut written) {
                Taken::Some => return Some(written),
                Taken::Closed => return None,
                Taken::Nothing => written = Vec::new(),
            }
            self.filled.notified().await;
        }
    }

    fn swap(&self, spare: &mut Vec<u8>) -> Taken {
        let mut state = self.state.lock();
        state.under_way = 0;
        let taken = match (state.buffer.is_empty(), state.closing) {
            (false, _) => {
                std::mem::swap(&mut state.buffer, spare);
                state.under_way = spare.len();
                Taken::Some
            }
            (true, true) => Taken::Closed,
            (true, false) => {
                // Idle connections hold no memory.
                state.buffer = Vec::new();
                Taken::Nothing
            }
        };
        drop(state);
        self.eased.notify_waiters();
        taken
    }
}

enum Taken {
    Some,
    Nothing,
    Closed,
}

impl OutboxState {
    fn has_room(&self, limit: usize) -> bool {
        self.closing || self.buffer.len() + self.under_way < limit
    }
}

/// One text frame.
pub fn frame(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let begun = encode::begin(out);
    write(out);
    encode::finish(out, begun, Role::Hub, NO_MASK);
}

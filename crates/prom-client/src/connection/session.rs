//! One connection, from AUTH to its end.

use prom_protocol::frame::auth::{BATCH, Welcome};
use prom_protocol::websocket::Message;
use prom_protocol::{CloseCode, Reconnect};
use tokio::time::Instant;

use super::answers::{Awaited, AwaitedAnswers};
use super::close::hang_up;
use super::dial::AuthenticatedSocket;
use super::refresh::Refresh;
use super::socket::{Socket, Step};
use super::subscriptions::answer;
use super::timers::Timer;
use super::work::ClientWork;
use crate::Error;
use crate::limits::FRAME_BYTES;
use crate::options::FrameStyle;
use crate::state::{ConnectionState, Notice};

pub(super) struct Session<'w> {
    pub work: &'w mut ClientWork,
    pub socket: Socket,
    pub answers: AwaitedAnswers,
    pub epoch: u64,
    pub batching: Batching,
    /// What the hub takes in a frame.
    pub frame_bytes: usize,
    pub refresh: Refresh,
    /// The hub was asked whether it is there, and has said nothing since.
    pub pinged: bool,
}

/// Whether frames may carry many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Batching {
    Agreed,
    Plain,
}

/// How a connection ended.
pub(super) enum SessionEnd {
    /// As the application wanted.
    Done,
    /// Another one may be made.
    Lost(String),
    /// The hub sent what cannot be understood; another connection may do better.
    Malformed(String),
    /// The hub wants no other.
    Stop(Error),
}

/// Why a session goes on.
enum Woken {
    Socket(std::io::Result<Step>),
    Mail,
    Time,
    Token(Result<Option<String>, Error>),
}

impl<'w> Session<'w> {
    pub async fn run(work: &'w mut ClientWork, link: AuthenticatedSocket) -> SessionEnd {
        let AuthenticatedSocket { socket, welcome } = link;
        let core = work.core.clone();
        let epoch = core.next_epoch();
        let mut session = Self {
            refresh: Refresh::new(&core, &welcome),
            batching: match core.options.frames {
                FrameStyle::Batched if welcome.features.iter().any(|feature| feature == BATCH) => Batching::Agreed,
                _ => Batching::Plain,
            },
            frame_bytes: if welcome.frame_bytes == 0 { FRAME_BYTES } else { welcome.frame_bytes },
            answers: AwaitedAnswers::new(),
            epoch,
            work,
            socket,
            pinged: false,
        };
        session.connected(welcome);
        let end = session.live().await;
        session.disconnected();
        let Session { socket, .. } = session;
        hang_up(socket, &end).await;
        end
    }

    fn connected(&mut self, welcome: Welcome) {
        let Welcome { hub, connection, .. } = welcome;
        tracing::debug!(%hub, %connection, "connected");
        self.work.core.teller.enter(ConnectionState::Connected);
        self.work.core.teller.tell(Notice::Connected { hub, connection });
        self.work.subscriptions.mark_all_due();
    }

    async fn live(&mut self) -> SessionEnd {
        let core = self.work.core.clone();
        let mut timer = Timer::new();
        loop {
            // Messages that came with the answer to AUTH are there before the first read.
            if let Err(end) = self.read_messages() {
                return end;
            }
            if let Err(end) = self.tend(Instant::now()) {
                return end;
            }
            if self.socket.is_idle() {
                self.gather();
            }
            if self.is_done() {
                return SessionEnd::Done;
            }
            timer.set(self.next_wake());
            let idle = self.socket.is_idle();
            let woken = tokio::select! {
                biased;
                step = self.socket.step() => Woken::Socket(step),
                () = core.mailbox.filled(), if idle => Woken::Mail,
                token = self.refresh.fetched() => Woken::Token(token),
                () = timer.fired() => Woken::Time,
            };
            match woken {
                Woken::Socket(Ok(Step::Ended)) => return SessionEnd::Lost("the hub hung up".to_owned()),
                Woken::Socket(Err(error)) => return SessionEnd::Lost(error.to_string()),
                Woken::Socket(Ok(Step::Read)) => self.pinged = false,
                Woken::Socket(Ok(Step::Wrote)) | Woken::Mail | Woken::Time => {}
                Woken::Token(token) => self.send_token(token),
            }
        }
    }

    /// Everything that has gathered, into one write.
    fn gather(&mut self) {
        self.work.take_in();
        // Before subscriptions: an application that settles and then leaves wants it in that order.
        self.write_settlements();
        self.write_subscriptions();
        self.write_publishes();
    }

    fn read_messages(&mut self) -> Result<(), SessionEnd> {
        loop {
            match self.socket.next_message() {
                Ok(None) => return Ok(()),
                Ok(Some(Message::Text(text))) => {
                    if let Err(problem) = self.hear(text) {
                        tracing::warn!(%problem, "malformed frame from the hub");
                        return Err(SessionEnd::Malformed(format!("malformed frame from the hub: {problem}")));
                    }
                }
                Ok(Some(Message::Ping(payload))) => self.socket.pong(&payload),
                Ok(Some(Message::Pong)) => {}
                Ok(Some(Message::Close(code))) => return Err(closed_by_hub(code)),
                Err(error) => {
                    tracing::warn!(%error, "malformed message from the hub");
                    return Err(SessionEnd::Malformed(format!("malformed message from the hub: {error}")));
                }
            }
        }
    }

    /// What was under way is sent again, or is lost with the connection.
    fn disconnected(&mut self) {
        self.work.core.next_epoch();
        let mut again = Vec::new();
        for awaited in self.answers.drain() {
            match awaited {
                Awaited::Publish(list) => again.extend(list),
                Awaited::Settled(list) => {
                    for settlement in list {
                        settlement.answer_lost("the connection ended before the answer came");
                    }
                }
                Awaited::Switched(replies) => replies.into_iter().for_each(|reply| answer(Some(reply), Ok(()))),
                Awaited::Subscribed { .. } | Awaited::Unsubscribed { .. } | Awaited::Auth => {}
            }
        }
        self.work.refuse_settlements();
        self.work.subscriptions.disconnected();
        self.work.publishes.pacer.disconnected();
        self.work.publishes.put_back(again);
    }
}

fn closed_by_hub(code: Option<u16>) -> SessionEnd {
    let reason = match code {
        Some(code) => format!("the hub closed the connection with {code}"),
        None => "the hub closed the connection".to_owned(),
    };
    match code.map_or(Reconnect::Yes, CloseCode::reconnect) {
        Reconnect::No => SessionEnd::Stop(Error::closed(reason)),
        Reconnect::Yes | Reconnect::WithToken => SessionEnd::Lost(reason),
    }
}

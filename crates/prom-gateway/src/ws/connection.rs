//! One connection: its state, and the life of its task.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hashbrown::HashMap;
use prom_auth::Identity;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::err::Problem;
use prom_protocol::websocket::{Decoder, Message, Role, WireError};
use prom_protocol::{ClientFrame, CloseCode, ErrorCode, Request};
use tokio::sync::mpsc;

use super::auth::TokenAccepted;
use super::burst::{AwaitedAnswer, Burst, FrameReply, MOST, Sent};
use super::connections::ConnectionListing;
use super::liveness::{self, Pulse, ReadPause};
use super::outbox::{Outbox, frame};
use super::read::SocketInput;
use super::relay::Links;
use super::subscription::Subscribed;
use super::topics::PublishTopics;
use super::{answer, write};
use crate::Hub;
use crate::hub::Counted;
use crate::rates::{Bucket, RefusedEvents, Resends};
use crate::server::{CONNECTION, HubStream, OpenSocket};

/// Refused frames in a row, beyond which the client is not trying to get anywhere.
const STRIKES: u32 = 1000;
/// A client that is not let in yet may send a token and nothing else.
const BEFORE_AUTH_BYTES: usize = prom_auth::limits::TOKEN_BYTES + 4096;
/// What a client hears whose connection an administrator ended.
const CUT: &str = "this connection was ended by an administrator";
/// How long an ending connection may take to answer what is under way, and to be told the reason.
const GOODBYE: Duration = Duration::from_secs(3);

pub struct Connection {
    pub hub: Arc<Hub>,
    /// As people see it.
    pub name: String,
    /// Where it comes from.
    pub peer: SocketAddr,
    pub identity: Option<Identity>,
    /// The client understands frames of many.
    pub batches: bool,
    pub outbox: Arc<Outbox>,
    pub burst: Burst,
    pub subscriptions: HashMap<SubscriptionName, Subscribed>,
    pub topics: PublishTopics,
    pub bucket: Option<Bucket>,
    /// Publishes that came too fast and are waited for.
    pub refused: RefusedEvents,
    /// Whether the client sends those again.
    pub resends: Resends,
    pub pulse: Arc<Pulse>,
    /// To hubs that serve groups which this one does not.
    pub links: Arc<Links>,
    /// Whom it belongs to.
    pub speaker: Speaker,
    /// Where people see it.
    pub listing: ConnectionListing,
    bursts: mpsc::Sender<Box<Sent>>,
    strikes: u32,
}

/// Who speaks over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    Client,
    /// For one of its clients, whose rights and rates it has looked at.
    Hub,
}

/// How a connection ends.
pub struct End {
    close: CloseCode,
    problem: Option<Problem>,
}

impl End {
    /// Told as an ERR before the close.
    pub fn close(close: CloseCode, problem: Problem) -> Self {
        Self { close, problem: Some(problem) }
    }

    pub fn quiet(close: CloseCode) -> Self {
        Self { close, problem: None }
    }
}

/// Serves one WebSocket until it ends.
pub(crate) async fn run(socket: OpenSocket, stream: HubStream, read_already: Bytes) {
    let hub = &socket.hub;
    let _counted = Counted::new(&hub.websockets);
    // One that panics is cut; its client connects again.
    let _cut = hub.failures().watch(&CONNECTION, serve(hub, socket.peer, stream, read_already)).await;
}

async fn serve(hub: &Arc<Hub>, peer: SocketAddr, stream: HubStream, read_already: Bytes) {
    let (read_half, write_half) = stream.into_split();
    let mut input = SocketInput::new(read_half, BytesMut::from(&*read_already));
    let outbox = Arc::new(Outbox::new(hub.options.write_buffer_bytes));
    let pulse = Arc::new(Pulse::new(hub.clock.monotonic()));
    let (bursts, sent) = mpsc::channel((hub.options.pipeline / MOST).max(1));
    let answering = answer::run(sent, outbox.clone(), hub);
    let writing = write::run(&outbox, write_half);
    tokio::pin!(answering, writing);
    let mut connection = Connection::new(hub.clone(), peer, outbox.clone(), pulse.clone(), bursts);
    let listed = connection.listing.entry.clone();
    // The order is fixed, so that a run repeats. Reading comes last: a client that never stops sending must not keep its
    // deadlines, or the end of the hub, from being noticed. Where writing fails, no client is left to read a last frame.
    let end = tokio::select! {
        biased;
        () = &mut answering => None,
        _ = &mut writing => None,
        end = liveness::watch(&pulse, &outbox, hub) => Some(end),
        () = hub.stopped() => Some(End::quiet(CloseCode::GoingAway)),
        () = listed.is_cut() => Some(End::close(CloseCode::GoingAway, Problem::new(ErrorCode::Fenced, CUT))),
        end = connection.read(&mut input) => Some(end),
    };
    let close = end.as_ref().map_or("broken", |end| end.close.name());
    tracing::debug!(connection = connection.name, close, "connection ends");
    connection.end_subscriptions();
    drop(connection);
    // What is under way is answered before the last word, as far as the client takes it.
    let goodbye = async {
        let Some(end) = end else {
            return;
        };
        tokio::select! {
            biased;
            () = &mut answering => {}
            _ = &mut writing => return,
        }
        if let Some(problem) = end.problem {
            outbox.put(|out| frame(out, |out| problem.write(out, None)));
        }
        outbox.close(end.close.code(), end.close.name());
        drop(writing.await);
        // Unread bytes would turn the close into a reset, and the reason would be lost.
        input.discard().await;
    };
    drop(tokio::time::timeout(GOODBYE, goodbye).await);
    // Tasks that still wait for room wait no longer.
    outbox.close(CloseCode::Failed.code(), CloseCode::Failed.name());
}

impl Connection {
    /// Whom what it makes counts to.
    pub fn subject(&self) -> Option<&Arc<str>> {
        self.identity.as_ref()?.subject.as_ref()
    }

    fn new(
        hub: Arc<Hub>,
        peer: SocketAddr,
        outbox: Arc<Outbox>,
        pulse: Arc<Pulse>,
        bursts: mpsc::Sender<Box<Sent>>,
    ) -> Self {
        let listing = ConnectionListing::new(&hub, peer, &outbox);
        Self {
            peer,
            name: listing.entry.name.clone(),
            listing,
            identity: None,
            batches: false,
            burst: Burst::default(),
            subscriptions: HashMap::new(),
            topics: PublishTopics::default(),
            bucket: hub.rates.connection(hub.clock.monotonic()),
            refused: RefusedEvents::default(),
            resends: Resends::No,
            strikes: 0,
            links: Arc::default(),
            speaker: Speaker::Client,
            hub,
            outbox,
            pulse,
            bursts,
        }
    }

    /// Reads and acts until the client goes or has to go.
    async fn read(&mut self, input: &mut SocketInput) -> End {
        let frame_bytes = self.hub.options.frame_bytes;
        let mut decoder = Decoder::new(Role::Hub, frame_bytes.min(BEFORE_AUTH_BYTES));
        loop {
            loop {
                if self.identity.is_some() {
                    decoder.set_limit(frame_bytes);
                }
                match decoder.next(&mut input.buffer) {
                    Ok(Some(message)) => {
                        if let Err(end) = self.take(message).await {
                            self.hand_over().await;
                            return end;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => {
                        self.hand_over().await;
                        return malformed(error);
                    }
                }
            }
            self.hand_over().await;
            match input.fill().await {
                Ok(0) | Err(_) => return End::quiet(CloseCode::Normal),
                Ok(_) => self.pulse.heard(self.hub.clock.monotonic()),
            }
        }
    }

    async fn take(&mut self, message: Message) -> Result<(), End> {
        match message {
            Message::Text(text) => {
                self.frame(&text).await?;
                if self.burst.is_full() {
                    self.hand_over().await;
                }
                Ok(())
            }
            Message::Ping(payload) => {
                // A client that pings without reading is not read from either.
                self.outbox.room().await;
                self.outbox.pong(&payload);
                Ok(())
            }
            Message::Pong => Ok(()),
            Message::Close(_) => Err(End::quiet(CloseCode::Normal)),
        }
    }

    async fn frame(&mut self, text: &Bytes) -> Result<(), End> {
        let request = match Request::read(text) {
            Ok(request) => request,
            Err(refused) => {
                self.burst.answer(refused.corr, AwaitedAnswer::Ready(FrameReply::Err(refused.error.into())));
                return self.strike();
            }
        };
        let Request { corr, frame } = request;
        if self.identity.is_none() && !matches!(frame, ClientFrame::Auth(_)) {
            let problem = Problem::new(ErrorCode::Unauthorized, "AUTH comes first");
            self.burst.answer(corr, AwaitedAnswer::Ready(FrameReply::Err(problem)));
            return self.strike();
        }
        if self.identity.is_some() {
            self.strikes = 0;
        }
        if let Some(link) = self.way_of(&frame) {
            Box::pin(self.relay(corr, text, &frame, link)).await;
            return Ok(());
        }
        match frame {
            ClientFrame::Publish(frame) => self.publish(corr, frame),
            ClientFrame::PublishBatch(frame) => {
                if frame.atomic {
                    // It is a commit of its own: what came before it goes first.
                    self.hand_over().await;
                }
                self.publish_batch(corr, frame);
            }
            ClientFrame::Ack(frame) => self.ack(corr, &frame),
            ClientFrame::Nack(frame) => self.nack(corr, &frame),
            ClientFrame::Modack(frame) => self.modack(corr, &frame),
            ClientFrame::Pause(name) => self.pause(corr, &name),
            ClientFrame::Resume(frame) => self.resume(corr, &frame),
            ClientFrame::Unsubscribe(name) => {
                // What was settled before it leaves counts.
                self.hand_over().await;
                Box::pin(self.unsubscribe(corr, &name, text)).await;
            }
            // Boxed: rare, and large enough to double what an idle connection takes.
            ClientFrame::Subscribe(frame) => {
                // What was published before comes before, also for a subscriber that reads from the end.
                self.hand_over().await;
                Box::pin(self.subscribe(corr, *frame)).await;
            }
            ClientFrame::Auth(frame) => {
                // What came before was sent under the rights before.
                self.hand_over().await;
                self.pulse.works(ReadPause::Judging);
                let known = Box::pin(self.auth(corr, frame)).await;
                self.pulse.reads_again();
                if known == TokenAccepted::No {
                    return self.strike();
                }
            }
        }
        Ok(())
    }

    /// Gives what gathered to the bus; waits while too much is under way.
    async fn hand_over(&mut self) {
        let Some(sent) = self.burst.send() else {
            return;
        };
        if let Err(mpsc::error::TrySendError::Full(sent)) = self.bursts.try_send(Box::new(sent)) {
            self.pulse.works(ReadPause::Backpressure);
            // It fails only when the connection ends, and then no answer is awaited.
            drop(self.bursts.send(sent).await);
            self.pulse.reads_again();
        }
    }

    fn strike(&mut self) -> Result<(), End> {
        self.strikes += 1;
        if self.strikes > STRIKES { Err(End::quiet(CloseCode::Abuse)) } else { Ok(()) }
    }
}

fn malformed(error: WireError) -> End {
    let code = match error {
        WireError::TooLarge { .. } => ErrorCode::TooLarge,
        _ => ErrorCode::BadJson,
    };
    End::close(error.close_code(), Problem::new(code, error.to_string()))
}

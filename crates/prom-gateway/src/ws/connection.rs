//! One connection: its state, and the life of its task.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hashbrown::HashMap;
use prom_auth::Identity;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::err::Problem;
use prom_protocol::websocket::{Decoder, Message, Role, WireError};
use prom_protocol::{ClientFrame, CloseCode, ErrorCode, Request};
use tokio::sync::mpsc;

use super::burst::{Burst, MOST, Reply, Sent, Waiting};
use super::liveness::{self, Pulse};
use super::outbox::{Outbox, frame};
use super::read::Input;
use super::subscription::Subscribed;
use super::topics::Topics;
use super::{answer, write};
use crate::Hub;
use crate::rates::Bucket;
use crate::server::Stream;

/// Refused frames in a row, beyond which the client is not trying to get anywhere.
const STRIKES: u32 = 1000;
/// How long an ending connection may take to answer what is under way, and to be told the reason.
const GOODBYE: Duration = Duration::from_secs(3);

pub struct Connection {
    pub hub: Arc<Hub>,
    /// As people see it.
    pub name: String,
    pub identity: Option<Identity>,
    /// The client understands frames of many.
    pub batches: bool,
    pub outbox: Arc<Outbox>,
    pub burst: Burst,
    pub subscriptions: HashMap<SubscriptionName, Subscribed>,
    pub topics: Topics,
    pub bucket: Option<Bucket>,
    pub pulse: Arc<Pulse>,
    bursts: mpsc::Sender<Sent>,
    strikes: u32,
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
pub(crate) async fn run(hub: Arc<Hub>, stream: Stream, read_already: Bytes) {
    hub.websockets.fetch_add(1, Ordering::Relaxed);
    serve(&hub, stream, read_already).await;
    hub.websockets.fetch_sub(1, Ordering::Relaxed);
}

async fn serve(hub: &Arc<Hub>, stream: Stream, read_already: Bytes) {
    let (read_half, write_half) = stream.into_split();
    let mut input = Input::new(read_half, BytesMut::from(&*read_already));
    let outbox = Arc::new(Outbox::new(hub.options.write_buffer_bytes));
    let pulse = Arc::new(Pulse::new(hub.clock.monotonic()));
    let (bursts, sent) = mpsc::channel((hub.options.pipeline / MOST).max(1));
    let answering = answer::run(sent, outbox.clone(), hub);
    let writing = write::run(&outbox, write_half);
    tokio::pin!(answering, writing);
    let mut connection = Connection::new(hub.clone(), outbox.clone(), pulse.clone(), bursts);
    let end = tokio::select! {
        end = connection.read(&mut input) => end,
        _ = &mut writing => End::quiet(CloseCode::Normal),
        () = &mut answering => End::quiet(CloseCode::Failed),
        end = liveness::watch(&pulse, &outbox, hub) => end,
        () = hub.stopped() => End::quiet(CloseCode::GoingAway),
    };
    tracing::debug!(connection = connection.name, close = end.close.name(), "connection ends");
    connection.end_subscriptions();
    drop(connection);
    // What is under way is answered before the last word, as far as the client takes it.
    let goodbye = async {
        tokio::select! {
            () = &mut answering => {}
            _ = &mut writing => return,
        }
        if let Some(problem) = end.problem {
            outbox.put(|out| frame(out, |out| problem.write(out, None)));
        }
        outbox.close(end.close.code(), end.close.name());
        drop(writing.await);
        // Bytes that nobody reads would turn the close into a reset, and the reason would be lost.
        input.discard().await;
    };
    drop(tokio::time::timeout(GOODBYE, goodbye).await);
}

impl Connection {
    fn new(hub: Arc<Hub>, outbox: Arc<Outbox>, pulse: Arc<Pulse>, bursts: mpsc::Sender<Sent>) -> Self {
        Self {
            name: format!("connection-{}", hub.next_connection()),
            identity: None,
            batches: false,
            burst: Burst::default(),
            subscriptions: HashMap::new(),
            topics: Topics::default(),
            bucket: hub.rates.connection(hub.clock.monotonic()),
            strikes: 0,
            hub,
            outbox,
            pulse,
            bursts,
        }
    }

    /// Reads and acts until the client goes or has to go.
    async fn read(&mut self, input: &mut Input) -> End {
        let mut decoder = Decoder::new(Role::Hub, self.hub.options.frame_bytes);
        loop {
            loop {
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
                self.burst.answer(refused.corr, Waiting::Ready(Reply::Err(refused.error.into())));
                return self.strike();
            }
        };
        let Request { corr, frame } = request;
        if self.identity.is_none() && !matches!(frame, ClientFrame::Auth(_)) {
            let problem = Problem::new(ErrorCode::Unauthorized, "AUTH comes first");
            self.burst.answer(corr, Waiting::Ready(Reply::Err(problem)));
            return self.strike();
        }
        self.strikes = 0;
        match frame {
            ClientFrame::Publish(frame) => self.publish(corr, frame),
            ClientFrame::PublishBatch(frame) => self.publish_batch(corr, frame),
            ClientFrame::Ack(frame) => self.ack(corr, &frame),
            ClientFrame::Nack(frame) => self.nack(corr, &frame),
            ClientFrame::Modack(frame) => self.modack(corr, &frame),
            ClientFrame::Pause(name) => self.pause(corr, &name),
            ClientFrame::Resume(name) => self.resume(corr, &name),
            ClientFrame::Unsubscribe(name) => self.unsubscribe(corr, &name),
            ClientFrame::Subscribe(frame) => self.subscribe(corr, *frame).await,
            ClientFrame::Auth(frame) => self.auth(corr, frame).await,
        }
        Ok(())
    }

    /// Gives what gathered to the bus; waits while too much is under way.
    async fn hand_over(&mut self) {
        if let Some(sent) = self.burst.send() {
            // It fails only when the connection ends, and then nobody waits for answers.
            drop(self.bursts.send(sent).await);
        }
    }

    fn strike(&mut self) -> Result<(), End> {
        self.strikes += 1;
        match self.strikes > STRIKES {
            true => Err(End::quiet(CloseCode::Abuse)),
            false => Ok(()),
        }
    }
}

fn malformed(error: WireError) -> End {
    let code = match error {
        WireError::TooLarge { .. } => ErrorCode::TooLarge,
        _ => ErrorCode::BadJson,
    };
    End::close(error.close_code(), Problem::new(code, error.to_string()))
}

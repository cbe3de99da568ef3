//! What the application asks of the connection: gathered here, taken by the connection's task whenever it
//! can write. Nothing waits for a timer; what gathers during one write leaves with the next.

use std::sync::Arc;

use parking_lot::Mutex;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::subscribe::SubscribeOpts;
use prom_types::NewEvent;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::Error;
use crate::client::ended;
use crate::core::ClientCore;
use crate::feed::Feed;
use crate::pending::{Pending, Size};
use crate::room::RoomShare;
use crate::settle::PendingSettlement;
use crate::slots::AnswerSlot;

pub(crate) type CommandReply = oneshot::Sender<Result<(), Error>>;

/// Everything but publishes and settlements.
pub(crate) enum ClientCommand {
    Subscribe(Box<NewSubscription>),
    /// The one of that number, or whichever has the name.
    Unsubscribe {
        name: SubscriptionName,
        number: Option<u64>,
        reply: Option<CommandReply>,
    },
    Pause {
        name: SubscriptionName,
        number: u64,
        pausing: Pausing,
        reply: Option<CommandReply>,
    },
    /// The application has asked for more: there is room again, or another window.
    TellHub {
        name: SubscriptionName,
        number: u64,
    },
    Close {
        reply: Option<CommandReply>,
    },
}

/// A subscription that the application asked for.
pub(crate) struct NewSubscription {
    pub feed: Arc<Feed>,
    pub opts: SubscribeOpts,
    pub reply: CommandReply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pausing {
    Pause,
    Resume,
}

/// What has gathered.
#[derive(Default)]
pub(crate) struct Mail {
    pub publishes: Vec<Pending>,
    pub settlements: Vec<PendingSettlement>,
    pub commands: Vec<ClientCommand>,
}

impl Mail {
    fn is_empty(&self) -> bool {
        self.publishes.is_empty() && self.settlements.is_empty() && self.commands.is_empty()
    }
}

#[derive(Default)]
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    filled: Notify,
}

#[derive(Default)]
struct Inner {
    mail: Mail,
    /// Of the first publishes that were taken last.
    last_size: Size,
    phase: Phase,
}

#[derive(Default)]
enum Phase {
    #[default]
    Open,
    /// Nothing new is begun; what was begun may be settled.
    Closing,
    /// The task has ended.
    Closed { reason: String },
}

impl Inner {
    fn check(&self, begins: Begins) -> Result<(), Error> {
        match (&self.phase, begins) {
            (Phase::Open, _) | (Phase::Closing, Begins::Nothing) => Ok(()),
            (Phase::Closing, Begins::Something) => Err(Error::closed("it was asked to close")),
            (Phase::Closed { reason }, _) => Err(Error::closed(reason)),
        }
    }
}

#[derive(Clone, Copy)]
enum Begins {
    Something,
    Nothing,
}

impl Mailbox {
    /// Takes an event that has entered the room at this cost; it travels with those that wait already. `deadline`
    /// where it had to wait for room.
    pub fn publish(
        &self,
        core: &ClientCore,
        event: NewEvent,
        cost: u32,
        deadline: Option<Instant>,
    ) -> Result<AnswerSlot, Error> {
        let mut inner = self.inner.lock();
        if let Err(error) = inner.check(Begins::Something) {
            drop(inner);
            drop(RoomShare::of(&core.room, cost));
            return Err(error);
        }
        let was_empty = inner.mail.is_empty();
        let about = inner.last_size;
        let publishes = &mut inner.mail.publishes;
        if !publishes.last().is_some_and(|last| last.welcomes(&event, deadline)) {
            publishes.push(Pending::open(RoomShare::nothing(&core.room), core.now_ms(), deadline, about));
        }
        // The last one has just been found or made.
        let claim = match publishes.last_mut() {
            Some(last) => last.add(event, &core.ids, cost, deadline),
            None => return Err(ended()),
        };
        self.wake(inner, was_empty);
        Ok(claim)
    }

    /// A refused one is told so.
    pub fn publish_batch(&self, mut pending: Pending) {
        let mut inner = self.inner.lock();
        match inner.check(Begins::Something) {
            Ok(()) => {
                let was_empty = inner.mail.is_empty();
                inner.mail.publishes.push(pending);
                self.wake(inner, was_empty);
            }
            Err(error) => {
                drop(inner);
                pending.fail(&error);
            }
        }
    }

    pub fn settle(&self, settlement: PendingSettlement) {
        self.settle_all(&mut vec![settlement]);
    }

    /// Takes all of them, leaving the vector empty; refused ones are told so.
    pub fn settle_all(&self, settlements: &mut Vec<PendingSettlement>) {
        if settlements.is_empty() {
            return;
        }
        let mut inner = self.inner.lock();
        match inner.check(Begins::Nothing) {
            Ok(()) => {
                let was_empty = inner.mail.is_empty();
                inner.mail.settlements.append(settlements);
                self.wake(inner, was_empty);
            }
            Err(error) => {
                drop(inner);
                settlements.drain(..).for_each(|settlement| settlement.answer(Err(error.clone())));
            }
        }
    }

    /// Subscribing begins something; all else may still be done while closing.
    pub fn command(&self, command: ClientCommand) -> Result<(), Error> {
        let begins = match command {
            ClientCommand::Subscribe(_) => Begins::Something,
            _ => Begins::Nothing,
        };
        let mut inner = self.inner.lock();
        inner.check(begins)?;
        let was_empty = inner.mail.is_empty();
        inner.mail.commands.push(command);
        self.wake(inner, was_empty);
        Ok(())
    }

    /// Nothing new is begun from here on.
    pub fn closing(&self) {
        let mut inner = self.inner.lock();
        if matches!(inner.phase, Phase::Open) {
            inner.phase = Phase::Closing;
        }
    }

    /// The task has ended; the caller answers what is still in the mailbox.
    pub fn close(&self, reason: &str) -> Mail {
        let mut inner = self.inner.lock();
        if !matches!(inner.phase, Phase::Closed { .. }) {
            inner.phase = Phase::Closed { reason: reason.to_owned() };
        }
        std::mem::take(&mut inner.mail)
    }

    /// Swaps what has gathered with `emptied`, so that its memory is used again.
    pub fn take(&self, emptied: &mut Mail) {
        let mut inner = self.inner.lock();
        if let Some(first) = inner.mail.publishes.first() {
            inner.last_size = first.size();
        }
        std::mem::swap(&mut inner.mail, emptied);
    }

    /// Ready when something may have gathered since the last time.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }

    fn wake(&self, inner: parking_lot::MutexGuard<'_, Inner>, was_empty: bool) {
        drop(inner);
        if was_empty {
            self.filled.notify_one();
        }
    }
}

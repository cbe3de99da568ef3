//! The subscriptions of a client, across connections: what the application wants, and what the hub was told.
//!
//! Commands change what is wanted and mark the subscription as due; a session writes the frames that
//! make the hub agree. Without a connection nothing is written, and everything is due at the next.

use std::collections::HashMap;
use std::sync::Arc;

use prom_protocol::ErrorCode;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::subscribe::SubscribeOpts;
use prom_protocol::position::StartFrom;
use prom_types::TopicName;
use tokio::time::Instant;

use super::resume::{Began, TailProgress};
use crate::feed::Feed;
use crate::mailbox::{CommandReply, NewSubscription, Pausing};
use crate::{Error, Position};

#[derive(Default)]
pub(super) struct Subscriptions {
    by_name: HashMap<SubscriptionName, SubscriptionEntry>,
    due: Vec<SubscriptionName>,
    /// How many have a `retry_at`, at most.
    retrying: usize,
    /// No lease has to be renewed before this.
    pub renew_at: Option<Instant>,
}

pub(super) struct SubscriptionEntry {
    pub feed: Arc<Feed>,
    opts: SubscribeOpts,
    pub phase: SubscriptionPhase,
    user_paused: bool,
    pub told_paused: bool,
    /// The window that the hub knows.
    pub told_window: Option<usize>,
    /// Waits for the first agreement of the hub.
    pub starting: Option<CommandReply>,
    pub switching: Vec<CommandReply>,
    ending: Vec<CommandReply>,
    /// Takes the name over when this one has ended.
    successor: Option<Box<NewSubscription>>,
    /// Settlements that were sent and not answered.
    settling: usize,
    /// Not asked for again before this.
    retry_at: Option<Instant>,
    pub progress: Option<TailProgress>,
    pub last_topic: Option<TopicName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubscriptionPhase {
    /// The hub does not know it.
    Waiting,
    /// SUBSCRIBE was sent.
    Asked,
    Live,
    /// UNSUBSCRIBE has to be sent.
    Leaving,
    /// UNSUBSCRIBE was sent.
    Left,
}

impl SubscriptionEntry {
    fn new(wanted: NewSubscription) -> Self {
        let progress = wanted.feed.is_tail().then(TailProgress::default);
        Self {
            feed: wanted.feed,
            opts: wanted.opts,
            phase: SubscriptionPhase::Waiting,
            user_paused: false,
            told_paused: false,
            told_window: None,
            starting: Some(wanted.reply),
            switching: Vec::new(),
            ending: Vec::new(),
            successor: None,
            settling: 0,
            retry_at: None,
            progress,
            last_topic: None,
        }
    }

    /// Ended by the application, and nothing that it settled before is under way: ending takes leases away.
    pub fn may_leave(&self) -> bool {
        self.phase == SubscriptionPhase::Leaving && self.settling == 0
    }

    pub fn wants_pause(&self) -> bool {
        self.user_paused || self.feed.is_throttled()
    }

    /// The options it is asked for with now: a tail goes on where it was, a group's window may have changed.
    pub fn opts(&self) -> SubscribeOpts {
        let mut opts = self.opts.clone();
        opts.max_in_flight = self.feed.max_in_flight();
        let began = match opts.position.from {
            None | Some(StartFrom::Latest) => Began::AtTheEnd,
            Some(_) => Began::WithHistory,
        };
        if let Some(ts) = self.progress.as_ref().and_then(|progress| progress.resume_at(began)) {
            opts.position = Position::StoredAt(ts).into();
        }
        opts
    }

    /// Events that come now belong to it.
    pub fn is_fed(&self) -> bool {
        matches!(self.phase, SubscriptionPhase::Asked | SubscriptionPhase::Live)
    }
}

impl Subscriptions {
    pub fn get(&mut self, name: &SubscriptionName) -> Option<&mut SubscriptionEntry> {
        self.by_name.get_mut(name)
    }

    pub fn get_numbered(&mut self, name: &SubscriptionName, number: u64) -> Option<&mut SubscriptionEntry> {
        self.by_name.get_mut(name).filter(|entry| entry.feed.number == number)
    }

    pub fn all(&mut self) -> impl Iterator<Item = &mut SubscriptionEntry> {
        self.by_name.values_mut()
    }

    pub fn take_due(&mut self) -> Vec<SubscriptionName> {
        std::mem::take(&mut self.due)
    }

    pub fn mark_due(&mut self, name: &SubscriptionName) {
        self.due.push(name.clone());
    }

    pub fn mark_all_due(&mut self) {
        self.due = self.by_name.keys().cloned().collect();
    }

    pub fn renew_by(&mut self, at: Instant) {
        self.renew_at = Some(self.renew_at.map_or(at, |other| other.min(at)));
    }

    /// When the next one is asked for again.
    pub fn retry_at(&self) -> Option<Instant> {
        match self.retrying {
            0 => None,
            _ => self.by_name.values().filter_map(|entry| entry.retry_at).min(),
        }
    }

    /// Asks again for those whose time has come.
    pub fn retry_due(&mut self, now: Instant) {
        if self.retrying == 0 {
            return;
        }
        for (name, entry) in &mut self.by_name {
            if entry.retry_at.take_if(|at| *at <= now).is_some() {
                self.due.push(name.clone());
            }
        }
        self.retrying = self.by_name.values().filter(|entry| entry.retry_at.is_some()).count();
    }

    /// The hub could not serve it: it is asked for again later.
    pub fn retry_later(&mut self, name: &SubscriptionName, at: Instant) {
        if let Some(entry) = self.by_name.get_mut(name) {
            entry.phase = SubscriptionPhase::Waiting;
            entry.told_paused = false;
            entry.retry_at = Some(at);
            entry.feed.interrupt();
            self.retrying += 1;
        }
    }

    // What the application wants.

    pub fn subscribe(&mut self, wanted: NewSubscription) {
        let name = wanted.feed.name.clone();
        match self.by_name.get_mut(&name) {
            None => {
                self.by_name.insert(name.clone(), SubscriptionEntry::new(wanted));
                self.mark_due(&name);
            }
            Some(entry)
                if matches!(entry.phase, SubscriptionPhase::Leaving | SubscriptionPhase::Left)
                    && entry.successor.is_none() =>
            {
                entry.successor = Some(Box::new(wanted));
            }
            Some(_) => {
                let problem = Problem::new(ErrorCode::AlreadySubscribed, "this client has this subscription already");
                let _caller_may_be_gone = wanted.reply.send(Err(problem.into()));
            }
        }
    }

    pub fn unsubscribe(&mut self, name: &SubscriptionName, number: Option<u64>, reply: Option<CommandReply>) {
        let Some(entry) = self.by_name.get_mut(name) else {
            return answer(reply, gone(number));
        };
        if let Some(next) = entry.successor.take_if(|next| Some(next.feed.number) == number) {
            next.feed.end(None);
            return answer(reply, Ok(()));
        }
        if number.is_some_and(|number| number != entry.feed.number) {
            return answer(reply, Ok(()));
        }
        entry.feed.end(None);
        entry.ending.extend(reply);
        match entry.phase {
            SubscriptionPhase::Waiting => self.remove(name),
            SubscriptionPhase::Asked | SubscriptionPhase::Live => {
                entry.phase = SubscriptionPhase::Leaving;
                self.mark_due(name);
            }
            SubscriptionPhase::Leaving | SubscriptionPhase::Left => {}
        }
    }

    pub fn pause(&mut self, name: &SubscriptionName, number: u64, pausing: Pausing, reply: Option<CommandReply>) {
        let Some(entry) = self.get_numbered(name, number) else {
            return answer(reply, gone(None));
        };
        entry.user_paused = pausing == Pausing::Pause;
        if entry.is_fed() && entry.wants_pause() != entry.told_paused {
            entry.switching.extend(reply);
            self.mark_due(name);
        } else {
            // What the hub was told fits, or it is told together with the subscription.
            answer(reply, Ok(()));
        }
    }

    pub fn tell_hub(&mut self, name: &SubscriptionName, number: u64) {
        if self.get_numbered(name, number).is_some() {
            self.mark_due(name);
        }
    }

    /// The client closes: nothing more is taken from any of them.
    pub fn end_all(&mut self) {
        for entry in self.by_name.values_mut() {
            entry.feed.end(None);
            entry.user_paused = true;
        }
        self.mark_all_due();
    }

    // What happens.

    pub fn settling(&mut self, feed: &Feed, sent: usize) {
        if let Some(entry) = self.get_numbered(&feed.name, feed.number) {
            entry.settling += sent;
        }
    }

    pub fn settled(&mut self, feed: &Feed, answered: usize) {
        if let Some(entry) = self.get_numbered(&feed.name, feed.number) {
            entry.settling = entry.settling.saturating_sub(answered);
            if entry.may_leave() {
                self.mark_due(&feed.name);
            }
        }
    }

    /// It has ended, as the application wanted. The subscription that waits for the name gets it.
    pub fn remove(&mut self, name: &SubscriptionName) {
        if let Some(entry) = self.by_name.remove(name) {
            entry.ending.into_iter().chain(entry.switching).for_each(|reply| answer(Some(reply), Ok(())));
            answer(entry.starting, Err(Error::closed("the subscription was ended")));
            if let Some(next) = entry.successor {
                self.subscribe(*next);
            }
        }
    }

    /// It has ended, and not because the application wanted it.
    pub fn fail(&mut self, name: &SubscriptionName, error: Error) {
        if let Some(entry) = self.by_name.get_mut(name) {
            entry.feed.end(Some(error.clone()));
            answer(entry.starting.take(), Err(error));
        }
        self.remove(name);
    }

    /// The connection is gone: the hub knows none of them any more.
    pub fn disconnected(&mut self) {
        self.renew_at = None;
        self.retrying = 0;
        let mut left = Vec::new();
        for (name, entry) in &mut self.by_name {
            entry.feed.interrupt();
            entry.told_paused = false;
            entry.settling = 0;
            entry.retry_at = None;
            entry.switching.drain(..).for_each(|reply| answer(Some(reply), Ok(())));
            match entry.phase {
                SubscriptionPhase::Leaving | SubscriptionPhase::Left => left.push(name.clone()),
                _ => entry.phase = SubscriptionPhase::Waiting,
            }
        }
        left.iter().for_each(|name| self.remove(name));
        self.mark_all_due();
    }

    /// Handlers that have not finished.
    pub fn held(&self) -> usize {
        self.by_name.values().map(|entry| entry.feed.held()).sum()
    }

    /// The client has ended.
    pub fn close(&mut self, failure: Option<&Error>, told: &Error) {
        for (_, entry) in self.by_name.drain() {
            entry.feed.interrupt();
            entry.feed.end(failure.cloned());
            answer(entry.starting, Err(told.clone()));
            entry.ending.into_iter().chain(entry.switching).for_each(|reply| answer(Some(reply), Ok(())));
            if let Some(next) = entry.successor {
                next.feed.end(failure.cloned());
                answer(Some(next.reply), Err(told.clone()));
            }
        }
    }
}

pub(super) fn answer(reply: Option<CommandReply>, result: Result<(), Error>) {
    if let Some(reply) = reply {
        let _caller_may_be_gone = reply.send(result);
    }
}

/// One that is known by its number has ended before; a name may be wrong.
fn gone(number: Option<u64>) -> Result<(), Error> {
    match number {
        Some(_) => Ok(()),
        None => Err(Problem::new(ErrorCode::NotSubscribed, "this client has no such subscription").into()),
    }
}

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

use super::resume::{Began, Progress};
use crate::feed::Feed;
use crate::mailbox::{Pausing, Reply, Wish};
use crate::{Error, Position};

#[derive(Default)]
pub(super) struct Subscriptions {
    by_name: HashMap<SubscriptionName, Kept>,
    due: Vec<SubscriptionName>,
    /// How many have a `retry_at`, at most.
    retrying: usize,
    /// No lease has to be renewed before this.
    pub renew_at: Option<Instant>,
}

pub(super) struct Kept {
    pub feed: Arc<Feed>,
    opts: SubscribeOpts,
    pub phase: Phase,
    user_paused: bool,
    /// The queue of a tail is full.
    pub throttled: bool,
    pub told_paused: bool,
    /// Waits for the first agreement of the hub.
    pub starting: Option<Reply>,
    pub switching: Vec<Reply>,
    ending: Vec<Reply>,
    /// Takes the name over when this one has ended.
    successor: Option<Box<Wish>>,
    /// Settlements that were sent and not answered.
    settling: usize,
    /// Not asked for again before this.
    retry_at: Option<Instant>,
    pub progress: Option<Progress>,
    pub last_topic: Option<TopicName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The hub does not know it.
    Waiting,
    /// SUBSCRIBE was sent.
    Asked,
    Live,
    /// UNSUBSCRIBE is to be sent.
    Leaving,
    /// UNSUBSCRIBE was sent.
    Left,
}

impl Kept {
    fn new(wish: Wish) -> Self {
        let progress = wish.feed.is_tail().then(Progress::default);
        Self {
            feed: wish.feed,
            opts: wish.opts,
            phase: Phase::Waiting,
            user_paused: false,
            throttled: false,
            told_paused: false,
            starting: Some(wish.reply),
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
        self.phase == Phase::Leaving && self.settling == 0
    }

    pub fn wants_pause(&self) -> bool {
        self.user_paused || self.throttled
    }

    /// The options it is asked for with now: a tail goes on where it was.
    pub fn opts(&self) -> SubscribeOpts {
        let mut opts = self.opts.clone();
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
        matches!(self.phase, Phase::Asked | Phase::Live)
    }
}

impl Subscriptions {
    pub fn get(&mut self, name: &SubscriptionName) -> Option<&mut Kept> {
        self.by_name.get_mut(name)
    }

    pub fn get_numbered(&mut self, name: &SubscriptionName, number: u64) -> Option<&mut Kept> {
        self.by_name.get_mut(name).filter(|kept| kept.feed.number == number)
    }

    pub fn all(&mut self) -> impl Iterator<Item = &mut Kept> {
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

    /// When the next one is to be asked for again.
    pub fn retry_at(&self) -> Option<Instant> {
        match self.retrying {
            0 => None,
            _ => self.by_name.values().filter_map(|kept| kept.retry_at).min(),
        }
    }

    /// Asks again for those whose time has come.
    pub fn retry_due(&mut self, now: Instant) {
        if self.retrying == 0 {
            return;
        }
        for (name, kept) in &mut self.by_name {
            if kept.retry_at.take_if(|at| *at <= now).is_some() {
                self.due.push(name.clone());
            }
        }
        self.retrying = self.by_name.values().filter(|kept| kept.retry_at.is_some()).count();
    }

    /// The hub could not serve it: it is asked for again later.
    pub fn retry_later(&mut self, name: &SubscriptionName, at: Instant) {
        if let Some(kept) = self.by_name.get_mut(name) {
            kept.phase = Phase::Waiting;
            kept.told_paused = false;
            kept.retry_at = Some(at);
            kept.feed.interrupt();
            self.retrying += 1;
        }
    }

    // What the application wants.

    pub fn subscribe(&mut self, wish: Wish) {
        let name = wish.feed.name.clone();
        match self.by_name.get_mut(&name) {
            None => {
                self.by_name.insert(name.clone(), Kept::new(wish));
                self.mark_due(&name);
            }
            Some(kept) if matches!(kept.phase, Phase::Leaving | Phase::Left) && kept.successor.is_none() => {
                kept.successor = Some(Box::new(wish));
            }
            Some(_) => {
                let problem = Problem::new(ErrorCode::AlreadySubscribed, "this client has this subscription already");
                let _nobody_waits = wish.reply.send(Err(problem.into()));
            }
        }
    }

    pub fn unsubscribe(&mut self, name: &SubscriptionName, number: Option<u64>, reply: Option<Reply>) {
        let Some(kept) = self.by_name.get_mut(name) else {
            return answer(reply, gone(number));
        };
        if let Some(next) = kept.successor.take_if(|next| Some(next.feed.number) == number) {
            next.feed.end(None);
            return answer(reply, Ok(()));
        }
        if number.is_some_and(|number| number != kept.feed.number) {
            return answer(reply, Ok(()));
        }
        kept.feed.end(None);
        kept.ending.extend(reply);
        match kept.phase {
            Phase::Waiting => self.remove(name),
            Phase::Asked | Phase::Live => {
                kept.phase = Phase::Leaving;
                self.mark_due(name);
            }
            Phase::Leaving | Phase::Left => {}
        }
    }

    pub fn pause(&mut self, name: &SubscriptionName, number: u64, pausing: Pausing, reply: Option<Reply>) {
        let Some(kept) = self.get_numbered(name, number) else {
            return answer(reply, gone(None));
        };
        kept.user_paused = pausing == Pausing::Pause;
        match kept.is_fed() && kept.wants_pause() != kept.told_paused {
            true => {
                kept.switching.extend(reply);
                self.mark_due(name);
            }
            // What the hub was told fits, or it is told together with the subscription.
            false => answer(reply, Ok(())),
        }
    }

    pub fn unthrottle(&mut self, name: &SubscriptionName, number: u64) {
        if let Some(kept) = self.get_numbered(name, number) {
            kept.throttled = false;
            self.mark_due(name);
        }
    }

    /// The client closes: nothing more is taken from any of them.
    pub fn end_all(&mut self) {
        for kept in self.by_name.values_mut() {
            kept.feed.end(None);
            kept.user_paused = true;
        }
        self.mark_all_due();
    }

    // What happens.

    pub fn settling(&mut self, feed: &Feed, sent: usize) {
        if let Some(kept) = self.get_numbered(&feed.name, feed.number) {
            kept.settling += sent;
        }
    }

    pub fn settled(&mut self, feed: &Feed, answered: usize) {
        if let Some(kept) = self.get_numbered(&feed.name, feed.number) {
            kept.settling = kept.settling.saturating_sub(answered);
            if kept.may_leave() {
                self.mark_due(&feed.name);
            }
        }
    }

    /// It has ended, as the application wanted. Whoever waits for the name gets it.
    pub fn remove(&mut self, name: &SubscriptionName) {
        if let Some(kept) = self.by_name.remove(name) {
            kept.ending.into_iter().chain(kept.switching).for_each(|reply| answer(Some(reply), Ok(())));
            answer(kept.starting, Err(Error::closed("the subscription was ended")));
            if let Some(next) = kept.successor {
                self.subscribe(*next);
            }
        }
    }

    /// It has ended, and not because the application wanted it.
    pub fn fail(&mut self, name: &SubscriptionName, error: Error) {
        if let Some(kept) = self.by_name.get_mut(name) {
            kept.feed.end(Some(error.clone()));
            answer(kept.starting.take(), Err(error));
        }
        self.remove(name);
    }

    /// The connection is gone: the hub knows none of them any more.
    pub fn disconnected(&mut self) {
        self.renew_at = None;
        self.retrying = 0;
        let mut left = Vec::new();
        for (name, kept) in &mut self.by_name {
            kept.feed.interrupt();
            kept.told_paused = false;
            kept.settling = 0;
            kept.retry_at = None;
            kept.switching.drain(..).for_each(|reply| answer(Some(reply), Ok(())));
            match kept.phase {
                Phase::Leaving | Phase::Left => left.push(name.clone()),
                _ => kept.phase = Phase::Waiting,
            }
        }
        left.iter().for_each(|name| self.remove(name));
        self.mark_all_due();
    }

    /// Handlers that have not finished.
    pub fn held(&self) -> usize {
        self.by_name.values().map(|kept| kept.feed.held()).sum()
    }

    /// The client has ended.
    pub fn close(&mut self, failure: Option<&Error>, told: &Error) {
        for (_, kept) in self.by_name.drain() {
            kept.feed.interrupt();
            kept.feed.end(failure.cloned());
            answer(kept.starting, Err(told.clone()));
            kept.ending.into_iter().chain(kept.switching).for_each(|reply| answer(Some(reply), Ok(())));
            if let Some(next) = kept.successor {
                next.feed.end(failure.cloned());
                answer(Some(next.reply), Err(told.clone()));
            }
        }
    }
}

pub(super) fn answer(reply: Option<Reply>, result: Result<(), Error>) {
    if let Some(reply) = reply {
        let _nobody_waits = reply.send(result);
    }
}

/// One that is known by its number has ended before; a name may be wrong.
fn gone(number: Option<u64>) -> Result<(), Error> {
    match number {
        Some(_) => Ok(()),
        None => Err(Problem::new(ErrorCode::NotSubscribed, "this client has no such subscription").into()),
    }
}

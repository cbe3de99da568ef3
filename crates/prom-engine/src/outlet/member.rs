//! A subscriber as a member of a group whose partitions have owners: what comes and goes, and whether it
//! and its hub are alive.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prom_store::LogName;
use prom_types::{Offset, TopicName};
use tokio::sync::Notify;

use super::{AssignmentChange, Outlet, TellAssignments};
use crate::deliver::Ticket;
use crate::dispatch::DispatcherWake;
use crate::event::EventOrigin;

impl Outlet {
    /// What people call it: the name it gave itself, or its number.
    pub fn member(&self) -> String {
        self.options.member.clone().unwrap_or_else(|| format!("subscriber-{}", self.id))
    }

    /// How many events are leased to it, and how many may be.
    pub fn window(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.in_flight, state.max_in_flight)
    }

    /// As [`Outlet::attach`], also for a log that let go of it before.
    pub fn attach_again(&self, log: &LogName, wake: &Arc<DispatcherWake>) {
        let mut state = self.state.lock();
        if !matches!(state.dispatchers.insert(log.clone(), Some(wake.clone())), Some(Some(_))) {
            state.attached += 1;
        }
    }

    /// The coordinator of a topic wants to hear of its end; true the first time.
    pub fn follow(&self, topic: &TopicName, wake: &Arc<Notify>) -> bool {
        let mut state = self.state.lock();
        let is_new = !state.coordinators.iter().any(|(known, _)| known == topic);
        if is_new {
            state.coordinators.push((topic.clone(), wake.clone()));
        }
        is_new
    }

    /// The topic is gone, and its coordinator with it.
    pub fn unfollow(&self, topic: &TopicName) {
        self.state.lock().coordinators.retain(|(known, _)| known != topic);
    }

    /// The dispatcher of a log ends because the topic is gone. Another may come if the topic is made again.
    pub fn let_go(&self, log: &LogName, wake: &Arc<DispatcherWake>) {
        self.detach(log, wake);
        self.state.lock().dispatchers.remove(log);
    }

    /// Events of this partition come from now on.
    pub fn assigned(&self, topic: &TopicName, partition: u32) {
        if self.options.assignments == TellAssignments::Yes {
            self.state.lock().assignments.assigned(topic, partition);
            self.arrived.notify_one();
        }
    }

    /// No more events of this partition come: what lies in the queue of it is taken out, in the same
    /// moment in which the subscriber is told.
    pub fn revoked(
        &self,
        topic: &TopicName,
        partition: u32,
        origin: &Arc<EventOrigin>,
        is_of_it: impl Fn(Offset) -> bool,
    ) -> Vec<Ticket> {
        let mut state = self.state.lock();
        let taken =
            state.queue.take_where(|delivery| Arc::ptr_eq(&delivery.origin, origin) && is_of_it(delivery.offset()));
        self.feed(&mut state);
        if self.options.assignments == TellAssignments::Yes {
            state.assignments.revoked(topic, partition);
            drop(state);
            self.arrived.notify_one();
        }
        taken
    }

    /// Partitions that came and went since the last look.
    pub fn take_assignments(&self) -> Vec<AssignmentChange> {
        self.state.lock().assignments.take()
    }

    /// A hub that slept hands out nothing: another may have delivered it, and the subscription is about to end.
    pub(super) fn allowed(&self, now: Duration, most: usize) -> usize {
        let has_slept = self.life.as_ref().is_some_and(|life| life.is_over(now));
        if has_slept { 0 } else { most }
    }

    /// It was alive at this time.
    pub fn heartbeat(&self, heard: Duration) {
        self.heard_micros.fetch_max(micros(heard), Ordering::Relaxed);
    }

    pub fn set_watched(&self, now: Duration) {
        self.watched_micros.fetch_max(micros(now), Ordering::Relaxed);
    }

    /// When it was last alive, for a decision at `now` whether it has gone silent. Where this was not checked
    /// since its time was over, that is not known yet, and it is given a little longer.
    pub fn heard_by(&self, now: Duration, ttl: Duration) -> Duration {
        let heard = Duration::from_micros(self.heard_micros.load(Ordering::Relaxed));
        let watched = Duration::from_micros(self.watched_micros.load(Ordering::Relaxed));
        if !watched.is_zero() && watched < heard.saturating_add(ttl) {
            heard.max(now.saturating_sub(ttl) + ttl / 16)
        } else {
            heard
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

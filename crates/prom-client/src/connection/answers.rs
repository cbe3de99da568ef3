//! FrameStyle that were sent and not answered yet, by correlation.

use std::collections::BTreeMap;
use std::time::Duration;

use prom_protocol::frame::SubscriptionName;
use tokio::time::Instant;

use crate::mailbox::CommandReply;
use crate::pending::Pending;
use crate::settle::PendingSettlement;

/// What an answer is for.
pub(super) enum Awaited {
    /// In the order of their events in the frame.
    Publish(Vec<Pending>),
    Settled(Vec<PendingSettlement>),
    Subscribed {
        name: SubscriptionName,
        number: u64,
    },
    Unsubscribed {
        name: SubscriptionName,
        number: u64,
    },
    Switched(Vec<CommandReply>),
    Auth,
}

/// Correlations count up, so this is in the order of sending.
pub(super) struct AwaitedAnswers {
    next_corr: u64,
    awaited: BTreeMap<u64, Awaited>,
}

impl AwaitedAnswers {
    /// 0 was AUTH.
    pub fn new() -> Self {
        Self { next_corr: 1, awaited: BTreeMap::new() }
    }

    /// The correlation that [`AwaitedAnswers::wait_for`] gives next.
    pub fn next_corr(&self) -> u64 {
        self.next_corr
    }

    pub fn wait_for(&mut self, awaited: Awaited) {
        self.awaited.insert(self.next_corr, awaited);
        self.next_corr += 1;
    }

    pub fn take(&mut self, corr: u64) -> Option<Awaited> {
        self.awaited.remove(&corr)
    }

    pub fn is_empty(&self) -> bool {
        self.awaited.is_empty()
    }

    /// Everything, in the order of sending.
    pub fn drain(&mut self) -> impl Iterator<Item = Awaited> {
        std::mem::take(&mut self.awaited).into_values()
    }

    /// Gives up publishes that took too long; their places stay for the answers. Returns the earliest deadline left.
    pub fn expire(&mut self, now: Instant, after: Duration, reason: &str) -> Option<Instant> {
        let mut earliest: Option<Instant> = None;
        let publishes = self.awaited.values_mut().filter_map(|awaited| match awaited {
            Awaited::Publish(list) => Some(list),
            _ => None,
        });
        for pending in publishes.flatten() {
            let Some(deadline) = pending.deadline.filter(|_| !pending.is_over()) else {
                continue;
            };
            if deadline <= now {
                pending.give_up(after, reason)
            } else {
                earliest = Some(earliest.map_or(deadline, |other| other.min(deadline)))
            }
        }
        earliest
    }
}

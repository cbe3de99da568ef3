//! The coordinator's inputs and what follows from each.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{CoordinatedMember, Coordination, Holding, Partition};
use crate::group::assignment::{Candidate, assign};

/// Decides who owns what. See the [module](super) for the picture.
#[derive(Debug)]
pub struct Coordinator {
    state: Coordination,
    /// What a partition without any owner yet counts from.
    first_epoch: u64,
    /// How long an owner may finish what it holds.
    handover: Duration,
    /// Until when an owner that stops may finish, and since when it does; by partition.
    stopping: BTreeMap<usize, Stopping>,
    /// When members with a time to live were last heard.
    heard: BTreeMap<String, Duration>,
    outputs: Vec<CoordinatorOutput>,
}

#[derive(Debug, Clone, Copy)]
struct Stopping {
    since: Duration,
    until: Duration,
}

/// What has to be done, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoordinatorOutput {
    /// The owner gets nothing more of the partition; answer with [`Coordinator::drained`] when it
    /// holds nothing of it any more.
    Stop { partition: u32, member: String, epoch: u64 },
    /// Whatever the owner still holds of the partition is taken back.
    Fence { partition: u32, member: String, epoch: u64 },
    /// This one owns the partition from now on. `waited` is how long it had no owner, or was
    /// being finished.
    Start { partition: u32, member: String, epoch: u64, waited: Duration },
    /// It was silent for too long and is no member any more.
    Expired { member: String },
}

impl Coordinator {
    /// Goes on from what was decided before. No epoch at or below `first_epoch` is given out.
    pub fn new(mut state: Coordination, partitions: usize, first_epoch: u64, handover: Duration) -> Self {
        state.members.clear();
        for partition in &mut state.partitions {
            partition.holding = Holding::Unowned;
            partition.epoch = partition.epoch.max(first_epoch);
        }
        let mut coordinator = Self {
            state,
            first_epoch,
            handover,
            stopping: BTreeMap::new(),
            heard: BTreeMap::new(),
            outputs: Vec::new(),
        };
        coordinator.grow(partitions);
        coordinator
    }

    /// What was decided so far.
    pub fn state(&self) -> &Coordination {
        &self.state
    }

    /// Everything to be done since the last call.
    pub fn take_outputs(&mut self) -> Vec<CoordinatorOutput> {
        std::mem::take(&mut self.outputs)
    }

    /// Takes part from now on. Partitions move with the next [`Self::rebalance`].
    pub fn join(&mut self, now: Duration, name: &str, member: CoordinatedMember) {
        if member.ttl_ms.is_some() {
            self.heard.insert(name.to_owned(), now);
        }
        self.state.members.insert(name.to_owned(), member);
    }

    /// It is gone, and what it held with it.
    pub fn leave(&mut self, now: Duration, name: &str) {
        if self.state.members.remove(name).is_none() {
            return;
        }
        self.heard.remove(name);
        for at in 0..self.state.partitions.len() {
            if self.state.partitions[at].holder() == Some(name) {
                self.fence(now, at);
            }
        }
    }

    /// It was alive at `heard`; older news than what is known changes nothing.
    pub fn heartbeat(&mut self, name: &str, heard: Duration) {
        if let Some(known) = self.heard.get_mut(name) {
            *known = heard.max(*known);
        }
    }

    /// The topic has this many partitions now; never fewer than before.
    pub fn grow(&mut self, partitions: usize) {
        let new = Partition { epoch: self.first_epoch, holding: Holding::Unowned, target: None };
        if partitions > self.state.partitions.len() {
            self.state.partitions.resize(partitions, new);
        }
    }

    /// An owner that was told to stop holds nothing any more.
    pub fn drained(&mut self, now: Duration, partition: u32, epoch: u64) {
        let at = partition as usize;
        let known = self.state.partitions.get(at);
        if known.is_some_and(|known| known.epoch == epoch && matches!(known.holding, Holding::Stopping(_))) {
            self.state.partitions[at].holding = Holding::Unowned;
            self.start(now, at);
        }
    }

    /// Members that were silent for too long go; owners that did not finish in time are fenced.
    pub fn tick(&mut self, now: Duration) {
        let silent = |(name, heard): (&String, &Duration)| {
            let ttl_ms = self.state.members.get(name)?.ttl_ms?;
            (heard.saturating_add(Duration::from_millis(ttl_ms)) <= now).then(|| name.clone())
        };
        let expired: Vec<String> = self.heard.iter().filter_map(silent).collect();
        for member in &expired {
            self.leave(now, member);
            self.outputs.push(CoordinatorOutput::Expired { member: member.clone() });
        }
        if !expired.is_empty() {
            self.rebalance(now);
        }
        let overdue: Vec<usize> =
            self.stopping.iter().filter(|(_, stopping)| stopping.until <= now).map(|(at, _)| *at).collect();
        for at in overdue {
            self.fence(now, at);
            self.start(now, at);
        }
    }

    /// When to call [`Self::tick`] next.
    pub fn next_deadline(&self) -> Option<Duration> {
        let ends = |(name, heard): (&String, &Duration)| {
            let ttl_ms = self.state.members.get(name)?.ttl_ms?;
            Some(heard.saturating_add(Duration::from_millis(ttl_ms)))
        };
        let expiry = self.heard.iter().filter_map(ends).min();
        let handover = self.stopping.values().map(|stopping| stopping.until).min();
        expiry.into_iter().chain(handover).min()
    }

    /// Decides again who is to own what, after members or partitions changed.
    pub fn rebalance(&mut self, now: Duration) {
        let targets = self.targets();
        self.state.generation += 1;
        for (at, target) in targets.into_iter().enumerate() {
            self.state.partitions[at].target = target;
            let partition = &mut self.state.partitions[at];
            match std::mem::take(&mut partition.holding) {
                Holding::Owner(member) if partition.target.as_ref() != Some(&member) => {
                    partition.holding = Holding::Stopping(member.clone());
                    let epoch = partition.epoch;
                    let until = now.saturating_add(self.handover);
                    self.stopping.insert(at, Stopping { since: now, until });
                    self.outputs.push(CoordinatorOutput::Stop { partition: number(at), member, epoch });
                }
                Holding::Unowned => self.start(now, at),
                unchanged => partition.holding = unchanged,
            }
        }
    }

    fn targets(&self) -> Vec<Option<String>> {
        let candidate = |(id, member): (&'_ String, &'_ CoordinatedMember)| (id.clone(), member.clone());
        let members: Vec<(String, CoordinatedMember)> = self.state.members.iter().map(candidate).collect();
        let candidates: Vec<Candidate<'_>> =
            members.iter().map(|(id, member)| Candidate { id, weight: member.weight, pins: &member.pins }).collect();
        let before: Vec<Option<&str>> =
            self.state.partitions.iter().map(|partition| partition.target.as_deref()).collect();
        assign(&candidates, &before).into_iter().map(|owner| owner.map(str::to_owned)).collect()
    }

    fn fence(&mut self, now: Duration, at: usize) {
        let partition = &mut self.state.partitions[at];
        if let Holding::Owner(member) | Holding::Stopping(member) = std::mem::take(&mut partition.holding) {
            self.outputs.push(CoordinatorOutput::Fence { partition: number(at), member, epoch: partition.epoch });
            // How long it waits for its next owner counts from when the last one was told.
            self.stopping.entry(at).or_insert(Stopping { since: now, until: Duration::MAX });
        }
    }

    /// Hands a partition without an owner to the member that is meant to have it.
    fn start(&mut self, now: Duration, at: usize) {
        let partition = &mut self.state.partitions[at];
        let Some(member) = partition.target.clone() else {
            self.stopping.remove(&at);
            return;
        };
        partition.epoch += 1;
        partition.holding = Holding::Owner(member.clone());
        let epoch = partition.epoch;
        let waited = self.stopping.remove(&at).map_or(Duration::ZERO, |stopping| now.saturating_sub(stopping.since));
        self.outputs.push(CoordinatorOutput::Start { partition: number(at), member, epoch, waited });
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

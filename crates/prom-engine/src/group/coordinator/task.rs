//! The task around the coordinator: it hears of members and dispatchers, and carries out what the
//! machine decides. Runs while there are members.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use prom_store::LogName;
use prom_types::TopicName;
use tokio::sync::oneshot;

use super::desk::Desk;
use super::{CoordinatedMember, Coordinator, CoordinatorOutput};
use crate::Error;
use crate::bus::{BusPhase, Core};
use crate::dispatch::task::{DispatchRequest, LaneOrder};
use crate::group::{Group, GroupOptions, Layout, Retired};
use crate::limits::{CONTENTION_TRIES, FIRST_RETRY, HANDOVER};
use crate::meters::GroupMeter;
use crate::outlet::Outlet;
use crate::supervise::TaskName;
use crate::topic::millis;

/// Changes of owners between two takeovers of a cursor. The epoch of a partition is that of the cursor,
/// which no restart repeats, and below it the changes since.
const EPOCHS_PER_TAKEOVER: u64 = 1 << 20;

/// What a coordinator is started with.
#[derive(Clone)]
pub(super) struct CoordinatorSetup {
    pub core: Arc<Core>,
    pub group: Arc<Group>,
    pub options: Arc<GroupOptions>,
    pub desk: Arc<Desk>,
}

struct Task {
    core: Arc<Core>,
    group: Arc<Group>,
    options: Arc<GroupOptions>,
    desk: Arc<Desk>,
    layout: Layout,
    machine: Coordinator,
    members: BTreeMap<String, Arc<Outlet>>,
    meter: Arc<GroupMeter>,
}

/// Runs a coordinator until it has no members. If it panics they all have to join again: who owned what is not known.
pub(super) async fn run(setup: CoordinatorSetup) {
    let CoordinatorSetup { core, group, desk, .. } = setup.clone();
    let name = TaskName::one("coordinator", format_args!("{} of {}", desk.topic, group.name));
    tokio::time::sleep(core.failures.hold_back(&name)).await;
    let mut running = None;
    if core.failures.watch(&name, coordinate(setup, &mut running)).await.is_err() {
        let members = running.map_or_else(BTreeMap::new, |task: Task| task.members);
        for outlet in members.into_values().chain(desk.give_up()) {
            outlet.fail(Error::Restarted { group: group.name.clone(), topic: desk.topic.clone() });
        }
    }
}

/// In `running` its members can be found if it panics.
async fn coordinate(setup: CoordinatorSetup, running: &mut Option<Task>) {
    let Some(takeover) = takeover(&setup).await else {
        return;
    };
    let CoordinatorSetup { core, group, options, desk } = setup;
    let Some(layout) = layout(&core, &desk.topic, &options) else {
        return;
    };
    let first_epoch = takeover.saturating_mul(EPOCHS_PER_TAKEOVER);
    let machine = Coordinator::new(desk.state(), layout.partitions() as usize, first_epoch, HANDOVER);
    let meter = group.meter(&desk.topic);
    running.insert(Task { core, group, options, desk, layout, machine, members: BTreeMap::new(), meter }).go().await;
}

/// The epoch of the topic's first cursor, raised by this process. `None` when the bus stops.
async fn takeover(setup: &CoordinatorSetup) -> Option<u64> {
    let first = LogName::new(setup.desk.topic.clone(), 0);
    while setup.core.phase() == BusPhase::Open && !setup.desk.is_over() {
        let (reply, answer) = oneshot::channel();
        let mailbox = setup.group.mailbox(&setup.core, &first, &setup.options);
        if mailbox.send(DispatchRequest::Epoch(reply)).await.is_ok()
            && let Ok(epoch) = answer.await
        {
            return Some(epoch);
        }
        tokio::time::sleep(FIRST_RETRY).await;
    }
    None
}

fn layout(core: &Core, topic: &TopicName, options: &GroupOptions) -> Option<Layout> {
    options.layout(core.topics.get(topic)?.logs().len())
}

impl Task {
    async fn go(&mut self) {
        let mut phase = self.core.watch_phase();
        while *phase.borrow_and_update() == BusPhase::Open {
            if self.desk.is_over() {
                self.members.values().for_each(|outlet| outlet.unfollow(&self.desk.topic));
                return;
            }
            self.hear();
            self.carry_out().await;
            self.show();
            if self.members.is_empty() && self.desk.retire() == Retired::Yes {
                return;
            }
            let wait = self.machine.next_deadline().map(|next| next.saturating_sub(self.now()));
            tokio::select! {
                () = self.desk.wake.notified() => {}
                _ = phase.changed() => {}
                () = tokio::time::sleep(wait.unwrap_or(Duration::MAX)), if wait.is_some() => {}
            }
        }
    }

    fn now(&self) -> Duration {
        self.core.clock.monotonic()
    }

    /// Takes in everything that happened; many changes at once are one rebalance.
    fn hear(&mut self) {
        let now = self.now();
        let arrivals = self.desk.take_arrivals();
        for (partition, epoch) in arrivals.drained {
            self.machine.drained(now, partition, epoch);
        }
        let mut changed = self.let_go_of_the_ended(now);
        for outlet in arrivals.joining.into_iter().filter(|outlet| !outlet.is_ended()) {
            let name = self.name_for(&outlet);
            let options = &outlet.options;
            let member = CoordinatedMember {
                weight: options.weight,
                pins: options.pins.clone(),
                ttl_ms: options.ttl.map(millis),
            };
            self.machine.join(now, &name, member);
            self.members.insert(name, outlet);
            changed = true;
        }
        if let Some(layout) = layout(&self.core, &self.desk.topic, &self.options)
            && layout != self.layout
        {
            self.layout = layout;
            self.machine.grow(layout.partitions() as usize);
            changed = true;
        }
        for (name, outlet) in &self.members {
            if let Some(ttl) = outlet.options.ttl {
                self.machine.heartbeat(name, outlet.heard_by(now, ttl));
            }
        }
        if changed {
            self.machine.rebalance(now);
        }
        self.machine.tick(now);
    }

    fn let_go_of_the_ended(&mut self, now: Duration) -> bool {
        let is_ended = |(name, outlet): (&String, &Arc<Outlet>)| outlet.is_ended().then(|| name.clone());
        let ended: Vec<String> = self.members.iter().filter_map(is_ended).collect();
        for name in &ended {
            self.members.remove(name);
            self.machine.leave(now, name);
        }
        !ended.is_empty()
    }

    /// The name a subscriber gave itself; where another has it, with its number behind it.
    fn name_for(&self, outlet: &Outlet) -> String {
        let plain = outlet.options.member.clone().unwrap_or_else(|| format!("subscriber-{}", outlet.id));
        if self.members.contains_key(&plain) { format!("{plain}~{}", outlet.id) } else { plain }
    }

    async fn carry_out(&mut self) {
        loop {
            let outputs = self.machine.take_outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                self.carry_out_one(output).await;
            }
        }
    }

    async fn carry_out_one(&mut self, output: CoordinatorOutput) {
        match output {
            CoordinatorOutput::Stop { partition, member, epoch } => {
                tracing::debug!(group = %self.group.name, topic = %self.desk.topic, partition, member, epoch, "stops");
                let (log, lane) = self.place(partition);
                let told = match self.group.running_mailbox(&log) {
                    Some(mailbox) => {
                        mailbox.send(DispatchRequest::Lane(LaneOrder::Revoke { lane, epoch })).await.is_ok()
                    }
                    None => false,
                };
                if !told {
                    // It has no dispatcher, so nothing is leased.
                    let now = self.now();
                    self.machine.drained(now, partition, epoch);
                }
            }
            CoordinatorOutput::Fence { partition, member, epoch } => {
                tracing::debug!(group = %self.group.name, topic = %self.desk.topic, partition, member, epoch, "fenced");
                let (log, lane) = self.place(partition);
                if let Some(mailbox) = self.group.running_mailbox(&log) {
                    // One that ended has taken everything back already.
                    drop(mailbox.send(DispatchRequest::Lane(LaneOrder::Fence { lane, epoch })).await);
                }
            }
            CoordinatorOutput::Start { partition, member, epoch, waited } => {
                self.meter.moves.add(1);
                self.meter.handovers.record(waited);
                self.start(partition, &member, epoch).await;
            }
            CoordinatorOutput::Expired { member } => {
                tracing::warn!(group = %self.group.name, topic = %self.desk.topic, member, "was silent for too long");
                if let Some(outlet) = self.members.remove(&member) {
                    let ttl_ms = outlet.options.ttl.map_or(0, millis);
                    outlet.fail(Error::MemberExpired { group: self.group.name.clone(), member, ttl_ms });
                }
            }
        }
    }

    async fn start(&self, partition: u32, member: &str, epoch: u64) {
        let (log, lane) = self.place(partition);
        for _ in 0..CONTENTION_TRIES {
            // A member that has ended meanwhile is let go at the next pass.
            let Some(outlet) = self.members.get(member).filter(|outlet| !outlet.is_ended()) else {
                return;
            };
            let order = LaneOrder::Assign { lane, outlet: outlet.clone(), epoch };
            let mailbox = self.group.mailbox(&self.core, &log, &self.options);
            if mailbox.send(DispatchRequest::Lane(order)).await.is_ok() {
                tracing::debug!(group = %self.group.name, %log, lane, member, epoch, "starts");
                return;
            }
            // A dispatcher that retires is off the list in a moment.
            tokio::task::yield_now().await;
        }
        tracing::error!(group = %self.group.name, %log, lane, member, "no dispatcher takes the partition");
    }

    fn place(&self, partition: u32) -> (LogName, u32) {
        let (log_partition, lane) = self.layout.place(partition);
        (LogName::new(self.desk.topic.clone(), log_partition), lane)
    }

    fn show(&self) {
        let meta = |(name, outlet): (&String, &Arc<Outlet>)| Some((name.clone(), outlet.options.meta.clone()?));
        let metas = self.members.iter().filter_map(meta).collect();
        self.desk.show(self.machine.state(), self.layout, metas);
    }
}

impl Layout {
    /// For the dispatchers of a topic that is divided so.
    pub fn lane_count(self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.lanes())
    }
}

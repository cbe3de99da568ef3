//! The coordinator under random members, against a reference that only knows the promises. A failure
//! names its seed; `PROM_SEED` walks it again, `PROM_STEPS` makes all walks longer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::*;

const HANDOVER: Duration = Duration::from_millis(500);
const TTL_MS: u64 = 1000;

struct Rng(u64);

impl Rng {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// In whose hands a partition really is.
#[derive(Debug, Clone, PartialEq)]
struct Hands {
    member: String,
    epoch: u64,
    stopped_at: Option<Duration>,
}

struct World {
    seed: u64,
    rng: Rng,
    now: Duration,
    machine: Coordinator,
    members: BTreeMap<String, Option<Duration>>,
    hands: Vec<Option<Hands>>,
    epochs: Vec<BTreeSet<u64>>,
    named: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let partitions = 1 + rng.below(64);
        let first_epoch = rng.below(1000) as u64;
        Self {
            machine: Coordinator::new(Coordination::default(), partitions, first_epoch, HANDOVER),
            hands: vec![None; partitions],
            epochs: vec![BTreeSet::from([first_epoch]); partitions],
            members: BTreeMap::new(),
            now: Duration::ZERO,
            named: 0,
            seed,
            rng,
        }
    }

    fn step(&mut self) {
        let before = self.machine.state().clone();
        let mut gone: BTreeSet<String> = BTreeSet::new();
        match self.rng.below(10) {
            0..=1 if self.members.len() < 30 => self.join(),
            2 => gone.extend(self.leave()),
            3..=5 => self.drain(),
            6 => self.hear(),
            7 if self.hands.len() < 80 => {
                self.machine.grow(self.hands.len() + 1);
                self.machine.rebalance(self.now);
                self.hands.push(None);
                let epoch = self.machine.state().partitions[self.hands.len() - 1].epoch;
                self.epochs.push(BTreeSet::from([epoch.saturating_sub(1)]));
            }
            _ => {
                self.now += Duration::from_millis(self.rng.below(300) as u64);
                let ends = |heard: &Duration| *heard + Duration::from_millis(TTL_MS) <= self.now;
                let silent = self.members.iter().filter(|(_, heard)| heard.as_ref().is_some_and(ends));
                gone.extend(silent.map(|(name, _)| name.clone()));
                self.machine.tick(self.now);
                self.members.retain(|name, _| !gone.contains(name));
            }
        }
        self.carry_out(&before, &gone);
        let known: Vec<&String> = self.machine.state().members.keys().collect();
        assert_eq!(known, self.members.keys().collect::<Vec<_>>(), "seed {}", self.seed);
    }

    fn join(&mut self) {
        let name = format!("m{}", self.named);
        self.named += 1;
        let ttl_ms = (self.rng.below(2) == 0).then_some(TTL_MS);
        self.members.insert(name.clone(), ttl_ms.map(|_| self.now));
        self.machine.join(self.now, &name, CoordinatedMember { weight: 1, pins: Vec::new(), ttl_ms });
        self.machine.rebalance(self.now);
    }

    fn leave(&mut self) -> Option<String> {
        let at = self.rng.below(self.members.len().max(1));
        let name = self.members.keys().nth(at).cloned()?;
        self.members.remove(&name);
        self.machine.leave(self.now, &name);
        self.machine.rebalance(self.now);
        Some(name)
    }

    fn hear(&mut self) {
        for (name, heard) in &mut self.members {
            if let Some(heard) = heard {
                *heard = self.now;
                self.machine.heartbeat(name, self.now);
            }
        }
    }

    /// Some owner that was told to stop has finished, or an old word of one that did comes late.
    fn drain(&mut self) {
        let at = self.rng.below(self.hands.len());
        let Some(hands) = self.hands[at].clone() else { return };
        if self.rng.below(8) == 0 {
            self.machine.drained(self.now, at as u32, hands.epoch - 1);
        } else if hands.stopped_at.is_some() {
            self.hands[at] = None;
            self.machine.drained(self.now, at as u32, hands.epoch);
        }
    }

    fn carry_out(&mut self, before: &Coordination, gone: &BTreeSet<String>) {
        for output in self.machine.take_outputs() {
            let told = format!("seed {}: {output:?} at {:?}", self.seed, self.now);
            match output {
                CoordinatorOutput::Stop { partition, member, epoch } => {
                    let at = partition as usize;
                    let hands = self.hands[at].as_mut().expect(&told);
                    assert_eq!((&hands.member, hands.epoch, hands.stopped_at), (&member, epoch, None), "{told}");
                    hands.stopped_at = Some(self.now);
                    let target = &self.machine.state().partitions[at].target;
                    assert_ne!(before.partitions[at].target, *target, "{told}: it does not move");
                }
                CoordinatorOutput::Fence { partition, member, epoch } => {
                    let hands = self.hands[partition as usize].take().expect(&told);
                    assert_eq!((&hands.member, hands.epoch), (&member, epoch), "{told}");
                    let overdue = hands.stopped_at.is_some_and(|stopped| stopped + HANDOVER <= self.now);
                    assert!(overdue || gone.contains(&member), "{told}: it had time left");
                }
                CoordinatorOutput::Start { partition, member, epoch, .. } => {
                    let at = partition as usize;
                    assert_eq!(self.hands[at], None, "{told}: two owners");
                    assert!(self.members.contains_key(&member), "{told}: no member");
                    assert!(self.epochs[at].last().is_some_and(|last| *last < epoch), "{told}");
                    self.epochs[at].insert(epoch);
                    self.hands[at] = Some(Hands { member, epoch, stopped_at: None });
                }
                CoordinatorOutput::Expired { member } => assert!(gone.contains(&member), "{told}: it was heard"),
            }
        }
        for (partition, hands) in self.machine.state().partitions.iter().zip(&self.hands) {
            assert_eq!(partition.holder(), hands.as_ref().map(|hands| hands.member.as_str()), "seed {}", self.seed);
        }
    }

    /// When nothing happens any more, everything is owned, evenly.
    fn settle(&mut self) {
        self.hear();
        let before = self.machine.state().clone();
        self.now += HANDOVER;
        self.machine.tick(self.now);
        self.carry_out(&before, &BTreeSet::new());
        if self.members.is_empty() {
            return;
        }
        let owners: Vec<&Hands> = self.hands.iter().flatten().collect();
        assert_eq!(owners.len(), self.hands.len(), "seed {}: each has an owner", self.seed);
        let sizes = self.members.keys().map(|name| owners.iter().filter(|hands| hands.member == *name).count());
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        assert!(most - least <= 1, "seed {}: {least} to {most}", self.seed);
    }
}

#[test]
fn a_partition_has_one_owner_at_a_time_and_only_those_that_move_pause() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let steps = asked("PROM_STEPS").unwrap_or(50_000);
    let seeds = match asked("PROM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..steps / 500,
    };
    for seed in seeds {
        let mut world = World::new(seed);
        for _ in 0..500 {
            world.step();
        }
        world.settle();
    }
}

#[test]
fn what_was_decided_survives_as_a_document_and_epochs_go_on_from_it() {
    let mut first = Coordinator::new(Coordination::default(), 4, 100, HANDOVER);
    let member = CoordinatedMember { weight: 2, pins: vec![3], ttl_ms: Some(TTL_MS) };
    first.join(Duration::ZERO, "a", member);
    first.rebalance(Duration::ZERO);
    let text = serde_json::to_string(first.state()).unwrap();
    let read: Coordination = serde_json::from_str(&text).unwrap();
    assert_eq!(&read, first.state(), "{text}");
    let mut next = Coordinator::new(read, 4, 0, HANDOVER);
    next.join(Duration::ZERO, "b", CoordinatedMember { weight: 1, pins: Vec::new(), ttl_ms: None });
    next.rebalance(Duration::ZERO);
    let started: Vec<u64> = next
        .take_outputs()
        .into_iter()
        .filter_map(|output| if let CoordinatorOutput::Start { epoch, .. } = output { Some(epoch) } else { None })
        .collect();
    assert_eq!(started, [102; 4]);
}

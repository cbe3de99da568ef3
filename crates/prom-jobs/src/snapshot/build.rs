//! Making a snapshot, step by step.

use prom_engine::{Bus, Error, KnownHistory, UnitOfWork};
use prom_store::{Bounds, StoreLease};
use prom_types::{Headers, IdMaker, Json, NewEvent, Offset, TopicName};
use serde_json::json;

use super::document::{KnownRuns, SnapshotRun, complete, runs, write_complete, write_run};
use super::place::{make_place, snapshot_topic};
use super::{SNAPSHOT_HEADER, Snapshot, SnapshotPartition, SnapshotReader};
use crate::JobError;
use crate::limits::{
    SNAPSHOT_LEASE, SNAPSHOT_ROOM_BYTES, SNAPSHOT_ROOM_KEYS, SNAPSHOT_STEP_BYTES, SNAPSHOT_STEP_EVENTS, START_TRIES,
};
use crate::newest::{KeyState, NewestByKey, ScanRoom, key_after};
use crate::source::at;

/// A snapshot in the making.
pub struct SnapshotBuild {
    bus: Bus,
    topic: TopicName,
    place: TopicName,
    holder: String,
    lease: Option<StoreLease>,
    known: KnownRuns,
    /// What the last scan found and is not written yet.
    piece: Option<Piece>,
}

/// A piece of the state: everything after the keys that are written, up to a key.
struct Piece {
    states: Vec<KeyState>,
    /// How many of them are written.
    written: usize,
    /// All before it is in the piece; `None`: it is the last piece.
    upto: Option<String>,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotStep {
    /// So many live keys are written.
    Written(u64),
    /// Another process makes it at the moment.
    Elsewhere(u64),
    /// It is complete. Where nothing was new, it is the one before it.
    Done(Snapshot),
}

impl SnapshotBuild {
    /// Begins a snapshot, or goes on with the one under way.
    pub async fn start(bus: &Bus, topic: &TopicName) -> Result<Self, JobError> {
        let place = snapshot_topic(topic)?;
        make_place(bus, topic, &place).await?;
        let holder = IdMaker::new().make(bus.clock().now_ms()).to_string();
        let known = runs(bus, topic).await?;
        Ok(Self { bus: bus.clone(), topic: topic.clone(), place, holder, lease: None, known, piece: None })
    }

    /// Goes some way.
    pub async fn step(&mut self) -> Result<SnapshotStep, JobError> {
        if !self.has_lease().await? {
            self.forget(runs(&self.bus, &self.topic).await?);
            return Ok(SnapshotStep::Elsewhere(self.written()));
        }
        for _ in 0..START_TRIES {
            match self.go_on().await {
                Err(JobError::Bus(Error::Conflict { .. })) => self.forget(runs(&self.bus, &self.topic).await?),
                // Its base was removed: it begins again, without it.
                Err(JobError::SnapshotGone { .. }) => self.abandon().await?,
                done => return done,
            }
        }
        self.go_on().await
    }

    /// Lets others go on at once.
    pub async fn give_back(&mut self) {
        if let Some(lease) = self.lease.take()
            && let Err(error) = self.bus.release_lease(&lease).await
        {
            tracing::debug!(topic = %self.topic, %error, "the lease of a snapshot could not be given back; it runs out");
        }
    }

    fn written(&self) -> u64 {
        self.known.runs.running.as_ref().map_or(0, |run| run.counts.iter().sum())
    }

    fn forget(&mut self, known: KnownRuns) {
        (self.known, self.piece) = (known, None);
    }

    /// Of several processes one makes the snapshot; what the others would commit is refused in any case.
    async fn has_lease(&mut self) -> Result<bool, JobError> {
        let had = self.lease.is_some();
        let name = format!("snapshot {}", self.topic);
        self.lease = self.bus.acquire_lease(&name, &self.holder, SNAPSHOT_LEASE).await?;
        if !had && self.lease.is_some() {
            self.forget(runs(&self.bus, &self.topic).await?);
        }
        Ok(self.lease.is_some())
    }

    async fn go_on(&mut self) -> Result<SnapshotStep, JobError> {
        let Some(run) = self.known.runs.running.clone() else {
            return self.begin().await;
        };
        let piece = match self.piece.take() {
            Some(piece) => piece,
            None => self.read_piece(&run).await?,
        };
        if piece.written == piece.states.len() && piece.upto.is_none() {
            return self.finish(run).await;
        }
        self.write_piece(run, piece).await
    }

    /// Fixes what it covers. Where nothing is new the snapshot before is as good as another.
    async fn begin(&mut self) -> Result<SnapshotStep, JobError> {
        let settings = self.bus.topic_settings(&self.topic).await?;
        self.hold().await?;
        // Only now: compaction does not reach beyond what is read here.
        let bounds = self.bus.bounds(&self.topic).await?;
        let KnownHistory { history, revision } = self.bus.history(&self.topic).await?;
        let covered: Vec<Offset> = bounds.iter().map(|bounds| bounds.next).collect();
        let complete = complete(&self.bus, &self.topic, history.life).await?;
        let is_usable = |snapshot: &&Snapshot| follows(snapshot, &history, &bounds);
        let base = complete.iter().rev().find(is_usable).cloned();
        if let Some(base) = base.as_ref().filter(|base| (0..covered.len()).all(|at| base.covered(at) == covered[at])) {
            let mut freed = history.clone();
            freed.compact_before = settings.snapshot.map(|_| covered.clone());
            let mut work = self.bus.unit_of_work();
            work.note_history(&self.topic, &KnownHistory { history, revision }, &freed)?;
            work.commit().await?;
            return Ok(SnapshotStep::Done(base.clone()));
        }
        let was_whole = |(partition, bounds): (u32, &Bounds)| history.is_whole(partition, bounds.start);
        let whole = base.as_ref().map_or_else(|| (0..).zip(&bounds).all(was_whole), |base| base.whole);
        let from = (0..).zip(&bounds).map(|(partition, bounds)| match &base {
            Some(base) => base.covered(partition).max(bounds.start),
            None => bounds.start,
        });
        let place_ends = self.bus.bounds(&self.place).await?.iter().map(|bounds| bounds.next).collect::<Vec<_>>();
        let mut covered_ts = Vec::with_capacity(covered.len());
        for (partition, covered) in (0..).zip(&covered) {
            covered_ts.push(self.bus.stored_before(&self.topic, partition, *covered).await?);
        }
        let run = SnapshotRun {
            id: IdMaker::new().make(self.bus.clock().now_ms()),
            life: history.life,
            began_ts: self.bus.clock().now_ms(),
            from: from.collect(),
            covered_ts,
            first: (0..covered.len()).map(|partition| at(&place_ends, partition)).collect(),
            counts: vec![0; covered.len()],
            covered,
            from_key: String::new(),
            whole,
            base,
        };
        self.store_run(self.bus.unit_of_work(), Some(run)).await?;
        Ok(SnapshotStep::Written(0))
    }

    /// From now on no compaction begins that reaches further than the topic does.
    async fn hold(&self) -> Result<(), JobError> {
        for _ in 0..START_TRIES {
            let bounds = self.bus.bounds(&self.topic).await?;
            let known = self.bus.history(&self.topic).await?;
            if known.history.compact_before.is_some() {
                return Ok(());
            }
            let mut held = known.history.clone();
            held.compact_before = Some(bounds.iter().map(|bounds| bounds.next).collect());
            let mut work = self.bus.unit_of_work();
            work.note_history(&self.topic, &known, &held)?;
            match work.commit().await {
                Err(Error::Conflict { .. }) => {}
                held => return Ok(held.map(drop)?),
            }
        }
        Err(Error::Contended { what: format!("history of {}", self.topic) }.into())
    }

    /// The next live keys: those of the base, with what the events since made of them.
    async fn read_piece(&self, run: &SnapshotRun) -> Result<Piece, JobError> {
        let room = ScanRoom { keys: SNAPSHOT_ROOM_KEYS, bytes: SNAPSHOT_ROOM_BYTES };
        let scan = NewestByKey::new(run.from_key.clone(), room);
        let scan = scan.scan(&self.bus, &self.topic, &run.from, &run.covered).await?;
        let mut upto = scan.upto.clone();
        let mut since = scan.into_found();
        let mut states = Vec::new();
        let mut bytes = 0;
        if let Some(base) = &run.base {
            let mut base = SnapshotReader::open(&self.bus, &self.topic, base, &run.from_key).await?;
            while let Some(key) = base.peek().await? {
                if upto.as_deref().is_some_and(|upto| key >= upto) {
                    break;
                }
                if bytes >= SNAPSHOT_ROOM_BYTES {
                    upto = Some(key.to_owned());
                    break;
                }
                let Some(state) = base.next().await? else { break };
                bytes += state.event.as_ref().map_or(0, Vec::len);
                let newer = since.get(&state.key).is_some_and(|newer| newer.is_newer(&state));
                if !newer {
                    since.insert(state.key.clone(), state);
                }
            }
        }
        let is_within = |key: &str| upto.as_deref().is_none_or(|upto| key < upto);
        states.extend(since.into_values().filter(|state| is_within(&state.key) && state.event.is_some()));
        Ok(Piece { states, written: 0, upto })
    }

    /// Some of the piece, with how far it is.
    async fn write_piece(&mut self, mut run: SnapshotRun, mut piece: Piece) -> Result<SnapshotStep, JobError> {
        let mut work = self.bus.unit_of_work();
        let (mut bytes, begin) = (0, piece.written);
        while piece.written < piece.states.len()
            && piece.written - begin < SNAPSHOT_STEP_EVENTS
            && bytes < SNAPSHOT_STEP_BYTES
        {
            let state = &piece.states[piece.written];
            let payload = state.event.clone().unwrap_or_default();
            bytes += payload.len();
            // It was written by the hub when the event was read.
            let mut event = NewEvent::new(self.place.clone(), Json::trusted(payload.into()));
            event.key = Some(state.key.clone());
            event.partition = Some(state.partition);
            event.headers = header(&run)?;
            work.publish_snapshot(&event)?;
            if let Some(count) = run.counts.get_mut(state.partition as usize) {
                *count += 1;
            }
            run.from_key = key_after(&state.key);
            piece.written += 1;
        }
        let is_over = piece.written == piece.states.len();
        let next = match &piece.upto {
            // The next piece begins with the key that did not fit: everything before it is done.
            Some(upto) if is_over => {
                run.from_key.clone_from(upto);
                None
            }
            _ => Some(piece),
        };
        self.store_run(work, Some(run)).await?;
        self.piece = next;
        Ok(SnapshotStep::Written(self.written()))
    }

    /// Markers, the document of the snapshot, and what it frees.
    async fn finish(&mut self, run: SnapshotRun) -> Result<SnapshotStep, JobError> {
        let settings = self.bus.topic_settings(&self.topic).await?;
        let known = self.bus.history(&self.topic).await?;
        let bounds = self.bus.bounds(&self.topic).await?;
        let is_of_another = known.history.life != run.life;
        let is_overtaken = run.base.as_ref().is_some_and(|base| !is_untouched(base, &known.history));
        if is_of_another || is_overtaken {
            self.abandon().await?;
            return Ok(SnapshotStep::Written(0));
        }
        let is_whole = |(partition, bounds): (usize, &Bounds)| match &run.base {
            Some(base) => bounds.start <= base.covered(partition).max(at(&run.from, partition)),
            None => known.history.is_whole(partition as u32, bounds.start),
        };
        let whole = run.whole && bounds.iter().enumerate().all(is_whole);
        let snapshot = snapshot_of(&run, whole, self.bus.clock().now_ms());
        let mut work = self.bus.unit_of_work();
        for (partition, part) in (0..).zip(&snapshot.partitions) {
            let marker = json!({
                "snapshot": run.id.to_string(), "topic": self.topic.as_str(), "partition": partition,
                "count": at(&run.counts, partition as usize), "covered_offset": part.covered, "covered_ts": part.covered_ts,
                "whole": whole,
            });
            let mut event = NewEvent::new(self.place.clone(), marker);
            event.partition = Some(partition);
            event.headers = header(&run)?;
            work.publish_snapshot(&event)?;
        }
        write_complete(&mut work, &self.topic, run.life, &snapshot)?;
        let mut freed = known.history.clone();
        freed.compact_before = settings.snapshot.map(|_| run.covered.clone());
        work.note_history(&self.topic, &known, &freed)?;
        let place = self.bus.history(&self.place).await?;
        let mut kept = place.history.clone();
        kept.keep_from = Some(run.first.clone());
        work.note_history(&self.place, &place, &kept)?;
        self.store_run(work, None).await?;
        tracing::info!(topic = %self.topic, id = %snapshot.id, keys = snapshot.count, whole, "a snapshot is complete");
        Ok(SnapshotStep::Done(snapshot))
    }

    /// What is written of it stays where it is, belongs to no snapshot, and goes by retention.
    async fn abandon(&mut self) -> Result<(), JobError> {
        tracing::info!(topic = %self.topic, "a snapshot begins again: what it was made of is gone");
        self.store_run(self.bus.unit_of_work(), None).await
    }

    async fn store_run(&mut self, mut work: UnitOfWork, run: Option<SnapshotRun>) -> Result<(), JobError> {
        write_run(&mut work, &self.topic, self.known.revision, run.as_ref())?;
        self.piece = None;
        work.commit().await?;
        self.known.revision += 1;
        self.known.runs.running = run;
        Ok(())
    }
}

/// Whether a snapshot can go on from this one: every event since is still there.
fn follows(snapshot: &Snapshot, history: &prom_engine::TopicHistory, bounds: &[Bounds]) -> bool {
    let is_there = |(partition, bounds): (usize, &Bounds)| bounds.start <= snapshot.covered(partition);
    snapshot.whole && is_untouched(snapshot, history) && bounds.iter().enumerate().all(is_there)
}

/// Whether compaction has not reached beyond what the snapshot covers: a tombstone could be missing.
fn is_untouched(snapshot: &Snapshot, history: &prom_engine::TopicHistory) -> bool {
    history.compacted.iter().enumerate().all(|(partition, mark)| mark.to <= snapshot.covered(partition))
}

fn snapshot_of(run: &SnapshotRun, whole: bool, now: i64) -> Snapshot {
    let part = |partition: usize| SnapshotPartition {
        covered: run.covered[partition],
        covered_ts: run.covered_ts.get(partition).copied().unwrap_or_default(),
        first: at(&run.first, partition),
        marker: at(&run.first, partition) + at(&run.counts, partition),
    };
    Snapshot {
        id: run.id,
        began_ts: run.began_ts,
        ended_ts: now,
        count: run.counts.iter().sum(),
        whole,
        partitions: (0..run.covered.len()).map(part).collect(),
    }
}

fn header(run: &SnapshotRun) -> Result<Headers, JobError> {
    let mut headers = Headers::default();
    headers.insert(SNAPSHOT_HEADER, run.id.to_string())?;
    Ok(headers)
}

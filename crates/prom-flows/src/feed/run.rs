//! A feed at work: pass by pass under a lease, from the stored position, with a wait after each failure.
//!
//! ```text
//!   position ─▶ told gaps ─▶ copy, step by step ─▶ stream ─▶ failure ─▶ wait ─┐
//!      ▲─────────────────────────────────────────────────────────────────────┘
//! ```

use std::convert::Infallible;
use std::sync::Arc;

use prom_engine::{Bus, TaskName};
use prom_jobs::{Flow, FlowFailure, FlowState, JobError, Keeper, KeptWork};
use prom_types::{Backoff, GroupName};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use super::convert::{ConvertedChange, Converter};
use super::copy::{CopyProgress, copy_step};
use super::error::{FeedError, FeedUnfit};
use super::gap::{GapCause, PendingGap};
use super::limits::{FIRST_RETRY, LONGEST_RETRY, LOOK_EVERY, SAVE_EVERY, TAKE_OVER_EVERY};
use super::options::{FeedOptions, OnLostToken};
use super::position::{ClusterTime, FEED_POSITIONS, FeedPosition, HeldPosition, StoppedFeed, StreamPlace};
use super::programs::FeedPrograms;
use super::read::{GatheredChanges, ReadAhead, ReadChange};
use super::status::FeedProgress;
use super::stream::{FeedServer, LargeParts, StreamForm};
use super::write::FeedWriter;

/// A feed of this hub, as it is shown and steered.
pub struct FeedHandle {
    pub(super) bus: Bus,
    pub(super) keeper: Keeper,
    pub(super) options: Arc<FeedOptions>,
    pub(super) progress: Arc<FeedProgress>,
    /// An operator moved it through this hub.
    pub(super) moved: Arc<Notify>,
}

/// The part that works.
struct FeedWork {
    options: Arc<FeedOptions>,
    progress: Arc<FeedProgress>,
    moved: Arc<Notify>,
    ready: Option<Ready>,
    form: StreamForm,
}

/// What is made once.
#[derive(Clone)]
struct Ready {
    server: FeedServer,
    converter: Converter,
}

/// Begins to follow the changes, as soon as this hub has the feed's lease.
pub fn start(keeper: &Keeper, bus: &Bus, options: FeedOptions) -> Result<Arc<dyn Flow>, FeedUnfit> {
    check(&options)?;
    let options = Arc::new(options);
    let (progress, moved) = (Arc::<FeedProgress>::default(), Arc::<Notify>::default());
    let work = FeedWork {
        options: options.clone(),
        progress: progress.clone(),
        moved: moved.clone(),
        ready: None,
        form: StreamForm::default(),
    };
    keeper.keep(task_of(&options.name), TAKE_OVER_EVERY, work).wake();
    Ok(Arc::new(FeedHandle { bus: bus.clone(), keeper: keeper.clone(), options, progress, moved }))
}

/// The lease of a feed, and its task.
pub(super) fn task_of(name: &str) -> TaskName {
    TaskName::one("change feed", name)
}

/// What can be told of a feed without its database.
pub fn check(options: &FeedOptions) -> Result<(), FeedUnfit> {
    let refuse = |reason: &str| Err(FeedUnfit::Options { name: options.name.clone(), reason: reason.to_owned() });
    if GroupName::parse(&format!("feed:{}", options.name)).is_err() {
        return refuse("its name has 1 to 123 of A-Z a-z 0-9 . _ : -");
    }
    if options.source.database.is_empty() {
        return refuse("it needs a database");
    }
    Ok(())
}

impl KeptWork for FeedWork {
    /// Lasts as long as the lease.
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        let mut failures = 0;
        self.progress.is(FlowState::Starting);
        loop {
            let before = self.progress.commits();
            let Err(error) = Box::pin(self.run(bus)).await;
            if self.progress.commits() > before {
                failures = 0;
            }
            failures += 1;
            match error {
                FeedError::Bus(prom_engine::Error::Closed) => return Ok(()),
                // Somebody moved it, which is no failure; one who does so again and again is followed at a walk.
                FeedError::Overtaken => {
                    failures = 0;
                    sleep(FIRST_RETRY).await;
                }
                FeedError::Ended if failures == 1 => {}
                FeedError::Stopped { reason, since, revision } => {
                    self.wait_for_operator(bus, FlowFailure { reason, since, tries: 1, retry_at: None }, revision)
                        .await;
                }
                error => self.wait_after(bus, &error, failures).await,
            }
        }
    }
}

impl FeedWork {
    /// From the stored position until something fails.
    async fn run(&mut self, bus: &Bus) -> Result<Infallible, FeedError> {
        let ready = self.ready(bus).await?;
        let mut held = self.position(bus, &ready.server).await?;
        match self.follow(bus, &ready, &mut held).await {
            Err(FeedError::Lost { reason }) => Err(self.lost(bus, &ready.server, &mut held, reason).await?),
            Err(FeedError::Stop { reason }) => Err(self.stop(bus, &mut held, reason).await?),
            Err(FeedError::CopyTooOld { reason }) => {
                if let Some(copy) = &mut held.position.copy {
                    copy.at = ready.server.now().await?;
                    held.commit(bus.unit_of_work()).await?;
                }
                Err(FeedError::CopyTooOld { reason })
            }
            Err(FeedError::TooLarge) if self.form.large == LargeParts::Sent => {
                self.form.large = LargeParts::Left;
                Err(FeedError::Ended)
            }
            // One by one, what is before the change comes first.
            Err(FeedError::NoImage { .. }) if self.form.answer_changes > 1 => {
                self.form.answer_changes = 1;
                Err(FeedError::Ended)
            }
            Err(FeedError::NoImage { reason, at }) => {
                self.form = StreamForm::default();
                Err(self.stop(bus, &mut held, self.without_image(&reason, at)).await?)
            }
            Err(FeedError::TooLarge) => {
                let reason = "a change is too large even without its large parts; leave it out with `prom feeds seek`";
                Err(self.stop(bus, &mut held, reason.to_owned()).await?)
            }
            Err(error) => Err(error),
        }
    }

    async fn ready(&mut self, bus: &Bus) -> Result<Ready, FeedError> {
        if let Some(ready) = &self.ready {
            return Ok(ready.clone());
        }
        let server = FeedServer::connect(self.options.clone()).await?;
        let programs = FeedPrograms::compile(bus, &self.options).await?;
        let converter = Converter { options: self.options.clone(), programs, collections: Arc::default() };
        let ready = Ready { server, converter };
        Ok(self.ready.insert(ready).clone())
    }

    /// Where the feed is, or where it begins.
    async fn position(&self, bus: &Bus, server: &FeedServer) -> Result<HeldPosition, FeedError> {
        let source = self.options.source.to_string();
        let Some(held) = HeldPosition::load(bus, &self.options.name).await? else {
            let now = server.now().await?;
            let copy = self.options.snapshot.then(|| CopyProgress::begin(now));
            let position = place(source, now, copy);
            let mut held = HeldPosition::begin(&self.options.name, position);
            held.commit(bus.unit_of_work()).await?;
            return Ok(held);
        };
        if let Some(StoppedFeed { reason, since }) = held.position.stopped.clone() {
            return Err(FeedError::Stopped { reason, since, revision: held.revision() });
        }
        if held.position.source != source {
            let reason = format!(
                "the stored position is one of {}, and the feed now reads {source}; give it another name, or say where to \
                 begin with `prom feeds seek {} --at TIME`",
                held.position.source, self.options.name
            );
            return Err(FeedError::Stopped { reason, since: bus.clock().now_ms(), revision: held.revision() });
        }
        Ok(held)
    }

    async fn follow(&mut self, bus: &Bus, ready: &Ready, held: &mut HeldPosition) -> Result<Infallible, FeedError> {
        let (options, progress) = (self.options.clone(), self.progress.clone());
        self.tell_gap(bus, &ready.server, held).await?;
        while held.position.copy.is_some() {
            self.progress.is(FlowState::Snapshot);
            let mut writer = FeedWriter { bus, options: &options, progress: &progress, held };
            copy_step(bus, &ready.server, &ready.converter, &mut writer).await?;
        }
        self.tell_gap(bus, &ready.server, held).await?;
        let mut reading = ReadAhead::start(ready.server.open(&held.position.at, self.form).await?);
        // A commit tells as well as a look whether the feed was moved.
        let (mut saved, mut looked) = (Instant::now(), Instant::now());
        loop {
            let gathered = tokio::select! {
                gathered = timeout_at(looked + LOOK_EVERY, reading.gather()) => gathered.ok().transpose()?,
                () = self.moved.notified() => None,
            };
            let Some(GatheredChanges { changes, idle }) = gathered else {
                self.look(bus, held).await?;
                looked = Instant::now();
                continue;
            };
            self.progress.is(FlowState::Running);
            self.progress.caught_up(idle.is_some());
            if changes.is_empty() {
                let is_same = idle.clone().map(StreamPlace::After).as_ref() == Some(&held.position.at);
                if is_same || saved.elapsed() < SAVE_EVERY {
                    continue;
                }
            }
            let converted = convert(bus, &ready.converter, changes).await?;
            let is_past_large = self.form.large == LargeParts::Left && converted.iter().any(|change| change.was_cut);
            let mut writer = FeedWriter { bus, options: &options, progress: &progress, held };
            writer.publish(converted, idle).await?;
            (saved, looked) = (Instant::now(), Instant::now());
            if is_past_large {
                self.form.large = LargeParts::Sent;
                return Err(FeedError::Ended);
            }
        }
    }

    /// Nothing was committed for a while, so nothing told whether the feed was moved.
    async fn look(&self, bus: &Bus, held: &HeldPosition) -> Result<(), FeedError> {
        if held.is_current(bus).await? { Ok(()) } else { Err(FeedError::Overtaken) }
    }

    /// Says `GAP` on every topic of the feed, if that is due.
    async fn tell_gap(&self, bus: &Bus, server: &FeedServer, held: &mut HeldPosition) -> Result<(), FeedError> {
        let Some(gap) = held.position.gap.clone() else {
            return Ok(());
        };
        let mut topics = Vec::new();
        for collection in server.collections().await? {
            topics.extend(self.options.route.topic(&collection).ok());
        }
        topics.sort_unstable();
        topics.dedup();
        let mut work = bus.unit_of_work();
        for topic in &topics {
            gap.add_to(&mut work, bus, &self.options.name, topic).await?;
        }
        held.position.gap = None;
        held.commit(work).await?;
        Ok(())
    }

    /// As configured: waits for an operator, or copies everything and goes on behind.
    async fn lost(
        &self,
        bus: &Bus,
        server: &FeedServer,
        held: &mut HeldPosition,
        reason: String,
    ) -> Result<FeedError, FeedError> {
        let place_before = held.position.at.told();
        if self.options.on_lost_token == OnLostToken::Stop {
            let name = &self.options.name;
            let reason = format!(
                "MongoDB no longer has the feed's position {place_before} ({reason}); changes since then cannot be read any \
                 more. Go on from a later time with `prom feeds seek {name} --at TIME`, or set on_lost_token = \
                 \"resnapshot\" and `prom feeds restart {name}`; a larger oplog keeps more"
            );
            return self.stop(bus, held, reason).await;
        }
        tracing::warn!(feed = self.options.name, position = place_before, reason, "a feed's position is lost; copying");
        let now = server.now().await?;
        let copy = CopyProgress { after_gap: true, ..CopyProgress::begin(now) };
        let details = [
            ("after", place_before.clone()),
            ("before", format!("{}.{}", now.seconds, now.increment)),
            ("mongo", reason.clone()),
        ];
        let gap = PendingGap::new(GapCause::Lost, format!("{place_before} {}.{}", now.seconds, now.increment), details);
        held.position = FeedPosition { gap: Some(gap), ..place(held.position.source.clone(), now, Some(copy)) };
        held.commit(bus.unit_of_work()).await?;
        Ok(FeedError::Ended)
    }

    fn without_image(&self, reason: &str, at: Option<ClusterTime>) -> String {
        let behind = at.map_or_else(|| "TIME".to_owned(), |at| StreamPlace::From(at.next()).told());
        format!(
            "MongoDB has no image of a document for a change ({reason}); switch changeStreamPreAndPostImages on for the \
             collection and leave the change out with `prom feeds seek {} --at {behind}`, or set full_document and before \
             to when_available and `prom feeds restart {0}`",
            self.options.name
        )
    }

    /// Durable: it stays stopped, on this hub and on others, until an operator says otherwise.
    async fn stop(&self, bus: &Bus, held: &mut HeldPosition, reason: String) -> Result<FeedError, FeedError> {
        let since = bus.clock().now_ms();
        held.position.stopped = Some(StoppedFeed { reason: reason.clone(), since });
        held.commit(bus.unit_of_work()).await?;
        Ok(FeedError::Stopped { reason, since, revision: held.revision() })
    }

    /// Until the position is no longer the one that the feed stopped with.
    async fn wait_for_operator(&self, bus: &Bus, failure: FlowFailure, revision: u64) {
        tracing::error!(feed = self.options.name, reason = failure.reason, "a feed stopped and waits for an operator");
        self.progress.failed(failure);
        loop {
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = self.moved.notified() => {}
            }
            let stored = bus.document(FEED_POSITIONS, &self.options.name).await;
            // A store that does not answer says nothing about an operator.
            if stored.is_ok_and(|stored| stored.map_or(0, |stored| stored.revision) != revision) {
                return;
            }
        }
    }

    async fn wait_after(&self, bus: &Bus, error: &FeedError, failures: u32) {
        let wait = Backoff::new(FIRST_RETRY, LONGEST_RETRY).ceiling(failures);
        let now = bus.clock().now_ms();
        let retry_at = now + i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let since = self.progress.failed_since().unwrap_or(now);
        tracing::warn!(feed = self.options.name, %error, failures, ?wait, "a feed failed; it is tried again");
        let reason = error.to_string();
        self.progress.failed(FlowFailure { reason, since, tries: failures, retry_at: Some(retry_at) });
        tokio::select! {
            () = sleep(wait) => {}
            () = self.moved.notified() => {}
        }
    }
}

fn place(source: String, now: ClusterTime, copy: Option<CopyProgress>) -> FeedPosition {
    FeedPosition {
        source,
        at: StreamPlace::From(now.next()),
        time_ms: Some(now.millis()),
        copy,
        gap: None,
        stopped: None,
    }
}

/// Where programs and large documents hold nobody up.
async fn convert(
    bus: &Bus,
    converter: &Converter,
    changes: Vec<ReadChange>,
) -> Result<Vec<ConvertedChange>, FeedError> {
    let converter = converter.clone();
    let converted = bus.in_turns(changes, move |change| converter.change(&change.raw)).await?;
    converted.into_iter().collect()
}

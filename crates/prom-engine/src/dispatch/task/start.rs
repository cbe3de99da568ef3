//! Taking the cursor over and building the machine. What fails here is tried again until the bus stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use prom_store::{Bounds, CursorName, CursorState, StoreError};
use prom_types::TopicName;
use tokio::time::{Instant, sleep};

use super::filter::Filtering;
use super::lanes::Partitioned;
use super::records::Records;
use super::{DispatchTask, DispatcherMailbox, DispatcherSetup, Retry, Survivors};
use crate::Error;
use crate::bus::{BusPhase, Core};
use crate::deliver::Port;
use crate::dispatch::{DispatchLimits, DispatchOptions, Dispatcher};
use crate::event::EventOrigin;
use crate::group::{GroupOptions, Layout, read_group};
use crate::limits::MAX_ATTEMPTS;
use crate::meters::{HandOvers, InFlight};

impl DispatchTask {
    /// `None` when the bus stopped before the cursor could be had, or the filter is no program.
    pub(super) async fn start(
        setup: &DispatcherSetup,
        mailbox: DispatcherMailbox,
        survivors: &mut Survivors,
    ) -> Option<Self> {
        if setup.is_topic_gone() {
            setup.let_go(survivors);
            return None;
        }
        let mut filtering = None;
        if let Some(filter) = &setup.options.filter {
            match setup.core.filter_places.compile_for(&setup.group.filters, filter).await {
                Ok(program) => filtering = Some(Filtering::new(program)),
                Err(error) => {
                    setup.give_up(survivors, || Error::Filter(error.clone()));
                    return None;
                }
            }
        }
        let taken = match survivors.take_cursor() {
            Some(rested_at) => Some(rested_at),
            None => setup.take_cursor().await,
        };
        match taken {
            Some((cursor, newest)) => {
                let mut task = Self::build(setup, mailbox, cursor, filtering, newest);
                if !task.learn_what_is_set_aside().await {
                    setup.give_up(survivors, || Error::Closed);
                    return None;
                }
                task.take_in_survivors(survivors);
                task.take_in_joiners();
                task.follow_head();
                Some(task)
            }
            None => {
                setup.give_up(survivors, || Error::Closed);
                None
            }
        }
    }

    /// False when the bus stopped before that could be read.
    async fn learn_what_is_set_aside(&mut self) -> bool {
        let mut retry = Retry::default();
        while let Err(error) = self.load_set_aside().await {
            if *self.phase.borrow_and_update() == BusPhase::Stopped || matches!(error, Error::Closed) {
                return false;
            }
            tracing::error!(cursor = %self.cursor, %error, "what is set aside cannot be read; trying again");
            let wait = retry.failed(self.now());
            tokio::select! {
                () = sleep(wait) => {}
                _ = self.phase.changed() => {}
            }
        }
        true
    }

    fn build(
        setup: &DispatcherSetup,
        mailbox: DispatcherMailbox,
        cursor: CursorState,
        filtering: Option<Filtering>,
        newest: Newest,
    ) -> Self {
        let Newest { options, revision: options_revision } = newest;
        let max_attempts = max_attempts(&setup.core, &setup.cursor.log.topic, &options);
        let partitions = setup.core.topics.get(&setup.cursor.log.topic).map_or(1, |topic| topic.logs().len());
        let layout = options.layout(partitions);
        let dispatch = dispatch_options(&options, layout, max_attempts);
        let DispatcherSetup { core, group, cursor: name, wake, .. } = setup.clone();
        let meter = group.meter(&name.log.topic);
        let DispatcherMailbox { sender: mailbox, requests } = mailbox;
        let epoch = cursor.epoch;
        let mut head = core.store.watch(&name.log);
        let bounds = head.bounds();
        let port = Port {
            mailbox,
            group: name.group.clone(),
            max_attempts: AtomicU32::new(max_attempts),
            mode: options.mode,
            store: core.store.clone(),
            clock: core.clock.clone(),
            meter: meter.clone(),
            failed: AtomicBool::new(false),
        };
        let origin = EventOrigin { log: name.log.clone(), port: Some(port) };
        Self {
            // The start is looked at afterwards, so that a gap is told like any other.
            machine: Dispatcher::new(dispatch, cursor, Bounds { start: 0, ..bounds }, seed(&core, &name, epoch)),
            partitioned: layout.map(|layout| Partitioned::new(layout, group.desk(&name.log.topic))),
            epoch,
            order: options.order,
            options,
            filtering,
            options_revision,
            phase: core.watch_phase(),
            timer: Box::pin(tokio::time::sleep_until(Instant::now())),
            armed: None,
            rest: Default::default(),
            inbox: Vec::new(),
            seats: Vec::new(),
            untold_gaps: Vec::new(),
            turn: 0,
            records: Records::new(&core.delivery_memory),
            condemned: Default::default(),
            set_aside: None,
            has_marks: None,
            reads: Retry::default(),
            settlement: Default::default(),
            letters: Default::default(),
            leased: Vec::new(),
            released: Vec::new(),
            in_flight: InFlight::new(meter.clone()),
            hand_overs: HandOvers::default(),
            meter,
            origin: Arc::new(origin),
            cursor: name,
            core,
            group,
            requests,
            head,
            wake,
        }
    }
}

fn dispatch_options(options: &GroupOptions, layout: Option<Layout>, max_attempts: u32) -> DispatchOptions {
    DispatchOptions {
        lanes: layout.and_then(Layout::lane_count),
        order: options.order,
        max_attempts,
        backoff: options.backoff,
        parking: options.parking(),
        limits: DispatchLimits::default(),
    }
}

/// Different for every partition and takeover, so that retries of many do not meet.
fn seed(core: &Core, cursor: &CursorName, epoch: u64) -> u64 {
    epoch ^ core.clock.now_ms().unsigned_abs() ^ (u64::from(cursor.log.partition) << 32)
}

/// The options of the group, and the revision of the document they stand in.
pub(super) struct Newest {
    pub options: Arc<GroupOptions>,
    pub revision: u64,
}

impl DispatcherSetup {
    async fn take_cursor(&self) -> Option<(CursorState, Newest)> {
        let mut phase = self.core.watch_phase();
        let mut retry = Retry::default();
        loop {
            if *phase.borrow_and_update() == BusPhase::Stopped {
                return None;
            }
            let taken = match self.core.store.take_cursor(&self.cursor, 0).await {
                Ok(cursor) => self.newest_options().await.map(|newest| (cursor, newest)),
                Err(error) => Err(error),
            };
            match taken {
                Ok(taken) => return Some(taken),
                Err(StoreError::Closed) => return None,
                Err(error) => tracing::error!(cursor = %self.cursor, %error, "the cursor cannot be read; trying again"),
            }
            let wait = retry.failed(self.core.clock.monotonic());
            tokio::select! {
                () = sleep(wait) => {}
                _ = phase.changed() => {}
            }
        }
    }

    /// What the group agreed on by now. Read after this dispatcher can be told of changes, so that
    /// none is missed in between.
    async fn newest_options(&self) -> Result<Newest, StoreError> {
        let given = Newest { options: self.options.clone(), revision: 0 };
        match read_group(&*self.core.store, &self.cursor.group).await {
            Ok(Some((document, revision))) => Ok(match document.options_of(self.cursor.log.topic.as_str()) {
                Some(options) => Newest { options: Arc::new(options.clone()), revision },
                None => given,
            }),
            Ok(None) => Ok(given),
            Err(Error::Store(error)) => Err(error),
            Err(Error::Closed) => Err(StoreError::Closed),
            Err(error) => {
                tracing::error!(cursor = %self.cursor, %error, "going on with the options of the subscriber");
                Ok(given)
            }
        }
    }

    pub(super) fn give_up(&self, survivors: &mut Survivors, error: impl Fn() -> Error) {
        for outlet in survivors.take_outlets().chain(self.group.remove(&self.cursor.log)) {
            outlet.fail(error());
            outlet.detach(&self.cursor.log, &self.wake);
        }
    }
}

/// Letters have no letters: a group that reads them keeps trying.
pub(super) fn max_attempts(core: &Core, topic: &TopicName, options: &GroupOptions) -> u32 {
    let of_topic = || core.topics.get(topic).and_then(|topic| topic.settings.max_attempts);
    if topic.is_dead_letters() { u32::MAX } else { options.max_attempts.or_else(of_topic).unwrap_or(MAX_ATTEMPTS) }
}

//! Ordering, listing, pausing, resuming and cancelling jobs. Each is written to `system.audit` in the same commit.

use std::sync::Arc;

use prom_engine::{Bus, Error};
use prom_types::{EventId, IdMaker};
use serde_json::json;

use super::super::LetterOffice;
use super::super::filter::LetterProgram;
use super::document::{LetterJob, LetterJobState, LetterOrder, LetterWork, StoredJob, active, list};
use super::events::EventMaker;
use super::trial::{self, LetterTrial, ends};
use crate::JobError;
use crate::limits::{FOLD_TRIES, LETTER_JOBS_ACTIVE, LETTERS_TRIED};

/// A change of how a job stands.
#[derive(Clone, Copy)]
struct JobChange {
    action: &'static str,
    asked: &'static str,
    to: LetterJobState,
    from: &'static [LetterJobState],
}

impl LetterOffice {
    /// What an order would do to its first thousand letters. Nothing is stored.
    pub async fn try_out(&self, order: &LetterOrder) -> Result<LetterTrial, JobError> {
        self.check(order).await?;
        let maker = self.maker(order).await?;
        let mut desk = self.desk(&order.topic).await?;
        trial::run(&mut desk, order, &maker, LETTERS_TRIED).await
    }

    /// Tries the first thousand letters out, and begins if each of their events would be taken. The job works on its own.
    pub async fn order(&self, order: LetterOrder) -> Result<LetterJob, JobError> {
        let trial = self.try_out(&order).await?;
        if let (Some((letter, reason)), false) = (trial.unfit, order.skip_unfit) {
            return Err(JobError::UnfitLetter { letter: letter.to_string(), reason });
        }
        let bus = &self.shared.bus;
        let under_way = active(bus, LETTER_JOBS_ACTIVE).await?.len();
        if under_way >= LETTER_JOBS_ACTIVE {
            return Err(JobError::LetterJobs { active: under_way });
        }
        let mut desk = self.desk(&order.topic).await?;
        desk.catch_up().await?;
        let now = bus.clock().now_ms();
        let until = ends(bus, &desk).await?;
        drop(desk);
        let job = LetterJob::new(IdMaker::new().make(now), order, now, until);
        let action = match job.order.work {
            LetterWork::ToTopic => "replay_letters",
            LetterWork::ToGroup => "give_letters_back",
            LetterWork::Purge => "purge_letters",
        };
        let mut work = bus.unit_of_work_for(job.order.by.as_deref().map(Arc::from).as_ref());
        let LetterOrder { topic, filter, limit, transform, payload, .. } = &job.order;
        work.audit(
            action,
            json!({ "job": job.id.to_string(), "topic": topic.as_str(), "filter": filter, "limit": limit,
                "transform": transform, "edited_by_hand": payload.is_some() }),
        )?;
        let mut stored = StoredJob { job, revision: 0 };
        stored.write_into(&mut work)?;
        work.commit().await?;
        stored.revision = 1;
        self.work_on(stored.job.id);
        Ok(stored.job)
    }

    /// A job.
    pub async fn job(&self, id: EventId) -> Result<LetterJob, JobError> {
        let stored = StoredJob::load(&self.shared.bus, id).await?;
        stored.map(|stored| stored.job).ok_or_else(|| JobError::UnknownLetterJob { id: id.to_string() })
    }

    /// A job, whose outcomes are looked at now.
    pub async fn look_at(&self, id: EventId) -> Result<LetterJob, JobError> {
        let job = self.job(id).await?;
        if job.waiting() == 0 {
            return Ok(job);
        }
        self.look_once(id).await?;
        self.job(id).await
    }

    /// The newest jobs, those behind `after` where it is given.
    pub async fn jobs(&self, after: Option<EventId>, limit: usize) -> Result<Vec<LetterJob>, JobError> {
        list(&self.shared.bus, after, limit).await
    }

    /// Nothing more is handed out until it is resumed.
    pub async fn pause(&self, id: EventId, by: Option<&str>) -> Result<LetterJob, JobError> {
        let from = &[LetterJobState::Running, LetterJobState::Canary];
        self.change(id, by, JobChange { action: "pause_letter_job", asked: "paused", to: LetterJobState::Paused, from })
            .await
    }

    /// Goes on, also with a job that failures stopped: then the rest is handed out whatever becomes of it.
    pub async fn resume(&self, id: EventId, by: Option<&str>) -> Result<LetterJob, JobError> {
        let from = &[LetterJobState::Paused, LetterJobState::Stopped];
        self.change(
            id,
            by,
            JobChange { action: "resume_letter_job", asked: "resumed", to: LetterJobState::Running, from },
        )
        .await
    }

    /// Ends it. What was handed out stays handed out.
    pub async fn cancel(&self, id: EventId, by: Option<&str>) -> Result<LetterJob, JobError> {
        let from = &[LetterJobState::Running, LetterJobState::Canary, LetterJobState::Paused, LetterJobState::Stopped];
        self.change(
            id,
            by,
            JobChange { action: "cancel_letter_job", asked: "cancelled", to: LetterJobState::Cancelled, from },
        )
        .await
    }

    async fn change(&self, id: EventId, by: Option<&str>, change: JobChange) -> Result<LetterJob, JobError> {
        for _ in 0..FOLD_TRIES {
            let mut stored = self.stored(id).await?;
            if stored.job.state == change.to {
                return Ok(stored.job);
            }
            if !change.from.contains(&stored.job.state) {
                let state = told(stored.job.state);
                return Err(JobError::LetterJobState { id: id.to_string(), state, asked: change.asked });
            }
            let failures_stopped_it = stored.job.state == LetterJobState::Stopped && stored.job.dead > 0;
            if change.to == LetterJobState::Running && failures_stopped_it {
                stored.job.canary_passed = true;
                stored.job.order.stop_on_failure = None;
            }
            (stored.job.state, stored.job.reason) = (change.to, None);
            let mut work = self.shared.bus.unit_of_work_for(by.map(Arc::from).as_ref());
            work.audit(change.action, json!({ "job": id.to_string(), "topic": stored.job.order.topic.as_str() }))?;
            if self.store(stored, work).await? {
                self.work_on(id);
                self.shared.runner.wake(id);
                return self.job(id).await;
            }
        }
        Err(Error::Contended { what: format!("job {id}") }.into())
    }

    /// It will never work as it is.
    pub(super) async fn stop_job(&self, id: EventId, reason: &str) -> Result<(), JobError> {
        for _ in 0..FOLD_TRIES {
            let mut stored = self.stored(id).await?;
            if stored.job.is_at_rest() {
                stored.job.open.clear();
            } else {
                stored.job.state = LetterJobState::Stopped;
            }
            stored.job.reason = Some(reason.to_owned());
            if self.store(stored, self.shared.bus.unit_of_work()).await? {
                return Ok(());
            }
        }
        Err(Error::Contended { what: format!("job {id}") }.into())
    }

    async fn stored(&self, id: EventId) -> Result<StoredJob, JobError> {
        let stored = StoredJob::load(&self.shared.bus, id).await?;
        stored.ok_or_else(|| JobError::UnknownLetterJob { id: id.to_string() })
    }

    /// `false` if somebody else has written the job meanwhile.
    async fn store(&self, mut stored: StoredJob, mut work: prom_engine::UnitOfWork) -> Result<bool, JobError> {
        stored.job.updated_ts = self.shared.bus.clock().now_ms();
        stored.write_into(&mut work)?;
        match work.commit().await {
            Ok(_) => Ok(true),
            Err(Error::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What makes the events of an order.
    pub(super) async fn maker(&self, order: &LetterOrder) -> Result<EventMaker, JobError> {
        let program = match &order.transform {
            Some(text) => Some(self.shared.bus.compile_program(text).await?),
            None => None,
        };
        let LetterOrder { topic, payload, by, .. } = order.clone();
        let wanted = LetterProgram::of(&self.shared.bus, &order.filter).await?;
        Ok(EventMaker { topic, wanted, program, payload, by })
    }

    async fn check(&self, order: &LetterOrder) -> Result<(), JobError> {
        let bus: &Bus = &self.shared.bus;
        match order.work {
            LetterWork::ToTopic | LetterWork::ToGroup => drop(bus.topic_settings(&order.topic).await?),
            LetterWork::Purge => {}
        }
        Ok(())
    }
}

/// As people read it.
fn told(state: LetterJobState) -> &'static str {
    match state {
        LetterJobState::Running => "running",
        LetterJobState::Canary => "waiting for its canary",
        LetterJobState::Paused => "paused",
        LetterJobState::Stopped => "stopped",
        LetterJobState::Done => "done",
        LetterJobState::Cancelled => "cancelled",
    }
}

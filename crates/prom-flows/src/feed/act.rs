//! What an operator sees of a feed and does with it.
//!
//! An action is a write of the feed's position, so it works through any hub: whichever reads is overtaken by it. On this hub it is
//! woken at once, elsewhere it looks within seconds.

use async_trait::async_trait;
use prom_engine::Error;
use prom_jobs::{Flow, FlowAction, FlowError, FlowKind, FlowOutcome, FlowSeek, FlowState, FlowStatus};
use prom_store::Expect;
use prom_types::EpochMs;

use super::error::FeedError;
use super::gap::{GapCause, PendingGap};
use super::limits::ACT_TRIES;
use super::position::{ClusterTime, FEED_POSITIONS, FeedPosition, StreamPlace, token_time, write};
use super::run::{FeedHandle, task_of};

#[async_trait]
impl Flow for FeedHandle {
    fn kind(&self) -> FlowKind {
        FlowKind::Feed
    }

    fn name(&self) -> &str {
        &self.options.name
    }

    fn status(&self) -> FlowStatus {
        let now = self.bus.clock().now_ms();
        let (from, to) = (format!("mongo {}", self.options.source), format!("topic {}", self.options.route));
        let mut status = self.progress.status(from, to, now);
        let Some(kept) = self.keeper.states().remove(&task_of(&self.options.name)) else {
            return status;
        };
        if kept.is_elsewhere {
            status = FlowStatus { state: FlowState::Elsewhere, ..FlowStatus::starting(status.from, status.to) };
        } else if let Some(reason) = kept.failed.filter(|_| !kept.is_under_way) {
            let since = kept.last_pass.unwrap_or(now);
            let retry_at = kept.retry_at.or(Some(now));
            let failure = prom_jobs::FlowFailure { reason, since, tries: kept.failures, retry_at };
            status = FlowStatus { state: FlowState::Retrying, error: Some(failure), ..status };
        }
        status
    }

    async fn act(&self, action: FlowAction) -> Result<FlowOutcome, FlowError> {
        let done = match action {
            FlowAction::Seek(to) => self.seek(to).await?,
            FlowAction::Restart => self.restart().await?,
            FlowAction::Requeue(_) | FlowAction::Drop(_) | FlowAction::Rebuild => {
                let reason = "a feed can be moved (seek) and tried again (restart)".to_owned();
                return Err(FlowError::Unfit { reason });
            }
        };
        self.moved.notify_one();
        Ok(FlowOutcome { done, rows: None })
    }
}

impl FeedHandle {
    async fn seek(&self, to: FlowSeek) -> Result<String, FlowError> {
        let now = self.bus.clock().now_ms();
        let at = place_of(&to, now)?;
        let told = at.told();
        let time_ms = at.time().map(ClusterTime::millis);
        let details = [("to", told.clone())];
        let position = FeedPosition {
            source: self.options.source.to_string(),
            at,
            time_ms,
            copy: None,
            gap: Some(PendingGap::new(GapCause::Moved, format!("{now} {told}"), details)),
            stopped: None,
        };
        let write = write(&self.options.name, &position).map_err(failed)?;
        let mut work = self.bus.unit_of_work();
        work.write(write.expecting(Expect::Anything));
        work.commit().await.map_err(|error| failed(error.into()))?;
        Ok(format!(
            "feed {} goes on at {told}; changes before it that were not published are left out, those published and still \
             retained do not come twice",
            self.options.name
        ))
    }

    async fn restart(&self) -> Result<String, FlowError> {
        let name = &self.options.name;
        for _ in 0..ACT_TRIES {
            let stored = self.bus.document(FEED_POSITIONS, name).await.map_err(|error| failed(error.into()))?;
            let Some(stored) = stored else {
                return Ok(format!("feed {name} is tried again; it has not begun yet"));
            };
            let mut position: FeedPosition = serde_json::from_slice(&stored.value)
                .map_err(|error| failed(FeedError::Position { reason: error.to_string() }))?;
            position.stopped = None;
            let write = write(name, &position).map_err(failed)?;
            let mut work = self.bus.unit_of_work();
            work.write(write.expecting(Expect::Revision(stored.revision)));
            match work.commit().await {
                Ok(_) => return Ok(format!("feed {name} is tried again, from {}", position.at.told())),
                // It commits, so it runs; another try tells.
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        Ok(format!("feed {name} runs and publishes; there is nothing to restart"))
    }
}

fn place_of(to: &FlowSeek, now: EpochMs) -> Result<StreamPlace, FlowError> {
    let unfit = |reason: String| Err(FlowError::Unfit { reason });
    match to {
        FlowSeek::Time(at) if *at > now => {
            unfit("the time is in the future; a feed goes on at a time that was".to_owned())
        }
        FlowSeek::Time(at) => match u32::try_from(at.div_euclid(1000)) {
            Ok(seconds) => Ok(StreamPlace::From(ClusterTime { seconds, increment: 1 })),
            Err(_) => unfit(format!("{at} is no time of MongoDB's log, in milliseconds since 1970")),
        },
        FlowSeek::Token(text) => match (cluster_time(text), token_time(text)) {
            (Some(time), _) => Ok(StreamPlace::From(time)),
            (None, Some(_)) if text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Ok(StreamPlace::After(text.clone()))
            }
            _ => unfit(format!("{text} is no resume token; it is the hexadecimal text in a token's _data")),
        },
    }
}

/// `SECONDS.INCREMENT`, as the header of an event has it.
fn cluster_time(text: &str) -> Option<ClusterTime> {
    let (seconds, increment) = text.split_once('.')?;
    Some(ClusterTime { seconds: seconds.parse().ok()?, increment: increment.parse().ok()? })
}

fn failed(error: FeedError) -> FlowError {
    FlowError::Failed { reason: error.to_string() }
}

//! PUBLISH: what waits goes into frames, answers go to the callers that wait for them.

use std::time::Duration;

use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::ok::{BatchAnswer, BatchReceipt};
use prom_protocol::frame::publish::Written;
use prom_protocol::frame::{Corr, FrameError, publish};
use prom_types::Receipt;
use tokio::time::Instant;

use super::answers::Awaited;
use super::queue::LoadLimit;
use super::session::{Batching, Session};
use crate::Error;
use crate::limits::{BATCH_FRAME_BYTES, OVERLOAD_WAIT, TOKEN_RETRY, WRITE_BYTES};
use crate::options::RateLimited;
use crate::pending::{Fate, Pending};
use crate::state::Notice;

/// What a frame has around its events.
const HEAD_BYTES: usize = 64;

impl Session<'_> {
    pub fn write_publishes(&mut self) {
        if self.work.publishes.is_empty() {
            return;
        }
        let now = Instant::now();
        while self.socket.waiting_bytes() < WRITE_BYTES {
            let allowed = self.work.publishes.pacer.allowance(now);
            let events = match self.batching {
                Batching::Agreed => allowed,
                Batching::Plain => allowed.min(1),
            };
            let limit = LoadLimit { events, bytes: BATCH_FRAME_BYTES.min(self.frame_bytes.saturating_sub(HEAD_BYTES)) };
            if events == 0 {
                return;
            }
            let load = self.work.publishes.take(limit);
            if load.is_empty() {
                return;
            }
            self.write_publish(load);
        }
    }

    fn write_publish(&mut self, mut load: Vec<Pending>) {
        let corr = Corr::number(self.answers.next_corr());
        let written = kind_of(&load);
        if written == Written::Atomic && self.batching == Batching::Plain {
            let error = Error::Unsupported { what: "atomic batches, which need the feature `batch`" };
            return load.iter_mut().for_each(|pending| pending.fail(&error));
        }
        let pieces = load.iter().map(Pending::text);
        let write = |out: &mut Vec<u8>| publish::write_written(out, Some(&corr), written, pieces);
        let bytes = HEAD_BYTES + load.iter().map(|pending| pending.text().len()).sum::<usize>();
        match self.socket.text_about(bytes, self.frame_bytes, write) {
            Ok(()) => {
                load.iter_mut().for_each(|pending| pending.was_sent = true);
                self.work.publishes.pacer.sent(events_of(&load));
                self.answers.wait_for(Awaited::Publish(load));
            }
            // Only what cannot be cut is larger than a frame.
            Err(size) => {
                let what = if written == Written::Atomic { "the batch" } else { "the event" };
                let error = Error::TooLarge { what, size, limit: self.frame_bytes };
                load.iter_mut().for_each(|pending| pending.fail(&error));
            }
        }
    }

    pub fn published(&mut self, load: Vec<Pending>, receipt: Result<Receipt, FrameError>) -> Result<(), String> {
        match receipt {
            Ok(receipt) => {
                self.work.publishes.pacer.accepted(1);
                load.into_iter().for_each(|pending| pending.tell_one(receipt.clone()));
                Ok(())
            }
            Err(error) => self.malformed(load, &error.to_string()),
        }
    }

    pub fn published_atomic(
        &mut self,
        load: Vec<Pending>,
        answer: Result<BatchAnswer, FrameError>,
    ) -> Result<(), String> {
        let BatchAnswer { durability, results } = match check_length(answer, events_of(&load)) {
            Ok(batch) => batch,
            Err(problem) => return self.malformed(load, &problem),
        };
        let placed: Result<Vec<BatchReceipt>, Problem> = results.into_iter().collect();
        match placed {
            Ok(placed) => {
                self.work.publishes.pacer.accepted(placed.len());
                load.into_iter().for_each(|pending| pending.tell_all(durability, placed.iter().copied()));
            }
            Err(problem) => self.publish_refused(load, &problem),
        }
        Ok(())
    }

    pub fn published_several(
        &mut self,
        load: Vec<Pending>,
        answer: Result<BatchAnswer, FrameError>,
    ) -> Result<(), String> {
        let BatchAnswer { durability, results } = match check_length(answer, events_of(&load)) {
            Ok(batch) => batch,
            Err(problem) => return self.malformed(load, &problem),
        };
        self.work.publishes.pacer.accepted(results.iter().filter(|result| result.is_ok()).count());
        let mut fates = results.into_iter().map(|result| match result {
            Ok(placed) => Fate::Stored(placed),
            Err(problem) => match self.retry(1, &problem) {
                Retry::Yes => Fate::Again,
                Retry::No => Fate::Failed(problem.into()),
            },
        });
        let mut again = Vec::new();
        for pending in load {
            let events = pending.len();
            again.extend(pending.tell_each(durability, fates.by_ref().take(events)));
        }
        drop(fates);
        self.work.publishes.put_back(again);
        Ok(())
    }

    pub fn publish_refused(&mut self, mut load: Vec<Pending>, problem: &Problem) {
        match self.retry(events_of(&load), problem) {
            Retry::Yes => self.work.publishes.put_back(load),
            Retry::No => {
                let error = Error::from(problem.clone());
                load.iter_mut().for_each(|pending| pending.fail(&error));
            }
        }
    }

    /// Whether to send these events again after this problem.
    fn retry(&mut self, events: usize, problem: &Problem) -> Retry {
        let options = &self.work.core.options;
        let asked = problem.retry_after_ms.map(Duration::from_millis);
        let wait = match problem.code {
            ErrorCode::RateLimited | ErrorCode::Overloaded if options.rate_limited == RateLimited::Retry => {
                asked.unwrap_or(OVERLOAD_WAIT)
            }
            ErrorCode::JwtExpired if options.token.can_refresh() => TOKEN_RETRY,
            _ => {
                self.work.publishes.pacer.failed(events);
                return Retry::No;
            }
        };
        let (now, wait) = (Instant::now(), wait.min(options.give_up_after));
        let pacer = &mut self.work.publishes.pacer;
        pacer.refused(events, wait, now);
        if problem.code != ErrorCode::JwtExpired && pacer.is_to_be_told(now) {
            let slowed = Notice::PublishingSlowed { reason: problem.msg.clone(), retry_in: wait };
            self.work.core.teller.tell(slowed);
        }
        Retry::Yes
    }

    /// The connection ends because of this; the events are sent again over the next.
    fn malformed(&mut self, load: Vec<Pending>, problem: &str) -> Result<(), String> {
        self.work.publishes.put_back(load);
        Err(problem.to_owned())
    }
}

enum Retry {
    Yes,
    No,
}

/// How a frame with these is written, and answered.
pub(super) fn kind_of(load: &[Pending]) -> Written {
    match load {
        [one] if one.len() == 1 => Written::One,
        [batch] if batch.is_atomic() => Written::Atomic,
        _ => Written::Many,
    }
}

fn events_of(load: &[Pending]) -> usize {
    load.iter().map(Pending::len).sum()
}

fn check_length(answer: Result<BatchAnswer, FrameError>, expected: usize) -> Result<BatchAnswer, String> {
    let batch = answer.map_err(|error| error.to_string())?;
    match batch.results.len() {
        length if length == expected => Ok(batch),
        length => Err(format!("a batch of {expected} was answered with {length} results")),
    }
}

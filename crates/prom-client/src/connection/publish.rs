//! PUBLISH: what waits goes into frames, answers go to whoever waits for them.

use std::time::Duration;

use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::ok::{BatchAnswer, Placed};
use prom_protocol::frame::{Corr, FrameError, publish};
use prom_types::{Durability, Receipt};
use tokio::time::Instant;

use super::answers::Awaited;
use super::queue::{Load, LoadLimit};
use super::session::{Batching, Session};
use crate::Error;
use crate::limits::{BATCH_FRAME_BYTES, OVERLOAD_WAIT, TOKEN_RETRY, WRITE_BYTES};
use crate::options::RateLimited;
use crate::pending::Pending;

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
            let limit = LoadLimit { events, bytes: BATCH_FRAME_BYTES.min(self.frame_bytes) };
            if events == 0 {
                return;
            }
            match self.work.publishes.take(limit) {
                None => return,
                Some(Load::One(pending)) => self.write_publish(pending),
                Some(Load::Several(list)) => self.write_several(list),
            }
        }
    }

    fn write_publish(&mut self, mut pending: Pending) {
        let corr = Corr::number(self.answers.next_corr());
        let events = pending.events();
        let sent = events.len();
        let written = match events {
            [event] => self.socket.text(self.frame_bytes, |out| publish::write(out, Some(&corr), event)),
            _ if self.batching == Batching::Plain => {
                pending.fail(Error::Unsupported { what: "atomic batches, which need the feature `batch`" });
                return;
            }
            many => self.socket.text(self.frame_bytes, |out| publish::write_atomic(out, Some(&corr), many.iter())),
        };
        match written {
            Ok(()) => {
                pending.was_sent = true;
                self.work.publishes.pacer.sent(sent);
                self.answers.wait_for(Awaited::Publish(pending));
            }
            Err(size) => {
                let what = if sent == 1 { "the event" } else { "the batch" };
                pending.fail(Error::TooLarge { what, size, limit: self.frame_bytes });
            }
        }
    }

    fn write_several(&mut self, mut list: Vec<Pending>) {
        let corr = Corr::number(self.answers.next_corr());
        let events = || list.iter().flat_map(|pending| pending.events());
        match self.socket.text(self.frame_bytes, |out| publish::write_batch(out, Some(&corr), events())) {
            Ok(()) => {
                list.iter_mut().for_each(|pending| pending.was_sent = true);
                self.work.publishes.pacer.sent(list.len());
                self.answers.wait_for(Awaited::Publishes(list));
            }
            // Estimates are generous, so this does not happen; alone they fit.
            Err(_) => list.into_iter().for_each(|pending| self.write_publish(pending)),
        }
    }

    pub fn published(&mut self, pending: Pending, receipt: Result<Receipt, FrameError>) -> Result<(), String> {
        match receipt {
            Ok(receipt) => {
                self.work.publishes.pacer.accepted(1);
                pending.succeed([receipt]);
                Ok(())
            }
            Err(error) => self.malformed(vec![pending], &error.to_string()),
        }
    }

    pub fn published_atomic(
        &mut self,
        pending: Pending,
        answer: Result<BatchAnswer, FrameError>,
    ) -> Result<(), String> {
        let count = pending.events().len();
        let BatchAnswer { durability, results } = match check_length(answer, count) {
            Ok(batch) => batch,
            Err(problem) => return self.malformed(vec![pending], &problem),
        };
        let placed: Result<Vec<Placed>, Problem> = results.into_iter().collect();
        match placed {
            Ok(placed) => {
                let one = |(at, placed)| receipt(&pending, at, placed, durability);
                let receipts: Vec<Receipt> = placed.into_iter().enumerate().filter_map(one).collect();
                self.work.publishes.pacer.accepted(count);
                pending.succeed(receipts);
            }
            Err(problem) => self.publish_refused(vec![pending], &problem),
        }
        Ok(())
    }

    pub fn published_several(
        &mut self,
        list: Vec<Pending>,
        answer: Result<BatchAnswer, FrameError>,
    ) -> Result<(), String> {
        let BatchAnswer { durability, results } = match check_length(answer, list.len()) {
            Ok(batch) => batch,
            Err(problem) => return self.malformed(list, &problem),
        };
        self.work.publishes.pacer.accepted(results.iter().filter(|result| result.is_ok()).count());
        let mut again = Vec::new();
        for (pending, result) in list.into_iter().zip(results) {
            match result {
                Ok(placed) => {
                    let receipt = receipt(&pending, 0, placed, durability);
                    pending.succeed(receipt);
                }
                Err(problem) => again.extend(self.retry_or_fail(pending, &problem)),
            }
        }
        self.work.publishes.put_back(again);
        Ok(())
    }

    pub fn publish_refused(&mut self, list: Vec<Pending>, problem: &Problem) {
        let again: Vec<Pending> = list.into_iter().filter_map(|pending| self.retry_or_fail(pending, problem)).collect();
        self.work.publishes.put_back(again);
    }

    /// Gives it back where it is to be sent again.
    fn retry_or_fail(&mut self, mut pending: Pending, problem: &Problem) -> Option<Pending> {
        let count = pending.events().len();
        let options = &self.work.core.options;
        let asked = problem.retry_after_ms.map(Duration::from_millis);
        let wait = match problem.code {
            ErrorCode::RateLimited | ErrorCode::Overloaded if options.rate_limited == RateLimited::Retry => {
                asked.unwrap_or(OVERLOAD_WAIT)
            }
            ErrorCode::JwtExpired if options.token.can_refresh() => TOKEN_RETRY,
            _ => {
                self.work.publishes.pacer.failed(count);
                pending.fail(problem.clone().into());
                return None;
            }
        };
        self.work.publishes.pacer.refused(count, wait.min(options.give_up_after), Instant::now());
        Some(pending)
    }

    /// The connection ends because of this; the events are sent again over the next.
    fn malformed(&mut self, list: Vec<Pending>, problem: &str) -> Result<(), String> {
        self.work.publishes.put_back(list);
        Err(problem.to_owned())
    }
}

fn check_length(answer: Result<BatchAnswer, FrameError>, expected: usize) -> Result<BatchAnswer, String> {
    let batch = answer.map_err(|error| error.to_string())?;
    match batch.results.len() {
        length if length == expected => Ok(batch),
        length => Err(format!("a batch of {expected} was answered with {length} results")),
    }
}

fn receipt(pending: &Pending, at: usize, placed: Placed, durability: Durability) -> Option<Receipt> {
    let id = placed.id.or_else(|| pending.events().get(at)?.id)?;
    Some(Receipt { id, partition: placed.partition, offset: placed.offset, stored_ts: placed.stored_ts, durability })
}

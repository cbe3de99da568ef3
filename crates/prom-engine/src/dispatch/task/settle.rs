//! Making settlements durable: at most one commit under way; what gathers meanwhile goes into the
//! next. No timer adds latency.

use prom_store::{CommitError, CursorChange};

use super::{DispatchTask, End, Retry, SettleReply};
use crate::Error;
use crate::commit::{Durable, NotCommitted, PendingUnit};
use crate::dispatch::Changes;
use crate::limits::{FLUSH_TIMEOUT, UNANSWERED};

#[derive(Default)]
pub(super) struct PendingSettlements {
    under_way: Option<UnderWay>,
    /// Answers that go out with the next commit.
    waiting: Vec<Answer>,
    pub retry: Retry,
    /// Changes were put back and are not durable yet.
    behind: bool,
}

struct UnderWay {
    commit: PendingUnit,
    changes: Changes,
    answers: Vec<Answer>,
}

struct Answer {
    reply: SettleReply,
    result: Result<(), Error>,
}

impl Answer {
    fn send(self) {
        let _caller_left = self.reply.send(self.result);
    }
}

impl PendingSettlements {
    /// Ready when the commit under way is; never while there is none. Can be dropped and called again.
    pub async fn done(&mut self) -> Result<Durable, NotCommitted> {
        match &mut self.under_way {
            Some(under_way) => (&mut under_way.commit).await,
            None => std::future::pending().await,
        }
    }

    /// Whether more may ask before the commit under way is done.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < UNANSWERED
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.is_none() && self.waiting.is_empty() && !self.behind
    }

    /// Callers that still wait hear that it will not become durable here.
    pub fn give_up(&mut self, error: impl Fn() -> Error) {
        let under_way = self.under_way.take().map_or_else(Vec::new, |under_way| under_way.answers);
        for mut answer in under_way.into_iter().chain(self.waiting.drain(..)) {
            answer.result = Err(error());
            answer.send();
        }
    }
}

impl DispatchTask {
    pub(super) fn answer_when_durable(&mut self, reply: Option<SettleReply>, result: Result<(), Error>) {
        if let Some(reply) = reply {
            self.settlement.waiting.push(Answer { reply, result });
        }
    }

    /// Hands over everything that gathered, unless a commit is under way or has to wait.
    pub(super) fn start_settlement(&mut self) {
        if self.settlement.under_way.is_some() || self.settlement.retry.must_wait() {
            return;
        }
        let answers = std::mem::take(&mut self.settlement.waiting);
        let Some(changes) = self.machine.take_changes() else {
            // Everything these asked for is durable already.
            self.settlement.behind = false;
            answers.into_iter().for_each(Answer::send);
            return;
        };
        let change = CursorChange::Settle {
            epoch: self.epoch,
            settled: changes.settled.clone(),
            failures: changes.failures.clone(),
        };
        let mut work = self.core.unit_of_work();
        work.change_cursor(self.cursor.clone(), change);
        if let Err(error) = self.add_given(&mut work, &changes) {
            let wait = self.settlement.retry.failed(self.core.clock.monotonic());
            tracing::error!(cursor = %self.cursor, %error, ?wait, "settlements cannot be written; trying again");
            self.settlement.waiting.extend(answers);
            self.machine.restore_changes(changes);
            self.settlement.behind = true;
            return;
        }
        self.settlement.under_way = Some(UnderWay { commit: work.send(), changes, answers });
    }

    /// The commit under way is durable, or failed.
    pub(super) fn settled(&mut self, result: Result<Durable, NotCommitted>) -> Option<End> {
        let UnderWay { changes, answers, .. } = self.settlement.under_way.take()?;
        let error = match result {
            Ok(_) => {
                self.settlement.retry.succeeded();
                self.settlement.behind = false;
                self.given_is_durable(&changes);
                answers.into_iter().for_each(Answer::send);
                return None;
            }
            Err(error) => error,
        };
        for mut answer in answers {
            answer.result = Err(Error::settle(&error));
            answer.send();
        }
        match error {
            NotCommitted::Refused(CommitError::Fenced { .. }) if self.is_topic_gone() => Some(End::TopicGone(None)),
            NotCommitted::Refused(CommitError::Fenced { .. }) => {
                tracing::warn!(cursor = %self.cursor, %error, "dispatching ends");
                Some(End::Failed(Error::fenced))
            }
            NotCommitted::Refused(CommitError::Closed) => Some(End::Failed(|_| Error::Closed)),
            _ => {
                let now = self.now();
                let wait = self.settlement.retry.failed(now);
                tracing::error!(cursor = %self.cursor, %error, ?wait, "settlements are not durable yet; trying again");
                self.machine.restore_changes(changes);
                self.settlement.behind = true;
                None
            }
        }
    }

    /// Waits for the commits under way.
    pub(super) async fn finish_commits(&mut self) -> Option<End> {
        if self.settlement.under_way.is_some() {
            let result = self.settlement.done().await;
            if let Some(end) = self.settled(result) {
                return Some(end);
            }
        }
        if self.letters.is_under_way() {
            let result = self.letters.done().await;
            return self.letters_done(result);
        }
        None
    }

    /// Makes durable what there is, trying again for a while.
    pub(super) async fn flush(&mut self) {
        let flushing = async {
            loop {
                if self.finish_commits().await.is_some() {
                    return;
                }
                let now = self.now();
                if let Some(not_before) = self.settlement.retry.not_before.take() {
                    tokio::time::sleep(not_before.saturating_sub(now)).await;
                }
                self.start_settlement();
                if self.settlement.is_idle() {
                    return;
                }
            }
        };
        if tokio::time::timeout(FLUSH_TIMEOUT, flushing).await.is_err() {
            tracing::error!(cursor = %self.cursor, "stopped with settlements that are not durable; those events come again");
        }
    }
}

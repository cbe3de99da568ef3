//! SUBSCRIBE, UNSUBSCRIBE, PAUSE, RESUME: the frames that make the hub agree with what is wanted.

use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::subscribe::Subscribe;
use prom_protocol::frame::{Corr, SubscriptionName, pause, unsubscribe};
use tokio::time::Instant;

use super::answers::Awaited;
use super::session::Session;
use super::subscriptions::{Phase, answer};
use crate::Error;
use crate::limits::RESUBSCRIBE_AFTER;

impl Session<'_> {
    pub fn write_subscriptions(&mut self) {
        for name in self.work.subscriptions.take_due() {
            self.write_due(&name);
        }
    }

    fn write_due(&mut self, name: &SubscriptionName) {
        let Some(phase) = self.work.subscriptions.get(name).map(|kept| kept.phase) else {
            return;
        };
        match phase {
            Phase::Waiting if self.work.closing.is_some() => {}
            Phase::Waiting => {
                self.write_subscribe(name);
                self.write_pausing(name);
            }
            Phase::Asked | Phase::Live => self.write_pausing(name),
            Phase::Leaving => self.write_unsubscribe(name),
            Phase::Left => {}
        }
    }

    fn write_subscribe(&mut self, name: &SubscriptionName) {
        let Some(kept) = self.work.subscriptions.get(name) else {
            return;
        };
        let corr = Corr::number(self.answers.next_corr());
        let frame = Subscribe { name: name.clone(), opts: kept.opts() };
        match self.socket.text(self.frame_bytes, |out| frame.write(out, Some(&corr))) {
            Ok(()) => {
                kept.phase = Phase::Asked;
                kept.told_paused = false;
                let number = kept.feed.number;
                self.answers.wait_for(Awaited::Subscribed { name: name.clone(), number });
            }
            Err(size) => {
                let error = Error::TooLarge { what: "the subscription", size, limit: self.frame_bytes };
                self.work.subscriptions.fail(name, error);
            }
        }
    }

    fn write_pausing(&mut self, name: &SubscriptionName) {
        let Some(kept) = self.work.subscriptions.get(name).filter(|kept| kept.is_fed()) else {
            return;
        };
        let wanted = kept.wants_pause();
        let replies = std::mem::take(&mut kept.switching);
        if wanted == kept.told_paused {
            replies.into_iter().for_each(|reply| answer(Some(reply), Ok(())));
            return;
        }
        kept.told_paused = wanted;
        let corr = Corr::number(self.answers.next_corr());
        let written = self.socket.text(self.frame_bytes, |out| match wanted {
            true => pause::write_pause(out, Some(&corr), name),
            false => pause::write_resume(out, Some(&corr), name),
        });
        if written.is_ok() {
            self.answers.wait_for(Awaited::Switched(replies));
        }
    }

    fn write_unsubscribe(&mut self, name: &SubscriptionName) {
        let Some(kept) = self.work.subscriptions.get(name).filter(|kept| kept.may_leave()) else {
            return;
        };
        kept.phase = Phase::Left;
        let number = kept.feed.number;
        let corr = Corr::number(self.answers.next_corr());
        if self.socket.text(self.frame_bytes, |out| unsubscribe::write(out, Some(&corr), name)).is_ok() {
            self.answers.wait_for(Awaited::Unsubscribed { name: name.clone(), number });
        }
    }

    pub fn subscribed(&mut self, name: &SubscriptionName, number: u64) {
        let Some(kept) = self.work.subscriptions.get_numbered(name, number) else {
            return;
        };
        if kept.phase == Phase::Asked {
            kept.phase = Phase::Live;
            match kept.starting.take() {
                Some(reply) => answer(Some(reply), Ok(())),
                None => kept.feed.resumed(),
            }
        }
    }

    pub fn subscribe_refused(&mut self, name: &SubscriptionName, number: u64, problem: Problem) {
        let Some(kept) = self.work.subscriptions.get_numbered(name, number) else {
            return;
        };
        if kept.phase != Phase::Asked {
            return;
        }
        match kept.starting.is_none() && may_work_later(problem.code) {
            true => self.work.subscriptions.retry_later(name, Instant::now() + RESUBSCRIBE_AFTER),
            false => self.end_subscription(name, problem),
        }
    }

    pub fn unsubscribed(&mut self, name: &SubscriptionName, number: u64) {
        if self.work.subscriptions.get_numbered(name, number).is_some() {
            self.work.subscriptions.remove(name);
        }
    }

    /// The hub has ended it by itself.
    pub fn ended_by_hub(&mut self, name: &SubscriptionName, problem: Problem) {
        let Some(kept) = self.work.subscriptions.get(name).filter(|kept| kept.is_fed()) else {
            return;
        };
        match kept.starting.is_none() && may_work_later(problem.code) {
            true => self.work.subscriptions.retry_later(name, Instant::now() + RESUBSCRIBE_AFTER),
            false => self.end_subscription(name, problem),
        }
    }

    fn end_subscription(&mut self, name: &SubscriptionName, problem: Problem) {
        tracing::debug!(topic = %name.topic, code = %problem.code, message = %problem.msg, "subscription ended");
        self.work.core.teller.tell_ended(name, problem.msg.clone());
        self.work.subscriptions.fail(name, problem.into());
    }
}

fn may_work_later(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Overloaded
            | ErrorCode::Internal
            | ErrorCode::RateLimited
            | ErrorCode::Fenced
            | ErrorCode::JwtExpired
            | ErrorCode::Unauthorized
    )
}

//! SUBSCRIBE, UNSUBSCRIBE, PAUSE, RESUME: the frames that bring the hub to the desired state.

use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::subscribe::Subscribe;
use prom_protocol::frame::{Corr, SubscriptionName, pause, unsubscribe};
use tokio::time::Instant;

use super::answers::Awaited;
use super::session::Session;
use super::subscriptions::{SubscriptionPhase, answer};
use crate::Error;
use crate::limits::RESUBSCRIBE_AFTER;
use crate::state::Notice;

impl Session<'_> {
    pub fn write_subscriptions(&mut self) {
        for name in self.work.subscriptions.take_due() {
            self.write_due(&name);
        }
    }

    fn write_due(&mut self, name: &SubscriptionName) {
        let Some(phase) = self.work.subscriptions.get(name).map(|entry| entry.phase) else {
            return;
        };
        match phase {
            SubscriptionPhase::Waiting if self.work.closing.is_some() => {}
            SubscriptionPhase::Waiting => {
                self.write_subscribe(name);
                self.write_pausing(name);
            }
            SubscriptionPhase::Asked | SubscriptionPhase::Live => self.write_pausing(name),
            SubscriptionPhase::Leaving => self.write_unsubscribe(name),
            SubscriptionPhase::Left => {}
        }
    }

    fn write_subscribe(&mut self, name: &SubscriptionName) {
        let Some(entry) = self.work.subscriptions.get(name) else {
            return;
        };
        let corr = Corr::number(self.answers.next_corr());
        let frame = Subscribe { name: name.clone(), opts: entry.opts() };
        let window = frame.opts.max_in_flight;
        match self.socket.text(self.frame_bytes, |out| frame.write(out, Some(&corr))) {
            Ok(()) => {
                entry.phase = SubscriptionPhase::Asked;
                (entry.told_paused, entry.told_window) = (false, window);
                let number = entry.feed.number;
                self.answers.wait_for(Awaited::Subscribed { name: name.clone(), number });
            }
            Err(size) => {
                let error = Error::TooLarge { what: "the subscription", size, limit: self.frame_bytes };
                self.work.subscriptions.fail(name, error);
            }
        }
    }

    fn write_pausing(&mut self, name: &SubscriptionName) {
        let Some(entry) = self.work.subscriptions.get(name).filter(|entry| entry.is_fed()) else {
            return;
        };
        let (wanted, window) = (entry.wants_pause(), entry.feed.max_in_flight());
        let replies = std::mem::take(&mut entry.switching);
        // A paused subscription has the time to be told of its window.
        let is_resized = !wanted && window != entry.told_window;
        if wanted == entry.told_paused && !is_resized {
            replies.into_iter().for_each(|reply| answer(Some(reply), Ok(())));
            return;
        }
        entry.told_paused = wanted;
        if is_resized {
            entry.told_window = window;
        }
        let corr = Corr::number(self.answers.next_corr());
        let written = self.socket.text(self.frame_bytes, |out| {
            if wanted {
                pause::write_pause(out, Some(&corr), name)
            } else {
                pause::write_resume(out, Some(&corr), name, window.filter(|_| is_resized))
            }
        });
        if written.is_ok() {
            self.answers.wait_for(Awaited::Switched(replies));
        }
    }

    fn write_unsubscribe(&mut self, name: &SubscriptionName) {
        let Some(entry) = self.work.subscriptions.get(name).filter(|entry| entry.may_leave()) else {
            return;
        };
        entry.phase = SubscriptionPhase::Left;
        let number = entry.feed.number;
        let corr = Corr::number(self.answers.next_corr());
        if self.socket.text(self.frame_bytes, |out| unsubscribe::write(out, Some(&corr), name)).is_ok() {
            self.answers.wait_for(Awaited::Unsubscribed { name: name.clone(), number });
        }
    }

    pub fn subscribed(&mut self, name: &SubscriptionName, number: u64, notes: Vec<String>) {
        for note in notes {
            let (topic, group) = (name.topic.clone(), name.group.clone());
            self.work.core.teller.tell(Notice::OptionDiffers { topic, group, note });
        }
        let Some(entry) = self.work.subscriptions.get_numbered(name, number) else {
            return;
        };
        if entry.phase == SubscriptionPhase::Asked {
            entry.phase = SubscriptionPhase::Live;
            match entry.starting.take() {
                Some(reply) => answer(Some(reply), Ok(())),
                None => entry.feed.resumed(),
            }
        }
    }

    pub fn subscribe_refused(&mut self, name: &SubscriptionName, number: u64, problem: Problem) {
        let Some(entry) = self.work.subscriptions.get_numbered(name, number) else {
            return;
        };
        if entry.phase != SubscriptionPhase::Asked {
            return;
        }
        if entry.starting.is_none() && may_work_later(problem.code) {
            self.work.subscriptions.retry_later(name, Instant::now() + RESUBSCRIBE_AFTER)
        } else {
            self.end_subscription(name, problem)
        }
    }

    pub fn unsubscribed(&mut self, name: &SubscriptionName, number: u64) {
        if self.work.subscriptions.get_numbered(name, number).is_some() {
            self.work.subscriptions.remove(name);
        }
    }

    /// The hub has ended it by itself.
    pub fn ended_by_hub(&mut self, name: &SubscriptionName, problem: Problem) {
        let Some(entry) = self.work.subscriptions.get(name).filter(|entry| entry.is_fed()) else {
            return;
        };
        if entry.starting.is_none() && may_work_later(problem.code) {
            self.work.subscriptions.retry_later(name, Instant::now() + RESUBSCRIBE_AFTER)
        } else {
            self.end_subscription(name, problem)
        }
    }

    fn end_subscription(&mut self, name: &SubscriptionName, problem: Problem) {
        tracing::debug!(topic = %name.topic, code = %problem.code, message = %problem.msg, "subscription ended");
        let is_known = self.work.subscriptions.get(name).is_some_and(|entry| entry.starting.is_none());
        // One that has not begun tells its caller.
        if is_known {
            self.work.core.teller.tell_ended(name, problem.msg.clone());
        }
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

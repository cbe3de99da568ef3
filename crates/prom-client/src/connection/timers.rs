//! What a session does because time has passed.

use std::pin::Pin;

use tokio::time::{Instant, Sleep};

use super::session::{Session, SessionEnd};

/// One timer for everything. Setting it to a later time costs nothing: it fires early and is set again.
pub(super) struct Timer {
    sleep: Pin<Box<Sleep>>,
    armed: Option<Instant>,
}

impl Timer {
    pub fn new() -> Self {
        Self { sleep: Box::pin(tokio::time::sleep_until(Instant::now())), armed: None }
    }

    pub fn set(&mut self, at: Instant) {
        if self.armed.is_none_or(|armed| at < armed) {
            self.sleep.as_mut().reset(at);
            self.armed = Some(at);
        }
    }

    pub async fn fired(&mut self) {
        self.sleep.as_mut().await;
        self.armed = None;
    }
}

impl Session<'_> {
    /// When something may have to be done.
    pub fn next_wake(&self) -> Instant {
        let options = &self.work.core.options;
        let quiet = if self.pinged { options.silence_limit } else { options.ping_after };
        let wakes = [
            Some(self.socket.last_received + quiet),
            self.work.publishes.look_at(),
            self.work.publishes.pacer.hold_until(),
            self.work.subscriptions.renew_at,
            self.work.subscriptions.retry_at(),
            self.refresh.due_at(),
            self.work.closing.as_ref().map(|closing| closing.deadline),
        ];
        wakes.into_iter().flatten().min().unwrap_or(self.socket.last_received + quiet)
    }

    pub fn tend(&mut self, now: Instant) -> Result<(), SessionEnd> {
        self.check_silence(now)?;
        self.work.publishes.pacer.release(now);
        if self.work.publishes.look_at().is_some_and(|at| at <= now) {
            let (after, reason) = (self.work.core.options.give_up_after, "the hub has not answered");
            let under_way = self.answers.expire(now, after, reason);
            self.work.publishes.expire(now, after, reason, under_way);
        }
        if self.work.subscriptions.renew_at.is_some_and(|at| at <= now) {
            self.renew_leases(now);
        }
        self.work.subscriptions.retry_due(now);
        self.refresh.begin_if_due(&self.work.core, now);
        Ok(())
    }

    /// A silent connection may be dead without either side being told.
    fn check_silence(&mut self, now: Instant) -> Result<(), SessionEnd> {
        let options = &self.work.core.options;
        let silent = now.saturating_duration_since(self.socket.last_received);
        if silent >= options.silence_limit {
            return Err(SessionEnd::Lost(format!("nothing came from the hub for {silent:?}")));
        }
        if silent >= options.ping_after && !self.pinged {
            self.pinged = true;
            self.socket.ping();
        }
        Ok(())
    }
}

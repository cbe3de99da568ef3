//! The topic of a dispatcher was deleted: it lets its subscribers go, and they stay subscribed.

use std::sync::Arc;

use prom_store::CursorChange;
use prom_types::GapReason;

use super::restart::Survivors;
use super::{DispatchTask, DispatcherSetup, End};
use crate::outlet::Outlet;

impl DispatchTask {
    /// Why events before the start of the log are gone.
    pub(super) fn why_gone(&self) -> GapReason {
        if self.is_topic_gone() { GapReason::Deleted } else { GapReason::Retention }
    }

    pub(super) fn is_topic_gone(&self) -> bool {
        self.core.topics.get(&self.cursor.log.topic).is_none()
    }

    /// A cursor may be fenced because another hub deleted the topic, and this one has not heard of it yet.
    pub(super) async fn look_for_topic(&mut self, end: End) -> End {
        let End::Failed(_) = &end else {
            return end;
        };
        let topic = &self.cursor.log.topic;
        match self.core.store.document(crate::topic::COLLECTION, topic).await {
            Ok(None) => End::TopicGone(None),
            _ => end,
        }
    }

    /// Everything that was leased is void, and what was not settled is told as a gap.
    pub(super) async fn end_with_topic(&mut self) {
        let log = self.cursor.log.clone();
        self.follow_head();
        if let Some(partitioned) = &self.partitioned {
            // They hear that their partitions went.
            drop(partitioned.owners(&self.seats, &log, &self.origin));
        }
        // It may have taken the cursor after the topic was deleted. Nothing of it may stay.
        if self.is_topic_gone() {
            let mut work = self.core.unit_of_work();
            work.change_cursor(self.cursor.clone(), CursorChange::Delete);
            if let Err(error) = work.send().await {
                tracing::warn!(cursor = %self.cursor, %error, "the cursor of a deleted topic stays");
            }
        }
        let joining = self.group.remove(&log);
        let seats = std::mem::take(&mut self.seats);
        for seat in seats {
            seat.outlet.forget(&self.origin);
            seat.outlet.give_back(&self.wake, seat.held);
            seat.outlet.let_go(&log, &self.wake);
        }
        joining.iter().for_each(|outlet| outlet.let_go(&log, &self.wake));
    }
}

impl DispatcherSetup {
    /// It was started for a topic that is gone: as if it never was.
    pub(super) fn let_go(&self, survivors: &mut Survivors) {
        let outlets: Vec<Arc<Outlet>> = survivors.take_outlets().chain(self.group.remove(&self.cursor.log)).collect();
        outlets.iter().for_each(|outlet| outlet.let_go(&self.cursor.log, &self.wake));
    }

    pub(super) fn is_topic_gone(&self) -> bool {
        self.core.topics.get(&self.cursor.log.topic).is_none()
    }
}

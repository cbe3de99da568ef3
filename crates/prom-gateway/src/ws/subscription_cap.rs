//! How many subscriptions one subject has on this hub, over all its connections.
//!
//! Each costs a task, a window, and a little for every topic that it reads. It counts where its client is connected, also if
//! another hub serves its group.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;

use crate::Hub;

/// By subject; those without a subscription are not in it.
#[derive(Default)]
pub struct SubscriptionCounts(Mutex<HashMap<Arc<str>, usize>>);

/// Counts one subscription until it is dropped.
pub struct CountedSubscription {
    hub: Arc<Hub>,
    subject: Option<Arc<str>>,
}

impl CountedSubscription {
    /// Refused where the subject has as many as it may.
    pub fn new(hub: &Arc<Hub>, subject: Option<&Arc<str>>) -> Result<Self, Problem> {
        if let Some(subject) = subject {
            let mut counts = hub.subscriptions.0.lock();
            let count = counts.get(subject).copied().unwrap_or_default();
            if let Some(most) = hub.options.subscriptions_per_subject.filter(|most| count >= *most) {
                let msg = format!(
                    "subject {subject} may have {most} subscriptions on this hub, and has them; end one, use a pattern, \
                     or raise `subscriptions_per_subject` under [limits]"
                );
                return Err(Problem::new(ErrorCode::Forbidden, msg));
            }
            counts.insert(subject.clone(), count + 1);
        }
        Ok(Self { hub: hub.clone(), subject: subject.cloned() })
    }
}

impl Drop for CountedSubscription {
    fn drop(&mut self) {
        let Some(subject) = &self.subject else {
            return;
        };
        let mut counts = self.hub.subscriptions.0.lock();
        match counts.get_mut(subject) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(subject)),
        }
    }
}

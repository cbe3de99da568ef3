//! Trouble that no listener hears of: warnings of `tracing`, of each kind at most one a minute.

use std::mem::{Discriminant, discriminant};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::WARN_EVERY;
use crate::state::Notice;

/// Remembers when it last warned of each kind, and how many came since.
#[derive(Default)]
pub(crate) struct Warner(Mutex<Vec<(Discriminant<Notice>, Instant, u64)>>);

impl Warner {
    pub fn hear(&self, notice: &Notice) {
        let Some(trouble) = trouble(notice) else {
            return;
        };
        let now = Instant::now();
        let mut told = self.0.lock();
        let before = match told.iter_mut().find(|(kind, ..)| *kind == discriminant(notice)) {
            Some((_, at, unheard)) if now.saturating_duration_since(*at) < WARN_EVERY => {
                *unheard += 1;
                return;
            }
            Some((_, at, unheard)) => {
                *at = now;
                std::mem::take(unheard)
            }
            None => {
                told.push((discriminant(notice), now, 0));
                0
            }
        };
        drop(told);
        tracing::warn!(like_it_before = before, "{trouble}; Client::notices tells of each");
    }
}

/// None for what is no trouble.
fn trouble(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::HandlerFailed { topic, group, event, reason } => {
            format!("a handler of {topic} in group {group} failed, and event {event} is nacked: {reason}")
        }
        Notice::OptionDiffers { topic, group, note } => {
            format!("the subscription to {}: {note}", name(topic, group.as_deref()))
        }
        Notice::SubscriptionEnded { topic, group, reason } => {
            format!("the subscription to {} has ended: {reason}", name(topic, group.as_deref()))
        }
        Notice::Gap { topic, group, gap } => {
            let name = name(topic, group.as_deref());
            format!("events of {} are gone before {name} had them ({})", gap.topic, gap.reason)
        }
        Notice::NotConnected { reason } => format!("no connection to the hub: {reason}"),
        Notice::PublishingSlowed { reason, .. } => format!("the hub slows publishing down: {reason}"),
        Notice::TokenFailed { reason } => format!("no token: {reason}"),
        Notice::Closed { reason } => format!("the client is closed: {reason}"),
        Notice::Connected { .. } | Notice::Disconnected { .. } => return None,
    })
}

fn name(topic: &str, group: Option<&str>) -> String {
    match group {
        Some(group) => format!("{topic} in group {group}"),
        None => topic.to_owned(),
    }
}

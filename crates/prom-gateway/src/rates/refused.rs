//! Keeps publishes of one connection in order through a rate limit.
//!
//! A client sends on before it hears that an event was refused. If what follows passed, it would be stored first. So after a
//! refusal, what follows to the same topic over the same connection is refused too. For how long depends on the client:
//! one that sends refused events again (it says so in AUTH) is waited for, until the refused event comes; any other is
//! let through after the time it was told, or a second.
//!
//! Promises: memory is bounded, and a client that never sends an event again is held up for a bounded time.

use std::time::Duration;

use hashbrown::HashMap;
use prom_types::{EventId, NewEvent, TopicName};

use super::RetryAfter;

/// Topics of one connection in which a refused event is waited for. With more at once, order is not kept in the others.
const TOPICS: usize = 256;
/// How long after the time it was told a client may take to send a refused event again: longer than what it sent before
/// it heard of the refusal is under way.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same for a client that may never send it again.
const LITTLE_PATIENCE: Duration = Duration::from_secs(1);

/// Whether a client sends refused events again, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resends {
    Yes,
    No,
}

/// The first refused event of each topic. Times are of the monotonic clock.
#[derive(Default)]
pub struct RefusedEvents {
    by_topic: HashMap<TopicName, RefusedEvent>,
}

struct RefusedEvent {
    id: Option<EventId>,
    retry_at: Duration,
    wait_until: Duration,
}

impl RefusedEvents {
    /// If these events would overtake one that was refused: when to try again.
    pub fn overtaken_by(&self, events: &[NewEvent], now: Duration) -> Option<RetryAfter> {
        let is_overtaken = |(topic, refused): &(&TopicName, &RefusedEvent)| {
            let mut of_topic = events.iter().filter(|event| event.topic == **topic).peekable();
            let has_some = now < refused.wait_until && of_topic.peek().is_some();
            has_some && !of_topic.any(|event| event.id.is_some() && event.id == refused.id)
        };
        let wait = |(_, refused): (&TopicName, &RefusedEvent)| RetryAfter(refused.retry_at.saturating_sub(now));
        match events {
            [] => None,
            [one] => self.by_topic.get_key_value(&one.topic).filter(is_overtaken).map(wait),
            _ => self.by_topic.iter().filter(is_overtaken).map(wait).max(),
        }
    }

    /// They were refused, and should be tried again after this time.
    pub fn refused(&mut self, events: &[NewEvent], wait: RetryAfter, resends: Resends, now: Duration) {
        for event in events {
            if let Some(first) = self.by_topic.get_mut(&event.topic) {
                if now >= first.wait_until || first.id == event.id {
                    *first = RefusedEvent::new(event, wait, resends, now);
                }
                continue;
            }
            if self.by_topic.len() >= TOPICS {
                self.by_topic.retain(|_, refused| now < refused.wait_until);
            }
            if self.by_topic.len() < TOPICS {
                self.by_topic.insert(event.topic.clone(), RefusedEvent::new(event, wait, resends, now));
            }
        }
    }

    /// They are about to be stored.
    pub fn passed(&mut self, events: &[NewEvent]) {
        if !self.by_topic.is_empty() {
            self.by_topic.retain(|topic, _| !events.iter().any(|event| event.topic == *topic));
        }
    }
}

impl RefusedEvent {
    fn new(event: &NewEvent, wait: RetryAfter, resends: Resends, now: Duration) -> Self {
        let retry_at = now.saturating_add(wait.0);
        let wait_until = match (resends, event.id) {
            (Resends::Yes, Some(_)) => retry_at.saturating_add(PATIENCE),
            _ => retry_at.min(now.saturating_add(LITTLE_PATIENCE)),
        };
        Self { id: event.id, retry_at, wait_until }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const START: Duration = Duration::from_secs(100);
    const WAIT: RetryAfter = RetryAfter(Duration::from_millis(50));

    fn event(topic: &str, id: &str) -> [NewEvent; 1] {
        let mut event = NewEvent::new(TopicName::parse(topic).unwrap(), json!(1));
        event.id = Some(EventId::derived(id));
        [event]
    }

    fn refused(resends: Resends) -> RefusedEvents {
        let mut refused = RefusedEvents::default();
        refused.refused(&event("a", "first"), WAIT, resends, START);
        refused
    }

    #[test]
    fn nothing_of_the_topic_overtakes_a_refused_event_until_it_has_come_again() {
        let mut refused = refused(Resends::Yes);
        let later = START + Duration::from_secs(1);
        assert_eq!(refused.overtaken_by(&event("a", "second"), START), Some(WAIT));
        assert!(refused.overtaken_by(&event("a", "second"), later).is_some(), "also after the time it was told");
        assert_eq!(refused.overtaken_by(&event("b", "other"), START), None, "another topic");
        assert_eq!(refused.overtaken_by(&event("a", "first"), later), None, "it came again");
        refused.refused(&event("a", "second"), WAIT, Resends::Yes, later);
        assert_eq!(refused.overtaken_by(&event("a", "first"), later), None, "the first counts");
        let both = [event("a", "first"), event("a", "second")].concat();
        assert_eq!(refused.overtaken_by(&both, later), None, "they come together");
        refused.passed(&event("a", "first"));
        assert_eq!(refused.overtaken_by(&event("a", "second"), later), None);
    }

    #[test]
    fn a_client_that_does_not_send_it_again_is_held_up_for_a_bounded_time() {
        let told = START + WAIT.0;
        assert!(refused(Resends::No).overtaken_by(&event("a", "second"), START).is_some());
        assert_eq!(refused(Resends::No).overtaken_by(&event("a", "second"), told), None);
        let mut far = RefusedEvents::default();
        far.refused(&event("a", "first"), RetryAfter(Duration::from_secs(1000)), Resends::No, START);
        assert_eq!(far.overtaken_by(&event("a", "second"), START + LITTLE_PATIENCE), None);
        assert!(refused(Resends::Yes).overtaken_by(&event("a", "second"), told).is_some());
        let mut given_up = refused(Resends::Yes);
        assert_eq!(given_up.overtaken_by(&event("a", "second"), told + PATIENCE), None);
        given_up.refused(&event("a", "second"), WAIT, Resends::Yes, told + PATIENCE);
        assert!(given_up.overtaken_by(&event("a", "third"), told + PATIENCE).is_some(), "the second takes its place");
    }

    #[test]
    fn the_number_of_topics_is_bounded() {
        let mut refused = RefusedEvents::default();
        for n in 0..TOPICS * 2 {
            refused.refused(&event(&format!("t{n}"), "first"), WAIT, Resends::Yes, START);
        }
        assert_eq!(refused.by_topic.len(), TOPICS);
        refused.refused(&event("later", "first"), WAIT, Resends::Yes, START + WAIT.0 + PATIENCE);
        assert_eq!(refused.by_topic.len(), 1);
    }
}

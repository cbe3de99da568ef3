//! How much may wait to be published: a number of events and of bytes, then callers wait in turn.

use std::sync::Arc;

use prom_types::NewEvent;
use tokio::sync::Semaphore;

/// One budget in bytes bounds both: every event costs at least its share of it.
#[derive(Debug)]
pub(crate) struct Room {
    budget: Semaphore,
    most: usize,
    least_cost: usize,
}

/// What waiting events take; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct RoomShare {
    room: Arc<Room>,
    cost: usize,
}

impl Room {
    pub fn new(events: usize, bytes: usize) -> Self {
        let most = bytes.clamp(1, u32::MAX as usize);
        Self { budget: Semaphore::new(most), most, least_cost: (most / events.max(1)).max(1) }
    }

    /// Takes this much if it is free and no caller waits for it. The caller passes it on to a [`RoomShare`].
    pub fn try_take(&self, cost: u32) -> bool {
        self.budget.try_acquire_many(cost).map(|permit| permit.forget()).is_ok()
    }

    /// Waits in turn. The budget is never closed; if it were, nothing would hold callers back.
    pub async fn take(&self, cost: u32) {
        if let Ok(permit) = self.budget.acquire_many(cost).await {
            permit.forget();
        }
    }

    /// What takes more than all gets all.
    pub fn cost(&self, events: &[NewEvent]) -> u32 {
        let cost: usize = events.iter().map(|event| frame_bytes(event).max(self.least_cost)).sum();
        cost.clamp(1, self.most) as u32
    }
}

impl RoomShare {
    pub fn nothing(room: &Arc<Room>) -> Self {
        Self { room: room.clone(), cost: 0 }
    }

    /// For what was taken.
    pub fn of(room: &Arc<Room>, cost: u32) -> Self {
        Self { room: room.clone(), cost: cost as usize }
    }

    /// Another one of the same room.
    pub fn empty(&self) -> Self {
        Self::nothing(&self.room)
    }

    /// More was taken.
    pub fn grow(&mut self, cost: u32) {
        self.cost += cost as usize;
    }

    pub fn split(&mut self, cost: usize) -> Self {
        let cost = cost.min(self.cost);
        self.cost -= cost;
        Self { room: self.room.clone(), cost }
    }
}

impl Drop for RoomShare {
    fn drop(&mut self) {
        if self.cost > 0 {
            self.room.budget.add_permits(self.cost);
        }
    }
}

/// At most how many bytes an event takes in a frame: text may have to be escaped.
pub(crate) fn frame_bytes(event: &NewEvent) -> usize {
    const ESCAPED: usize = 6;
    const FIXED: usize = 192;
    const PER_ITEM: usize = 8;
    const ID: usize = 40;
    let text = event.key.as_ref().map_or(0, String::len) + event.sid.as_ref().map_or(0, String::len);
    let tags: usize = event.tags.iter().map(|tag| tag.len() * ESCAPED + PER_ITEM).sum();
    let headers: usize = event.headers.iter().map(|(name, value)| name.len() + value.len() * ESCAPED + PER_ITEM).sum();
    FIXED
        + event.topic.len()
        + event.payload.as_bytes().len()
        + text * ESCAPED
        + tags
        + headers
        + event.caused_by.len() * ID
}

#[cfg(test)]
mod tests {
    use prom_types::{EventId, TopicName};
    use serde_json::json;

    use super::*;

    fn event(payload: serde_json::Value) -> NewEvent {
        NewEvent::new(TopicName::parse("a.b").unwrap(), payload)
    }

    #[test]
    fn both_events_and_bytes_are_bounded() {
        let few = Arc::new(Room::new(2, 1 << 20));
        let enter = |event: &[NewEvent]| few.try_take(few.cost(event)).then(|| RoomShare::of(&few, few.cost(event)));
        let small = [event(json!(1))];
        let places: Vec<_> = std::iter::from_fn(|| enter(&small)).collect();
        assert_eq!(places.len(), 2, "by count");
        drop(places);
        let large = [event(json!("x".repeat(600 << 10)))];
        let place = enter(&large);
        assert!(place.is_some());
        assert!(enter(&large).is_none(), "by bytes");
        drop(place);
        assert!(enter(&large).is_some(), "room comes back");
    }

    #[test]
    fn what_is_larger_than_the_room_gets_all_of_it() {
        let room = Room::new(10, 1000);
        assert!(room.try_take(room.cost(&[event(json!("x".repeat(5000)))])));
        assert!(!room.try_take(room.cost(&[event(json!(1))])));
    }

    #[test]
    fn the_estimate_is_never_below_what_a_frame_takes() {
        let mut awkward = event(json!({"a": [1, 2, 3]}));
        awkward.id = Some(EventId::derived("a"));
        awkward.exact = true;
        awkward.ts = Some(i64::MIN);
        awkward.key = Some("\u{1}\"\\".repeat(100));
        awkward.sid = Some("\u{1f}".repeat(50));
        awkward.partition = Some(u32::MAX);
        awkward.tags = vec!["\n".repeat(10); 5];
        awkward.caused_by = vec![EventId::derived("b"); 20];
        awkward.headers.insert("x-a", "\"".repeat(500)).unwrap();
        let mut out = Vec::new();
        prom_protocol::frame::publish::write_batch(&mut out, None, std::iter::once(&awkward));
        assert!(frame_bytes(&awkward) >= out.len(), "{} < {}", frame_bytes(&awkward), out.len());
    }
}

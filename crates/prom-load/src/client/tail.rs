//! Reading without a group: a consumer that gets every event and acks nothing.

use std::pin::pin;
use std::sync::Arc;

use prom_client::Tail;

use crate::ConsumeJob;

/// Events that are taken before others get their turn.
const MOST_AT_ONCE: usize = 256;

/// Reads until it has as many events as the job expects, the job is over, or the tail ends.
pub async fn tail(tail: &mut Tail, job: &Arc<ConsumeJob>) {
    let mut intake = job.intake();
    let mut over = pin!(job.over());
    while !intake.has_all() {
        let first = tokio::select! {
            biased;
            _ = &mut over => break,
            event = tail.next() => event,
        };
        let Some(first) = first else { break };
        let more = std::iter::from_fn(|| tail.try_next());
        let events = std::iter::once(first).chain(more).take(MOST_AT_ONCE);
        intake.all_arrived(events.map(|event| event.json().into_bytes()));
    }
    if let Some(error) = tail.failure() {
        job.failures().note(&error, 1);
    }
}

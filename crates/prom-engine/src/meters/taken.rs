//! Counting what a subscriber took.

use std::sync::Arc;
use std::time::Duration;

use prom_types::EpochMs;

use crate::deliver::Delivery;

/// Counts deliveries that were taken together. Neighbours mostly come from one dispatcher and one
/// commit: each such run costs as much as a single one.
pub(crate) fn count_taken(taken: &[Delivery], now_ms: EpochMs) {
    for run in taken.chunk_by(|a, b| Arc::ptr_eq(&a.origin, &b.origin)) {
        let Some(meter) = run.first().and_then(Delivery::meter) else {
            continue;
        };
        meter.delivered.add(run.len() as u64);
        let again = run.iter().filter(|delivery| delivery.is_redelivered()).count();
        if again > 0 {
            meter.redelivered.add(again as u64);
        }
        for stored_together in run.chunk_by(|a, b| a.stored_ts() == b.stored_ts()) {
            let age_ms = now_ms.saturating_sub(stored_together[0].stored_ts());
            let age = Duration::from_millis(u64::try_from(age_ms).unwrap_or(0));
            meter.latency.record_many(age, stored_together.len() as u64);
        }
    }
}

//! One live lease at a time; an acked event does not come again; an old epoch settles nothing; failed attempts are
//! counted.

use std::collections::BTreeMap;

use super::index::{DeliveryRecord, Index, Moment};
use super::{Broken, Explanation, Promise, SettleKind};

pub(super) fn check(index: &Index<'_>, broken: &mut Vec<Broken>) -> BTreeMap<Explanation, usize> {
    let mut explained = BTreeMap::new();
    for event in index.by_event.keys() {
        let deliveries: Vec<&DeliveryRecord<'_>> = index.deliveries_of(event).collect();
        check_acks(index, &deliveries, broken);
        check_fences(index, &deliveries, broken);
        check_attempts(index, &deliveries, broken);
        for (at, second) in deliveries.iter().enumerate().skip(1) {
            let mut why = None;
            // Acked events are covered by another promise.
            let is_unsettled = |first: &&&DeliveryRecord<'_>| {
                agreed(first, SettleKind::Ack).is_none_or(|acked| acked.line > second.seen.line)
            };
            for first in deliveries[..at].iter().filter(is_unsettled) {
                match index.why_again(first, second) {
                    Some(explanation) => why = Some(explanation),
                    None => broken.push(twice(first, second)),
                }
            }
            // The delivery before it is explained by what caused this one.
            if let Some(why) = why {
                *explained.entry(why).or_default() += 1;
            }
        }
    }
    explained
}

fn twice(first: &DeliveryRecord<'_>, second: &DeliveryRecord<'_>) -> Broken {
    let (one, other) = (first.client, second.client);
    let what = format!("{} was delivered to {other} while the lease of {one} lived", first.name());
    Broken::new(Promise::OneLease, [first.seen.line, second.seen.line], what)
}

/// No delivery begins after an ack was answered.
fn check_acks<'a>(index: &Index<'a>, deliveries: &[&DeliveryRecord<'a>], broken: &mut Vec<Broken>) {
    let acks = deliveries.iter().filter_map(|delivery| Some((delivery, agreed(delivery, SettleKind::Ack)?)));
    let Some((acker, acked)) = acks.min_by_key(|(_, at)| at.line) else { return };
    for again in deliveries.iter().filter(|delivery| delivery.seen.line > acked.line) {
        // Leased again to the same client, whose ack counted for both: the second delivery was in transit.
        let is_crossing = again.client == acker.client
            && again.seen.at_us <= acked.at_us + index.latency_us
            && index.why_again(acker, again).is_some();
        if !is_crossing && !index.is_late(again, acked.at_us) {
            let what = format!("{} was acked, and then delivered to {}", again.name(), again.client);
            broken.push(Broken::new(Promise::AckKept, [acked.line, again.seen.line], what));
        }
    }
}

/// An ack sent after the cursor changed hands, for an earlier delivery, is refused, unless another client had settled
/// the event or it was leased again to the same client.
fn check_fences<'a>(index: &Index<'a>, deliveries: &[&DeliveryRecord<'a>], broken: &mut Vec<Broken>) {
    for (at, delivery) in deliveries.iter().enumerate() {
        let Some(ack) = delivery.settlings.iter().find(|one| one.agreed(SettleKind::Ack).is_some()) else { continue };
        let Some(answered) = ack.agreed(SettleKind::Ack) else { continue };
        let Some(since_us) = index.changed_between(delivery, delivery.seen.at_us, ack.sent.at_us) else { continue };
        let others = deliveries.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| other);
        let is_settled = |other: &DeliveryRecord<'a>| {
            let acks = other.settlings.iter().filter(|one| one.verdict == SettleKind::Ack);
            acks.into_iter().any(|one| one.sent.line < answered.line && index.may_count(other, one))
        };
        let is_leased_again =
            |other: &DeliveryRecord<'a>| other.client == delivery.client && other.seen.at_us >= since_us;
        let is_gone = index.is_disconnected(delivery.client, since_us, answered.at_us + index.latency_us);
        if !is_gone && !others.into_iter().any(|other| is_settled(other) || is_leased_again(other)) {
            let what = format!("the ack of {} by {} counted under an older epoch", delivery.name(), delivery.client);
            broken.push(Broken::new(Promise::Fenced, [delivery.seen.line, ack.sent.line, answered.line], what));
        }
    }
}

fn check_attempts<'a>(index: &Index<'a>, deliveries: &[&DeliveryRecord<'a>], broken: &mut Vec<Broken>) {
    for (at, delivery) in deliveries.iter().enumerate() {
        let (line, now) = (delivery.seen.line, delivery.seen.at_us);
        let has_failed = |one: &&&DeliveryRecord<'_>| {
            let is_nacked = one.settlings.iter().any(|it| it.verdict == SettleKind::Nack && it.sent.line < line);
            is_nacked || one.until_us <= now + index.latency_us
        };
        let failures = deliveries[..at].iter().filter(has_failed).count();
        if delivery.attempt as usize > failures + 1 {
            let what = format!("{} came as attempt {} after {failures} failures", delivery.name(), delivery.attempt);
            broken.push(Broken::new(Promise::Attempts, [line], what));
        }
        let forgotten = deliveries[..at].iter().find_map(|earlier| {
            let nacked = agreed(earlier, SettleKind::Nack).filter(|nacked| nacked.line < line)?;
            let is_counted = delivery.attempt > earlier.attempt || index.is_late(delivery, nacked.at_us);
            (!is_counted).then_some(nacked)
        });
        if let Some(nacked) = forgotten {
            let what = format!("{} was nacked and came again as attempt {}", delivery.name(), delivery.attempt);
            broken.push(Broken::new(Promise::Attempts, [nacked.line, line], what));
        }
    }
}

fn agreed(delivery: &DeliveryRecord<'_>, verdict: SettleKind) -> Option<Moment> {
    delivery.settlings.iter().find_map(|settling| settling.agreed(verdict))
}

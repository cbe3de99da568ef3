//! ACK, NACK and MODACK: what gathered for one log goes as ranges of offsets. A hub without batches gets one
//! frame for each, by id.

use std::borrow::Cow;
use std::cmp::Ordering;

use prom_protocol::ErrorCode;
use prom_protocol::frame::ack::Ack;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::modack::Modack;
use prom_protocol::frame::nack::Nack;
use prom_protocol::frame::{Corr, Which};
use prom_protocol::limits::BATCH_ITEMS;
use prom_types::Offset;
use smallvec::smallvec;
use std::time::Duration;

use super::answers::Awaited;
use super::session::{Batching, Session};
use crate::settle::{FrameSharing, PendingSettlement, SettleVerdict};

/// Two offsets of twenty digits, with brackets and commas.
const RANGE_BYTES: usize = 48;
/// The rest of a frame.
const HEAD_BYTES: usize = 1024;

impl Session<'_> {
    pub fn write_settlements(&mut self) {
        if self.work.settlements.is_empty() {
            return;
        }
        let mut together = Vec::new();
        for settlement in std::mem::take(&mut self.work.settlements) {
            if settlement.lease.epoch != self.epoch {
                settlement.answer_lost("the connection that brought it has ended");
            } else if self.may_share(&settlement) {
                together.push(settlement);
            } else {
                let sharing = settlement.sharing;
                for one in settlement.singly(sharing) {
                    let offset = one.lease.offset;
                    self.write_settlement(vec![one], vec![(offset, offset)]);
                }
            }
        }
        together.sort_unstable_by(order);
        let mut rest = together.into_iter().peekable();
        while let Some(first) = rest.next() {
            let mut list = vec![first];
            let mut events = list[0].len();
            let most = self.most_ranges();
            while let Some(next) = rest.next_if(|next| share_frame(&list[0], next) && events + next.len() <= most) {
                events += next.len();
                list.push(next);
            }
            let ranges = ranges_of(&list, events);
            self.write_settlement(list, ranges);
        }
    }

    /// What fits into a frame even if no two events are neighbours.
    fn most_ranges(&self) -> usize {
        BATCH_ITEMS.min(self.frame_bytes.saturating_sub(HEAD_BYTES) / RANGE_BYTES).max(1)
    }

    fn may_share(&self, settlement: &PendingSettlement) -> bool {
        self.batching == Batching::Agreed
            && settlement.sharing == FrameSharing::Allowed
            && settlement.len() <= self.most_ranges()
            && !matches!(settlement.verdict, SettleVerdict::Nack { .. })
    }

    /// All of one log and one verdict.
    fn write_settlement(&mut self, list: Vec<PendingSettlement>, ranges: Vec<(Offset, Offset)>) {
        let [first, ..] = list.as_slice() else {
            return;
        };
        let lease = &first.lease;
        let corr = Corr::number(self.answers.next_corr());
        let which = match self.batching {
            Batching::Agreed => Which::Offsets { partition: lease.partition, ranges },
            Batching::Plain => Which::Ids(smallvec![lease.id]),
        };
        let topic = Cow::Borrowed(lease.topic.as_str());
        let group = Cow::Borrowed(lease.feed.name.group.as_deref().unwrap_or_default());
        let written = self.socket.text(self.frame_bytes, |out| match &first.verdict {
            SettleVerdict::Ack => Ack { topic, group, which }.write(out, Some(&corr)),
            SettleVerdict::Nack { reason, delay } => {
                let delay_ms = delay.map(millis);
                let reason = Cow::Borrowed(reason.as_str());
                Nack { topic, group, which, reason, delay_ms, unhandled: false }.write(out, Some(&corr));
            }
            SettleVerdict::GiveBack => {
                let (reason, delay_ms) = (Cow::Borrowed(""), None);
                Nack { topic, group, which, reason, delay_ms, unhandled: true }.write(out, Some(&corr));
            }
            SettleVerdict::Modack { extend } => {
                Modack { topic, group, which, extend_ms: millis(*extend) }.write(out, Some(&corr));
            }
        });
        match written {
            Ok(()) => {
                self.work.subscriptions.settling(&lease.feed, events_of(&list));
                self.answers.wait_for(Awaited::Settled(list));
            }
            Err(size) => {
                let problem = Problem::new(ErrorCode::TooLarge, format!("a settlement of {size} bytes"));
                list.into_iter().for_each(|settlement| settlement.answer(Err(problem.clone().into())));
            }
        }
    }

    /// Settled, but for those that were no longer leased to this client.
    pub fn settled(&mut self, list: Vec<PendingSettlement>, unknown: &[(Offset, Offset)]) {
        self.note_answered(&list);
        for settlement in list {
            let is_unknown = |offset: &Offset| unknown.iter().any(|(from, to)| (*from..=*to).contains(offset));
            let lost = if unknown.is_empty() { None } else { settlement.offsets().find(is_unknown) };
            match lost {
                Some(lost) => settlement.answer_lost_at(lost, "the hub does not lease it to this client (any more)"),
                None => settlement.answer(Ok(())),
            }
        }
    }

    fn note_answered(&mut self, list: &[PendingSettlement]) {
        if let Some(first) = list.first() {
            self.work.subscriptions.settled(&first.lease.feed, events_of(list));
        }
    }

    /// A frame of many is refused as a whole, whichever of them is at fault: each is sent on its own then, which is
    /// safe, because settling what is settled is OK.
    pub fn settle_refused(&mut self, list: Vec<PendingSettlement>, problem: Problem) {
        self.note_answered(&list);
        let is_lost = matches!(problem.code, ErrorCode::UnknownId | ErrorCode::Fenced | ErrorCode::NotSubscribed);
        let may_be_others = is_lost || problem.code == ErrorCode::BadRequest;
        if events_of(&list) > 1 && may_be_others {
            self.work.settlements.extend(list.into_iter().flat_map(|one| one.singly(FrameSharing::Alone)));
            return;
        }
        for settlement in list {
            tracing::debug!(
                topic = %settlement.lease.topic, offset = settlement.lease.offset, verdict = ?settlement.verdict,
                code = %problem.code, "the hub refused a settlement"
            );
            if is_lost {
                settlement.lease.feed.forget(&settlement.lease);
                settlement.answer_lost(&problem.msg);
            } else {
                settlement.answer(Err(problem.clone().into()));
            }
        }
    }
}

fn order(a: &PendingSettlement, b: &PendingSettlement) -> Ordering {
    let key = |one: &PendingSettlement| (kind(&one.verdict), one.lease.feed.number);
    key(a)
        .cmp(&key(b))
        .then_with(|| a.lease.topic.cmp(&b.lease.topic))
        .then_with(|| (a.lease.partition, a.lease.offset).cmp(&(b.lease.partition, b.lease.offset)))
}

fn kind(verdict: &SettleVerdict) -> (u8, Duration) {
    match verdict {
        SettleVerdict::Ack => (0, Duration::ZERO),
        SettleVerdict::Modack { extend } => (1, *extend),
        SettleVerdict::GiveBack => (2, Duration::ZERO),
        SettleVerdict::Nack { .. } => (3, Duration::ZERO),
    }
}

fn share_frame(a: &PendingSettlement, b: &PendingSettlement) -> bool {
    kind(&a.verdict) == kind(&b.verdict)
        && a.lease.feed.number == b.lease.feed.number
        && a.lease.partition == b.lease.partition
        && a.lease.topic == b.lease.topic
}

fn events_of(list: &[PendingSettlement]) -> usize {
    list.iter().map(PendingSettlement::len).sum()
}

/// Of one log; most often they are in order already.
fn ranges_of(list: &[PendingSettlement], events: usize) -> Vec<(Offset, Offset)> {
    let mut ranges: Vec<(Offset, Offset)> = Vec::new();
    let offsets = || list.iter().flat_map(PendingSettlement::offsets);
    if offsets().is_sorted() {
        offsets().for_each(|offset| extend(&mut ranges, offset))
    } else {
        let mut sorted = Vec::with_capacity(events);
        sorted.extend(offsets());
        sorted.sort_unstable();
        sorted.into_iter().for_each(|offset| extend(&mut ranges, offset));
    }
    ranges
}

/// `offset` is not below what the ranges hold.
fn extend(ranges: &mut Vec<(Offset, Offset)>, offset: Offset) {
    match ranges.last_mut() {
        Some((_, to)) if offset <= to.saturating_add(1) => *to = offset.max(*to),
        _ => ranges.push((offset, offset)),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_in_a_row_become_one_range() {
        let mut ranges = vec![(3, 3)];
        for offset in [4, 4, 5, 9, 10, 12] {
            extend(&mut ranges, offset);
        }
        assert_eq!(ranges, [(3, 5), (9, 10), (12, 12)]);
    }
}

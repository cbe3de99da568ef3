//! All rules, one after the other.

use std::collections::BTreeMap;

use super::index::Index;
use super::{Broken, Explanation, HistoryLine, Promise, leases, log, order, settled};

/// How much was judged, so that a test can refuse a run that proves nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientsSummary {
    pub published: usize,
    pub logged: usize,
    pub deliveries: usize,
    /// Deliveries of events that the group had been given before.
    pub redeliveries: usize,
    pub explained: BTreeMap<Explanation, usize>,
    /// Settlements that a hub refused.
    pub refused: usize,
    /// How often a cursor changed hands.
    pub epochs: usize,
}

/// Every promise that the lines show to be broken.
pub fn judge(lines: &[HistoryLine]) -> Result<ClientsSummary, Vec<Broken>> {
    let index = Index::build(lines).map_err(|broken| vec![broken])?;
    if index.logs.is_empty() || index.groups.is_empty() {
        let what = "there is nothing to judge: no group, or nothing read from the log";
        return Err(vec![Broken::new(Promise::History, [lines.len()], what)]);
    }
    let mut broken = Vec::new();
    log::check(&index, &mut broken);
    order::check(&index, &mut broken);
    settled::check(&index, &mut broken);
    let explained = leases::check(&index, &mut broken);
    if broken.is_empty() { Ok(summary(&index, explained)) } else { Err(broken) }
}

fn summary(index: &Index<'_>, explained: BTreeMap<Explanation, usize>) -> ClientsSummary {
    use super::SettleAnswer::Refused;
    let answers = index.deliveries.iter().flat_map(|one| &one.settlings).filter_map(|settling| settling.answer);
    let raised =
        |seen: &Vec<super::index::CursorRecord>| seen.windows(2).filter(|pair| pair[0].epoch != pair[1].epoch).count();
    ClientsSummary {
        published: index.publishes.values().filter(|publish| !publish.receipts.is_empty()).count(),
        logged: index.logs.values().map(Vec::len).sum(),
        deliveries: index.deliveries.len(),
        redeliveries: index.deliveries.len() - index.by_event.len(),
        explained,
        refused: answers.filter(|(_, answer)| *answer == Refused).count(),
        epochs: index.cursors.values().map(raised).sum(),
    }
}

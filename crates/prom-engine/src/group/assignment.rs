//! Who owns which partition: a pure function of the members, the partitions and the owners before.
//!
//! ```text
//!   pins ──▶ quotas by weight ──▶ keep what one has, up to the quota ──▶ the rest by rendezvous score
//! ```
//!
//! Promises: with equal weights and no pins the sizes differ by at most one; a join or a leave moves
//! no more than it must, which is never more than partitions divided by members, rounded up; the same
//! input gives the same answer whatever the order of the members, on every machine.

#[cfg(test)]
mod properties;

/// A member that can own partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Unique among the candidates.
    pub id: &'a str,
    /// Its share in relation to the others; 0 takes only what it pins, while others take the rest.
    pub weight: u32,
    /// Partitions that go to this one first, whatever the balance.
    pub pins: &'a [u32],
}

/// The owner of each partition, as many as `previous` names. `None` only where there is no candidate.
pub fn assign<'a>(candidates: &[Candidate<'a>], previous: &[Option<&str>]) -> Vec<Option<&'a str>> {
    let mut everyone: Vec<Share<'a>> = candidates.iter().map(|one| Share::new(*one)).collect();
    everyone.sort_unstable_by_key(|share| share.candidate.id);
    if everyone.iter().all(|share| share.candidate.weight == 0) {
        everyone.iter_mut().for_each(|share| share.candidate.weight = 1);
    }
    let mut owners: Vec<Option<usize>> = vec![None; previous.len()];
    let before: Vec<Option<usize>> = previous.iter().map(|owner| find(&everyone, owner.as_deref())).collect();
    for owner in before.iter().flatten() {
        everyone[*owner].had += 1;
    }
    give_pinned(&mut everyone, &mut owners);
    set_quotas(&mut everyone, previous.len());
    keep(&mut everyone, &mut owners, &before);
    give_the_rest(&mut everyone, &mut owners);
    owners.into_iter().map(|owner| owner.map(|at| everyone[at].candidate.id)).collect()
}

struct Share<'a> {
    candidate: Candidate<'a>,
    hash: u64,
    /// Partitions it owned before.
    had: usize,
    pinned: usize,
    quota: usize,
    owned: usize,
}

impl<'a> Share<'a> {
    fn new(candidate: Candidate<'a>) -> Self {
        Self { candidate, hash: hash(candidate.id), had: 0, pinned: 0, quota: 0, owned: 0 }
    }

    /// How much this one wants a partition, in relation to others.
    fn score(&self, partition: usize) -> u64 {
        mix(self.hash ^ mix(partition as u64 + 1))
    }

    fn take(&mut self, owner: &mut Option<usize>, at: usize) {
        *owner = Some(at);
        self.owned += 1;
    }
}

fn find(everyone: &[Share<'_>], id: Option<&str>) -> Option<usize> {
    everyone.binary_search_by_key(&id?, |share| share.candidate.id).ok()
}

fn give_pinned(everyone: &mut [Share<'_>], owners: &mut [Option<usize>]) {
    if everyone.iter().all(|share| share.candidate.pins.is_empty()) {
        return;
    }
    for (partition, owner) in owners.iter_mut().enumerate() {
        let pins = |share: &Share<'_>| share.candidate.pins.iter().any(|pin| *pin as usize == partition);
        let who = (0..everyone.len()).filter(|at| pins(&everyone[*at])).max_by_key(|at| everyone[*at].score(partition));
        if let Some(at) = who {
            everyone[at].pinned += 1;
            everyone[at].take(owner, at);
        }
    }
}

/// Proportional to the weights, by largest remainder; a member with more pinned than that keeps it, and
/// the others share what is left.
fn set_quotas(everyone: &mut [Share<'_>], partitions: usize) {
    let mut open: Vec<usize> = (0..everyone.len()).collect();
    let mut left = partitions;
    loop {
        share_out(everyone, &open, left);
        let (full, rest): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|at| everyone[**at].pinned > everyone[**at].quota);
        if full.is_empty() {
            return;
        }
        for at in full {
            everyone[at].quota = everyone[at].pinned;
            left -= everyone[at].pinned;
        }
        open = rest;
    }
}

fn share_out(everyone: &mut [Share<'_>], open: &[usize], partitions: usize) {
    let weight = |at: &usize| u128::from(everyone[*at].candidate.weight);
    let total: u128 = open.iter().map(weight).sum();
    if total == 0 {
        open.iter().for_each(|at| everyone[*at].quota = everyone[*at].pinned);
        return;
    }
    let ideal = |at: &usize| partitions as u128 * weight(at);
    let mut by_claim: Vec<(u128, usize, u64, usize)> = open
        .iter()
        .filter(|at| everyone[**at].candidate.weight > 0)
        .map(|at| (ideal(at) % total, everyone[*at].had, everyone[*at].hash, *at))
        .collect();
    // A member that had more keeps more, so that nothing moves only to make another share the larger.
    by_claim.sort_unstable_by(|one, other| other.cmp(one));
    let whole: Vec<(usize, usize)> =
        open.iter().map(|at| (*at, usize::try_from(ideal(at) / total).unwrap_or(partitions))).collect();
    let given: usize = whole.iter().map(|(_, quota)| quota).sum();
    whole.into_iter().for_each(|(at, quota)| everyone[at].quota = quota);
    for (_, _, _, at) in by_claim.into_iter().take(partitions - given) {
        everyone[at].quota += 1;
    }
}

/// What a member has stays, up to the quota; those with the lowest scores are let go.
fn keep(everyone: &mut [Share<'_>], owners: &mut [Option<usize>], before: &[Option<usize>]) {
    let mut held: Vec<(usize, usize)> = before
        .iter()
        .enumerate()
        .filter(|(partition, _)| owners[*partition].is_none())
        .filter_map(|(partition, owner)| Some(((*owner)?, partition)))
        .collect();
    held.sort_unstable_by_key(|(at, partition)| (*at, std::cmp::Reverse(everyone[*at].score(*partition))));
    for (at, partition) in held {
        if everyone[at].owned < everyone[at].quota {
            everyone[at].take(&mut owners[partition], at);
        }
    }
}

/// Every quota is filled in the end, because together they are as many as the partitions.
fn give_the_rest(everyone: &mut [Share<'_>], owners: &mut [Option<usize>]) {
    let mut open: Vec<usize> = (0..everyone.len()).filter(|at| everyone[*at].owned < everyone[*at].quota).collect();
    for (partition, owner) in owners.iter_mut().enumerate().filter(|(_, owner)| owner.is_none()) {
        let best = open.iter().copied().max_by_key(|at| everyone[*at].score(partition));
        let Some(at) = best else { continue };
        everyone[at].take(owner, at);
        if everyone[at].owned == everyone[at].quota {
            open.retain(|other| *other != at);
        }
    }
}

/// FNV-1a: the same everywhere and forever.
fn hash(id: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    id.bytes().fold(0xCBF2_9CE4_8422_2325, step)
}

/// The finish of splitmix64.
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

//! The memory that bodies may take, of all requests and all answers together.
//!
//! Promise: what a body takes is counted before it is kept, and is given back when its share is dropped. Where nothing
//! is left, a request is refused and may be tried again; it never waits while it holds a share of its own. One subject
//! has at most half of it, so that nobody alone keeps the others from publishing and reading.

use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{Code, Problem};

/// What is counted at once: smaller bodies are too many to be worth counting exactly.
const UNIT_BYTES: usize = 1024;
/// Bodies come and go within moments.
const RETRY_AFTER_MS: u64 = 1000;

/// Whose body it is. Tokens without a subject share one place.
pub(crate) type Holder = Option<Arc<str>>;

pub(crate) struct BodyBudget {
    units: Arc<Semaphore>,
    bytes: usize,
    /// `None` where all callers are trusted alike.
    holders: Option<Arc<HolderUnits>>,
}

/// What one body holds.
pub(crate) struct BodyShare {
    held: OwnedSemaphorePermit,
    bytes: usize,
    of_holder: Option<HeldOfHolder>,
}

/// Units by subject; those that hold nothing are not in it.
struct HolderUnits {
    most: usize,
    held: Mutex<HashMap<Holder, usize>>,
}

/// Given back when it is dropped.
struct HeldOfHolder {
    holders: Arc<HolderUnits>,
    holder: Holder,
    units: usize,
}

impl BodyBudget {
    /// For a hub where anybody may take all of it.
    pub fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT_BYTES).min(Semaphore::MAX_PERMITS);
        Self { units: Arc::new(Semaphore::new(units)), bytes, holders: None }
    }

    /// For a hub that tells callers apart: none of them has more than half, unless one body needs it.
    pub fn shared_by_subjects(bytes: usize, largest_body: usize) -> Self {
        let most = (bytes / 2).max(largest_body).div_ceil(UNIT_BYTES);
        Self { holders: Some(Arc::new(HolderUnits { most, held: Mutex::default() })), ..Self::new(bytes) }
    }

    pub fn take(&self, holder: &Holder, bytes: usize) -> Result<BodyShare, Problem> {
        let taken = units(bytes).ok_or_else(|| used_up(self.bytes))?;
        let of_holder = self.holders.as_ref().map(|holders| HeldOfHolder::none(holders, holder));
        let mut share = BodyShare { held: self.none_held()?, bytes: self.bytes, of_holder };
        share.take_more(taken)?;
        Ok(share)
    }

    fn none_held(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.units.clone().try_acquire_many_owned(0).map_err(|_| used_up(self.bytes))
    }
}

impl HeldOfHolder {
    fn none(holders: &Arc<HolderUnits>, holder: &Holder) -> Self {
        Self { holders: holders.clone(), holder: holder.clone(), units: 0 }
    }

    fn take(&mut self, units: usize) -> Result<(), Problem> {
        let mut held = self.holders.held.lock();
        let before = held.get(&self.holder).copied().unwrap_or_default();
        if before + units > self.holders.most {
            return Err(used_up_by_holder(self.holders.most * UNIT_BYTES));
        }
        if units > 0 {
            held.insert(self.holder.clone(), before + units);
            self.units += units;
        }
        Ok(())
    }
}

impl Drop for HeldOfHolder {
    fn drop(&mut self) {
        if self.units == 0 {
            return;
        }
        let mut held = self.holders.held.lock();
        match held.get_mut(&self.holder) {
            Some(units) if *units > self.units => *units -= self.units,
            _ => drop(held.remove(&self.holder)),
        }
    }
}

impl BodyShare {
    /// Holds at least this much from now on.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let more = bytes.div_ceil(UNIT_BYTES).saturating_sub(self.held.num_permits());
        if more == 0 {
            return Ok(());
        }
        self.take_more(u32::try_from(more).map_err(|_| used_up(self.bytes))?)
    }

    fn take_more(&mut self, units: u32) -> Result<(), Problem> {
        // What all have left comes first: where it is refused, the holder has taken nothing.
        let more = self.held.semaphore().clone().try_acquire_many_owned(units).map_err(|_| used_up(self.bytes))?;
        if let Some(of_holder) = &mut self.of_holder {
            of_holder.take(units as usize)?;
        }
        self.held.merge(more);
        Ok(())
    }

    /// The bytes, which hold the share until they are written or dropped.
    pub fn hold(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(HeldBytes { bytes, _share: self })
    }
}

struct HeldBytes<B> {
    bytes: B,
    _share: BodyShare,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for HeldBytes<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

fn units(bytes: usize) -> Option<u32> {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok()
}

fn used_up(bytes: usize) -> Problem {
    let detail = format!(
        "other requests and answers use all {bytes} bytes that the hub reserves for bodies; try again, or send less at once"
    );
    Problem::new(Code::Overloaded, detail).retry_after(RETRY_AFTER_MS)
}

fn used_up_by_holder(bytes: usize) -> Problem {
    let detail = format!(
        "bodies of other requests and answers of this subject take the {bytes} bytes that one subject may hold; read the \
         answers, or try again with less at once"
    );
    Problem::new(Code::Overloaded, detail).retry_after(RETRY_AFTER_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_grow_and_come_back() {
        let budget = BodyBudget::new(10 * UNIT_BYTES);
        let mut one = budget.take(&None, UNIT_BYTES).unwrap();
        one.grow_to(8 * UNIT_BYTES).unwrap();
        one.grow_to(UNIT_BYTES).unwrap();
        assert!(budget.take(&None, 3 * UNIT_BYTES).is_err());
        assert!(one.grow_to(11 * UNIT_BYTES).is_err());
        let bytes = one.hold(vec![7]);
        assert!(budget.take(&None, 3 * UNIT_BYTES).is_err());
        drop(bytes);
        assert!(budget.take(&None, 10 * UNIT_BYTES).is_ok());
    }

    #[test]
    fn one_holder_has_half_and_leaves_half_to_the_others() {
        let (alpha, beta): (Holder, Holder) = (Some("alpha".into()), Some("beta".into()));
        let budget = BodyBudget::shared_by_subjects(10 * UNIT_BYTES, UNIT_BYTES);
        let mut one = budget.take(&alpha, 2 * UNIT_BYTES).unwrap();
        one.grow_to(4 * UNIT_BYTES).unwrap();
        assert!(budget.take(&alpha, 2 * UNIT_BYTES).is_err());
        assert!(one.grow_to(6 * UNIT_BYTES).is_err());
        let other = budget.take(&beta, 5 * UNIT_BYTES).unwrap();
        assert!(budget.take(&None, 2 * UNIT_BYTES).is_err());
        drop(one);
        let again = budget.take(&alpha, 5 * UNIT_BYTES).unwrap();
        drop((again, other));
        assert!(budget.holders.unwrap().held.lock().is_empty());
    }
}

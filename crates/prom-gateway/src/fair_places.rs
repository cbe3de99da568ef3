//! Places for work that takes a moment of a processor, which those who want them wait for.
//!
//! Promise: one subject waits for itself. However much it asks for at once, it has only some of the places, and the others
//! go to the rest.

use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Tokens without a subject are one of them.
type Subject = Option<Arc<str>>;

pub(crate) struct FairPlaces {
    all: Arc<Semaphore>,
    of_one: usize,
    /// Of subjects that have a place or wait for one.
    subjects: Mutex<HashMap<Subject, Weak<Semaphore>>>,
}

/// A place, until it is dropped.
pub(crate) struct FairPlace {
    _among_all: Option<OwnedSemaphorePermit>,
    _among_own: Option<OwnedSemaphorePermit>,
}

impl FairPlaces {
    /// So many in all, and so many of them for one subject.
    pub fn new(all: usize, of_one: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), of_one, subjects: Mutex::default() }
    }

    /// Waits for the subject's own places first: meanwhile it stands in nobody's way.
    pub async fn acquire(&self, subject: &Subject) -> FairPlace {
        let own = self.own(subject).acquire_owned().await.ok();
        FairPlace { _among_own: own, _among_all: self.all.clone().acquire_owned().await.ok() }
    }

    fn own(&self, subject: &Subject) -> Arc<Semaphore> {
        let mut subjects = self.subjects.lock();
        if let Some(own) = subjects.get(subject).and_then(Weak::upgrade) {
            return own;
        }
        subjects.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.of_one));
        subjects.insert(subject.clone(), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_subject_waits_for_itself_and_others_do_not() {
        let (alpha, beta): (Subject, Subject) = (Some("alpha".into()), Some("beta".into()));
        let places = FairPlaces::new(3, 2);
        let mut of_alpha = vec![places.acquire(&alpha).await, places.acquire(&alpha).await];
        let mut waiting = Box::pin(places.acquire(&alpha));
        assert!((&mut waiting).now_or_never().is_none());
        let of_beta = places.acquire(&beta).now_or_never().unwrap();
        of_alpha.pop();
        drop(waiting.await);
        drop((of_alpha, of_beta));
        drop(places.acquire(&None).await);
        assert_eq!(places.subjects.lock().len(), 1);
    }
}

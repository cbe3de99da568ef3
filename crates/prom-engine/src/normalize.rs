//! Deliveries on their way into the form of the latest schema, for a subscriber that asked for it.
//!
//! ```text
//!   outlet ─▶ a batch ─▶ upcast elsewhere ─▶ ready ─▶ the subscriber
//!                            └─ failed ─▶ the dead letters, with the reason
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use smallvec::smallvec;

use crate::ack::settle;
use crate::bus::Core;
use crate::deliver::Delivery;
use crate::dispatch::task::DispatchRequest;
use crate::limits::NORMALIZE_AT_ONCE;
use crate::outlet::Outlet;
use crate::schema::NotNormalized;

/// One batch at a time.
pub(crate) struct Normalizing {
    core: Arc<Core>,
    /// Never locked: it only makes a subscription `Sync`, which a boxed future is not.
    under_way: Option<Mutex<BoxFuture<'static, Vec<Delivery>>>>,
    ready: VecDeque<Delivery>,
}

impl Normalizing {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core, under_way: None, ready: VecDeque::new() }
    }

    pub fn is_busy(&self) -> bool {
        self.under_way.is_some()
    }

    /// What is ready, up to `most`. Where nothing is, what waits in the outlet is begun with.
    pub fn take(&mut self, outlet: &Outlet, now: Duration, most: usize) -> Vec<Delivery> {
        if self.ready.is_empty() && self.under_way.is_none() {
            let batch = outlet.take_many(now, outlet.options.batch_size.min(NORMALIZE_AT_ONCE));
            if !batch.is_empty() {
                self.under_way = Some(Mutex::new(normalized(self.core.clone(), batch).boxed()));
            }
        }
        self.ready.drain(..most.min(self.ready.len())).collect()
    }

    /// The batch under way is ready. Can be dropped and called again.
    pub async fn done(&mut self) {
        if let Some(under_way) = &mut self.under_way {
            let batch = under_way.get_mut().await;
            self.under_way = None;
            self.ready.extend(batch);
        }
    }
}

async fn normalized(core: Arc<Core>, batch: Vec<Delivery>) -> Vec<Delivery> {
    let events = batch.iter().map(|delivery| delivery.event().clone()).collect();
    let normalized = core.normalize(events).await;
    let mut ready = Vec::with_capacity(batch.len());
    for (delivery, normalized) in batch.into_iter().zip(normalized) {
        match normalized {
            Ok(event) => ready.push(delivery.with_event(event)),
            Err(NotNormalized::Unfit(reason)) => condemn(delivery, reason).await,
            // It goes back with the subscription, which ends with the hub.
            Err(NotNormalized::Stopped) => {}
        }
    }
    ready
}

/// A lease that has ended is left alone: the event is handed out again, and condemned then.
async fn condemn(delivery: Delivery, reason: String) {
    let (subscriber, leased) = (delivery.subscriber(), delivery.leased());
    let (origin, record) = (delivery.event().origin.clone(), delivery.event().record.clone());
    let request = move |reply| DispatchRequest::Condemn { subscriber, leased, record, reason, reply };
    let _lease_may_have_ended = settle(origin, smallvec![leased.offset], request).await;
}

//! What handles, subscriptions, deliveries and the connection's task share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use prom_types::{EpochMs, IdMaker};
use tokio_rustls::TlsConnector;

use crate::ClientOptions;
use crate::mailbox::Mailbox;
use crate::room::Room;
use crate::state::Teller;
use crate::url::HubUrl;

pub(crate) struct Core {
    pub url: HubUrl,
    pub options: ClientOptions,
    /// For `https` and `wss`.
    pub tls: Option<TlsConnector>,
    pub ids: IdMaker,
    pub mailbox: Mailbox,
    pub room: Arc<Room>,
    pub teller: Teller,
    /// Raised when a connection begins and when it ends: what an earlier one brought is not leased any more.
    epoch: AtomicU64,
    next_number: AtomicU64,
}

impl Core {
    pub fn new(url: HubUrl, options: ClientOptions, tls: Option<TlsConnector>) -> Arc<Self> {
        Arc::new(Self {
            room: Arc::new(Room::new(options.pending_events, options.pending_bytes)),
            url,
            options,
            tls,
            ids: IdMaker::new(),
            mailbox: Mailbox::default(),
            teller: Teller::new(),
            epoch: AtomicU64::new(0),
            next_number: AtomicU64::new(1),
        })
    }

    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub fn next_epoch(&self) -> u64 {
        self.epoch.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Tells subscriptions apart that have the same name one after the other.
    pub fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }
}

/// The wall clock, for ids and for when tokens expire.
pub(crate) fn now_ms() -> EpochMs {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    EpochMs::try_from(since_epoch.as_millis()).unwrap_or(EpochMs::MAX)
}

//! What handles, subscriptions, deliveries and the connection's task share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prom_types::{EpochMs, IdMaker};
use tokio_rustls::TlsConnector;

use crate::ClientOptions;
use crate::connection::random::SplitMix;
use crate::mailbox::Mailbox;
use crate::room::Room;
use crate::state::Teller;
use crate::url::HubUrl;

pub(crate) struct ClientCore {
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
    /// Seeds the next source of random numbers; see [`ClientCore::random`].
    next_seed: AtomicU64,
}

impl ClientCore {
    pub fn new(url: HubUrl, options: ClientOptions, tls: Option<TlsConnector>) -> Arc<Self> {
        let given = options.surroundings.seed;
        Arc::new(Self {
            room: Arc::new(Room::new(options.pending_events, options.pending_bytes)),
            url,
            options,
            tls,
            ids: given.map_or_else(IdMaker::new, IdMaker::seeded),
            mailbox: Mailbox::default(),
            teller: Teller::new(),
            epoch: AtomicU64::new(0),
            next_number: AtomicU64::new(1),
            next_seed: AtomicU64::new(given.unwrap_or_else(|| SplitMix::new().next())),
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

    /// The wall clock, for ids and for when tokens expire.
    pub fn now_ms(&self) -> EpochMs {
        self.options.surroundings.clock.now_ms()
    }

    /// A source of random numbers of its own for each connection and for the waits between them.
    pub fn random(&self) -> SplitMix {
        SplitMix::seeded(self.next_seed.fetch_add(0xd134_2543_de82_ef95, Ordering::Relaxed))
    }
}

//! The stores that the hub runs over, and two clients on its clock.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use prom_auth::{AuthOptions, TokenRequest, mint};
use prom_client::{Client, ClientOptions};
use prom_store::{Clock, MemoryStore, Store};
use prom_store_embedded::{Drive, EmbeddedOptions, EmbeddedStore, Sizes};
use prom_testkit::{Cable, HubInMemory, PowerLossDisk, Survival, TokioClock};

pub const HOUR: Duration = Duration::from_secs(3600);
const SECRET: &str = "a secret that only tests know and that is long enough";

/// What the hub stores in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Memory,
    Embedded,
}

pub const BACKENDS: [Backend; 2] = [Backend::Memory, Backend::Embedded];

/// A hub that wants tokens, and the clock of everything.
pub struct Scene {
    pub hub: HubInMemory,
    pub clock: Arc<TokioClock>,
    /// Under the embedded store; dropped last.
    disk: Option<PowerLossDisk>,
}

impl Scene {
    pub async fn open(backend: Backend) -> Self {
        let disk = match backend {
            Backend::Memory => None,
            Backend::Embedded => Some(PowerLossDisk::new().unwrap()),
        };
        Self::on(disk).await
    }

    /// On the same disk again, or on a fresh memory store.
    pub async fn on(disk: Option<PowerLossDisk>) -> Self {
        let clock = Arc::new(TokioClock::new());
        let store: Arc<dyn Store> = match &disk {
            None => Arc::new(MemoryStore::new(clock.clone())),
            Some(disk) => {
                let options = EmbeddedOptions {
                    disk: Arc::new(disk.clone()),
                    clock: clock.clone(),
                    drive: Drive::Inline,
                    sizes: Sizes::tiny(),
                    ..EmbeddedOptions::default()
                };
                EmbeddedStore::open_with(disk.root(), options).await.unwrap()
            }
        };
        let auth = AuthOptions { jwt_secret: Some(SECRET.to_owned()), ..AuthOptions::default() };
        let hub = HubInMemory::start(store, clock.clone(), auth).await.unwrap();
        Self { hub, clock, disk }
    }

    /// The disk as it is found after the power went, with nothing that was not synced.
    pub fn lose_power(&self) -> PowerLossDisk {
        self.disk.as_ref().unwrap().power_loss(Survival::Strict).unwrap()
    }

    /// Lets the hub end in order; returns the disk.
    pub async fn shut_down(self) -> Option<PowerLossDisk> {
        self.hub.shut_down().await.unwrap();
        self.disk
    }

    /// A client that gets a fresh token whenever it needs one.
    pub async fn client(&self, seed: u64) -> (Client, Cable) {
        let clock = self.clock.clone();
        let provide = move || {
            let token = token(&clock, HOUR);
            async move { Ok::<_, String>(token) }
        };
        self.connect(seed, |options| options.token_provider(provide)).await
    }

    /// A client that has one token, and none after it.
    pub async fn client_for(&self, lifetime: Duration, seed: u64) -> (Client, Cable) {
        let token = token(&self.clock, lifetime);
        self.connect(seed, |options| options.token(token)).await
    }

    async fn connect(&self, seed: u64, with: impl FnOnce(ClientOptions) -> ClientOptions) -> (Client, Cable) {
        let cable = self.hub.cable();
        let options = with(self.hub.client_options(&cable, seed));
        (Client::connect(HubInMemory::URL, options).await.unwrap(), cable)
    }
}

fn token(clock: &TokioClock, lifetime: Duration) -> String {
    let now = UNIX_EPOCH + Duration::from_millis(clock.now_ms().unsigned_abs());
    let scopes = vec!["publish:orders.*".to_owned(), "subscribe:orders.*".to_owned()];
    mint(&TokenRequest { scopes, lifetime, now, ..TokenRequest::default() }, SECRET).unwrap()
}

//! A hub in a runtime of its own, so that it can be killed like a process, over a store that outlives it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use prom_auth::{AuthOptions, Authenticator, TokenRequest, mint};
use prom_client::{Client, ClientOptions};
use prom_engine::{Bus, BusOptions};
use prom_gateway::{GatewayOptions, Hub, Listener, Listeners, Server};
use prom_store::{MemoryStore, SystemClock};
use tokio::runtime::{Builder, Runtime};

pub const PATIENCE: Duration = Duration::from_secs(30);
const SECRET: &str = "a secret that only tests know and that is long enough";

pub struct Scene {
    store: Arc<MemoryStore>,
    auth: AuthOptions,
    gateway: GatewayOptions,
    pub address: SocketAddr,
    running: Option<(Runtime, Server)>,
}

impl Scene {
    pub async fn open() -> Self {
        Self::with(AuthOptions::default(), GatewayOptions::default()).await
    }

    /// Wants tokens; see [`token`].
    pub async fn protected() -> Self {
        let auth = AuthOptions { jwt_secret: Some(SECRET.to_owned()), ..AuthOptions::default() };
        Self::with(auth, GatewayOptions::default()).await
    }

    /// As protected, and a token ends when it says so.
    pub async fn strict() -> Self {
        let jwt_secret = Some(SECRET.to_owned());
        let auth = AuthOptions { jwt_secret, clock_tolerance: Duration::ZERO, ..AuthOptions::default() };
        Self::with(auth, GatewayOptions::default()).await
    }

    pub async fn with(auth: AuthOptions, gateway: GatewayOptions) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut scene = Self { store, auth, gateway, address, running: None };
        scene.start().await;
        scene
    }

    /// On the address it had before, as soon as that is free.
    pub async fn start(&mut self) {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (store, auth, gateway, listen) =
            (self.store.clone(), self.auth.clone(), self.gateway.clone(), self.address);
        let starting = runtime.spawn(async move {
            let options = BusOptions::default();
            let clock = options.clock.clone();
            let bus = Bus::start(store, options).await.unwrap();
            let hub = Hub::new(bus, Authenticator::new(auth).unwrap(), clock, gateway);
            loop {
                match Listener::bind(listen).await {
                    Ok(listener) => return Server::start(hub, Listeners::new(listener)).unwrap(),
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
        let server = within(starting).await.unwrap();
        self.address = server.address();
        self.running = Some((runtime, server));
    }

    /// Nothing is closed in order: sockets break, tasks end where they are.
    pub fn kill(&mut self) {
        if let Some((runtime, server)) = self.running.take() {
            runtime.shutdown_background();
            drop(server);
        }
    }

    pub async fn client(&self) -> Client {
        self.client_with(ClientOptions::default()).await
    }

    pub async fn client_with(&self, options: ClientOptions) -> Client {
        let options = options.backoff(Duration::from_millis(5), Duration::from_millis(50));
        within(Client::connect(&format!("http://{}", self.address), options)).await.unwrap()
    }

    pub fn bus(&self) -> Bus {
        self.running.as_ref().unwrap().1.hub().bus.clone()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn token(scopes: &[&str], lifetime: Duration) -> String {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    mint(&TokenRequest { subject: "alpha".to_owned(), scopes, lifetime, ..TokenRequest::default() }, SECRET).unwrap()
}

pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it took too long")
}

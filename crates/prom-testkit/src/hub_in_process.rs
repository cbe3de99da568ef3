//! A hub in the process of the test: the real gateway and engine over a memory store, on a free port of this machine.
//!
//! Promises: it is ready when [`HubInProcess::start`] returns, which takes milliseconds and needs no binary; it has threads of its
//! own, so a test may be of any kind and may block; dropping it ends it and everything it held.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use prom_auth::{AuthOptions, Authenticator};
use prom_engine::{Bus, BusOptions};
use prom_gateway::{GatewayOptions, Listener, Listeners, Server};
use prom_store::{Clock, MemoryStore, SystemClock};
use tokio::sync::oneshot;

/// The hub's threads besides the one that waits for its end.
const WORKERS: usize = 2;
/// How long tasks that still run may take once the hub ends.
const END_WITHIN: Duration = Duration::from_secs(2);

/// A running hub. Dropping it ends it.
pub struct HubInProcess {
    address: SocketAddr,
    /// Dropped first, which ends the hub.
    wanted: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HubInProcess {
    /// On a free port, in memory, open to every process on this machine.
    pub fn start() -> io::Result<Self> {
        let (ready, started) = mpsc::sync_channel(1);
        let (wanted, unwanted) = oneshot::channel();
        let thread = std::thread::Builder::new().name("prom-test-hub".to_owned());
        let thread = thread.spawn(move || run(&ready, unwanted))?;
        let address = started.recv().map_err(|_gone| io::Error::other("the hub ended before it was ready"))??;
        Ok(Self { address, wanted: Some(wanted), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:…`, for HTTP and for the client alike.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for HubInProcess {
    fn drop(&mut self) {
        drop(self.wanted.take());
        if let Some(thread) = self.thread.take() {
            // A hub that panicked has said so on standard error; its test does not end because of that.
            drop(thread.join());
        }
    }
}

fn run(ready: &mpsc::SyncSender<io::Result<SocketAddr>>, unwanted: oneshot::Receiver<()>) {
    // The caller may be gone; then the channel that ends the hub is closed as well.
    let tell = |outcome| drop(ready.send(outcome));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return tell(Err(error)),
    };
    runtime.block_on(async {
        match serve().await {
            Ok(server) => {
                tell(Ok(server.address()));
                // An error means that the sender is gone, which ends the hub.
                drop(unwanted.await);
            }
            Err(error) => tell(Err(error)),
        }
    });
    runtime.shutdown_timeout(END_WITHIN);
}

async fn serve() -> io::Result<Server> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let auth = Authenticator::with_clock(AuthOptions::default(), clock.clone()).map_err(io::Error::other)?;
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let options = BusOptions { clock: clock.clone(), ..BusOptions::default() };
    let bus = Bus::start(store, options).await.map_err(io::Error::other)?;
    let hub = prom_gateway::Hub::new(bus, auth, clock, GatewayOptions::default());
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = Listener::bind(listen).await.map_err(io::Error::other)?;
    Server::start(hub, Listeners::new(listener)).map_err(io::Error::other)
}

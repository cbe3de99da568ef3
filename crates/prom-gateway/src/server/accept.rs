//! Accepting connections and serving them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::header::X_CONTENT_TYPE_OPTIONS;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use prom_engine::TaskName;
use prom_protocol::ErrorCode;
use tokio::io::AsyncWriteExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::write_deadline::WriteDeadline;
use super::{HubStream, Listener, Serves, guard, upgrade};
use crate::http::is_about_group;
use crate::http::{CameOver, ConnectionRate, Problem};
use crate::peers::RELAY_HEADER;
use crate::{Hub, ws};

/// The wait after a failed accept. The system is most likely out of file descriptors.
const AFTER_FAILURE: Duration = Duration::from_millis(100);
/// The head of a request is no place for data.
const HEAD_BYTES: usize = 64 * 1024;

pub(crate) const CONNECTION: TaskName = TaskName::only("connection");

/// Serves the connections of one listener.
#[derive(Clone)]
pub struct Acceptor {
    pub hub: Arc<Hub>,
    pub router: Router,
    pub tls: Option<TlsAcceptor>,
    /// One permit per open connection.
    pub permits: Arc<Semaphore>,
    pub serves: Serves,
    /// Where WebSockets are served, if not here.
    pub websocket_port: Option<u16>,
}

/// Counts a connection for as long as it is open.
pub(crate) struct OpenSocket {
    pub hub: Arc<Hub>,
    pub peer: SocketAddr,
    _permit: OwnedSemaphorePermit,
}

impl OpenSocket {
    fn new(hub: &Arc<Hub>, peer: SocketAddr, permit: OwnedSemaphorePermit) -> Self {
        hub.sockets.fetch_add(1, Ordering::Relaxed);
        Self { hub: hub.clone(), peer, _permit: permit }
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        self.hub.sockets.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Acceptor {
    /// Accepts until the task is aborted.
    pub async fn run(&self, listener: &mut Listener) {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(AFTER_FAILURE).await;
                    continue;
                }
            };
            let Ok(permit) = self.permits.clone().try_acquire_owned() else {
                tracing::debug!(%peer, "too many connections; refused another");
                tokio::spawn(refuse(stream));
                continue;
            };
            let (acceptor, socket) = (self.clone(), OpenSocket::new(&self.hub, peer, permit));
            tokio::spawn(async move {
                // One that panics is cut; its client connects again.
                let _cut = acceptor.hub.failures().watch(&CONNECTION, acceptor.serve(stream, peer, socket)).await;
            });
        }
    }

    async fn serve(&self, stream: HubStream, peer: SocketAddr, socket: OpenSocket) {
        let stream = match &self.tls {
            None => stream,
            Some(tls) => match tokio::time::timeout(self.hub.options.header_deadline, tls.accept(stream)).await {
                Ok(Ok(stream)) => HubStream::Tls(Box::new(stream)),
                Ok(Err(error)) => return tracing::debug!(%peer, %error, "the TLS handshake failed"),
                Err(_) => return tracing::debug!(%peer, "the TLS handshake took too long"),
            },
        };
        let upgraded = self.serve_http(stream, peer).await;
        if let Some(on_upgrade) = upgraded
            && let Ok(upgraded) = on_upgrade.await
            && let Ok(parts) = upgraded.downcast::<TokioIo<WriteDeadline>>()
        {
            // A task of its own: a WebSocket keeps nothing of what HTTP needed.
            tokio::spawn(ws::run(socket, parts.io.into_inner().into_inner(), parts.read_buf));
        }
    }

    /// Requests one after the other; returns when the connection ends or becomes a WebSocket.
    async fn serve_http(&self, stream: HubStream, peer: SocketAddr) -> Option<OnUpgrade> {
        let upgraded: Arc<Mutex<Option<OnUpgrade>>> = Arc::default();
        let rate = self.hub.rates.connection(self.hub.clock.monotonic()).map(ConnectionRate::new);
        let came_over = CameOver {
            tls: matches!(stream, HubStream::Tls(_)),
            http_only: self.serves == Serves::Http,
            websocket_port: self.websocket_port,
        };
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(came_over);
            if let Some(rate) = &rate {
                request.extensions_mut().insert(rate.clone());
            }
            let upgraded = upgraded.clone();
            async move {
                let mut response = self.answer(request, &upgraded).await;
                // What events contain is never to be taken for a script or a page.
                response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
                Ok::<_, Infallible>(response)
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.hub.options.header_deadline).max_buf_size(HEAD_BYTES);
        let stream = WriteDeadline::new(stream, self.hub.options.write_deadline);
        let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        tokio::pin!(connection);
        tokio::select! {
            biased;
            ended = connection.as_mut() => log_end(ended, peer),
            () = self.hub.stopped() => {
                connection.as_mut().graceful_shutdown();
                log_end(connection.await, peer);
            }
        }
        upgraded.lock().take()
    }

    /// The peer claims to be a hub; its token decides.
    fn is_from_hub(&self, request: &Request<Incoming>) -> bool {
        let is_relayed = request.headers().contains_key(RELAY_HEADER) && is_about_group(request.uri().path());
        is_relayed && self.hub.peers.is_some()
    }

    async fn answer(&self, mut request: Request<Incoming>, upgraded: &Mutex<Option<OnUpgrade>>) -> Response<Body> {
        if let Err(reason) = guard::check(&self.hub, request.headers()) {
            return Problem::new(ErrorCode::Forbidden, reason).into_response();
        }
        let path = request.uri().path();
        let wants_socket = upgrade::is_asked_for(&request) && matches!(path, "/" | "/ws");
        match (wants_socket, self.serves) {
            (true, Serves::Everything | Serves::WebSocket) => match upgrade::accept(request.headers()) {
                Ok(response) => {
                    *upgraded.lock() = Some(hyper::upgrade::on(&mut request));
                    response
                }
                Err(reason) => Problem::new(ErrorCode::BadRequest, reason).into_response(),
            },
            (true, Serves::Http) => {
                let reason = "this port serves HTTP only; WebSocket has another port on this hub";
                Problem::new(ErrorCode::BadRequest, reason).into_response()
            }
            // Other hubs know this address only.
            (false, Serves::WebSocket) if !self.is_from_hub(&request) => {
                let reason = "this port serves WebSocket only; HTTP has its own port (OPS_PORT)";
                Problem::new(ErrorCode::BadRequest, reason).with_status(StatusCode::UPGRADE_REQUIRED).into_response()
            }
            (false, _) => match self.router.clone().oneshot(request.map(Body::new)).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        }
    }
}

fn log_end(ended: Result<(), hyper::Error>, peer: SocketAddr) {
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "an HTTP connection ended");
    }
}

/// Too many connections: answered in HTTP, whatever was asked.
async fn refuse(mut stream: HubStream) {
    const FULL: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let told = async {
        stream.write_all(FULL).await?;
        stream.shutdown().await?;
        // Closing with unread bytes would reset the connection, and the answer would be lost.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    if !matches!(tokio::time::timeout(Duration::from_secs(1), told).await, Ok(Ok(_))) {
        tracing::debug!("a refused connection ended before it was answered");
    }
}

//! A bare connection to a hub: frames and requests as they are, for hubs that relay what their clients send.
//!
//! Nothing is kept up or tried again here. Applications want [`crate::Client`].

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use prom_protocol::websocket::Message;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use crate::Error;
use crate::connection::random::SplitMix;
use crate::connection::socket::{Socket, Step};
use crate::connection::tls;
use crate::connection::upgrade::{open, upgrade};
use crate::connector::{Connector, TcpConnector};
use crate::limits::HUB_FRAME_BYTES;
use crate::url::{HubUrl, Transport};

/// The largest answer to a request.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Opens connections. Cloning costs a reference count.
#[derive(Clone)]
pub struct Dialer {
    connector: Arc<dyn Connector>,
    tls: Arc<TlsConnector>,
}

/// Whether more is read than has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireReading {
    /// Bytes are read as they come.
    On,
    /// The receiver has no room.
    Held,
}

/// An open WebSocket. Dropping it hangs up.
pub struct Wire(Socket);

impl Dialer {
    /// Goes by TCP. Trusts what the machine trusts, and the certificates of a file where one is given.
    pub fn new(extra_ca: Option<&Path>) -> Result<Self, Error> {
        Ok(Self { connector: Arc::new(TcpConnector), tls: Arc::new(tls::connector(extra_ca)?) })
    }

    /// Goes through this connector instead.
    #[must_use]
    pub fn through(mut self, connector: impl Connector) -> Self {
        self.connector = Arc::new(connector);
        self
    }

    /// A WebSocket to the hub at this address. It is not authenticated yet.
    /// Messages above `most_bytes` break it.
    pub async fn dial(&self, url: &str, most_bytes: usize) -> Result<Wire, Error> {
        let url = HubUrl::parse(url)?;
        let unreachable = |reason| Error::Unreachable { url: url.to_string(), reason };
        let stream = open(&url, &*self.connector, self.tls_for(&url)).await.map_err(unreachable)?;
        let mut socket = upgrade(&url, stream, SplitMix::new()).await.map_err(unreachable)?;
        socket.set_limit(most_bytes.max(HUB_FRAME_BYTES));
        Ok(Wire(socket))
    }

    /// One request to the hub at this address, over a connection of its own. The path is the request's.
    pub async fn request(&self, url: &str, mut request: Request<Full<Bytes>>) -> Result<Response<Bytes>, Error> {
        let url = HubUrl::parse(url)?;
        let unreachable = |reason| Error::Unreachable { url: url.to_string(), reason };
        let host = url.authority.parse().map_err(|_| unreachable("its name is no header".to_owned()))?;
        request.headers_mut().insert(http::header::HOST, host);
        let stream = open(&url, &*self.connector, self.tls_for(&url)).await.map_err(unreachable)?;
        let failed = |error: hyper::Error| unreachable(format!("HTTP: {error}"));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(failed)?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, ANSWER_BYTES).collect().await;
            let body = body.map_err(|error| unreachable(format!("HTTP: {error}")))?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::pin!(exchange, connection);
        tokio::select! {
            answered = &mut exchange => answered,
            // The answer may have come with the end of the connection.
            ended = &mut connection => match ended {
                Ok(()) => exchange.await,
                Err(error) => Err(failed(error)),
            }
        }
    }

    fn tls_for(&self, url: &HubUrl) -> Option<&TlsConnector> {
        match url.transport {
            Transport::Plain => None,
            Transport::Tls => Some(&self.tls),
        }
    }
}

/// Checks an address without going there.
pub fn check_url(url: &str) -> Result<(), Error> {
    HubUrl::parse(url).map(drop)
}

impl Wire {
    /// Appends a text frame to what leaves with the next steps.
    pub fn send(&mut self, text: &[u8]) {
        let sent = self.0.text_about(text.len(), usize::MAX, |out| out.extend_from_slice(text));
        debug_assert!(sent.is_ok(), "there is no limit");
    }

    /// Appends a ping.
    pub fn ping(&mut self) {
        self.0.ping();
    }

    /// Appends the answer to a ping.
    pub fn pong(&mut self, payload: &[u8]) {
        self.0.pong(payload);
    }

    /// The next message that has come whole.
    pub fn next_message(&mut self) -> Result<Option<Message>, Error> {
        self.0.next_message().map_err(|error| Error::closed(error.to_string()))
    }

    /// Writes and reads until something has moved; false when the hub hung up. Nothing is lost if the
    /// future is dropped.
    pub async fn step(&mut self, reading: WireReading) -> Result<bool, Error> {
        let moved = match reading {
            WireReading::On => self.0.step().await.map(|step| step != Step::Ended),
            WireReading::Held => self.0.write().await.map(|()| true),
        };
        moved.map_err(|error| Error::closed(error.to_string()))
    }

    /// Bytes that wait to leave.
    pub fn waiting_bytes(&self) -> usize {
        self.0.waiting_bytes()
    }

    /// When bytes last came.
    pub fn last_received(&self) -> Instant {
        self.0.last_received
    }
}

//! What the client promises, against a hub that does as the test says, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

mod ack;
mod batch;
mod close;
mod lease;
mod publish;
mod rate;
mod reconnect;
mod subscribe;
mod tail;
mod tls;
mod token;
mod warn;
mod window;

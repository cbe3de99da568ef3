//! Closing: when everything is answered, and how the socket is let go.

use prom_protocol::CloseCode;
use prom_protocol::websocket::Message;
use tokio::time::{Instant, timeout};

use super::session::{Session, SessionEnd};
use super::socket::{Socket, Step};
use crate::limits::CLOSE_TIMEOUT;

impl Session<'_> {
    /// The application wants to close, and nothing is under way any more, or the time for it is over.
    pub fn is_done(&self) -> bool {
        let Some(closing) = &self.work.closing else {
            return false;
        };
        let nothing_left = self.socket.is_idle()
            && self.answers.is_empty()
            && self.work.publishes.is_empty()
            && self.work.settlements.is_empty()
            && self.work.subscriptions.held() == 0;
        nothing_left || closing.deadline <= Instant::now()
    }
}

/// As politely as the end allows, and not for long.
pub(super) async fn hang_up(mut socket: Socket, end: &SessionEnd) {
    let (code, reason) = match end {
        SessionEnd::Done => (CloseCode::Normal, ""),
        SessionEnd::Stop(_) => (CloseCode::Normal, "as the hub wants"),
        SessionEnd::Lost(reason) => (CloseCode::GoingAway, reason.as_str()),
        SessionEnd::Malformed(reason) => (CloseCode::ProtocolError, reason.as_str()),
    };
    socket.close(code.code(), reason);
    let patience = match end {
        SessionEnd::Done => CLOSE_TIMEOUT,
        _ => CLOSE_TIMEOUT / 10,
    };
    let _in_time = timeout(patience, async {
        socket.drain().await?;
        if matches!(end, SessionEnd::Done) {
            wait_for_close(&mut socket).await?;
        }
        std::io::Result::Ok(())
    })
    .await;
}

async fn wait_for_close(socket: &mut Socket) -> std::io::Result<()> {
    loop {
        while let Ok(message) = socket.next_message() {
            match message {
                Some(Message::Close(_)) => return Ok(()),
                Some(_) => {}
                None => break,
            }
        }
        if socket.step().await? == Step::Ended {
            return Ok(());
        }
    }
}

//! Writing to the socket: everything that gathered, in one write.

use std::io;

use tokio::io::AsyncWriteExt;

use super::outbox::Outbox;
use crate::server::WriteHalf;

/// Writes until the close frame is written or the socket fails.
pub async fn run(outbox: &Outbox, mut socket: WriteHalf) -> io::Result<()> {
    let mut bytes = Vec::new();
    while let Some(taken) = outbox.take(bytes).await {
        socket.write_all(&taken).await?;
        socket.flush().await?;
        bytes = taken;
    }
    socket.shutdown().await
}

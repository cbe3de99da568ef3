//! Clients that give messages as a stream: the loops around it are the same for each.

use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use futures::{Stream, StreamExt};
use prom_load::ConsumeJob;

use crate::load::contender::Tail;

/// A reader of payloads, with the connection that it needs.
pub struct StreamTail<S, C> {
    pub payloads: S,
    pub _connection: C,
}

#[async_trait]
impl<P, S, C> Tail for StreamTail<S, C>
where
    P: AsRef<[u8]>,
    S: Stream<Item = anyhow::Result<P>> + Send,
    C: Send,
{
    async fn run(self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let mut intake = job.intake();
        let mut payloads = std::pin::pin!(self.payloads);
        while !intake.has_all() {
            intake.arrived(payloads.next().await.context("the subscription has ended")??.as_ref())?;
        }
        Ok(())
    }
}

/// Takes messages and settles each by `settle`, until the job is over.
pub async fn consume<M, E>(
    job: &Arc<ConsumeJob>,
    messages: &mut (impl Stream<Item = Result<M, E>> + Unpin),
    payload: impl Fn(&M) -> &[u8],
    settle: impl AsyncFn(M) -> anyhow::Result<()>,
) -> anyhow::Result<()>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let mut intake = job.intake();
    let mut over = std::pin::pin!(job.over());
    while !job.is_over() {
        let message = tokio::select! {
            biased;
            message = messages.next() => message.context("the consumer has ended")??,
            _ = &mut over => break,
        };
        intake.arrived(payload(&message))?;
        settle(message).await?;
        intake.settled(1);
    }
    Ok(())
}

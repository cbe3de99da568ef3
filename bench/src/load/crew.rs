//! The connections of a measurement at work. When one of them fails, the measurement fails with its reason; when the
//! crew is dropped, all of them end.

use std::future::Future;

use anyhow::Context;
use tokio::task::JoinSet;

#[derive(Default)]
pub struct Crew {
    tasks: JoinSet<anyhow::Result<()>>,
}

impl Crew {
    pub fn add(&mut self, work: impl Future<Output = anyhow::Result<()>> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Waits for all of them.
    pub async fn finish(&mut self) -> anyhow::Result<()> {
        while let Some(ended) = self.tasks.join_next().await {
            ended.context("a connection's task")??;
        }
        Ok(())
    }

    /// What `watch` gives, or the first failure. They may all be done before.
    pub async fn during<T>(&mut self, watch: impl Future<Output = T>) -> anyhow::Result<T> {
        tokio::pin!(watch);
        loop {
            tokio::select! {
                watched = &mut watch => return Ok(watched),
                Some(ended) = self.tasks.join_next() => ended.context("a connection's task")??,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failure_ends_the_watch() {
        let mut crew = Crew::default();
        crew.add(async { Ok(()) });
        crew.add(async { anyhow::bail!("broken") });
        let watched = crew.during(std::future::pending::<()>()).await;
        assert!(watched.unwrap_err().to_string().contains("broken"));
    }

    #[tokio::test]
    async fn a_crew_that_is_done_does_not_end_the_watch() {
        let mut crew = Crew::default();
        crew.add(async { Ok(()) });
        let watched = crew.during(tokio::time::sleep(std::time::Duration::from_millis(5))).await;
        watched.unwrap();
    }
}

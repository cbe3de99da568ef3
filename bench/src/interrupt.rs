//! Running until the work is done or interrupted: either way everything that was started is ended.

use std::time::Duration;

use anyhow::bail;
use tokio::signal::unix::{SignalKind, signal};

/// After an interruption, tasks have this long to notice.
const GRACE: Duration = Duration::from_secs(2);

/// Servers are killed when the work that holds them is dropped.
pub fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Runtime::new()?;
    let done = runtime.block_on(async {
        let (mut interrupted, mut ended) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            done = work => done,
            _ = interrupted.recv() => bail!("interrupted; everything that was started has been ended"),
            _ = ended.recv() => bail!("asked to end; everything that was started has been ended"),
        }
    });
    runtime.shutdown_timeout(GRACE);
    done
}

//! One contender, one case, once.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use super::case::{Case, Load};
use super::results::Figure;
use crate::load::consume::{self, Backlog};
use crate::load::contender::{About, Contender};
use crate::load::publish::{self, PAYLOAD_BYTES};
use crate::load::rate::Spans;
use crate::load::server::Server;
use crate::load::topics::Topics;
use crate::load::{both, catch_up, fan_out, fill, latency};
use crate::page_cache;
use crate::work_dir::WorkDir;

/// Backlogs of large payloads end here.
const BACKLOG_BYTES: u64 = 600 << 20;
/// A server that is not done after this long is broken, not slow.
const PATIENCE: Duration = Duration::from_secs(240);
/// A server that reads slowly has less to read.
const CATCH_UP_SECONDS: f64 = 8.0;
/// Percentiles want more samples than a rate wants time.
const LATENCY_LONGER: f64 = 1.5;

/// A fresh server, measured and stopped.
pub async fn measure(
    contender: &Arc<dyn Contender>,
    case: &Case,
    work_dir: &WorkDir,
) -> anyhow::Result<Vec<(Figure, f64)>> {
    let about = contender.about();
    let mut server = Server::start(contender.clone(), work_dir.fresh(about.id)?).await?;
    let measured = tokio::time::timeout(PATIENCE, under_load(&mut server, case, about)).await;
    let figures = match measured {
        Ok(Ok(figures)) => figures,
        // A server that died explains more than the connection that noticed.
        Ok(Err(error)) => return Err(server.check().err().unwrap_or(error)),
        Err(_) => return Err(server.check().err().unwrap_or_else(|| anyhow::anyhow!("not done after {PATIENCE:?}"))),
    };
    server.remove().context("stopping")?;
    page_cache::write_out();
    Ok(figures)
}

async fn under_load(server: &mut Server, case: &Case, about: &About) -> anyhow::Result<Vec<(Figure, f64)>> {
    let rate = match case.load {
        Load::Publish(publishing) => publish::rate(server, publishing, case.spans).await?,
        Load::Consume { payload_bytes } => {
            let events = enough_events(about, case.spans, payload_bytes);
            let backlog = Backlog { topics: Topics::ONE, payload_bytes, events };
            fill::fill(server, backlog).await?;
            page_cache::write_out();
            consume::rate(server, about.members, backlog, case.spans).await?
        }
        Load::Both => both::rate(server, about.members, Topics::ONE, PAYLOAD_BYTES, case.spans).await?,
        Load::Latency => {
            let measured = case.spans.measured.mul_f64(LATENCY_LONGER);
            let latencies = latency::latencies(server, PAYLOAD_BYTES, case.spans.warm_up, measured).await?;
            return Ok(vec![(Figure::P50, latencies.p50_ms()), (Figure::P99, latencies.p99_ms())]);
        }
        Load::FanOut { readers, events } => fan_out::rate(server, PAYLOAD_BYTES, readers, events).await?,
        Load::CatchUp { events } => {
            let events = events.min((about.consumes_per_second * CATCH_UP_SECONDS) as u64);
            let backlog = Backlog { topics: Topics::ONE, payload_bytes: PAYLOAD_BYTES, events };
            fill::fill(server, backlog).await?;
            server.restart().await?;
            catch_up::rate(server, PAYLOAD_BYTES, events).await?
        }
    };
    Ok(vec![(Figure::Rate, rate)])
}

/// Enough for the whole measurement at the contender's usual pace.
fn enough_events(about: &About, spans: Spans, payload_bytes: usize) -> u64 {
    let seconds = (spans.warm_up + spans.measured).as_secs_f64();
    let wanted = (about.consumes_per_second * seconds) as u64;
    wanted.min(BACKLOG_BYTES / payload_bytes as u64)
}

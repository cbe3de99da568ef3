//! `prom bench`: load on a hub, measured as its users see it: over the Rust client, from outside.
//!
//! ```text
//!   asked ─▶ plan ─▶ stage (connections, topics) ─▶ warm-up ─▶ leg ─▶ clean up ─▶ report
//! ```
//!
//! The load itself is `prom-load`. Promises: every event that was published is accounted for: stored, refused or unanswered, and where something
//! consumes, seen unharmed or lost. Latency is measured from the moment an event was due, so that a hub that stalls
//! is not spared the events it kept from being sent. What the run made is removed, also after Ctrl-C.

mod asked;
mod plan;

mod names;

mod clean;
mod facts;
mod stage;

mod leg;
mod live;
mod readers;
mod stop;

mod plot;
mod report;

pub use asked::Bench;

use self::leg::{Leg, Measured};
use self::live::Live;
use self::plan::Plan;
use self::report::BenchReport;
use self::stage::Stage;
use self::stop::Stop;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::signals::Signals;

impl Bench {
    pub async fn run(self, context: &Context) -> CommandResult {
        let plan = self.plan();
        let hub = context.hub()?;
        let stop = Stop::on(Signals::listen()?);
        let live = Live::for_whom(context.output.format);
        let opened = tokio::select! {
            opened = Stage::open(&hub, &plan, &live) => opened?,
            () = stop.asked() => return Ok(()),
        };
        let measured = measure(&plan, &opened, &live, &stop).await;
        let left = opened.close(&live).await;
        drop(live);
        let report = BenchReport::new(&plan, opened.facts, measured?, left);
        if context.output.is_for_machines() {
            context.output.json(&report)?;
        } else {
            context.output.text(&report.text())?;
        }
        report.outcome()
    }
}

/// Warms up, then measures. What goes wrong with single events is counted; a failure means that nothing could be
/// measured.
async fn measure(plan: &Plan, stage: &Stage, live: &Live, stop: &Stop) -> Result<Measured, Failure> {
    if let Some(warm_up) = plan.warm_up() {
        live.stage("warming up");
        Leg::new(&warm_up, stage, &stage.warm_topics, stop).run(live).await?;
    }
    live.stage(plan.shape.doing());
    Leg::new(plan, stage, &stage.topics, stop).run(live).await
}

//! `prom-bench flows`: flows from and into databases, each beside the raw driver doing the same on the same server in the same run.

mod feed;
mod outbox;
mod projector;

use prom_testkit::mongo::ReplicaSet;

use crate::args::{FlowName, FlowsArgs};
use crate::figure;
use crate::interrupt;
use crate::work_dir::WorkDir;

const TITLE: &str =
    "Flows, on a MongoDB of one member, PostgreSQL, SQLite and the embedded store, medians of interleaved rounds";

pub fn run(args: &FlowsArgs) -> anyhow::Result<()> {
    let work_dir = WorkDir::make(&args.files)?;
    let about = work_dir.describe();
    eprintln!("measuring: {about}");
    let figures = interrupt::block_on(async {
        let mut figures = Vec::new();
        if args.wants(FlowName::Outbox) {
            figures.extend(outbox::measure(args, &work_dir).await?);
        }
        if args.wants(FlowName::Feed) {
            figures.extend(feed::measure(args, &work_dir).await?);
        }
        if args.wants(FlowName::Projector) {
            let set = ReplicaSet::start(1).await?;
            figures.extend(projector::measure(args, &work_dir, &set).await?);
        }
        anyhow::Ok(figures)
    })?;
    figure::print(&args.measure, &about, TITLE, &figures);
    Ok(())
}

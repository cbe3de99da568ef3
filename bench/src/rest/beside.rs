//! Other servers at rest, empty.

use std::time::Duration;

use crate::args::RestArgs;
use crate::figure::{Figure, Goal};
use crate::load::contender::Setting;
use crate::load::server::Server;
use crate::work_dir::WorkDir;
use crate::{peers, proc};

pub async fn figures(args: &RestArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for contender in peers::find() {
        let about = *contender.about();
        if !args.peers.include(about.id) || about.setting == Setting::Durable || seen.contains(&about.server) {
            continue;
        }
        seen.push(about.server);
        eprintln!("  {}", about.server);
        let server = Server::start(contender, work_dir.fresh(about.id)?).await?;
        let ready = server.process()?.ready_ms;
        tokio::time::sleep(Duration::from_secs(2)).await;
        // Some are a script around a program.
        let processes = proc::group_of(server.process()?.id())?;
        let idle = super::idle_percent(&processes, super::look(args)).await?;
        let resident = processes.iter().filter_map(|one| proc::resident(*one).ok()).map(|it| it.total_mb).sum();
        server.remove()?;
        figures.push(Figure::new(format!("{}: ready after start, empty", about.server), ready, "ms", Goal::None));
        figures.push(super::percent(format!("{}: processor time", about.server), idle, Goal::None));
        figures.push(Figure::new(format!("{}: memory", about.server), resident, "MB", Goal::None));
    }
    Ok(figures)
}

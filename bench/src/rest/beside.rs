//! Other servers at rest, empty.

use crate::args::RestArgs;
use crate::figure::Figure;
use crate::work_dir::WorkDir;

#[cfg(not(feature = "peers"))]
pub async fn figures(_args: &RestArgs, _work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    Ok(Vec::new())
}

#[cfg(feature = "peers")]
pub async fn figures(args: &RestArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    use std::time::{Duration, Instant};

    use crate::figure::Goal;
    use crate::load::contender::{ServerDirs, Setting};
    use crate::proc;

    let dirs = ServerDirs::at(work_dir.path());
    let mut figures = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for contender in crate::peers::find().contenders {
        let about = contender.about();
        if !args.peers.include(about.id) || about.setting == Setting::Durable || seen.contains(&about.server) {
            continue;
        }
        seen.push(about.server);
        eprintln!("  {}", about.server);
        let begun = Instant::now();
        let server = contender.start(&dirs).await?;
        let ready = begun.elapsed().as_secs_f64() * 1e3;
        tokio::time::sleep(Duration::from_secs(2)).await;
        // Some are a script around a program.
        let processes = proc::group_of(server.process())?;
        let idle = super::idle_percent(&processes, super::look(args)).await?;
        let resident = processes.iter().filter_map(|one| proc::resident(*one).ok()).map(|it| it.total_mb).sum();
        server.stop().await?;
        figures.push(Figure::new(format!("{}: ready after start, empty", about.server), ready, "ms", Goal::None));
        figures.push(super::percent(format!("{}: processor time", about.server), idle, Goal::None));
        figures.push(Figure::new(format!("{}: memory", about.server), resident, "MB", Goal::None));
    }
    Ok(figures)
}

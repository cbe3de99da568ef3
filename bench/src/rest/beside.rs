//! Other servers at rest, empty.

use crate::args::Args;
use crate::figure::Figure;
use crate::place::Place;

#[cfg(not(feature = "peers"))]
pub async fn figures(_args: &Args, _place: &Place) -> anyhow::Result<Vec<Figure>> {
    Ok(Vec::new())
}

#[cfg(feature = "peers")]
pub async fn figures(args: &Args, place: &Place) -> anyhow::Result<Vec<Figure>> {
    use std::time::{Duration, Instant};

    use crate::figure::Goal;
    use crate::load::contender::{Ground, Setting};
    use crate::proc;

    let ground = Ground::at(place.path());
    let mut figures = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let found = crate::peers::find();
    for contender in &found.contenders {
        let about = contender.about();
        let wanted = args.peers.is_empty() || args.peers.iter().any(|word| about.id.starts_with(word.as_str()));
        if !wanted || about.setting == Setting::Durable || seen.contains(&about.server) {
            continue;
        }
        seen.push(about.server);
        eprintln!("  {}", about.server);
        let begun = Instant::now();
        let server = contender.start(&ground).await?;
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

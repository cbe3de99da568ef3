//! The order of measurements: case by case, and within a case round by round, each round with every contender in turn,
//! so that anything else the machine does affects all of them.

use std::sync::Arc;
use std::time::Instant;

use super::case::Case;
use super::measure::measure;
use super::results::{Results, Sample};
use crate::load::contender::Contender;
use crate::work_dir::WorkDir;

#[derive(Default)]
pub struct Measured {
    pub results: Results,
    /// What could not be measured, with the reason. The rest goes on.
    pub failures: Vec<String>,
}

pub async fn run(
    cases: &[Case],
    contenders: &[Arc<dyn Contender>],
    work_dir: &WorkDir,
    rounds: usize,
) -> anyhow::Result<Measured> {
    let mut measured = Measured::default();
    let begun = Instant::now();
    for case in cases {
        let rounds = case.shape.rounds(rounds);
        for round in 0..rounds {
            eprintln!("[{:>5.0} s] {}, round {} of {rounds}", begun.elapsed().as_secs_f64(), case.title, round + 1);
            for contender in contenders.iter().filter(|one| case.absent(one.about()).is_none()) {
                one(&mut measured, contender, case, work_dir, round).await;
            }
        }
    }
    eprintln!("[{:>5.0} s] done", begun.elapsed().as_secs_f64());
    Ok(measured)
}

async fn one(measured: &mut Measured, contender: &Arc<dyn Contender>, case: &Case, work_dir: &WorkDir, round: usize) {
    let about = contender.about();
    match measure(contender, case, work_dir).await {
        Ok(figures) => {
            let shown: Vec<String> = figures.iter().map(|(figure, value)| figure.shown(*value)).collect();
            eprintln!("           {:<26} {}", about.name, shown.join(", "));
            for (figure, value) in figures {
                measured.results.add(Sample { case: case.id.clone(), figure, contender: about.id, round, value });
            }
        }
        Err(error) => {
            let failure = format!("{}, {}, round {}: {error:#}", case.title, about.name, round + 1);
            eprintln!("           FAILED {failure}");
            measured.failures.push(failure);
        }
    }
}

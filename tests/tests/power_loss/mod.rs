//! The embedded store on a disk that loses power: everything acknowledged is there, no commit is there in part, and the
//! store works again.

mod behind;
mod life;
mod model;
mod plan;
mod torn_tail;

use crate::rounds::rounds;

/// More with `PROM_POWER_LOSS_SEEDS`; a single seed with `PROM_POWER_LOSS_SEED`.
#[test]
fn nothing_acknowledged_is_lost_and_no_commit_is_there_in_part() {
    let only = rounds("PROM_POWER_LOSS_SEED", u64::MAX);
    let seeds = match only {
        u64::MAX => 0..rounds("PROM_POWER_LOSS_SEEDS", 30),
        seed => seed..seed + 1,
    };
    eprintln!("power loss: seeds {seeds:?}");
    for seed in seeds {
        eprintln!("power loss: seed {seed}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(life::run(seed));
    }
}

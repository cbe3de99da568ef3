//! The embedded store on a disk that loses power: whatever was acknowledged is there, no commit is
//! there by half, and the store goes on.

mod life;
mod model;
mod plan;
mod torn_tail;

use crate::rounds::rounds;

/// More with `PROM_POWER_LOSS_SEEDS`; one seed alone with `PROM_POWER_LOSS_SEED`.
#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_there_by_half() {
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

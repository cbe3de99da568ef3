//! What is counted: the two ways an event goes, in the forms in which clients send and settle.

use anyhow::Context;

use crate::client::{PublishForm, SettleForm};
use crate::deliver::deliver;
use crate::publish::publish;
use crate::scene::Scene;

pub struct Scenario {
    /// As the baseline calls it.
    pub name: &'static str,
    pub events: usize,
    walk: Walk,
}

enum Walk {
    Publish(PublishForm),
    Deliver(SettleForm),
}

/// Events that share a commit where many do: frames of one read, events of one frame, a batch of deliveries.
pub const TOGETHER: usize = 128;

/// Enough that what happens once per walk disappears in the count of one event.
const MANY: usize = 128 * TOGETHER;
/// Each with a commit of its own, which costs as much as dozens that share one.
const SOME: usize = 2048;

pub const SCENARIOS: [Scenario; 5] = [
    Scenario { name: "publish.alone", events: SOME, walk: Walk::Publish(PublishForm::Alone) },
    Scenario { name: "publish.frames", events: MANY, walk: Walk::Publish(PublishForm::Frames) },
    Scenario { name: "publish.batch", events: MANY, walk: Walk::Publish(PublishForm::Batch) },
    Scenario { name: "deliver.frames", events: MANY, walk: Walk::Deliver(SettleForm::Frames) },
    Scenario { name: "deliver.batch", events: MANY, walk: Walk::Deliver(SettleForm::Batch) },
];

impl Scenario {
    /// Walks this many events.
    pub fn run(&self, events: usize) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("a runtime")?;
        runtime.block_on(async {
            let scene = Scene::open().await?;
            match self.walk {
                Walk::Publish(form) => publish(&scene, form, events).await?,
                Walk::Deliver(form) => deliver(&scene, form, events).await?,
            }
            scene.close().await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_walks_to_its_end() {
        for scenario in &SCENARIOS {
            scenario.run(3 * TOGETHER).unwrap_or_else(|error| panic!("{}: {error:#}", scenario.name));
        }
    }

    #[test]
    fn every_walk_is_of_whole_reads() {
        assert!(SCENARIOS.iter().all(|scenario| scenario.events.is_multiple_of(TOGETHER)));
    }
}

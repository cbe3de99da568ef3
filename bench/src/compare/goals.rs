//! What we want to reach beside others, and whether we do.

use super::results::{Figure, Results};
use crate::summary::Summary;
use crate::table::{Table, ratio};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reach {
    AtLeast(f64),
    AtMost(f64),
}

pub struct Goal {
    pub title: &'static str,
    pub case: &'static str,
    pub figure: Figure,
    pub ours: &'static str,
    pub peer: &'static str,
    pub reach: Reach,
}

const fn goal(
    title: &'static str,
    (case, figure): (&'static str, Figure),
    ours: &'static str,
    peer: &'static str,
    reach: Reach,
) -> Goal {
    Goal { title, case, figure, ours, peer, reach }
}

const PUBLISH: (&str, Figure) = ("publish", Figure::Rate);
const CONSUME: (&str, Figure) = ("consume", Figure::Rate);
const BOTH: (&str, Figure) = ("both", Figure::Rate);
const P50: (&str, Figure) = ("latency", Figure::P50);
const P99: (&str, Figure) = ("latency", Figure::P99);
const PLAIN: &str = "prom-plain";
const CLIENT: &str = "prom-client";
const JETSTREAM: &str = "nats-default";
const REDIS: &str = "redis-everysec";

/// Ours always with fsync; theirs as they come, which is without.
pub const GOALS: [Goal; 11] = [
    goal("publish, one event a frame", PUBLISH, PLAIN, JETSTREAM, Reach::AtLeast(2.0)),
    goal("publish, by a client that coalesces", PUBLISH, CLIENT, JETSTREAM, Reach::AtLeast(3.0)),
    goal("consume in a group, every event acked", CONSUME, CLIENT, JETSTREAM, Reach::AtLeast(3.0)),
    goal("publish and consume at once", BOTH, CLIENT, JETSTREAM, Reach::AtLeast(3.0)),
    goal("publish to handler, paced, p50", P50, CLIENT, JETSTREAM, Reach::AtMost(0.7)),
    goal("publish to handler, paced, p99", P99, CLIENT, JETSTREAM, Reach::AtMost(1.0)),
    goal("publish, one event a frame", PUBLISH, PLAIN, REDIS, Reach::AtLeast(1.0)),
    goal("publish, by a client that coalesces", PUBLISH, CLIENT, REDIS, Reach::AtLeast(1.0)),
    goal("consume in a group, plain frames", CONSUME, PLAIN, REDIS, Reach::AtLeast(1.0)),
    goal("consume in a group, every event acked", CONSUME, CLIENT, REDIS, Reach::AtLeast(1.0)),
    goal("publish and consume at once", BOTH, CLIENT, REDIS, Reach::AtLeast(1.0)),
];

impl Reach {
    fn verdict(self, ratio: f64) -> &'static str {
        let reached = match self {
            Self::AtLeast(goal) => ratio >= goal,
            Self::AtMost(goal) => ratio <= goal,
        };
        if reached { "ok" } else { "miss" }
    }

    fn shown(self) -> String {
        match self {
            Self::AtLeast(goal) => format!("≥ {goal:.1} ×"),
            Self::AtMost(goal) => format!("≤ {goal:.1} ×"),
        }
    }
}

/// One row for each goal where both sides were measured.
pub fn table(results: &Results, name_of: impl Fn(&str) -> &'static str) -> Table {
    let columns = ["what", "ours", "peer's", "ratio", "goal", ""];
    let mut table = Table::new("Goals: ours with fsync, theirs as they come", &columns);
    for goal in &GOALS {
        let of = |who| results.summary(goal.case, goal.figure, who);
        let measured = (of(goal.ours), of(goal.peer), results.ratio(goal.case, goal.figure, goal.ours, goal.peer));
        let (Some(ours), Some(peers), Some(between)) = measured else { continue };
        let shown = |it: Summary| goal.figure.shown(it.median);
        table.row(vec![
            format!("{} / {}", goal.title, name_of(goal.peer)),
            shown(ours),
            shown(peers),
            between.shown(|number| ratio(number, 1.0)),
            goal.reach.shown(),
            goal.reach.verdict(between.median).to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_reached_from_its_own_side() {
        assert_eq!(Reach::AtLeast(2.0).verdict(2.0), "ok");
        assert_eq!(Reach::AtLeast(2.0).verdict(1.99), "miss");
        assert_eq!(Reach::AtMost(0.7).verdict(0.69), "ok");
        assert_eq!(Reach::AtMost(0.7).verdict(0.71), "miss");
    }
}

//! How long after each fault events flowed again.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::index::Index;
use super::{Broken, Fault, HistoryLine};

/// What followed a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowedAgain {
    pub fault: Fault,
    pub target: String,
    /// Since the run began.
    pub at: Duration,
    /// For each group: the time until every partition had delivered something published after the fault; `None` if that
    /// did not happen.
    pub after: BTreeMap<String, Option<Duration>>,
}

/// For each kill and pause of the run.
pub fn flowed_again(lines: &[HistoryLine]) -> Result<Vec<FlowedAgain>, Broken> {
    let index = Index::build(lines)?;
    let hurts = |fault: Fault| matches!(fault, Fault::PrimaryKilled | Fault::HubKilled | Fault::HubPaused);
    let mut found = Vec::new();
    for &(moment, fault, target) in index.faults.iter().filter(|(_, fault, _)| hurts(*fault)) {
        let after = index.groups.keys().map(|&group| {
            let mut slowest = Some(0);
            for log in index.logs.keys() {
                let fresh = index.deliveries.iter().find(|delivery| {
                    let began = || index.publishes.get(&delivery.id).map(|publish| publish.began.at_us);
                    delivery.group == group && delivery.log == *log && began().is_some_and(|at| at >= moment.at_us)
                });
                let waited = fresh.map(|delivery| delivery.seen.at_us - moment.at_us);
                slowest = slowest.zip(waited).map(|(slowest, waited)| slowest.max(waited));
            }
            (group.to_owned(), slowest.map(Duration::from_micros))
        });
        let after = after.collect();
        found.push(FlowedAgain { fault, target: target.to_owned(), at: Duration::from_micros(moment.at_us), after });
    }
    Ok(found)
}

impl fmt::Display for FlowedAgain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        let each = self.after.iter().map(|(group, after)| match after {
            Some(after) => format!("{group} flows again {} later", seconds(*after)),
            None => format!("{group} does not flow again"),
        });
        let each: Vec<String> = each.collect();
        write!(f, "{:?} of {} at {}: {}", self.fault, self.target, seconds(self.at), each.join(", "))
    }
}

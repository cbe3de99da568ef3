//! Faults, each written down, and followed until events flow again.

use std::time::{Duration, Instant};

use prom_testkit::history::clients::{Fault, Observation};

use super::Cluster;

impl Cluster {
    /// Kills the primary without a goodbye; another one is elected when this returns.
    pub async fn kill_primary(&mut self) -> usize {
        self.set.until_whole().await.unwrap_or_else(|error| panic!("{error}"));
        let primary = self.set.primary().await.unwrap();
        self.note_fault(Fault::PrimaryKilled, self.set.members[primary].address());
        self.set.members[primary].kill();
        let next = self.set.primary().await.unwrap();
        self.note_fault(Fault::PrimaryElected, self.set.members[next].address());
        primary
    }

    pub fn restart_server(&mut self, member: usize) {
        self.note_fault(Fault::ServerRestarted, self.set.members[member].address());
        self.set.members[member].restart().unwrap();
    }

    pub fn kill_hub(&mut self, hub: usize) {
        self.note_fault(Fault::HubKilled, Self::hub_name(hub));
        self.hubs[hub].kill().unwrap();
    }

    pub fn restart_hub(&mut self, hub: usize) {
        self.hubs[hub].restart().unwrap();
        self.note_fault(Fault::HubRestarted, Self::hub_name(hub));
    }

    pub async fn pause_hub(&self, hub: usize, time: Duration) {
        self.note_fault(Fault::HubPaused, Self::hub_name(hub));
        self.hubs[hub].pause().unwrap();
        tokio::time::sleep(time).await;
        self.hubs[hub].resume().unwrap();
        self.note_fault(Fault::HubResumed, Self::hub_name(hub));
    }

    /// Waits until every partition of every group has handled an event that is published from now on.
    pub async fn until_it_flows(&self, what: &str) -> Duration {
        let (begin, begin_us) = (Instant::now(), self.recorder.now_us());
        let flowing = async {
            while !self.flow.is_past(begin_us) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = flowing => begin.elapsed(),
            why = self.primaries.lost_patience(Duration::from_secs(60)) => {
                let mut hubs = Vec::new();
                for hub in 0..self.hubs.len() {
                    hubs.push(self.get(hub, "/readyz").await.is_some());
                }
                let dry = self.flow.dry(begin_us);
                panic!("{what}: nothing new in {dry:?}; {why}; are the hubs ready: {hubs:?}");
            }
        }
    }

    fn note_fault(&self, fault: Fault, target: impl Into<String>) {
        self.recorder.note(Observation::Fault { fault, target: target.into() });
    }
}

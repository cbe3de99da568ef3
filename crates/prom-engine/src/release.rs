//! Taking leases back from a holder that does not come to an end.

use prom_store::LogName;
use prom_types::Offset;

use crate::dispatch::task::{DispatchRequest, LeaseHolder, ReleaseOrder, ReleaseWhich};
use crate::{Bus, Error, EventPlace, audit};

/// Which leases of a group in a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeasesOf {
    /// All of them.
    Everybody,
    /// Those of one member.
    Member(String),
    /// That of one event.
    Event(EventPlace),
}

/// A lease that was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedLease {
    /// The partition.
    pub partition: u32,
    /// The event.
    pub offset: Offset,
    /// Who held it.
    pub member: Option<String>,
}

impl Bus {
    /// Takes leases back from their holders. Each counts as returned, not as a failed attempt; the event is handed out
    /// again at once, and what its old holder says of it does not count. Written to `system.audit` if there were any.
    pub async fn release(&self, topic: &str, group: &str, leases: LeasesOf) -> Result<Vec<ReleasedLease>, Error> {
        self.core().check_open()?;
        let reading = self.reading(topic, group).await?;
        self.core().not_elsewhere(&reading.group).await?;
        let running = self.core().groups.get(&reading.group);
        let places: Vec<(LogName, Option<Offset>)> = match &leases {
            LeasesOf::Event(place) => {
                let found = self.places_of(topic, &reading, *place).await?;
                found.into_iter().map(|(log, offset, _)| (log, Some(offset))).collect()
            }
            _ => reading.topic.logs().iter().map(|log| (log.clone(), None)).collect(),
        };
        if let LeasesOf::Member(member) = &leases
            && !self.core().has_member(&reading.group, member)
        {
            return Err(Error::UnknownMember { group: reading.group, member: member.clone() });
        }
        let mut released = Vec::new();
        for (log, offset) in places {
            let Some(report) = running.ask_if_working(&log, DispatchRequest::Status).await else {
                continue;
            };
            let which = match (&leases, offset) {
                (LeasesOf::Event(_), Some(offset)) => ReleaseWhich::Offset(offset),
                (LeasesOf::Member(member), _) => {
                    let meant = report.members.iter().filter(|holder| holder.member == *member);
                    ReleaseWhich::Held(meant.map(|holder| holder.id).collect())
                }
                _ => ReleaseWhich::All,
            };
            let order = |reply| DispatchRequest::Release(ReleaseOrder { which, reply });
            let ended = running.ask_if_working(&log, order).await.unwrap_or_default();
            let holder = |id| report.members.iter().find(|holder: &&LeaseHolder| holder.id == id);
            released.extend(ended.into_iter().map(|(offset, subscriber)| ReleasedLease {
                partition: log.partition,
                offset,
                member: holder(subscriber).map(|holder| holder.member.clone()),
            }));
        }
        if !released.is_empty() {
            let mut work = self.core().unit_of_work();
            let topic = reading.topic.name();
            audit::leases_released(topic, &reading.group, &released, self.subject())?.add_to(&mut work)?;
            work.send().await?;
            tracing::info!(%topic, group = %reading.group, leases = released.len(), "leases were taken back");
        }
        Ok(released)
    }
}

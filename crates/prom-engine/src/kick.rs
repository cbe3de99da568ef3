//! Ending the subscriptions of one member, so that what it holds goes to others at once.

use std::sync::Arc;

use prom_types::GroupName;

use crate::bus::Core;
use crate::group::read_group;
use crate::limits::KICK_TIMEOUT;
use crate::subscribe::LiveSubscription;
use crate::{Bus, Error, audit};

/// A member whose subscriptions were ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KickedMember {
    /// How many subscriptions ended.
    pub subscriptions: usize,
    /// Events that were leased to it and went back, each counted as a return.
    pub returned: usize,
}

impl Bus {
    /// Ends every subscription of a member in a group. Its leases go back at once; what it still settles does not count.
    /// It hears why, and may subscribe again. Written to `system.audit` first.
    pub async fn kick(&self, group: &str, member: &str) -> Result<KickedMember, Error> {
        let core = self.core();
        core.check_open()?;
        let name = GroupName::parse(group)?;
        if read_group(&**self.store(), &name).await?.is_none() {
            return Err(Error::UnknownGroup { group: name });
        }
        core.not_elsewhere(&name).await?;
        let meant = core.subscriptions_of(&name, member);
        if meant.is_empty() {
            return Err(Error::UnknownMember { group: name, member: member.to_owned() });
        }
        let mut work = core.unit_of_work();
        audit::member_kicked(&name, member, meant.len(), self.subject())?.add_to(&mut work)?;
        work.send().await?;
        let returned = meant.iter().map(|live| live.outlet.window().0).sum();
        for live in &meant {
            live.outlet.fail(Error::Kicked { group: name.clone(), member: member.to_owned() });
        }
        for live in &meant {
            // A dispatcher that hangs keeps nobody waiting: the leases go back when it comes round.
            let _still_attached = tokio::time::timeout(KICK_TIMEOUT, live.outlet.detached()).await;
        }
        tracing::info!(group = %name, member, subscriptions = meant.len(), "a member was kicked");
        Ok(KickedMember { subscriptions: meant.len(), returned })
    }
}

impl Core {
    pub fn has_member(&self, group: &GroupName, member: &str) -> bool {
        !self.subscriptions_of(group, member).is_empty()
    }

    /// What a member subscribes to here, under this name.
    fn subscriptions_of(&self, group: &GroupName, member: &str) -> Vec<Arc<LiveSubscription>> {
        let mut here = self.followers.all();
        here.retain(|live| live.group.name == *group && !live.outlet.is_ended() && live.outlet.member() == member);
        here
    }
}

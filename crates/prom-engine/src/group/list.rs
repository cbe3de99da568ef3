//! Listing groups and deleting them.

use std::sync::Arc;

use prom_store::{CursorChange, CursorName, DocumentWrite, Expect};
use prom_types::{EpochMs, GroupName, TopicPattern};

use super::{COLLECTION, GroupDocument, GroupOptions, read_group};
use crate::audit::{self, AuditEvent};
use crate::bus::Core;
use crate::dispatch::task::DispatchRequest;
use crate::limits::DOCUMENTS_AT_ONCE;
use crate::set_aside::{GATES, gate_key};
use crate::{Bus, Error, Owner};

/// A group as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupInfo {
    /// Its name.
    pub name: GroupName,
    /// What it subscribes to.
    pub subscriptions: Vec<GroupSubscription>,
    /// When it was made.
    pub created_ts: EpochMs,
    /// Kept up to date only where the group can expire.
    pub last_used_ts: EpochMs,
    /// Subscribers in this process.
    pub subscribers: usize,
    /// Where the hub is that serves it, among several.
    pub served_by: Option<String>,
}

impl GroupInfo {
    /// Every topic and pattern that it subscribes to.
    pub fn patterns(&self) -> impl Iterator<Item = &TopicPattern> {
        self.subscriptions.iter().flat_map(|subscription| &subscription.topics)
    }
}

/// What a group subscribes to in one go, and the options agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSubscription {
    /// Topics and patterns.
    pub topics: Vec<TopicPattern>,
    /// The options agreed on.
    pub options: GroupOptions,
}

impl Bus {
    /// All groups, by name.
    pub async fn groups(&self) -> Result<Vec<GroupInfo>, Error> {
        let mut owners = self.core().owners().await?;
        let mut groups = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store().documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
            let Some(last) = page.last() else {
                return Ok(groups);
            };
            after = Some(last.key.clone());
            for document in page {
                let group = GroupDocument::parse(&document.key, &document.value)?;
                let served_by = owners.remove(&document.key);
                groups.push(GroupInfo { served_by, ..self.info(GroupName::parse(&document.key)?, group) });
            }
        }
    }

    /// One group, if it exists.
    pub async fn group(&self, name: &GroupName) -> Result<Option<GroupInfo>, Error> {
        let Some((group, _)) = read_group(&**self.store(), name).await? else {
            return Ok(None);
        };
        let served_by = match self.owner_of(name).await? {
            Owner::Here => self.core().ownership.as_ref().map(|ownership| ownership.options.url.clone()),
            Owner::There { url } => Some(url),
            Owner::Unowned => None,
        };
        Ok(Some(GroupInfo { served_by, ..self.info(name.clone(), group) }))
    }

    /// Deletes a group with its cursors. Its subscriptions end. Written to `system.audit` in the same commit.
    pub async fn delete_group(&self, group: &str) -> Result<(), Error> {
        let name = GroupName::parse(group)?;
        let Some((document, _)) = read_group(&**self.store(), &name).await? else {
            return Err(Error::UnknownGroup { group: name });
        };
        self.core().not_elsewhere(&name).await?;
        let subject = self.subject();
        let event = audit::group_deleted(&name, &document.subscriptions, subject)?;
        self.core().delete_group(&name, Expect::Anything, Some(event)).await
    }

    fn info(&self, name: GroupName, group: GroupDocument) -> GroupInfo {
        let here = self.core().followers.all();
        let ours = here.iter().filter(|live| live.group.name == name && !live.outlet.is_ended());
        let subscription =
            |agreed: super::document::Agreed| GroupSubscription { topics: agreed.topics, options: agreed.options };
        GroupInfo {
            subscribers: ours.count(),
            subscriptions: group.subscriptions.into_iter().map(subscription).collect(),
            created_ts: group.created_ts,
            last_used_ts: group.last_used_ts,
            served_by: None,
            name,
        }
    }
}

impl Core {
    /// Ends the dispatchers first, so that nothing is settled in a cursor that is gone.
    pub(super) async fn delete_group(
        self: &Arc<Self>,
        name: &GroupName,
        expect: Expect,
        audited: Option<AuditEvent>,
    ) -> Result<(), Error> {
        let here = self.followers.all();
        here.iter().filter(|live| live.group.name == *name).for_each(|live| {
            live.outlet.fail(Error::UnknownGroup { group: name.clone() });
        });
        let group = self.groups.get(name);
        group.dismiss_resting();
        for log in group.running_logs() {
            group.ask(&log, DispatchRequest::Delete).await;
        }
        self.groups.forget(name);
        let cursors = self.store.cursors(None).await?.into_iter().map(|(cursor, _)| cursor);
        let cursors: Vec<CursorName> = cursors.filter(|cursor| cursor.group == *name).collect();
        let mut work = self.unit_of_work();
        for cursor in &cursors {
            work.change_cursor(cursor.clone(), CursorChange::Delete);
            work.write(DocumentWrite::delete(GATES, &gate_key(cursor)));
        }
        work.write(DocumentWrite::delete(COLLECTION, name.as_str()).expecting(expect));
        if let Some(event) = audited {
            event.add_to(&mut work)?;
        }
        let deleted = work.send().await;
        self.group_census.deleted();
        match deleted {
            Ok(_) => {
                for cursor in &cursors {
                    self.forget_set_aside(cursor).await?;
                }
                Ok(())
            }
            // It was used again at the last moment: it stays.
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

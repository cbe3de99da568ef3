//! One document for each key, in MongoDB: documents first, then the cursor.
//!
//! ```text
//!   NAME              {_id, _key, _v, _ts, …}      unique by _key
//!   NAME__deleted     {_id: key, _v, _ts, at}      the version that deleted a key; expires
//!   NAME__building    while the documents are made anew
//! ```
//!
//! Constraints: each statement names the version that it replaces, so a batch that comes again, or late, changes nothing. A deleted
//! key is written to `__deleted` before its document goes, and `__deleted` is read after documents were written: so of two hubs
//! that write at once, the one that deletes and the one that is late, the last to look removes what is older.

use std::collections::HashMap;

use async_trait::async_trait;
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::error::ErrorKind;
use mongodb::{Client, Database};
use prom_engine::{HeldBatch, UnitOfWork};
use prom_jobs::CollectionInfo;

use super::super::change::{DocumentVersion, KEY, NewestChange, TIME, VERSION, VersionNumber, VersionRule};
use super::super::error::ProjectError;
use super::super::limits::DELETED_KEPT;
use super::super::settings::ProjectedCollection;
use super::super::target::{AppliedBatch, ProjectedBatch, ProjectionTarget, TargetSide};
use super::answer::{DUPLICATE_KEY, FailedStatement, code, explain, failed_statements};
use super::connect::{connect, make_indexes, run, write_concern};

/// How often changes are tried again whose key another writer made at the same moment.
const RACES: usize = 5;
const NAMESPACE_NOT_FOUND: i32 = 26;
const INDEX_OPTIONS_CONFLICT: i32 = 85;

pub(crate) struct MongoChangelog {
    url: String,
    database: Option<String>,
    collection: ProjectedCollection,
    rule: VersionRule,
    open: Option<(Client, Database)>,
}

impl MongoChangelog {
    pub fn new(url: String, database: Option<String>, collection: ProjectedCollection, rule: VersionRule) -> Self {
        Self { url, database, collection, rule, open: None }
    }

    fn name(&self, side: TargetSide) -> String {
        match side {
            TargetSide::Live => self.collection.name.clone(),
            TargetSide::Beside => format!("{}__building", self.collection.name),
        }
    }

    fn deleted(&self, side: TargetSide) -> String {
        format!("{}__deleted", self.name(side))
    }

    fn opened(&self) -> Result<&(Client, Database), ProjectError> {
        self.open.as_ref().ok_or_else(|| ProjectError::Passing("the database is not open".to_owned()))
    }

    fn database(&self) -> Result<&Database, ProjectError> {
        Ok(&self.opened()?.1)
    }

    async fn make(&self, side: TargetSide) -> Result<(), ProjectError> {
        let database = self.database()?;
        make_indexes(database, &self.name(side), &self.collection).await?;
        let kept_s = i64::try_from(DELETED_KEPT.as_secs()).unwrap_or(i64::MAX);
        let expiry = doc! { "key": { "at": 1 }, "name": "by_age", "expireAfterSeconds": kept_s };
        let make = doc! { "createIndexes": self.deleted(side), "indexes": [expiry], "writeConcern": write_concern() };
        match database.run_command(make).await {
            // An operator chose another time.
            Err(error) if code(&error) == Some(INDEX_OPTIONS_CONFLICT) => Ok(()),
            made => made.map(drop).map_err(|error| explain(&error)),
        }
    }

    /// Whether a stored document is older than this.
    fn older_than(&self, version: DocumentVersion) -> Document {
        let (v, ts) = (number(version.v), version.ts);
        match self.rule {
            VersionRule::Given => doc! { VERSION: { "$lt": v } },
            VersionRule::ByPlace => {
                doc! { "$or": [{ TIME: { "$lt": ts } }, { TIME: ts, VERSION: { "$lt": v } }] }
            }
        }
    }

    /// Remembers which version deletes each key, then deletes what is older. A version that is remembered never falls.
    async fn delete(&self, side: TargetSide, changes: &[&NewestChange]) -> Result<(), ProjectError> {
        if changes.is_empty() {
            return Ok(());
        }
        let deleted = self.deleted(side);
        let mut pending: Vec<&NewestChange> = changes.to_vec();
        for _ in 0..RACES {
            let statements: Vec<Document> = pending.iter().map(|change| self.remembering(change)).collect();
            let command =
                doc! { "update": &deleted, "updates": statements, "ordered": false, "writeConcern": write_concern() };
            let failed = self.failed(command).await?;
            pending = self.lost_races(&deleted, &pending, &failed, "_id").await?;
            if pending.is_empty() {
                break;
            }
        }
        if !pending.is_empty() {
            return Err(busy(&deleted));
        }
        self.remove(side, changes.iter().map(|change| (change.key.as_str(), change.version))).await
    }

    fn remembering(&self, change: &NewestChange) -> Document {
        let mut filter = doc! { "_id": &change.key };
        filter.extend(self.older_than(change.version));
        let whole = doc! { VERSION: number(change.version.v), TIME: change.version.ts, "at": DateTime::now() };
        doc! { "q": filter, "u": whole, "upsert": true }
    }

    async fn remove<'k>(
        &self,
        side: TargetSide,
        keys: impl Iterator<Item = (&'k str, DocumentVersion)>,
    ) -> Result<(), ProjectError> {
        let statements: Vec<Document> = keys
            .map(|(key, version)| {
                let mut filter = doc! { KEY: key };
                filter.extend(self.older_than(version));
                doc! { "q": filter, "limit": 1 }
            })
            .collect();
        let name = self.name(side);
        let command =
            doc! { "delete": &name, "deletes": statements, "ordered": false, "writeConcern": write_concern() };
        run(self.database()?, command, &name).await.map(drop)
    }

    /// Writes documents; returns how many were older than what is there.
    async fn put(&self, side: TargetSide, changes: &[&NewestChange]) -> Result<u64, ProjectError> {
        if changes.is_empty() {
            return Ok(0);
        }
        let name = self.name(side);
        let mut statements = Vec::with_capacity(changes.len());
        for change in changes {
            let mut filter = doc! { KEY: &change.key };
            filter.extend(self.older_than(change.version));
            statements.push(doc! { "q": filter, "u": document(change)?, "upsert": true });
        }
        let (mut pending, mut older) = (changes.to_vec(), 0);
        for _ in 0..RACES {
            let command = doc! { "update": &name, "updates": std::mem::take(&mut statements), "ordered": false,
            "writeConcern": write_concern() };
            let failed = self.failed(command).await?;
            let duplicates = failed.len() as u64;
            pending = self.lost_races(&name, &pending, &failed, KEY).await?;
            older += duplicates - pending.len() as u64;
            if pending.is_empty() {
                return Ok(older);
            }
            for change in &pending {
                let mut filter = doc! { KEY: &change.key };
                filter.extend(self.older_than(change.version));
                statements.push(doc! { "q": filter, "u": document(change)?, "upsert": true });
            }
        }
        Err(busy(&name))
    }

    async fn failed(&self, command: Document) -> Result<Vec<FailedStatement>, ProjectError> {
        let answer = self.database()?.run_command(command).await.map_err(|error| match error.kind.as_ref() {
            // The documents of a batch do not fit into one command, or one of them has a name that BSON cannot hold.
            ErrorKind::InvalidArgument { .. } | ErrorKind::BsonSerialization(_) | ErrorKind::Bson(_) => {
                ProjectError::Unfit(format!("the documents cannot be sent: {}", error.kind))
            }
            _ => explain(&error),
        })?;
        failed_statements(&answer)
    }

    /// A key that is there already is a newer document, which is right, or one that was made at the same moment: then the change is
    /// tried again. Anything else is an error. Of a document that is not newer the server may name any unique index it would break.
    async fn lost_races<'c>(
        &self,
        collection: &str,
        changes: &[&'c NewestChange],
        failed: &[FailedStatement],
        unique: &str,
    ) -> Result<Vec<&'c NewestChange>, ProjectError> {
        if let Some(other) = failed.iter().find(|failed| failed.code != DUPLICATE_KEY) {
            return Err(other.explain(collection));
        }
        let doubtful: Vec<(&NewestChange, &FailedStatement)> =
            failed.iter().filter_map(|failed| Some((changes.get(failed.index).copied()?, failed))).collect();
        let keys = doubtful.iter().map(|(change, _)| change.key.as_str());
        let known = self.versions(collection, unique, keys).await?;
        let mut again = Vec::new();
        for (change, failed) in doubtful {
            let is_newer = known.get(&change.key).is_none_or(|known| change.version.is_newer(*known, self.rule));
            match failed.index_keys.iter().map(String::as_str).eq([unique]) {
                _ if !is_newer => {}
                true => again.push(change),
                false => return Err(failed.explain(collection)),
            }
        }
        Ok(again)
    }

    async fn versions<'k>(
        &self,
        collection: &str,
        unique: &str,
        keys: impl Iterator<Item = &'k str>,
    ) -> Result<HashMap<String, DocumentVersion>, ProjectError> {
        let keys: Vec<Bson> = keys.map(Bson::from).collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let documents = self.database()?.collection::<Document>(collection);
        let found =
            documents.find(doc! { unique: { "$in": keys } }).projection(doc! { unique: 1, VERSION: 1, TIME: 1 });
        let mut cursor = found.await.map_err(|error| explain(&error))?;
        let mut versions = HashMap::new();
        while cursor.advance().await.map_err(|error| explain(&error))? {
            let found = cursor.deserialize_current().map_err(|error| explain(&error))?;
            if let (Ok(key), Some(version)) = (found.get_str(unique), version_in(&found)) {
                versions.insert(key.to_owned(), version);
            }
        }
        Ok(versions)
    }

    /// What was deleted at a later version than these documents have goes. Returns how many were older from the beginning.
    async fn remove_deleted(&self, side: TargetSide, changes: &[&NewestChange]) -> Result<u64, ProjectError> {
        let keys = changes.iter().map(|change| change.key.as_str());
        let deleted = self.versions(&self.deleted(side), "_id", keys).await?;
        let is_older = |change: &&&NewestChange| {
            deleted.get(&change.key).is_some_and(|deleted| !change.version.is_newer(*deleted, self.rule))
        };
        let older = changes.iter().filter(is_older).count() as u64;
        if older > 0 {
            self.remove(side, deleted.iter().map(|(key, version)| (key.as_str(), *version))).await?;
        }
        Ok(older)
    }
}

#[async_trait]
impl ProjectionTarget for MongoChangelog {
    /// What is beside was made when that began, and may be in its place by now: then it must not be made again.
    async fn open(&mut self, _beside: Option<&[CollectionInfo]>) -> Result<(), ProjectError> {
        if self.open.is_none() {
            self.open = Some(connect(&self.url, self.database.as_deref()).await?);
        }
        self.make(TargetSide::Live).await
    }

    async fn apply(
        &mut self,
        side: TargetSide,
        batch: &ProjectedBatch,
        _read: &HeldBatch,
        _work: &mut UnitOfWork,
    ) -> Result<AppliedBatch, ProjectError> {
        let ProjectedBatch::Changes(changes) = batch else {
            return Err(ProjectError::Stopped("a changelog takes no edits".to_owned()));
        };
        let (puts, deletes): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.body.is_some());
        self.delete(side, &deletes).await?;
        let older = self.put(side, &puts).await?;
        let removed = self.remove_deleted(side, &puts).await?;
        let written = (changes.len() as u64).saturating_sub(older + removed);
        Ok(AppliedBatch { written, older: older + removed })
    }

    fn committed(&mut self, _side: TargetSide) {}

    async fn begin_beside(&mut self) -> Result<(), ProjectError> {
        for left in [self.name(TargetSide::Beside), self.deleted(TargetSide::Beside)] {
            drop_collection(self.database()?, &left).await?;
        }
        self.make(TargetSide::Beside).await
    }

    fn beside(&self) -> Vec<CollectionInfo> {
        Vec::new()
    }

    /// What was deleted first: then nothing old comes back between the two. Renamed already where a hub was killed between them.
    async fn swap(&mut self, _work: &mut UnitOfWork) -> Result<(), ProjectError> {
        let (client, database) = self.opened()?;
        for (from, to) in [
            (self.deleted(TargetSide::Beside), self.deleted(TargetSide::Live)),
            (self.name(TargetSide::Beside), self.name(TargetSide::Live)),
        ] {
            let name = |collection: &str| format!("{}.{collection}", database.name());
            let rename = doc! { "renameCollection": name(&from), "to": name(&to), "dropTarget": true,
            "writeConcern": write_concern() };
            match client.database("admin").run_command(rename).await {
                Err(error) if code(&error) == Some(NAMESPACE_NOT_FOUND) => {}
                renamed => drop(renamed.map_err(|error| explain(&error))?),
            }
        }
        Ok(())
    }
}

fn busy(collection: &str) -> ProjectError {
    ProjectError::Passing(format!(
        "others write to {collection} all the time, or it has documents of these keys without `{VERSION}` and `{TIME}`: remove those"
    ))
}

async fn drop_collection(database: &Database, name: &str) -> Result<(), ProjectError> {
    match database.run_command(doc! { "drop": name, "writeConcern": write_concern() }).await {
        Err(error) if code(&error) == Some(NAMESPACE_NOT_FOUND) => Ok(()),
        dropped => dropped.map(drop).map_err(|error| explain(&error)),
    }
}

/// Values that are written as extended JSON (`{"$date": …}`) become what they name.
fn document(change: &NewestChange) -> Result<Document, ProjectError> {
    let text = change.document().map_err(ProjectError::Unfit)?;
    serde_json::from_slice(&text).map_err(|error| ProjectError::Unfit(format!("not a document for MongoDB: {error}")))
}

fn number(version: VersionNumber) -> Bson {
    match version {
        VersionNumber::Int(number) => Bson::Int64(number),
        VersionNumber::Float(number) => Bson::Double(number),
    }
}

fn version_in(document: &Document) -> Option<DocumentVersion> {
    let whole = |value: &Bson| match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        _ => None,
    };
    let v = document.get(VERSION)?;
    let v = whole(v).map(VersionNumber::Int).or_else(|| v.as_f64().map(VersionNumber::Float))?;
    Some(DocumentVersion { v, ts: document.get(TIME).and_then(whole)? })
}

//! Documents of several collections in MongoDB, and the place in the topic: one transaction.
//!
//! ```text
//!   NAME, OTHER, …              {_id, _key, _ts, …}
//!   projector_places            {_id: "projector/topic@life/partition", next}
//! ```
//!
//! The transaction names the place that it begins at, so a batch counts once, whatever happened to the hub that wrote it; the cursor
//! of the hub follows. Where the two differ, the place in the database is right: moving the cursor back brings nothing again.

use std::collections::BTreeMap;

use async_trait::async_trait;
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::error::UNKNOWN_TRANSACTION_COMMIT_RESULT;
use mongodb::{Client, ClientSession, Database};
use prom_engine::{Bus, HeldBatch, UnitOfWork};
use prom_jobs::CollectionInfo;
use prom_types::TopicName;
use serde_json::Number;

use super::super::change::{KEY, TIME};
use super::super::edit::{EditAction, FieldEdit};
use super::super::error::ProjectError;
use super::super::settings::ProjectedCollection;
use super::super::target::{AppliedBatch, EditsByDocument, ProjectedBatch, ProjectionTarget, TargetSide};
use super::answer::{DUPLICATE_KEY, code, explain, explain_in_transaction, failed_statements};
use super::connect::{connect, make_indexes};

const PLACES: &str = "projector_places";
/// How often a commit is asked for whose answer did not come.
const COMMIT_TRIES: usize = 5;

pub(crate) struct MongoTransactional {
    bus: Bus,
    name: String,
    topic: TopicName,
    url: String,
    database: Option<String>,
    declared: Vec<ProjectedCollection>,
    open: Option<(Client, Database)>,
    /// Of the topic: places of one that was deleted do not count.
    life: u64,
    /// By partition, as the database has them.
    places: BTreeMap<u32, i64>,
    /// As they are once the transaction is committed.
    next: BTreeMap<u32, i64>,
}

impl MongoTransactional {
    pub fn new(
        bus: Bus,
        name: String,
        topic: TopicName,
        (url, database): (String, Option<String>),
        declared: Vec<ProjectedCollection>,
    ) -> Self {
        let (places, next) = Default::default();
        Self { bus, name, topic, url, database, declared, open: None, life: 0, places, next }
    }

    fn opened(&self) -> Result<&(Client, Database), ProjectError> {
        self.open.as_ref().ok_or_else(|| ProjectError::Passing("the database is not open".to_owned()))
    }

    fn place_id(&self, partition: u32) -> String {
        format!("{}/{}@{}/{partition:05}", self.name, self.topic, self.life)
    }

    async fn load_places(&mut self) -> Result<(), ProjectError> {
        self.life = self.bus.history(&self.topic).await?.history.life;
        let prefix = format!("{}/{}@{}/", self.name, self.topic, self.life);
        let above = format!("{}/{}@{}0", self.name, self.topic, self.life);
        let places = self.opened()?.1.collection::<Document>(PLACES);
        let found = places.find(doc! { "_id": { "$gte": &prefix, "$lt": above } });
        let mut cursor = found.await.map_err(|error| explain(&error))?;
        let mut known = BTreeMap::new();
        while cursor.advance().await.map_err(|error| explain(&error))? {
            let place = cursor.deserialize_current().map_err(|error| explain(&error))?;
            let partition = place.get_str("_id").ok().and_then(|id| id.strip_prefix(&prefix)?.parse().ok());
            if let (Some(partition), Ok(next)) = (partition, place.get_i64("next")) {
                known.insert(partition, next);
            }
        }
        (self.places, self.next) = (known, BTreeMap::new());
        Ok(())
    }

    async fn write(&self, session: &mut ClientSession, edits: &EditsByDocument) -> Result<(), ProjectError> {
        let mut statements: BTreeMap<&str, Vec<Statement>> = BTreeMap::new();
        for ((collection, key), (folded, ts)) in edits {
            let all = statements.entry(collection).or_default();
            for action in &folded.0 {
                all.push(Statement::of(key, *ts, action)?);
            }
        }
        for (collection, statements) in statements {
            for command in commands(collection, statements) {
                self.run(session, command, collection).await?;
            }
        }
        Ok(())
    }

    async fn run(&self, session: &mut ClientSession, command: Document, collection: &str) -> Result<(), ProjectError> {
        let answer = self.opened()?.1.run_command(command).session(session).await;
        let is_taken = |code: Option<i32>| collection == PLACES && code == Some(DUPLICATE_KEY);
        let lost = || ProjectError::Lost("another hub wrote this batch".to_owned());
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if is_taken(code(&error)) => return Err(lost()),
            Err(error) => return Err(explain_in_transaction(&error, collection)),
        };
        match failed_statements(&answer)?.first() {
            Some(failed) if is_taken(Some(failed.code)) => Err(lost()),
            Some(failed) => Err(failed.explain(collection)),
            None => Ok(()),
        }
    }

    /// Refused where the database is at another place than it was.
    async fn write_places(&self, session: &mut ClientSession) -> Result<(), ProjectError> {
        let mut statements = Vec::new();
        for (partition, next) in &self.next {
            let mut filter = doc! { "_id": self.place_id(*partition) };
            // One that is not there yet is made; one that somebody made meanwhile refuses the second.
            filter.insert("next", self.places.get(partition).copied().unwrap_or(-1));
            let place = doc! { "$set": { "next": next, "at": DateTime::now() } };
            statements.push(doc! { "q": filter, "u": place, "upsert": true });
        }
        if statements.is_empty() {
            return Ok(());
        }
        self.run(session, doc! { "update": PLACES, "updates": statements }, PLACES).await
    }

    async fn transact(&self, edits: &EditsByDocument) -> Result<(), ProjectError> {
        let failed = |error: mongodb::error::Error| explain(&error);
        let mut session = self.opened()?.0.start_session().await.map_err(failed)?;
        session.start_transaction().await.map_err(failed)?;
        let written = match self.write_places(&mut session).await {
            Ok(()) => self.write(&mut session, edits).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            // The server ends it by itself where this does not reach it.
            drop(session.abort_transaction().await);
            return Err(error);
        }
        let mut tries = 0;
        while let Err(error) = session.commit_transaction().await {
            tries += 1;
            if !error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) || tries >= COMMIT_TRIES {
                return Err(explain(&error));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl ProjectionTarget for MongoTransactional {
    async fn open(&mut self, _beside: Option<&[CollectionInfo]>) -> Result<(), ProjectError> {
        if self.open.is_none() {
            self.open = Some(connect(&self.url, self.database.as_deref()).await?);
        }
        let database = &self.opened()?.1;
        for declared in &self.declared {
            make_indexes(database, &declared.name, declared).await?;
        }
        self.load_places().await
    }

    async fn apply(
        &mut self,
        _side: TargetSide,
        batch: &ProjectedBatch,
        read: &HeldBatch,
        _work: &mut UnitOfWork,
    ) -> Result<AppliedBatch, ProjectError> {
        let ProjectedBatch::Edits(edits) = batch else {
            return Err(ProjectError::Stopped("edits are expected".to_owned()));
        };
        let next = read.ranges().iter().map(|(partition, range)| (*partition, to_i64(range.end)));
        self.next = next.collect();
        self.transact(edits).await?;
        // From here on the place in the database counts, whatever becomes of the cursor.
        self.places.append(&mut self.next);
        Ok(AppliedBatch { written: edits.len() as u64, older: 0 })
    }

    fn committed(&mut self, _side: TargetSide) {}

    fn is_ahead(&self) -> BTreeMap<u32, u64> {
        self.places.iter().filter_map(|(partition, next)| Some((*partition, u64::try_from(*next).ok()?))).collect()
    }

    async fn begin_beside(&mut self) -> Result<(), ProjectError> {
        Err(ProjectError::Stopped("documents of several collections are not made anew in MongoDB".to_owned()))
    }

    fn beside(&self) -> Vec<CollectionInfo> {
        Vec::new()
    }

    async fn swap(&mut self, _work: &mut UnitOfWork) -> Result<(), ProjectError> {
        self.begin_beside().await
    }
}

enum Statement {
    Update(Document),
    Delete(Document),
}

impl Statement {
    fn of(key: &str, ts: i64, action: &EditAction) -> Result<Self, ProjectError> {
        let update = match action {
            EditAction::Delete => return Ok(Self::Delete(doc! { "q": { KEY: key }, "limit": 1 })),
            EditAction::Put(whole) => {
                let mut document = doc! { KEY: key, TIME: ts };
                for (name, value) in whole.iter().filter(|(name, _)| ![KEY, TIME, "_id"].contains(&name.as_str())) {
                    document.insert(name, bson(value)?);
                }
                document
            }
            EditAction::Change(fields) => {
                let mut update = doc! { "$set": { TIME: ts } };
                for (path, edit) in fields {
                    let (operator, value) = match edit {
                        FieldEdit::Set(value) => ("$set", bson(value)?),
                        FieldEdit::Inc(by) => ("$inc", number(by)),
                        FieldEdit::Max(least) => ("$max", number(least)),
                        FieldEdit::Min(most) => ("$min", number(most)),
                        FieldEdit::Unset => ("$unset", Bson::from("")),
                    };
                    if let Ok(known) = update.get_document_mut(operator) {
                        known.insert(path, value);
                    } else {
                        update.insert(operator, doc! { path: value });
                    }
                }
                update
            }
        };
        Ok(Self::Update(doc! { "q": { KEY: key }, "u": update, "upsert": true }))
    }
}

/// In order, those of one kind together.
fn commands(collection: &str, statements: Vec<Statement>) -> Vec<Document> {
    let mut commands: Vec<(&'static str, Vec<Document>)> = Vec::new();
    for statement in statements {
        let (kind, statement) = match statement {
            Statement::Update(statement) => ("update", statement),
            Statement::Delete(statement) => ("delete", statement),
        };
        match commands.last_mut() {
            Some((known, statements)) if *known == kind => statements.push(statement),
            _ => commands.push((kind, vec![statement])),
        }
    }
    let command = |(kind, statements): (&'static str, Vec<Document>)| {
        let list = if kind == "update" { "updates" } else { "deletes" };
        doc! { kind: collection, list: statements, "ordered": true }
    };
    commands.into_iter().map(command).collect()
}

/// Values that are written as extended JSON (`{"$date": …}`) become what they name.
fn bson(value: &serde_json::Value) -> Result<Bson, ProjectError> {
    let unfit = |error: serde_json::Error| ProjectError::Unfit(format!("not a value for MongoDB: {error}"));
    serde_json::from_value(value.clone()).map_err(unfit)
}

/// Whole numbers as the widest kind, so that a counter never changes its kind.
fn number(number: &Number) -> Bson {
    match number.as_i64() {
        Some(whole) => Bson::Int64(whole),
        None => Bson::Double(number.as_f64().unwrap_or(0.0)),
    }
}

fn to_i64(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

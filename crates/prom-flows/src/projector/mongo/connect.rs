//! Reaching the user's database, and what every projector needs of it.

use mongodb::bson::{Document, doc};
use mongodb::options::{Acknowledgment, ClientOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern};
use mongodb::{Client, Database};
use std::time::Duration;

use super::super::change::KEY;
use super::super::error::ProjectError;
use super::super::settings::ProjectedCollection;
use super::answer::{explain, failed_statements};

/// Used if neither the settings nor the connection string name one.
const DATABASE: &str = "prom";
/// A database that cannot be reached is told after this time.
const SELECTION: Duration = Duration::from_secs(5);

/// What is written counts once a majority has it on disk.
pub(super) fn write_concern() -> Document {
    doc! { "w": "majority", "j": true }
}

/// The promises of a projector do not depend on the connection string.
pub(super) async fn connect(url: &str, database: Option<&str>) -> Result<(Client, Database), ProjectError> {
    let unusable = |error: mongodb::error::Error| {
        let reason = error.kind.to_string().replace('\n', " ");
        ProjectError::Stopped(format!("the connection string of the projector cannot be used: {reason}"))
    };
    let mut options = ClientOptions::parse(url).await.map_err(unusable)?;
    let mut concern = WriteConcern::default();
    concern.w = Some(Acknowledgment::Majority);
    concern.journal = Some(true);
    options.write_concern = Some(concern);
    options.read_concern = Some(ReadConcern::majority());
    options.selection_criteria = Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
    options.server_selection_timeout.get_or_insert(SELECTION);
    options.app_name.get_or_insert_with(|| "prom projector".to_owned());
    let named = database.map(str::to_owned).or_else(|| options.default_database.clone());
    let client = Client::with_options(options).map_err(unusable)?;
    let database = client.database(named.as_deref().unwrap_or(DATABASE));
    Ok((client, database))
}

/// Makes the indexes that are missing: unique by key, and those that are declared.
pub(super) async fn make_indexes(
    database: &Database,
    collection: &str,
    declared: &ProjectedCollection,
) -> Result<(), ProjectError> {
    let mut indexes = vec![doc! { "key": { KEY: 1 }, "name": "by_key", "unique": true }];
    for fields in &declared.indexes {
        let keys: Document = fields.iter().map(|field| (field.clone(), 1.into())).collect();
        indexes.push(doc! { "key": keys, "name": format!("by_{}", fields.join("_").replace('.', "_")) });
    }
    let make = doc! { "createIndexes": collection, "indexes": indexes, "writeConcern": write_concern() };
    match database.run_command(make).await {
        Ok(_) => Ok(()),
        Err(error) => Err(match explain(&error) {
            ProjectError::Passing(reason) if super::answer::code(&error).is_some() => ProjectError::Stopped(format!(
                "the indexes of {collection} cannot be made: {reason}; put that right, then restart the projector"
            )),
            other => other,
        }),
    }
}

/// Runs a command whose statements all have to succeed.
pub(super) async fn run(database: &Database, command: Document, collection: &str) -> Result<Document, ProjectError> {
    let answer = database.run_command(command).await.map_err(|error| explain(&error))?;
    match failed_statements(&answer)?.first() {
        Some(failed) => Err(failed.explain(collection)),
        None => Ok(answer),
    }
}

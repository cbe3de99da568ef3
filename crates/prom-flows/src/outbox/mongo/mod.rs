//! An outbox in MongoDB: documents of a collection, or elements of an array in business documents.
//!
//! BucketLeases read what a majority has, as the rows of a transaction that is rolled back must never be published. A change stream
//! is open only while the drainer has nothing to do: under load the next claim finds the rows anyway.

mod claims;
mod collection;
mod convert;
mod field;
mod wake;

pub use collection::CollectionSource;
pub use field::FieldSource;

use std::time::Duration;

use mongodb::bson::RawDocumentBuf;
use mongodb::options::{ClientOptions, ReadConcern, WriteConcern};
use mongodb::{Client, Collection};

use super::error::SourceError;

/// The driver's own is 30 s: too long to find out that there is no server.
const SELECTION: Duration = Duration::from_secs(8);

/// The collection, read and written by majority.
pub async fn connect(
    url: &str,
    database: Option<&str>,
    collection: &str,
) -> Result<Collection<RawDocumentBuf>, SourceError> {
    // The driver's text may repeat the address, which holds a password.
    let unreadable = |_| {
        SourceError::new("the url of MongoDB cannot be read or resolved")
            .fix("write mongodb://HOST:27017/DATABASE?replicaSet=NAME")
    };
    let mut options = ClientOptions::parse(url).await.map_err(unreadable)?;
    options.app_name = Some("prom outbox".to_owned());
    options.server_selection_timeout = Some(SELECTION);
    options.read_concern = Some(ReadConcern::majority());
    options.write_concern = Some(WriteConcern::majority());
    options.selection_criteria = None;
    let database = database.map(str::to_owned).or_else(|| options.default_database.clone()).ok_or_else(|| {
        SourceError::new("no database is named").fix("put it into the url of the [[outbox]], or set `database`")
    })?;
    Ok(Client::with_options(options)?.database(&database).collection(collection))
}

//! Commands in the server's own form. Of their answers the driver checks only `ok`, which is also there when statements
//! failed or no majority has them; the rest is checked here.

use mongodb::action::RunCommand;
use mongodb::bson::{Bson, Document, deserialize_from_bson};
use mongodb::error::{Error, ErrorKind, WriteFailure};

/// Every raw command of the store is run by this.
pub async fn run(command: RunCommand<'_>) -> Result<Document, Error> {
    checked(command.await?)
}

fn checked(answer: Document) -> Result<Document, Error> {
    let failed = answer.get_array("writeErrors").ok().and_then(|errors| errors.first());
    if let Some(failed) = failed {
        return Err(failure(deserialize_from_bson(failed.clone()).map(WriteFailure::WriteError)));
    }
    match answer.get("writeConcernError") {
        Some(failed @ Bson::Document(_)) => {
            Err(failure(deserialize_from_bson(failed.clone()).map(WriteFailure::WriteConcernError)))
        }
        _ => Ok(answer),
    }
}

fn failure(failure: Result<WriteFailure, mongodb::bson::error::Error>) -> Error {
    match failure {
        Ok(failure) => ErrorKind::Write(failure).into(),
        Err(unknown) => unknown.into(),
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;
    use crate::fault::{FailedWrite, of_write};

    #[test]
    fn an_answer_counts_only_if_every_statement_was_done_and_a_majority_has_it() {
        let done = doc! { "ok": 1.0, "n": 3, "writeErrors": [] };
        assert_eq!(checked(done.clone()).ok(), Some(done));
        let failed = |answer: Document| checked(answer).err().map(|error| of_write(&error));
        let statement =
            |code: i32| doc! { "ok": 1.0, "n": 2, "writeErrors": [{ "index": 1, "code": code, "errmsg": "no" }] };
        assert_eq!(failed(statement(121)), Some(FailedWrite::Refused));
        assert_eq!(failed(statement(11000)), Some(FailedWrite::Duplicate));
        let concern = doc! { "ok": 1.0, "n": 3, "writeConcernError": { "code": 64, "codeName": "WriteConcernFailed", "errmsg": "timeout" } };
        assert_eq!(failed(concern), Some(FailedWrite::Unknown));
        let unheard_of = doc! { "ok": 1.0, "writeErrors": ["another form"] };
        assert!(checked(unheard_of).is_err());
    }
}

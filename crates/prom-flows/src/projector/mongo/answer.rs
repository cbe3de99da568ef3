//! What MongoDB answers to a command, statement by statement. Of such an answer the driver checks only `ok`, which is also there
//! where statements failed or no majority has them.

use mongodb::bson::{Bson, Document};
use mongodb::error::{Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR, WriteFailure};

use super::super::error::ProjectError;

pub(super) const DUPLICATE_KEY: i32 = 11000;
const WRITE_CONFLICT: i32 = 112;
/// It lacks rights, or the password is wrong.
const REFUSED: [i32; 2] = [13, 18];
/// The server stops, steps down, is no longer or not yet primary, is interrupted, takes too long, or its transaction was ended.
const PASSING: [i32; 21] =
    [6, 7, 24, 46, 50, 64, 89, 91, 112, 189, 202, 225, 246, 251, 262, 290, 9001, 10107, 11600, 11602, 13435];

/// A statement that failed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FailedStatement {
    /// Its place among the statements of the command.
    pub index: usize,
    pub code: i32,
    pub reason: String,
    /// The fields of the unique index, where a key is there already.
    pub index_keys: Vec<String>,
}

/// The statements that failed; an error where the answer as a whole is none, or no majority has what was done.
pub(super) fn failed_statements(answer: &Document) -> Result<Vec<FailedStatement>, ProjectError> {
    let mut failed = Vec::new();
    if let Ok(errors) = answer.get_array("writeErrors") {
        for error in errors {
            let Some(error) = error.as_document() else {
                return Err(ProjectError::Passing(format!(
                    "MongoDB told an error in a form that is not known: {error}"
                )));
            };
            let index = error.get_i32("index").ok().and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
            let keys = error.get_document("keyPattern").map(|keys| keys.keys().cloned().collect());
            failed.push(FailedStatement {
                index,
                code: error.get_i32("code").unwrap_or(0),
                reason: error.get_str("errmsg").unwrap_or("no reason was given").to_owned(),
                index_keys: keys.unwrap_or_default(),
            });
        }
    }
    if let Some(Bson::Document(concern)) = answer.get("writeConcernError") {
        let reason = concern.get_str("errmsg").unwrap_or("no reason was given");
        return Err(ProjectError::Passing(format!("no majority of MongoDB's servers has what was written: {reason}")));
    }
    Ok(failed)
}

impl FailedStatement {
    /// What it means where nothing else is known of it.
    pub fn explain(&self, collection: &str) -> ProjectError {
        match self.code {
            code if PASSING.contains(&code) => ProjectError::Passing(format!("MongoDB: {}", self.reason)),
            code if REFUSED.contains(&code) => ProjectError::Stopped(rights(&self.reason)),
            _ => ProjectError::Unfit(format!("MongoDB refuses the document for {collection}: {}", self.reason)),
        }
    }
}

/// An error of a whole command. Only a statement can be the fault of an event.
pub(super) fn explain(error: &Error) -> ProjectError {
    let text = error.kind.to_string().replace('\n', " ");
    match error.kind.as_ref() {
        ErrorKind::Authentication { .. } => ProjectError::Stopped(rights(&text)),
        ErrorKind::InvalidArgument { .. } | ErrorKind::InvalidTlsConfig { .. } | ErrorKind::BsonSerialization(_) => {
            ProjectError::Stopped(format!("the MongoDB driver refuses: {text}"))
        }
        _ if code(error).is_some_and(|code| REFUSED.contains(&code)) => ProjectError::Stopped(rights(&text)),
        _ => ProjectError::Passing(format!("MongoDB: {text}")),
    }
}

/// What a command in a transaction failed with. The transaction is over; one that others ended is tried again.
pub(super) fn explain_in_transaction(error: &Error, collection: &str) -> ProjectError {
    let is_contended = error.contains_label(TRANSIENT_TRANSACTION_ERROR) && code(error) == Some(WRITE_CONFLICT);
    if let ErrorKind::BsonSerialization(_) | ErrorKind::Bson(_) = error.kind.as_ref() {
        return ProjectError::Unfit(format!("the document for {collection} cannot be sent: {}", error.kind));
    }
    match code(error) {
        _ if is_contended => {
            ProjectError::Contended("MongoDB: another transaction writes the same documents".to_owned())
        }
        Some(code) if !error.contains_label(TRANSIENT_TRANSACTION_ERROR) => {
            let reason = error.kind.to_string().replace('\n', " ");
            FailedStatement { index: 0, code, reason, index_keys: Vec::new() }.explain(collection)
        }
        _ => explain(error),
    }
}

pub(super) fn code(error: &Error) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(WriteFailure::WriteError(write)) => Some(write.code),
        _ => None,
    }
}

fn rights(reason: &str) -> String {
    format!(
        "MongoDB refuses the user of the projector: {reason}; give it the role readWrite on the database, then restart the projector"
    )
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    #[test]
    fn an_ok_does_not_hide_what_failed() {
        assert_eq!(failed_statements(&doc! { "ok": 1.0, "n": 3 }).unwrap(), []);
        let answer = doc! { "ok": 1.0, "n": 1, "writeErrors": [
            { "index": 4, "code": 11000, "errmsg": "dup", "keyPattern": { "_key": 1 } }, { "index": 5, "code": 121, "errmsg": "no" },
        ] };
        let failed = failed_statements(&answer).unwrap();
        assert_eq!((failed[0].index, failed[0].index_keys.as_slice()), (4, ["_key".to_owned()].as_slice()));
        assert!(matches!(failed[1].explain("c"), ProjectError::Unfit(_)));
        let passing = FailedStatement { code: 112, ..failed[1].clone() };
        assert!(matches!(passing.explain("c"), ProjectError::Passing(_)));
        let concern = doc! { "ok": 1.0, "writeConcernError": { "code": 64, "errmsg": "timeout" } };
        assert!(matches!(failed_statements(&concern), Err(ProjectError::Passing(_))));
        assert!(failed_statements(&doc! { "ok": 1.0, "writeErrors": ["another form"] }).is_err());
    }
}

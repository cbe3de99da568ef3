//! Lists that are incomplete: the hub shows only what the token may see, or what the other hubs answered.

use crate::exit::{CommandResult, Failure};
use crate::output::note;

/// Some of the hubs that serve what was listed did not answer.
pub fn answered(silent_hubs: &[String], missing: &str) {
    if !silent_hubs.is_empty() {
        note(format!("{missing} at {} could not be counted: no answer from there", silent_hubs.join(", ")));
    }
}

/// There are more than were shown, and the token may not see them. Where nothing could be shown, that is a refusal:
/// an empty list would read as if there were nothing.
pub fn shown(what: &str, count: usize) -> CommandResult {
    if count == 0 {
        return Err(Failure::refused(format!("there are {what}, and this token may see none of them"))
            .fix("use a token that may `ops` the topics: `prom token --scope 'ops:orders.**'`"));
    }
    note(format!("there are more {what}, which this token may not see"));
    Ok(())
}

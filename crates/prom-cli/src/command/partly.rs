//! Lists of which the hub shows only what the token may see.

use crate::exit::{CommandResult, Failure};
use crate::output::note;

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

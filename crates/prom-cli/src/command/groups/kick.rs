//! `prom groups kick`: ends the subscriptions of one member, so that what it holds goes to others.

use clap::Args;
use prom_protocol::http::kick::{KickMember, KickedMemberView};
use prom_types::GroupName;

use crate::cli::Context;
use crate::command::names;
use crate::exit::CommandResult;

/// End the subscriptions of one member; its leases go back at once
#[derive(Debug, Args)]
#[command(after_help = "\
The events it holds are redelivered, and its later acks and nacks are ignored. The member gets the reason. Our \
clients then subscribe again, so stop the process, or revoke its token, if it must not come back. `prom groups show` \
lists the members. system.audit records the caller.

Examples:
  prom groups kick billing worker-3
  prom groups kick billing connection-17 --json")]
pub struct KickCommand {
    /// Name of the group
    #[arg(value_parser = names::group)]
    group: GroupName,
    /// Name of the member, as `prom groups show` lists it
    member: String,
}

impl KickCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let path = ["groups", self.group.as_str(), "kick"];
        let answer = context.hub()?.post(&path, &KickMember { member: self.member }).await?;
        context.show(&answer, |kicked: KickedMemberView| {
            let KickedMemberView { group, member, subscriptions, returned } = kicked;
            let ended =
                if subscriptions == 1 { "1 subscription".to_owned() } else { format!("{subscriptions} subscriptions") };
            let went = if returned == 1 { "1 event went".to_owned() } else { format!("{returned} events went") };
            context.output.line(format!("{member} is out of {group}: {ended} ended, {went} back"))
        })
    }
}

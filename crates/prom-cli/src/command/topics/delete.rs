//! `prom topics delete`: says what will go, asks, and deletes a topic with everything in it.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use prom_protocol::http::schema::TopicSchemaView;
use prom_protocol::http::topics::{DeleteTopic, DeletedTopicView, DeletedTopics};
use prom_types::TopicName;

use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::hub::HubClient;
use crate::output::{counted, note};
use crate::units::show_size;

/// Delete a topic with its events and the cursors of all groups
#[derive(Debug, Args)]
#[command(after_help = "\
It first shows what will be deleted. On a terminal it asks for the name again; elsewhere it needs --yes. \
Subscriptions are kept. Publishing to the name, or `prom topics set`, creates the topic again: its offsets continue \
after the old ones, and groups read it from its beginning. A topic declared in prom.toml is created again when the \
hub starts.
Dead letters are kept unless --with-letters is given. Schemas are kept too, and apply to new events of that name; \
`prom schema delete TOPIC --all` deletes them. system.audit records the caller.

Examples:
  prom topics delete orders.test
  prom topics delete orders.test --dry-run
  prom topics delete orders.test --with-letters --yes")]
pub struct DeleteTopicCommand {
    /// Name of the topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// Delete its dead letters (dlq.TOPIC) as well
    #[arg(long)]
    with_letters: bool,
    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl DeleteTopicCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let path = ["topics", self.topic.as_str()];
        let preview = DeleteTopic { with_letters: self.with_letters, dry_run: true };
        let answer = hub.delete_with(&path, &preview).await?;
        let schemas = self.live_schemas(&hub).await;
        if self.dry_run {
            context.show(&answer, |going: DeletedTopics| show(context, &going, "would go"))?;
            self.tell_of(schemas);
            return Ok(());
        }
        if !self.yes {
            let going: DeletedTopics = answer.parse()?;
            ask(&self.topic, &going)?;
        }
        let answer = hub.delete_with(&path, &DeleteTopic { dry_run: false, ..preview }).await?;
        context.show(&answer, |gone: DeletedTopics| show(context, &gone, "is deleted"))?;
        self.tell_of(schemas);
        Ok(())
    }

    /// How many versions will outlive the topic. A token that may not see them is told of none.
    async fn live_schemas(&self, hub: &HubClient) -> usize {
        match hub.get(&["topics", self.topic.as_str(), "schema"], &()).await.and_then(|answer| answer.parse()) {
            Ok(TopicSchemaView { versions, .. }) => versions.iter().filter(|entry| !entry.deleted).count(),
            Err(_) => 0,
        }
    }

    fn tell_of(&self, schemas: usize) {
        if schemas > 0 {
            let topic = &self.topic;
            let versions = counted(schemas as u64, "version");
            note(format!("its schema stays registered ({versions}); `prom schema delete {topic} --all` removes it"));
        }
    }
}

fn show(context: &Context, DeletedTopics { topics, .. }: &DeletedTopics, what: &str) -> CommandResult {
    topics.iter().try_for_each(|one| context.output.line(format!("{} {what}: {}", one.topic, describe(one))))
}

fn describe(DeletedTopicView { events, bytes, groups, hidden, .. }: &DeletedTopicView) -> String {
    let events = match events {
        1 => "1 event".to_owned(),
        many => format!("{many} events"),
    };
    let names: Vec<&str> = groups.iter().map(|group| group.as_str()).collect();
    let groups = match (names.as_slice(), *hidden) {
        ([], false) => "no cursors".to_owned(),
        ([], true) => "cursors of groups that this token may not see".to_owned(),
        (names, false) => format!("the cursors of {}", names.join(", ")),
        (names, true) => format!("the cursors of {} and of groups that this token may not see", names.join(", ")),
    };
    format!("{events}, {}, {groups}", show_size(*bytes))
}

/// Nothing is deleted unless somebody types the name.
fn ask(topic: &TopicName, going: &DeletedTopics) -> CommandResult {
    let unasked = || Failure::usage(format!("{topic} was not deleted: there is no terminal to ask for confirmation"));
    if !std::io::stdin().is_terminal() {
        return Err(unasked().fix("add --yes, or check first with --dry-run"));
    }
    let mut terminal = std::io::stderr();
    let mut question = String::new();
    for one in &going.topics {
        question.push_str(&format!("{} will go: {}\n", one.topic, describe(one)));
    }
    question.push_str("This cannot be undone. Type the name of the topic to delete it: ");
    let unread = |error: std::io::Error| Failure::usage(format!("{topic} was not deleted: {error}"));
    terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush()).map_err(unread)?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed).map_err(unread)?;
    if typed.trim() == topic.as_str() { Ok(()) } else { Err(Failure::no(format!("{topic} was not deleted"))) }
}

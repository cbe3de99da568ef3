//! `prom dlq show`: one letter, whole.

use clap::Args;
use prom_protocol::http::dlq::{LetterView, LettersQuery, LettersView};
use prom_types::{EventId, TopicName};

use super::age;
use super::choice::letter_id;
use super::list::{since_then, times};
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::output::printable;

/// Show a letter: the error, and the event as it was
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom dlq show orders.placed 0190b6ef-8f5c-5cc3-98c4-dc0c0c07398f
  prom dlq show orders.placed 0190b6ef-8f5c-5cc3-98c4-dc0c0c07398f --json")]
pub struct ShowLetter {
    /// The topic of the original
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The id of the letter
    #[arg(value_parser = letter_id)]
    letter: EventId,
}

impl ShowLetter {
    pub async fn run(self, context: &Context) -> CommandResult {
        let query = LettersQuery { topic: Some(self.topic.clone()), id: Some(self.letter), ..LettersQuery::default() };
        let page: LettersView = context.hub()?.get(&["dlq"], &query).await?.parse()?;
        let Some(letter) = page.letters.first() else {
            return Err(Failure::no(format!("{} has no letter {} (any more)", self.topic, self.letter)).fix(format!(
                "`prom dlq ls {}` lists its letters; the id is the letter's, not the event's",
                self.topic
            )));
        };
        match context.output.is_for_machines() {
            true => context.output.json(letter),
            false => show(context, letter),
        }
    }
}

fn show(context: &Context, letter: &LetterView) -> CommandResult {
    let LetterView { group, attempts, err, fingerprint, .. } = letter;
    let style = context.output.style;
    let key = letter.key.as_deref().map_or_else(String::new, |key| format!(", key {}", printable(key)));
    context.output.line(format!("{}{key}", style.bold(&letter.id.to_string())))?;
    let died = times(letter.deaths);
    context.output.line(format!("{group} gave up {} after {attempts} attempts; it died {died}", age(letter.ts)))?;
    context.output.line(format!("error {fingerprint}: {}", printable(err)))?;
    context.output.line(match &letter.replay {
        None => "open: it was not replayed".to_owned(),
        Some(replay) => {
            let by = replay.by.as_deref().map_or_else(String::new, |by| format!(" by {}", printable(by)));
            let edited = if replay.edited { ", edited" } else { "" };
            let job = match &*replay.job {
                "" => "behind others of its key".to_owned(),
                job => format!("job {job}"),
            };
            format!("{}{edited}: {}{by}, {job}", since_then(letter), age(replay.ts))
        }
    })?;
    context.output.line("")?;
    context.output.line(pretty(letter.original.as_str()))
}

/// With every number as it was written.
fn pretty(text: &str) -> String {
    let (mut out, mut depth, mut in_text, mut is_escaped) =
        (String::with_capacity(text.len() * 2), 0usize, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if in_text {
            out.push(c);
            in_text = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                out.push(c);
            }
            '{' | '[' if matches!(chars.peek(), Some('}' | ']')) => out.push(c),
            '{' | '[' => {
                depth += 1;
                out.push(c);
                line(&mut out, depth);
            }
            '}' | ']' => {
                if !out.ends_with(['{', '[']) {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                }
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_keeps_its_numbers() {
        let shown = pretty(r#"{"a":1.0e2,"b":[],"c":{"d":"x{,\"y","e":[1,2]},"n":12345678901234567890}"#);
        let lines = [
            "{",
            "  \"a\": 1.0e2,",
            "  \"b\": [],",
            "  \"c\": {",
            "    \"d\": \"x{,\\\"y\",",
            "    \"e\": [",
            "      1,",
            "      2",
            "    ]",
            "  },",
            "  \"n\": 12345678901234567890",
            "}",
        ];
        assert_eq!(shown, lines.join("\n"));
    }
}

//! One TypeScript file: a type and a validator for each version, and the map of topics that types a client.
//!
//! The file imports nothing, builds no code from text, and compiles under the strictest settings. What a program does not use,
//! a bundler removes.

mod keywords;
mod parts;
mod pattern;
mod runtime;
mod types;
mod validator;

use std::collections::BTreeMap;

use super::document::CodegenDocument;
use super::model::{self, DocText};
use super::names::{self, NameBook};
use super::{CodegenNote, text};

/// Names that the file itself needs.
const RESERVED: [&str; 2] = ["Topics", "Problem"];

const HEADER: &str = "\
/**
 * Types and validators of topics, not edited by hand: written by `prom codegen ts` from their JSON Schemas.
 *
 * Validators count a property that is `undefined` as absent, as `JSON.stringify` does. `format` and the other keywords that
 * only describe are not checked.
 */
/* eslint-disable */
";

/// What one version is called.
struct VersionNames {
    versioned: String,
    alias: Option<String>,
}

pub(super) fn write(documents: &[CodegenDocument<'_>]) -> (String, Vec<CodegenNote>) {
    let mut book = NameBook::with_reserved(&RESERVED);
    let named = name_versions(documents, &mut book);
    let mut functions = NameBook::default();
    let (mut types, mut checks, mut notes) = (String::new(), String::new(), Vec::new());
    for (document, names) in documents.iter().zip(&named) {
        let model = model::build(document);
        types.push_str(&types::declare(&model, names, &mut book));
        let validator = validator::write(document, &names.versioned, &mut functions);
        checks.push_str(&validator.code);
        checks.push_str(&guards(names, &validator.uncovered));
        notes.extend(model.notes);
        notes.extend(validator.uncovered);
    }
    let checks = checks + &all_checks(documents, &named);
    let file =
        [HEADER, &types, &topics(documents, &named), &versions(documents), &runtime::needed_by(&checks), &checks];
    (file.concat(), notes)
}

/// Versions first: an alias gives way.
fn name_versions(documents: &[CodegenDocument<'_>], book: &mut NameBook) -> Vec<VersionNames> {
    let versioned = |document: &CodegenDocument<'_>| {
        format!("{}V{}", names::of_topic(&document.source.topic), document.source.version)
    };
    let mut named: Vec<VersionNames> = documents
        .iter()
        .map(|document| VersionNames { versioned: book.take(&versioned(document)), alias: None })
        .collect();
    for (document, names) in documents.iter().zip(&mut named) {
        if document.source.is_latest {
            names.alias = Some(book.take(&names::of_topic(&document.source.topic)));
        }
    }
    named
}

fn topics(documents: &[CodegenDocument<'_>], named: &[VersionNames]) -> String {
    let mut text =
        String::from("\n/** Every topic with the latest version of its payload: `new PromClient<Topics>(url)`. */\n");
    text.push_str("export interface Topics {\n");
    for (topic, alias) in latest(documents, named) {
        text.push_str(&format!("  {topic}: {alias};\n"));
    }
    text.push_str("}\n");
    text
}

fn versions(documents: &[CodegenDocument<'_>]) -> String {
    let mut by_topic: BTreeMap<&str, (Vec<String>, u32)> = BTreeMap::new();
    for document in documents {
        let (all, latest) = by_topic.entry(document.source.topic.as_str()).or_default();
        all.push(document.source.version.to_string());
        if document.source.is_latest {
            *latest = document.source.version;
        }
    }
    let mut text = String::from(
        "\n/** The versions in this file. A publisher names its own by the header `x-schema-version`. */\n",
    );
    text.push_str("export const versions = {\n");
    for (topic, (all, latest)) in by_topic {
        let topic = text::json_text(topic);
        text.push_str(&format!("  {topic}: {{ latest: {latest}, all: [{}] }},\n", all.join(", ")));
    }
    text.push_str("} as const;\n");
    text
}

fn latest<'n>(
    documents: &'n [CodegenDocument<'_>],
    named: &'n [VersionNames],
) -> impl Iterator<Item = (String, &'n str)> {
    let pairs = documents.iter().zip(named);
    pairs.filter_map(|(document, names)| {
        Some((text::json_text(document.source.topic.as_str()), names.alias.as_deref()?))
    })
}

/// What a program calls.
fn guards(names: &VersionNames, uncovered: &[CodegenNote]) -> String {
    let VersionNames { versioned, alias } = names;
    let mut about = vec![format!("Whether a value is a valid {{@link {versioned}}}.")];
    if !uncovered.is_empty() {
        about.push(String::new());
        about.push("Not checked, so an invalid value can pass:".to_owned());
        about.extend(uncovered.iter().map(|note| format!("- `{}`: {}", text::one_line(&note.pointer), note.text)));
    }
    let about = comment(&about, "");
    let mut code = format!("\n{about}export function is{versioned}(value: unknown): value is {versioned} {{\n");
    code.push_str(&format!("  return check{versioned}(value) === undefined;\n}}\n"));
    if let Some(alias) = alias {
        code.push_str(&format!("\n/** Whether a value is a valid {{@link {alias}}}. */\n"));
        code.push_str(&format!("export const is{alias}: (value: unknown) => value is {alias} = is{versioned};\n"));
        code.push_str(&format!("\n/** What is wrong with a value that should be {{@link {alias}}}. */\n"));
        code.push_str(&format!(
            "export const check{alias}: (value: unknown) => Problem | undefined = check{versioned};\n"
        ));
    }
    code
}

fn all_checks(documents: &[CodegenDocument<'_>], named: &[VersionNames]) -> String {
    let mut text = String::from("\n/** What is wrong with a payload, by topic. */\n");
    text.push_str(
        "export const checks: { readonly [Topic in keyof Topics]: (value: unknown) => Problem | undefined } = {\n",
    );
    for (topic, alias) in latest(documents, named) {
        text.push_str(&format!("  {topic}: check{alias},\n"));
    }
    text.push_str("};\n");
    text
}

/// A JSDoc comment; nothing for no lines.
fn comment(lines: &[String], indent: &str) -> String {
    let lines: Vec<String> = lines.iter().map(|line| line.replace("*/", "*\\/").replace("/*", "/ *")).collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let body: String =
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n").collect();
            format!("{indent}/**\n{body}{indent} */\n")
        }
    }
}

/// Lines of a comment about a type. An `@` would begin a tag.
fn about(about: &DocText, remark: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> =
        text::lines(about).into_iter().map(|line| line.replace('@', "\\@").replace("{\\@", "{ \\@")).collect();
    for extra in [remark, about.deprecated.map(|_| "@deprecated")].into_iter().flatten() {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(extra.to_owned());
    }
    lines
}

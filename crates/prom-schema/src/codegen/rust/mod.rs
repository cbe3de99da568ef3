//! One Rust file: a module for each topic, in it one for each version, with types for serde.
//!
//! The file compiles as it is, whatever the crate's lints and formatting: it needs `serde` with `derive` and `serde_json`.

mod items;
mod recursion;
mod union;

use super::document::CodegenDocument;
use super::model;
use super::names::{self, NameBook};
use super::{CodegenNote, text};

use items::ItemWriter;

const HEADER: &str = "\
// Types of topics, not edited by hand: written by `prom codegen rust` from their JSON Schemas.
// They need the crates `serde`, with the feature `derive`, and `serde_json`.
";

/// Generated code answers to its own rules only.
const ALLOW: &str = "#[rustfmt::skip]
#[allow(dead_code, nonstandard_style, unused_imports, clippy::all, clippy::pedantic, clippy::nursery, rustdoc::all)]
";

/// Tells a property that is absent from one that is null.
const PRESENT: &str = "
#[rustfmt::skip]
#[allow(dead_code)]
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
";

const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "safe", "raw",
];

/// Words that cannot be names, not even as raw identifiers.
const NEVER_NAMES: [&str; 4] = ["crate", "self", "super", "Self"];

pub(super) fn write(documents: &[CodegenDocument<'_>]) -> (String, Vec<CodegenNote>) {
    let mut book = NameBook::default();
    let (mut code, mut notes) = (String::from(HEADER), Vec::new());
    for versions in documents.chunk_by(|one, other| one.source.topic == other.source.topic) {
        let Some(first) = versions.first() else { continue };
        let topic = &first.source.topic;
        let module = identifier(&book.take(&names::snake(topic.as_str())));
        code.push_str(&format!("\n/// Payloads of the topic `{topic}`.\n{ALLOW}pub mod {module} {{\n"));
        code.push_str(&format!("    pub const TOPIC: &str = {};\n", text::rust_literal(topic.as_str())));
        for document in versions {
            let model = model::build(document);
            code.push_str(&version_module(document, &model));
            notes.extend(model.notes);
        }
        if let Some(latest) = versions.iter().find(|document| document.source.is_latest) {
            code.push_str(&format!("\n    pub use self::v{} as latest;\n", latest.source.version));
        }
        code.push_str("}\n");
    }
    if code.contains("\"super::super::present\"") {
        code.push_str(PRESENT);
    }
    (code, notes)
}

fn version_module(document: &CodegenDocument<'_>, model: &model::TypeModel) -> String {
    let source = document.source;
    let name = names::of_topic(&source.topic).replace('_', "");
    let items = ItemWriter::write(model, &name);
    let mut code = format!("\n    pub mod v{} {{\n", source.version);
    code.push_str("        use std::collections::BTreeMap;\n\n");
    code.push_str("        use serde::{Deserialize, Serialize};\n        use serde_json::{Map, Value};\n\n");
    code.push_str(&format!("        pub const VERSION: u32 = {};\n", source.version));
    code.push_str("        /// The JSON Schema that these types were made from.\n");
    let schema = text::rust_raw(&text::json(&source.schema));
    code.push_str(&format!("        pub const SCHEMA: &str = {schema};\n"));
    for item in items {
        code.push('\n');
        code.extend(item.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("        {line}\n") }));
    }
    code + "    }\n"
}

/// A name that is also a keyword is written raw.
fn identifier(name: &str) -> String {
    if NEVER_NAMES.contains(&name) {
        format!("{name}_")
    } else if KEYWORDS.contains(&name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

/// Documentation. Nothing in it is code: tests of the documentation would run it.
fn comment(about: &model::DocText, indent: &str) -> String {
    let mut lines = text::lines(about);
    if about.deprecated.is_some() {
        lines.push("Deprecated.".to_owned());
    }
    let plain = |line: &String| line.trim_start().replace("```", "'''").replace("~~~", "'''");
    lines.iter().map(|line| format!("{indent}/// {}", plain(line)).trim_end().to_owned() + "\n").collect()
}

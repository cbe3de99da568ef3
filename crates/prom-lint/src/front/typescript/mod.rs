//! TypeScript, TSX and JavaScript, by the oxc parser. It goes on after most errors.

mod changes;
mod nesting;
mod pattern;
mod types;
mod value;
mod visit;

use std::collections::HashMap;
use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast_visit::Visit;
use oxc_parser::{Parser, ParserReturn};
use oxc_span::SourceType;

use super::{CallNames, ignore};
use crate::limits;
use crate::record::{Expr, FileRecord, RecordBuilder, ScopeId, Span};

/// The walk through one file.
struct TypeScript<'n> {
    text: &'n str,
    builder: RecordBuilder,
    names: &'n CallNames,
    /// What imports call functions of these names here.
    renamed: HashMap<String, String>,
    /// What each function or class expression is, by where it begins.
    made: HashMap<u32, Expr>,
    /// What the functions around this place return.
    returns: Vec<Vec<Expr>>,
    /// The scope that `var` declares in.
    function_scope: ScopeId,
}

pub fn read(path: &Path, text: &str, names: &CallNames) -> FileRecord {
    if nesting::deepest(text) > limits::NESTING {
        let mut builder = RecordBuilder::new();
        builder.unreadable(Span::default(), format!("its code is nested more than {} deep", limits::NESTING));
        return builder.finish();
    }
    let kind = SourceType::from_path(path).unwrap_or_else(|_| SourceType::tsx());
    // Many JavaScript files hold JSX, whatever their name.
    let kind = if kind.is_javascript() { kind.with_jsx(true) } else { kind };
    let allocator = Allocator::default();
    let mut parsed = Parser::new(&allocator, text, kind).parse();
    if kind.is_javascript() && (parsed.panicked || !parsed.diagnostics.is_empty()) {
        // CommonJS with what a module would not allow, or types in a JavaScript file.
        for other in [kind.with_script(true), SourceType::tsx()] {
            let again = Parser::new(&allocator, text, other).parse();
            if !again.panicked && again.diagnostics.is_empty() {
                parsed = again;
                break;
            }
        }
    }
    record(text, names, &parsed)
}

fn record<'n>(text: &'n str, names: &'n CallNames, parsed: &ParserReturn<'_>) -> FileRecord {
    let mut walk = TypeScript {
        text,
        builder: RecordBuilder::new(),
        names,
        renamed: HashMap::new(),
        made: HashMap::new(),
        returns: Vec::new(),
        function_scope: 0,
    };
    for diagnostic in parsed.diagnostics.iter() {
        let label = diagnostic.labels.first();
        let span = label.map_or(Span::default(), |label| {
            // What is missing at the end is told at the last line that has something.
            let start = label.offset().min(text.trim_end().len() as u32);
            Span::new(start, (start + label.len()).min(text.len() as u32))
        });
        walk.builder.unreadable(span, diagnostic.message.to_string());
    }
    for comment in &parsed.program.comments {
        if let Some(remark) = ignore::in_comment(text, span(comment.span)) {
            walk.builder.ignore(remark);
        }
    }
    walk.visit_program(&parsed.program);
    walk.builder.finish()
}

fn span(span: oxc_span::Span) -> Span {
    Span::new(span.start, span.end)
}

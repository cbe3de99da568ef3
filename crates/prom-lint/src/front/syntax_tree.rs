//! What the tree-sitter languages share: texts of nodes, their spans, remarks in comments, broken places.

use tree_sitter::{Language, Node, Parser, Tree};

use super::ignore;
use crate::limits;
use crate::record::{RecordBuilder, Span};

/// Parses a text; `None` only if the grammar does not fit the library, which a test would show.
pub(super) fn parse(language: &Language, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    parser.parse(text, None)
}

pub(super) fn span(node: Node<'_>) -> Span {
    Span::new(node.start_byte() as u32, node.end_byte() as u32)
}

pub(super) fn text_of<'t>(text: &'t str, node: Node<'_>) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Tells the record of remarks and of places that cannot be parsed. Walks without recursion.
pub(super) fn note_comments_and_errors(builder: &mut RecordBuilder, root: Node<'_>, text: &str) {
    let mut cursor = root.walk();
    let mut errors = 0;
    loop {
        let node = cursor.node();
        if node.kind().ends_with("comment") {
            if let Some(remark) = ignore::in_comment(text, span(node)) {
                builder.ignore(remark);
            }
        } else if (node.is_error() || node.is_missing()) && errors < limits::UNREADABLE {
            errors += 1;
            let message = match node.is_missing() {
                true => format!("`{}` is missing", node.kind()),
                false => "this is not understood".to_owned(),
            };
            let whole = span(node);
            builder.unreadable(Span::new(whole.start, whole.end), message);
        }
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

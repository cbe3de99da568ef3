//! The texts that an expression can be, whole or with holes.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Meaning, NameResolver, SourceModule};
use crate::limits;
use crate::record::{Expr, ExprKind, Span};

/// A text, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownText {
    /// `None` is a part that is not known.
    pub parts: Vec<Option<String>>,
    /// Where it is written.
    pub path: PathBuf,
    pub span: Span,
    /// It is one literal, so it can be changed there.
    pub is_literal: bool,
}

/// All possibilities.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    pub known: Vec<KnownText>,
    /// There is at least one that is not known at all.
    pub has_unknown: bool,
}

impl KnownText {
    /// The whole text, if nothing is missing.
    pub fn whole(&self) -> Option<String> {
        self.parts.iter().cloned().collect::<Option<Vec<String>>>().map(|parts| parts.concat())
    }

    /// With `…` where something is missing.
    pub fn shown(&self) -> String {
        self.parts.iter().map(|part| part.as_deref().unwrap_or("…")).collect()
    }
}

impl NameResolver<'_> {
    pub fn texts(&self, module: &Arc<SourceModule>, expr: &Expr) -> Texts {
        let mut texts = self.texts_at(module, expr, 0);
        let mut seen: Vec<Vec<Option<String>>> = Vec::new();
        texts.known.retain(|text| {
            let is_new = !seen.contains(&text.parts);
            seen.push(text.parts.clone());
            is_new
        });
        texts
    }

    fn texts_at(&self, module: &Arc<SourceModule>, expr: &Expr, depth: usize) -> Texts {
        let mut texts = Texts::default();
        self.each(module, expr, depth, &mut |module, meaning| {
            if texts.known.len() >= limits::TOPICS_OF_A_CALL {
                return;
            }
            match meaning {
                Meaning::Literal(literal) => self.texts_of_literal(module, literal, depth, &mut texts),
                Meaning::Foreign => {}
                _ => texts.has_unknown = true,
            }
        });
        texts.has_unknown = texts.has_unknown || texts.known.is_empty();
        texts
    }

    fn texts_of_literal(&self, module: &Arc<SourceModule>, literal: &Expr, depth: usize, texts: &mut Texts) {
        let made = |parts: Vec<Option<String>>, is_literal: bool| KnownText {
            parts,
            path: module.path.clone(),
            span: literal.span,
            is_literal,
        };
        match &literal.kind {
            ExprKind::Text(text) => texts.known.push(made(vec![Some(text.clone())], true)),
            // A number in a name; alone it is no text.
            ExprKind::Json(text) if depth > 0 => texts.known.push(made(vec![Some(text.clone())], false)),
            ExprKind::Json(_) => {}
            ExprKind::Concat(parts) => {
                let mut all = vec![Vec::new()];
                for part in parts {
                    let choices = self.texts_at(module, part, depth + 1);
                    let mut choices: Vec<Vec<Option<String>>> =
                        choices.known.into_iter().map(|text| text.parts).collect();
                    if choices.is_empty() || choices.len() * all.len() > limits::TOPICS_OF_A_CALL {
                        choices = vec![vec![None]];
                    }
                    all = all
                        .iter()
                        .flat_map(|before| choices.iter().map(move |choice| [before.clone(), choice.clone()].concat()))
                        .collect();
                }
                let all = all.into_iter().map(merged);
                texts.known.extend(all.map(|parts| made(parts, false)));
            }
            _ => texts.has_unknown = true,
        }
    }
}

/// Neighbours that are known become one part.
fn merged(parts: Vec<Option<String>>) -> Vec<Option<String>> {
    let mut merged: Vec<Option<String>> = Vec::new();
    for part in parts {
        match (merged.last_mut(), part) {
            (Some(Some(last)), Some(text)) => last.push_str(&text),
            (Some(None), None) => {}
            (_, part) => merged.push(part),
        }
    }
    merged
}

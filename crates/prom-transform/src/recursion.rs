//! Refuses definitions that call themselves with filters as parameters.
//!
//! Such a call wraps its parameters in those of the caller, one layer per call, even if the call itself uses no stack.
//! Releasing a million layers would overflow the stack, which nothing can catch. Definitions that recurse over
//! `$values`, or inside a definition that takes the filter, are not affected; the library's own are of that kind.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::path::Part;

/// The name of the offending call and what to do about it.
type Refusal<'s> = (&'s str, String);

pub(crate) fn check<'s>(term: &Term<&'s str>) -> Result<(), Refusal<'s>> {
    Walk::default().term(term)
}

/// The enclosing definitions: name and number of parameters of those that take filters.
#[derive(Default)]
struct Walk<'s> {
    around: Vec<(&'s str, usize)>,
}

impl<'s> Walk<'s> {
    fn term(&mut self, term: &Term<&'s str>) -> Result<(), Refusal<'s>> {
        match term {
            Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) | Term::Arr(None) => Ok(()),
            Term::Str(_, parts) => parts.iter().try_for_each(|part| match part {
                StrPart::Term(term) => self.term(term),
                StrPart::Str(_) | StrPart::Char(_) => Ok(()),
            }),
            Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => self.term(inner),
            Term::Obj(entries) => entries.iter().try_for_each(|(key, value)| {
                self.term(key)?;
                value.iter().try_for_each(|value| self.term(value))
            }),
            Term::BinOp(left, operator, right) => {
                self.term(left)?;
                if let BinaryOp::Pipe(Some(pattern)) = operator {
                    self.pattern(pattern)?;
                }
                self.term(right)
            }
            Term::Fold(_, stream, pattern, terms) => {
                self.term(stream)?;
                self.pattern(pattern)?;
                terms.iter().try_for_each(|term| self.term(term))
            }
            Term::TryCatch(tried, caught) => {
                self.term(tried)?;
                caught.iter().try_for_each(|caught| self.term(caught))
            }
            Term::IfThenElse(branches, otherwise) => {
                branches.iter().try_for_each(|(condition, then)| {
                    self.term(condition)?;
                    self.term(then)
                })?;
                otherwise.iter().try_for_each(|otherwise| self.term(otherwise))
            }
            Term::Def(definitions, body) => {
                definitions.iter().try_for_each(|definition| self.definition(definition))?;
                self.term(body)
            }
            Term::Call(name, arguments) => {
                self.call(name, arguments.len())?;
                arguments.iter().try_for_each(|argument| self.term(argument))
            }
            Term::Path(inner, path) => {
                self.term(inner)?;
                path.0.iter().try_for_each(|(part, _)| match part {
                    Part::Index(index) => self.term(index),
                    Part::Range(start, end) => start.iter().chain(end).try_for_each(|bound| self.term(bound)),
                })
            }
        }
    }

    pub(crate) fn definition(&mut self, definition: &Def<&'s str>) -> Result<(), Refusal<'s>> {
        let takes_filters = definition.args.iter().any(|parameter| !parameter.starts_with('$'));
        if takes_filters {
            self.around.push((definition.name, definition.args.len()));
        }
        let checked = self.term(&definition.body);
        if takes_filters {
            self.around.pop();
        }
        checked
    }

    fn call(&self, name: &'s str, arity: usize) -> Result<(), Refusal<'s>> {
        if !self.around.contains(&(name, arity)) {
            return Ok(());
        }
        let reason = format!(
            "`{name}` calls itself with filters as parameters; recurse in an inner definition without parameters, \
             or take `$values`"
        );
        Err((name, reason))
    }

    fn pattern(&mut self, pattern: &Pattern<&'s str>) -> Result<(), Refusal<'s>> {
        match pattern {
            Pattern::Var(_) => Ok(()),
            Pattern::Arr(patterns) => patterns.iter().try_for_each(|pattern| self.pattern(pattern)),
            Pattern::Obj(entries) => entries.iter().try_for_each(|(key, pattern)| {
                self.term(key)?;
                self.pattern(pattern)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_itself_keeps_the_rule() {
        for definition in crate::natives::definitions() {
            assert_eq!(Walk::default().definition(&definition), Ok(()), "{}", definition.name);
        }
    }
}

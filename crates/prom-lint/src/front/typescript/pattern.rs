//! Names that a pattern declares: `a`, `{ a, b: c = 1 }`, `[a, b]`.

use oxc_ast::ast::BindingPattern;

use super::{TypeScript, span};
use crate::record::{Expr, ScopeId};

impl TypeScript<'_> {
    pub(super) fn declare_pattern(&mut self, scope: ScopeId, pattern: &BindingPattern<'_>, value: Expr) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => self.builder.declare_in(scope, &name.name, value),
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    let place = span(property.span);
                    let part = match property.key.static_name() {
                        Some(key) if !property.computed => value.clone().member(key, place),
                        _ => Expr::unknown(place),
                    };
                    self.declare_pattern(scope, &property.value, part);
                }
                if let Some(rest) = &object.rest {
                    self.declare_pattern(scope, &rest.argument, value);
                }
            }
            BindingPattern::ArrayPattern(array) => {
                for (index, element) in array.elements.iter().enumerate() {
                    if let Some(element) = element {
                        let part = value.clone().member(index.to_string(), value.span);
                        self.declare_pattern(scope, element, part);
                    }
                }
                if let Some(rest) = &array.rest {
                    let place = span(rest.span);
                    self.declare_pattern(scope, &rest.argument, Expr::unknown(place));
                }
            }
            BindingPattern::AssignmentPattern(with_default) => {
                let default = self.value(&with_default.right);
                let place = span(with_default.span);
                self.declare_pattern(scope, &with_default.left, Expr::either(place, vec![value, default]));
            }
        }
    }
}

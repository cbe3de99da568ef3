//! Names that a pattern or a declaration declares: `a`, `{ a, b: c = 1 }`, `[a, b]`.

use oxc_ast::ast::{BindingIdentifier, BindingPattern, Declaration};

use super::{TypeScript, span};
use crate::record::{Expr, ScopeId, Span};

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

/// The names that an exported declaration declares.
pub(super) fn declared_names(declaration: &Declaration<'_>) -> Vec<(String, Span)> {
    let of = |id: &BindingIdentifier<'_>| vec![(id.name.to_string(), span(id.span))];
    match declaration {
        Declaration::VariableDeclaration(variables) => {
            let mut names = Vec::new();
            for declarator in &variables.declarations {
                names_of_pattern(&declarator.id, &mut names);
            }
            names
        }
        Declaration::FunctionDeclaration(function) => function.id.as_ref().map(of).unwrap_or_default(),
        Declaration::ClassDeclaration(class) => class.id.as_ref().map(of).unwrap_or_default(),
        Declaration::TSTypeAliasDeclaration(alias) => of(&alias.id),
        Declaration::TSInterfaceDeclaration(interface) => of(&interface.id),
        Declaration::TSEnumDeclaration(declaration) => of(&declaration.id),
        Declaration::TSNamespaceDeclaration(namespace) => of(&namespace.id),
        Declaration::TSImportEqualsDeclaration(import) => of(&import.id),
        _ => Vec::new(),
    }
}

fn names_of_pattern(pattern: &BindingPattern<'_>, names: &mut Vec<(String, Span)>) {
    match pattern {
        BindingPattern::BindingIdentifier(name) => names.push((name.name.to_string(), span(name.span))),
        BindingPattern::ObjectPattern(object) => {
            object.properties.iter().for_each(|property| names_of_pattern(&property.value, names));
        }
        BindingPattern::ArrayPattern(array) => {
            array.elements.iter().flatten().for_each(|element| names_of_pattern(element, names));
        }
        BindingPattern::AssignmentPattern(inner) => names_of_pattern(&inner.left, names),
    }
}

//! Types, as far as they say what a value is: an instance of something, an object of such, one of some texts.

use oxc_ast::ast::{
    TSIndexedAccessType, TSLiteral, TSSignature, TSType, TSTypeName, TSTypeQueryExprName, TSTypeReference,
};
use oxc_span::GetSpan;

use super::{TypeScript, span};
use crate::limits;
use crate::record::{Expr, ExprKind, Property};

/// Types that keep the methods of their argument, or become it when awaited.
const SEE_THROUGH: [&str; 18] = [
    "Promise",
    "PromiseLike",
    "Awaited",
    "Readonly",
    "Partial",
    "Required",
    "NonNullable",
    "Pick",
    "Omit",
    "InstanceType",
    "Ref",
    "MutableRefObject",
    "RefObject",
    "DeepReadonly",
    "Mocked",
    "Provider",
    "Lazy",
    "Signal",
];

impl TypeScript<'_> {
    /// A value of this type.
    pub(super) fn value_of(&mut self, kind: &TSType<'_>) -> Expr {
        let place = span(kind.span());
        match kind {
            TSType::TSTypeReference(reference) => self.value_of_reference(reference),
            TSType::TSUnionType(union) => {
                let choices = union.types.iter().take(limits::TOPICS_OF_A_CALL).map(|kind| self.value_of(kind));
                let choices = choices.collect();
                Expr::either(place, choices)
            }
            TSType::TSIntersectionType(both) => {
                let parts = both.types.iter().map(|kind| self.value_of(kind)).collect();
                Expr::either(place, parts)
            }
            TSType::TSLiteralType(literal) => match &literal.literal {
                TSLiteral::StringLiteral(text) => Expr::text(place, text.value.as_str()),
                _ => Expr::new(place, ExprKind::Opaque),
            },
            TSType::TSTypeLiteral(literal) => {
                let properties = self.properties_of(&literal.members);
                Expr::new(place, ExprKind::Object(properties))
            }
            TSType::TSParenthesizedType(inner) => self.value_of(&inner.type_annotation),
            TSType::TSTypeOperatorType(inner) => self.value_of(&inner.type_annotation),
            TSType::TSTypeQuery(query) => self.value_of_query(&query.expr_name, place),
            TSType::TSImportType(import) => {
                self.builder.import(import.source.value.as_str());
                let module = Expr::new(place, ExprKind::Module(import.source.value.to_string()));
                match &import.qualifier {
                    Some(oxc_ast::ast::TSImportTypeQualifier::Identifier(name)) => {
                        module.member(name.name.as_str(), place).instance()
                    }
                    _ => Expr::unknown(place),
                }
            }
            TSType::TSArrayType(array) => {
                let element = self.value_of(&array.element_type);
                Expr::new(place, ExprKind::Array(vec![element]))
            }
            TSType::TSFunctionType(function) => {
                let result = self.value_of(&function.return_type.type_annotation);
                Expr::new(place, ExprKind::Function(Box::new(result)))
            }
            TSType::TSIndexedAccessType(access) => self.value_of_access(access),
            TSType::TSThisType(_) => self.this(place),
            TSType::TSAnyKeyword(_)
            | TSType::TSUnknownKeyword(_)
            | TSType::TSNullKeyword(_)
            | TSType::TSUndefinedKeyword(_)
            | TSType::TSVoidKeyword(_)
            | TSType::TSConditionalType(_)
            | TSType::TSMappedType(_)
            | TSType::TSInferType(_) => Expr::unknown(place),
            _ => Expr::new(place, ExprKind::Opaque),
        }
    }

    fn value_of_access(&mut self, access: &TSIndexedAccessType<'_>) -> Expr {
        let place = span(access.span);
        let of = self.value_of(&access.object_type);
        match &access.index_type {
            TSType::TSLiteralType(literal) => match &literal.literal {
                TSLiteral::StringLiteral(name) => of.member(name.value.as_str(), place),
                _ => Expr::unknown(place),
            },
            _ => Expr::new(place, ExprKind::Element(Box::new(of))),
        }
    }

    fn value_of_reference(&mut self, reference: &TSTypeReference<'_>) -> Expr {
        if let (TSTypeName::IdentifierReference(name), Some(arguments)) =
            (&reference.type_name, &reference.type_arguments)
        {
            let first = arguments.params.first().filter(|_| SEE_THROUGH.contains(&name.name.as_str()));
            if let Some(first) = first {
                return self.value_of(first);
            }
        }
        self.type_name(&reference.type_name).instance()
    }

    fn value_of_query(&mut self, query: &TSTypeQueryExprName<'_>, place: crate::record::Span) -> Expr {
        match query {
            TSTypeQueryExprName::IdentifierReference(name) => self.builder.name(&name.name, span(name.span)),
            TSTypeQueryExprName::QualifiedName(name) => {
                let left = self.type_name(&name.left);
                left.member(name.right.name.as_str(), span(name.span))
            }
            _ => Expr::unknown(place),
        }
    }

    /// The class, interface or alias that a name stands for.
    pub(super) fn type_name(&mut self, name: &TSTypeName<'_>) -> Expr {
        match name {
            TSTypeName::IdentifierReference(name) => self.builder.name(&name.name, span(name.span)),
            TSTypeName::QualifiedName(name) => {
                let left = self.type_name(&name.left);
                left.member(name.right.name.as_str(), span(name.span))
            }
            TSTypeName::ThisExpression(this) => Expr::unknown(span(this.span)),
        }
    }

    /// The members of an interface or of a type in braces.
    pub(super) fn properties_of(&mut self, members: &[TSSignature<'_>]) -> Vec<Property> {
        let mut properties = Vec::new();
        for member in members.iter().take(limits::MEMBERS) {
            let (key, value, place) = match member {
                TSSignature::TSPropertySignature(property) => {
                    let place = span(property.span);
                    let value = match &property.type_annotation {
                        Some(kind) => self.value_of(&kind.type_annotation),
                        None => Expr::unknown(place),
                    };
                    (property.key.static_name(), value, place)
                }
                TSSignature::TSMethodSignature(method) => {
                    let place = span(method.span);
                    let result = match &method.return_type {
                        Some(kind) => self.value_of(&kind.type_annotation),
                        None => Expr::unknown(place),
                    };
                    let function = Expr::new(place, ExprKind::Function(Box::new(result)));
                    (method.key.static_name(), function, place)
                }
                _ => continue,
            };
            properties.push(Property { key: key.map(|key| key.into_owned()), span: place, value });
        }
        properties
    }
}

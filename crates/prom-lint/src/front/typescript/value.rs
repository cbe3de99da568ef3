//! Expressions, as far as they say what a value is.

use oxc_ast::ast::{
    Argument, ArrayExpressionElement, BinaryOperator, CallExpression, Expression, NumericLiteral, ObjectExpression,
    ObjectPropertyKind, PropertyKey, PropertyKind, TSType, TemplateLiteral, UnaryOperator,
};
use oxc_span::GetSpan;

use super::{TypeScript, span};
use crate::limits;
use crate::record::{Expr, ExprKind, Property, Span};

impl TypeScript<'_> {
    pub(super) fn value(&mut self, expression: &Expression<'_>) -> Expr {
        let place = span(expression.span());
        match expression {
            Expression::StringLiteral(text) => Expr::text(place, text.value.as_str()),
            Expression::NumericLiteral(number) => Expr::new(place, number_kind(number, "")),
            Expression::BooleanLiteral(flag) => Expr::new(place, ExprKind::Json(flag.value.to_string())),
            Expression::NullLiteral(_) => Expr::new(place, ExprKind::Json("null".to_owned())),
            Expression::TemplateLiteral(template) => self.template(template),
            Expression::Identifier(name) => self.builder.name(&name.name, place),
            Expression::ThisExpression(_) => self.this(place),
            Expression::ParenthesizedExpression(inner) => self.value(&inner.expression),
            Expression::TSSatisfiesExpression(inner) => self.value(&inner.expression),
            Expression::TSNonNullExpression(inner) => self.value(&inner.expression),
            Expression::TSInstantiationExpression(inner) => self.value(&inner.expression),
            Expression::AwaitExpression(inner) => self.value(&inner.argument),
            Expression::TSAsExpression(cast) => self.cast(&cast.expression, &cast.type_annotation),
            Expression::TSTypeAssertion(cast) => self.cast(&cast.expression, &cast.type_annotation),
            Expression::SequenceExpression(sequence) => match sequence.expressions.last() {
                Some(last) => self.value(last),
                None => Expr::unknown(place),
            },
            Expression::AssignmentExpression(assignment) => self.value(&assignment.right),
            Expression::ConditionalExpression(choice) => {
                let choices = vec![self.value(&choice.consequent), self.value(&choice.alternate)];
                Expr::either(place, choices)
            }
            Expression::LogicalExpression(choice) => {
                let choices = vec![self.value(&choice.left), self.value(&choice.right)];
                Expr::either(place, choices)
            }
            Expression::BinaryExpression(sum) if sum.operator == BinaryOperator::Addition => {
                let parts = vec![self.value(&sum.left), self.value(&sum.right)];
                Expr::new(place, ExprKind::Concat(parts))
            }
            Expression::UnaryExpression(negative) => match (&negative.operator, &negative.argument) {
                (UnaryOperator::UnaryNegation, Expression::NumericLiteral(number)) => {
                    Expr::new(place, number_kind(number, "-"))
                }
                _ => Expr::new(place, ExprKind::Opaque),
            },
            _ => self.made_value(expression, place),
        }
    }

    /// Values that are put together, called, or looked up.
    fn made_value(&mut self, expression: &Expression<'_>, place: Span) -> Expr {
        match expression {
            Expression::ObjectExpression(object) => self.object(object),
            Expression::ArrayExpression(array) => {
                let elements = array.elements.iter().take(limits::MEMBERS).map(|element| match element {
                    ArrayExpressionElement::SpreadElement(spread) => {
                        let of = self.value(&spread.argument);
                        Expr::new(span(spread.span), ExprKind::Element(Box::new(of)))
                    }
                    ArrayExpressionElement::Elision(hole) => Expr::unknown(span(hole.span)),
                    element => match element.as_expression() {
                        Some(element) => self.value(element),
                        None => Expr::unknown(place),
                    },
                });
                let elements = elements.collect();
                Expr::new(place, ExprKind::Array(elements))
            }
            Expression::CallExpression(call) => self.call(call),
            Expression::ChainExpression(chain) => match &chain.expression {
                oxc_ast::ast::ChainElement::CallExpression(call) => self.call(call),
                oxc_ast::ast::ChainElement::TSNonNullExpression(inner) => self.value(&inner.expression),
                other => other.as_member_expression().map_or(Expr::unknown(place), |member| self.member(member)),
            },
            Expression::NewExpression(new) => {
                let class = self.value(&new.callee);
                Expr::new(place, ExprKind::Instance(Box::new(class)))
            }
            Expression::ImportExpression(import) => match &import.source {
                Expression::StringLiteral(source) => self.module(&source.value, place),
                _ => Expr::unknown(place),
            },
            Expression::ArrowFunctionExpression(_)
            | Expression::FunctionExpression(_)
            | Expression::ClassExpression(_) => {
                self.made.get(&place.start).cloned().unwrap_or_else(|| Expr::unknown(place))
            }
            Expression::StaticMemberExpression(_)
            | Expression::ComputedMemberExpression(_)
            | Expression::PrivateFieldExpression(_) => {
                expression.as_member_expression().map_or(Expr::unknown(place), |member| self.member(member))
            }
            Expression::RegExpLiteral(_) | Expression::BigIntLiteral(_) | Expression::BinaryExpression(_) => {
                Expr::new(place, ExprKind::Opaque)
            }
            _ => Expr::unknown(place),
        }
    }

    fn member(&mut self, member: &oxc_ast::ast::MemberExpression<'_>) -> Expr {
        let place = span(member.span());
        let of = self.value(member.object());
        use oxc_ast::ast::MemberExpression as Member;
        match member {
            Member::StaticMemberExpression(member) => of.member(member.property.name.as_str(), place),
            Member::PrivateFieldExpression(member) => of.member(format!("#{}", member.field.name), place),
            Member::ComputedMemberExpression(member) => match &member.expression {
                Expression::StringLiteral(name) => of.member(name.value.as_str(), place),
                Expression::NumericLiteral(index) => of.member(index.value.to_string(), place),
                _ => Expr::new(place, ExprKind::Element(Box::new(of))),
            },
        }
    }

    pub(super) fn this(&mut self, place: Span) -> Expr {
        match self.builder.class() {
            Some(class) => Expr::new(place, ExprKind::Class(class)).instance(),
            None => Expr::unknown(place),
        }
    }

    pub(super) fn module(&mut self, source: &str, place: Span) -> Expr {
        self.builder.import(source);
        Expr::new(place, ExprKind::Module(source.to_owned()))
    }

    fn cast(&mut self, expression: &Expression<'_>, kind: &TSType<'_>) -> Expr {
        let value = self.value(expression);
        if let TSType::TSTypeReference(reference) = kind
            && let oxc_ast::ast::TSTypeName::IdentifierReference(name) = &reference.type_name
            && name.name == "const"
        {
            return value;
        }
        let kind = self.value_of(kind);
        Expr::either(value.span, vec![value, kind])
    }

    pub(super) fn template(&mut self, template: &TemplateLiteral<'_>) -> Expr {
        let place = span(template.span);
        let mut parts = Vec::new();
        for (index, quasi) in template.quasis.iter().enumerate() {
            let text = quasi.value.cooked.as_ref().map_or("", |text| text.as_str());
            if !text.is_empty() {
                parts.push(Expr::text(span(quasi.span), text));
            }
            if let Some(expression) = template.expressions.get(index) {
                parts.push(self.value(expression));
            }
        }
        match parts.is_empty() || (template.expressions.is_empty() && parts.len() == 1) {
            true => {
                let text = match parts.pop().map(|part| part.kind) {
                    Some(ExprKind::Text(text)) => text,
                    _ => String::new(),
                };
                Expr::text(place, text)
            }
            false => Expr::new(place, ExprKind::Concat(parts)),
        }
    }

    fn object(&mut self, object: &ObjectExpression<'_>) -> Expr {
        let mut properties = Vec::new();
        for property in object.properties.iter().take(limits::MEMBERS) {
            properties.push(match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    let key = match &property.key {
                        PropertyKey::PrivateIdentifier(_) => None,
                        key if property.computed => match key {
                            PropertyKey::StringLiteral(name) => Some(name.value.to_string()),
                            _ => None,
                        },
                        key => key.static_name().map(|key| key.into_owned()),
                    };
                    let mut value = self.value(&property.value);
                    if property.kind != PropertyKind::Init {
                        value = match value.kind {
                            ExprKind::Function(result) => *result,
                            _ => Expr::unknown(value.span),
                        };
                    }
                    Property { key, span: span(property.key.span()), value }
                }
                ObjectPropertyKind::SpreadProperty(spread) => {
                    let value = self.value(&spread.argument);
                    Property { key: None, span: span(spread.span), value }
                }
            });
        }
        if object.properties.len() > limits::MEMBERS {
            let place = span(object.span);
            properties.push(Property { key: None, span: place, value: Expr::unknown(place) });
        }
        Expr::new(span(object.span), ExprKind::Object(properties))
    }

    pub(super) fn arguments(&mut self, arguments: &[Argument<'_>]) -> Vec<Expr> {
        let values = arguments.iter().take(limits::DEPTH).map(|argument| match argument.as_expression() {
            Some(argument) => self.value(argument),
            None => Expr::unknown(span(argument.span())),
        });
        values.collect()
    }

    fn call(&mut self, call: &CallExpression<'_>) -> Expr {
        let place = span(call.span);
        if let Expression::Identifier(name) = &call.callee
            && name.name == "require"
            && let Some(Argument::StringLiteral(source)) = call.arguments.first()
        {
            return self.module(&source.value, place);
        }
        if let Expression::StaticMemberExpression(member) = &call.callee {
            let method = member.property.name.as_str();
            let first = call.arguments.first().and_then(Argument::as_expression);
            if let (Expression::Identifier(object), Some(first)) = (&member.object, first)
                && object.name == "Object"
                && let Some(value) = self.of_object(method, first, &call.arguments, place)
            {
                return value;
            }
            if matches!(method, "toString" | "valueOf" | "trim") && call.arguments.is_empty() {
                return self.value(&member.object);
            }
            if let ("join", Expression::ArrayExpression(_), Some(Expression::StringLiteral(by))) =
                (method, &member.object, first)
                && let ExprKind::Array(elements) = self.value(&member.object).kind
            {
                let by = Expr::text(span(by.span), by.value.as_str());
                let mut parts = Vec::new();
                for (index, element) in elements.into_iter().enumerate() {
                    parts.extend((index > 0).then(|| by.clone()));
                    parts.push(element);
                }
                return Expr::new(place, ExprKind::Concat(parts));
            }
        }
        let callee = self.value(&call.callee);
        let arguments = self.arguments(&call.arguments);
        Expr::new(place, ExprKind::Call(Box::new(callee), arguments))
    }
}

impl TypeScript<'_> {
    /// What a function of `Object` gives.
    fn of_object(
        &mut self,
        method: &str,
        first: &Expression<'_>,
        arguments: &[Argument<'_>],
        place: Span,
    ) -> Option<Expr> {
        match method {
            "freeze" | "seal" => Some(self.value(first)),
            "values" => {
                let of = self.value(first);
                let value = Expr::new(place, ExprKind::Element(Box::new(of)));
                Some(Expr::new(place, ExprKind::Array(vec![value])))
            }
            "entries" => {
                let of = self.value(first);
                let value = Expr::new(place, ExprKind::Element(Box::new(of)));
                let entry = Expr::new(place, ExprKind::Array(vec![Expr::unknown(place), value]));
                Some(Expr::new(place, ExprKind::Array(vec![entry])))
            }
            // What comes later wins, and a look-up takes the first.
            "assign" => {
                let parts = self.arguments(arguments).into_iter().rev();
                let parts = parts.map(|value| Property { key: None, span: value.span, value }).collect();
                Some(Expr::new(place, ExprKind::Object(parts)))
            }
            _ => None,
        }
    }
}

/// As JSON has it; other notations by their value.
fn number_kind(number: &NumericLiteral<'_>, sign: &str) -> ExprKind {
    let raw = number.raw.as_ref().map_or("", |raw| raw.as_str()).replace('_', "");
    let text = format!("{sign}{raw}");
    if serde_json::from_str::<serde_json::Number>(&text).is_ok() {
        return ExprKind::Json(text);
    }
    let value = if sign.is_empty() { number.value } else { -number.value };
    match value.fract() == 0.0 && value.abs() < 9e15 {
        true => ExprKind::Json(format!("{value:.0}")),
        false => ExprKind::Json(value.to_string()),
    }
}

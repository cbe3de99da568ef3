//! What is changed after it was given a value: `it.key = …`, `it.push(…)`, `fill(it)`, `it++`, `delete it.key`. Such an object says
//! nothing of what it holds at a call.

use oxc_ast::ast::{Argument, Expression, SimpleAssignmentTarget, UpdateExpression};

use super::{TypeScript, span};
use crate::record::Expr;

/// Their functions read what they are given.
const READERS: [&str; 3] = ["JSON", "console", "Object"];

impl TypeScript<'_> {
    /// A call of another function or method may change what it is called on, and what it is given.
    pub(super) fn note_changes(&mut self, name: &str, receiver: Option<&Expression<'_>>, arguments: &[Argument<'_>]) {
        if let Some(receiver) = receiver {
            let reads = matches!(receiver, Expression::Identifier(object) if READERS.contains(&object.name.as_str()));
            if reads && !matches!(name, "assign" | "defineProperty" | "defineProperties" | "setPrototypeOf") {
                return;
            }
            self.changes(receiver);
        }
        self.changes_arguments(arguments);
    }

    pub(super) fn changes_arguments(&mut self, arguments: &[Argument<'_>]) {
        arguments.iter().filter_map(Argument::as_expression).for_each(|argument| self.changes(argument));
    }

    /// What the name that an expression begins with holds may be changed.
    pub(super) fn changes(&mut self, expression: &Expression<'_>) {
        let mut at = expression;
        loop {
            at = match at {
                Expression::Identifier(name) => return self.builder.changes(&name.name),
                Expression::StaticMemberExpression(member) => &member.object,
                Expression::ComputedMemberExpression(member) => &member.object,
                Expression::PrivateFieldExpression(member) => &member.object,
                Expression::ParenthesizedExpression(inner) => &inner.expression,
                Expression::TSNonNullExpression(inner) => &inner.expression,
                Expression::TSAsExpression(inner) => &inner.expression,
                _ => return,
            };
        }
    }

    /// `it++`, `this.count--`
    pub(super) fn update(&mut self, update: &UpdateExpression<'_>) {
        let unknown = Expr::unknown(span(update.span));
        match &update.argument {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(name) => self.builder.assign(&name.name, unknown),
            SimpleAssignmentTarget::StaticMemberExpression(member) => {
                self.changes(&member.object);
                self.assign_member(&member.object, member.property.name.as_str(), unknown);
            }
            SimpleAssignmentTarget::PrivateFieldExpression(member) => {
                self.assign_member(&member.object, &format!("#{}", member.field.name), unknown);
            }
            SimpleAssignmentTarget::ComputedMemberExpression(member) => self.changes(&member.object),
            _ => {}
        }
    }
}

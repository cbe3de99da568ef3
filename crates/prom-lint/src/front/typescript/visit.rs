//! The walk: scopes, declarations, classes, exports and calls, in the order in which they stand.

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

use super::pattern::declared_names;
use super::{TypeScript, span};
use crate::record::{Call, Expr, ExprKind, ScopeId, Span};

impl<'a> Visit<'a> for TypeScript<'_> {
    fn visit_block_statement(&mut self, block: &BlockStatement<'a>) {
        let outer = self.builder.enter_scope();
        walk::walk_block_statement(self, block);
        self.builder.leave_scope(outer);
    }

    fn visit_for_statement(&mut self, statement: &ForStatement<'a>) {
        let outer = self.builder.enter_scope();
        walk::walk_for_statement(self, statement);
        self.builder.leave_scope(outer);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        let outer = self.builder.enter_scope();
        self.visit_expression(&statement.right);
        if let ForStatementLeft::VariableDeclaration(declaration) = &statement.left {
            let of = self.value(&statement.right);
            let element = Expr::new(of.span, ExprKind::Element(Box::new(of)));
            for declarator in &declaration.declarations {
                self.declare_pattern(self.builder.scope(), &declarator.id, element.clone());
            }
        }
        self.visit_statement(&statement.body);
        self.builder.leave_scope(outer);
    }

    fn visit_for_in_statement(&mut self, statement: &ForInStatement<'a>) {
        let outer = self.builder.enter_scope();
        walk::walk_for_in_statement(self, statement);
        self.builder.leave_scope(outer);
    }

    fn visit_variable_declaration(&mut self, declaration: &VariableDeclaration<'a>) {
        let is_var = declaration.kind == VariableDeclarationKind::Var;
        let scope = if is_var { self.function_scope } else { self.builder.scope() };
        for declarator in &declaration.declarations {
            self.visit_variable_declarator(declarator);
            let place = span(declarator.span);
            let mut values = Vec::new();
            if let Some(init) = &declarator.init {
                if matches!(init, Expression::Identifier(_)) {
                    // Under two names it can be changed by the other one.
                    self.changes(init);
                }
                values.push(self.value(init));
            }
            if let Some(kind) = &declarator.type_annotation {
                values.push(self.value_of(&kind.type_annotation));
            }
            self.declare_pattern(scope, &declarator.id, Expr::either(place, values));
        }
    }

    fn visit_function(&mut self, function: &Function<'a>, _: ScopeFlags) {
        let value = self.function(function, |_| {});
        if let Some(name) = &function.id {
            self.builder.declare(&name.name, value.clone());
        }
        self.made.insert(function.span.start, value);
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        let place = span(arrow.span);
        let (outer, outer_function) = self.enter_function(&arrow.type_parameters);
        self.parameters(&arrow.params);
        self.returns.push(Vec::new());
        match &arrow.body {
            ArrowFunctionBody::FunctionBody(body) => self.visit_function_body(body),
            body => {
                if let Some(expression) = body.as_expression() {
                    self.visit_expression(expression);
                    let result = self.value(expression);
                    self.returns.last_mut().into_iter().for_each(|returns| returns.push(result.clone()));
                }
            }
        }
        let value = self.leave_function(outer, outer_function, place, &arrow.return_type);
        self.made.insert(place.start, value);
    }

    fn visit_return_statement(&mut self, statement: &ReturnStatement<'a>) {
        walk::walk_return_statement(self, statement);
        if let Some(argument) = &statement.argument
            && self.returns.last().is_some_and(|returns| returns.len() < 8)
        {
            let value = self.value(argument);
            self.returns.last_mut().into_iter().for_each(|returns| returns.push(value.clone()));
        }
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        let place = span(class.span);
        let extends = class.heritage.as_ref().map(|heritage| {
            self.visit_expression(&heritage.expression);
            self.value(&heritage.expression)
        });
        let number = self.builder.enter_class(extends.into_iter().collect());
        let value = Expr::new(place, ExprKind::Class(number));
        if let Some(name) = &class.id {
            self.builder.declare(&name.name, value.clone());
        }
        self.made.insert(place.start, value);
        let outer = self.builder.enter_scope();
        self.type_parameters(&class.type_parameters);
        self.visit_class_body(&class.body);
        self.builder.leave_scope(outer);
        self.builder.leave_class();
    }

    fn visit_property_definition(&mut self, property: &PropertyDefinition<'a>) {
        let mut values = Vec::new();
        if let Some(value) = &property.value {
            self.visit_expression(value);
            values.push(self.value(value));
        }
        if let Some(kind) = &property.type_annotation {
            values.push(self.value_of(&kind.type_annotation));
        }
        if let (Some(class), Some(name)) = (self.builder.class(), key_name(&property.key)) {
            self.builder.member(class, name, Expr::either(span(property.span), values));
        }
    }

    fn visit_method_definition(&mut self, method: &MethodDefinition<'a>) {
        let class = self.builder.class();
        let is_constructor = method.kind == MethodDefinitionKind::Constructor;
        let value = self.function(&method.value, |walk| {
            if let Some(class) = class.filter(|_| is_constructor) {
                walk.parameter_properties(class, &method.value.params);
            }
        });
        if let (Some(class), Some(name), false) = (class, key_name(&method.key), is_constructor) {
            let value = match (method.kind, value.kind) {
                (MethodDefinitionKind::Get, ExprKind::Function(result)) => *result,
                (_, kind) => Expr::new(value.span, kind),
            };
            self.builder.member(class, name, value);
        }
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        walk::walk_assignment_expression(self, assignment);
        let place = span(assignment.span);
        match &assignment.left {
            AssignmentTarget::AssignmentTargetIdentifier(name) => {
                let is_plain = assignment.operator == AssignmentOperator::Assign;
                let value = if is_plain { self.value(&assignment.right) } else { Expr::unknown(place) };
                self.builder.assign(&name.name, value);
            }
            AssignmentTarget::StaticMemberExpression(member) => {
                self.changes(&member.object);
                let value = self.value(&assignment.right);
                self.assign_member(&member.object, member.property.name.as_str(), value);
            }
            AssignmentTarget::PrivateFieldExpression(member) => {
                let value = self.value(&assignment.right);
                self.assign_member(&member.object, &format!("#{}", member.field.name), value);
            }
            AssignmentTarget::ComputedMemberExpression(member) => self.changes(&member.object),
            _ => {}
        }
    }

    fn visit_update_expression(&mut self, update: &UpdateExpression<'a>) {
        walk::walk_update_expression(self, update);
        self.update(update);
    }

    fn visit_unary_expression(&mut self, unary: &UnaryExpression<'a>) {
        walk::walk_unary_expression(self, unary);
        if unary.operator == UnaryOperator::Delete {
            self.changes(&unary.argument);
        }
    }

    fn visit_new_expression(&mut self, new: &NewExpression<'a>) {
        walk::walk_new_expression(self, new);
        self.changes_arguments(&new.arguments);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        walk::walk_call_expression(self, call);
        let (name, name_span, receiver) = match &call.callee {
            Expression::Identifier(name) => (name.name.as_str(), span(name.span), None),
            Expression::StaticMemberExpression(member) => {
                (member.property.name.as_str(), span(member.property.span), Some(&member.object))
            }
            Expression::ComputedMemberExpression(member) => match &member.expression {
                Expression::StringLiteral(name) => (name.value.as_str(), span(name.span), Some(&member.object)),
                _ => return self.changes_arguments(&call.arguments),
            },
            _ => return self.changes_arguments(&call.arguments),
        };
        let renamed = self.renamed.get(name).filter(|_| receiver.is_none()).cloned();
        let name = renamed.as_deref().unwrap_or(name);
        if !self.names.has(name) {
            self.note_changes(name, receiver, &call.arguments);
            return;
        }
        let callee = receiver.is_none().then(|| self.value(&call.callee));
        let receiver_text = receiver.map(|receiver| {
            let place = span(receiver.span());
            self.text.get(place.start as usize..place.end as usize).unwrap_or_default().chars().take(80).collect()
        });
        let receiver = receiver.map(|receiver| self.value(receiver));
        let arguments = self.arguments(&call.arguments);
        let (span, name) = (span(call.span), name.to_owned());
        self.builder.call(Call {
            span,
            name,
            name_span,
            receiver,
            receiver_text,
            callee,
            arguments,
            named: Vec::new(),
        });
    }

    fn visit_import_declaration(&mut self, import: &ImportDeclaration<'a>) {
        let module = self.module(&import.source.value, span(import.source.span));
        for specifier in import.specifiers.iter().flatten() {
            let (local, value) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(named) => {
                    let imported = named.imported.name();
                    let local = named.local.name.as_str();
                    if imported.as_str() != local && self.names.has(imported.as_str()) {
                        self.renamed.insert(local.to_owned(), imported.to_string());
                    }
                    (&named.local, module.clone().member(named.imported.name().as_str(), span(named.span)))
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(default) => {
                    (&default.local, module.clone().member("default", span(default.span)))
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(all) => (&all.local, module.clone()),
            };
            self.builder.declare(&local.name, value);
        }
    }

    fn visit_export_declaration(&mut self, export: &ExportDeclaration<'a>) {
        walk::walk_export_declaration(self, export);
        for (name, place) in declared_names(&export.declaration) {
            let value = self.builder.name(&name, place);
            self.builder.export(name, value);
        }
    }

    fn visit_export_named_declaration(&mut self, export: &ExportNamedDeclaration<'a>) {
        for specifier in &export.specifiers {
            let value = self.builder.name(specifier.local.name().as_str(), span(specifier.span));
            self.builder.export(specifier.exported.name().as_str(), value);
        }
    }

    fn visit_export_from_declaration(&mut self, export: &ExportFromDeclaration<'a>) {
        let module = self.module(&export.source.value, span(export.source.span));
        for specifier in &export.specifiers {
            let value = module.clone().member(specifier.local.name().as_str(), span(specifier.span));
            self.builder.export(specifier.exported.name().as_str(), value);
        }
    }

    fn visit_export_all_declaration(&mut self, export: &ExportAllDeclaration<'a>) {
        let module = self.module(&export.source.value, span(export.source.span));
        match &export.exported {
            Some(name) => self.builder.export(name.name().as_str(), module),
            None => self.builder.star(export.source.value.as_str()),
        }
    }

    fn visit_export_default_declaration(&mut self, export: &ExportDefaultDeclaration<'a>) {
        walk::walk_export_default_declaration(self, export);
        let start = export.declaration.span().start;
        let value = match export.declaration.as_expression() {
            Some(expression) => self.value(expression),
            None => self.made.get(&start).cloned().unwrap_or_else(|| Expr::unknown(span(export.span))),
        };
        self.builder.export("default", value);
    }

    fn visit_ts_export_assignment(&mut self, export: &TSExportAssignment<'a>) {
        walk::walk_ts_export_assignment(self, export);
        let value = self.value(&export.expression);
        self.builder.export("default", value);
    }

    fn visit_ts_import_equals_declaration(&mut self, import: &TSImportEqualsDeclaration<'a>) {
        let value = match &import.module_reference {
            TSModuleReference::ExternalModuleReference(module) => {
                self.module(&module.expression.value, span(module.span))
            }
            TSModuleReference::IdentifierReference(name) => self.builder.name(&name.name, span(name.span)),
            TSModuleReference::QualifiedName(name) => {
                let left = self.type_name(&name.left);
                left.member(name.right.name.as_str(), span(name.span))
            }
        };
        self.builder.declare(&import.id.name, value);
    }

    fn visit_ts_enum_declaration(&mut self, declaration: &TSEnumDeclaration<'a>) {
        let mut properties = Vec::new();
        for member in &declaration.body.members {
            let value = match &member.initializer {
                Some(value) => self.value(value),
                None => Expr::new(span(member.span), ExprKind::Opaque),
            };
            let key = Some(member.id.static_name().to_string());
            properties.push(crate::record::Property { key, span: span(member.id.span()), value });
        }
        let value = Expr::new(span(declaration.span), ExprKind::Object(properties));
        self.builder.declare(&declaration.id.name, value);
    }

    fn visit_ts_interface_declaration(&mut self, interface: &TSInterfaceDeclaration<'a>) {
        let extends = interface.extends.iter().map(|base| self.type_name(&base.type_name)).collect();
        let class = self.builder.enter_class(extends);
        for property in self.properties_of(&interface.body.body) {
            if let Some(key) = property.key {
                self.builder.member(class, key, property.value);
            }
        }
        self.builder.leave_class();
        self.builder.declare(&interface.id.name, Expr::new(span(interface.span), ExprKind::Class(class)));
    }

    fn visit_ts_type_alias_declaration(&mut self, alias: &TSTypeAliasDeclaration<'a>) {
        let value = self.value_of(&alias.type_annotation);
        self.builder.declare(&alias.id.name, value);
    }

    fn visit_ts_namespace_declaration(&mut self, namespace: &TSNamespaceDeclaration<'a>) {
        let place = span(namespace.span);
        let class = self.builder.enter_class(Vec::new());
        self.builder.declare(&namespace.id.name, Expr::new(place, ExprKind::Class(class)));
        let outer = self.builder.enter_scope();
        match &namespace.body {
            TSNamespaceDeclarationBody::TSModuleBlock(block) => {
                for statement in &block.body {
                    match statement {
                        Statement::ExportDeclaration(export) => {
                            walk::walk_export_declaration(self, export);
                            for (name, place) in declared_names(&export.declaration) {
                                let value = self.builder.name(&name, place);
                                self.builder.member(class, name, value);
                            }
                        }
                        statement => self.visit_statement(statement),
                    }
                }
            }
            // `namespace A.B { … }`
            TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => {
                self.visit_ts_namespace_declaration(inner);
                let value = self.builder.name(&inner.id.name, place);
                self.builder.member(class, inner.id.name.as_str(), value);
            }
        }
        self.builder.leave_scope(outer);
        self.builder.leave_class();
    }
}

impl TypeScript<'_> {
    /// Walks a function and says what it is. `inside` runs in its scope, when its parameters are known.
    fn function<'a>(&mut self, function: &Function<'a>, inside: impl FnOnce(&mut Self)) -> Expr {
        let (outer, outer_function) = self.enter_function(&function.type_parameters);
        self.parameters(&function.params);
        inside(self);
        self.returns.push(Vec::new());
        if let Some(body) = &function.body {
            self.visit_function_body(body);
        }
        self.leave_function(outer, outer_function, span(function.span), &function.return_type)
    }

    fn enter_function(
        &mut self,
        generics: &Option<oxc_allocator::Box<'_, TSTypeParameterDeclaration<'_>>>,
    ) -> (ScopeId, ScopeId) {
        let outer = self.builder.enter_scope();
        let outer_function = std::mem::replace(&mut self.function_scope, self.builder.scope());
        self.type_parameters(generics);
        (outer, outer_function)
    }

    fn leave_function(
        &mut self,
        outer: ScopeId,
        outer_function: ScopeId,
        place: Span,
        declared: &Option<oxc_allocator::Box<'_, TSTypeAnnotation<'_>>>,
    ) -> Expr {
        let mut returns = self.returns.pop().unwrap_or_default();
        if let Some(kind) = declared {
            returns.push(self.value_of(&kind.type_annotation));
        }
        self.function_scope = outer_function;
        self.builder.leave_scope(outer);
        Expr::new(place, ExprKind::Function(Box::new(Expr::either(place, returns))))
    }

    fn type_parameters(&mut self, generics: &Option<oxc_allocator::Box<'_, TSTypeParameterDeclaration<'_>>>) {
        for parameter in generics.iter().flat_map(|generics| &generics.params) {
            let value = match &parameter.constraint {
                Some(kind) => self.value_of(kind),
                None => Expr::unknown(span(parameter.span)),
            };
            self.builder.declare(&parameter.name.name, value);
        }
    }

    fn parameters(&mut self, parameters: &FormalParameters<'_>) {
        for parameter in &parameters.items {
            let value = self.parameter(parameter);
            self.declare_pattern(self.builder.scope(), &parameter.pattern, value);
        }
        for parameter in &parameters.items {
            if let Some(initializer) = &parameter.initializer {
                self.visit_expression(initializer);
            }
        }
    }

    fn parameter(&mut self, parameter: &FormalParameter<'_>) -> Expr {
        let mut values = Vec::new();
        if let Some(kind) = &parameter.type_annotation {
            values.push(self.value_of(&kind.type_annotation));
        }
        if let Some(initializer) = &parameter.initializer {
            values.push(self.value(initializer));
        }
        Expr::either(span(parameter.span), values)
    }

    /// `constructor(private readonly client: PromClient)` makes a field.
    fn parameter_properties(&mut self, class: u32, parameters: &FormalParameters<'_>) {
        for parameter in &parameters.items {
            if parameter.accessibility.is_none() && !parameter.readonly {
                continue;
            }
            if let BindingPattern::BindingIdentifier(name) = &parameter.pattern {
                let value = self.parameter(parameter);
                self.builder.member(class, name.name.as_str(), value);
            }
        }
    }

    pub(super) fn assign_member(&mut self, object: &Expression<'_>, name: &str, value: Expr) {
        match object {
            Expression::ThisExpression(_) => {
                if let Some(class) = self.builder.class() {
                    self.builder.member(class, name, value);
                }
            }
            Expression::Identifier(object) if object.name == "exports" => self.builder.export(name, value),
            Expression::Identifier(object) if object.name == "module" && name == "exports" => {
                self.builder.export("default", value);
            }
            Expression::StaticMemberExpression(inner) if inner.property.name == "exports" => {
                self.builder.export(name, value);
            }
            _ => {}
        }
    }
}

fn key_name(key: &PropertyKey<'_>) -> Option<String> {
    match key {
        PropertyKey::PrivateIdentifier(name) => Some(format!("#{}", name.name)),
        key => key.static_name().map(|name| name.into_owned()),
    }
}

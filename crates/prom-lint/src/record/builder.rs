//! Makes a record while a tree is walked: scopes, names, bindings. Names are linked when the whole file is known, because
//! a function may use what is declared below it.
//!
//! At the end everything that no call and no export can reach is dropped.

use std::collections::HashMap;

use super::{Binding, Call, Class, Expr, ExprKind, FileRecord, Ignore, ModuleExport, Span, Unreadable};
use crate::limits;

/// A scope of the file under way; 0 is the file itself.
pub type ScopeId = u32;

pub struct RecordBuilder {
    record: FileRecord,
    parents: Vec<ScopeId>,
    names: HashMap<(ScopeId, String), u32>,
    current: ScopeId,
    /// Classes around the place where the walk is.
    classes: Vec<u32>,
    calls: usize,
    /// Names whose values are changed in place, with the scope where that stands.
    changed: Vec<(ScopeId, String)>,
}

impl RecordBuilder {
    pub fn new() -> Self {
        Self {
            record: FileRecord::default(),
            parents: vec![0],
            names: HashMap::new(),
            current: 0,
            classes: Vec::new(),
            calls: 0,
            changed: Vec::new(),
        }
    }

    pub fn scope(&self) -> ScopeId {
        self.current
    }

    pub fn enter_scope(&mut self) -> ScopeId {
        let outer = self.current;
        self.parents.push(outer);
        self.current = (self.parents.len() - 1) as ScopeId;
        outer
    }

    pub fn leave_scope(&mut self, outer: ScopeId) {
        self.current = outer;
    }

    /// Gives a name of the current scope one more value.
    pub fn declare(&mut self, name: &str, value: Expr) {
        self.declare_in(self.current, name, value);
    }

    pub fn declare_in(&mut self, scope: ScopeId, name: &str, value: Expr) {
        let bindings = &mut self.record.bindings;
        let index = *self.names.entry((scope, name.to_owned())).or_insert_with(|| {
            bindings.push(Binding::default());
            (bindings.len() - 1) as u32
        });
        let values = &mut bindings[index as usize].values;
        if values.len() < limits::VALUES_OF_A_NAME {
            values.push(value);
        }
    }

    /// Gives a name that is visible here one more value, where it was declared.
    pub fn assign(&mut self, name: &str, value: Expr) {
        let scope = self.find(self.current, name).unwrap_or(0);
        self.declare_in(scope, name, value);
    }

    /// What a name that is visible here holds may be changed in place.
    pub fn changes(&mut self, name: &str) {
        self.changed.push((self.current, name.to_owned()));
    }

    pub fn name(&self, name: &str, span: Span) -> Expr {
        Expr::new(span, ExprKind::Name(self.current, name.to_owned()))
    }

    pub fn enter_class(&mut self, extends: Vec<Expr>) -> u32 {
        self.record.classes.push(Class { extends, members: Vec::new() });
        let class = (self.record.classes.len() - 1) as u32;
        self.classes.push(class);
        class
    }

    /// Goes into a class that was left before.
    pub fn reenter_class(&mut self, class: u32) {
        self.classes.push(class);
    }

    pub fn leave_class(&mut self) {
        self.classes.pop();
    }

    /// The class around this place.
    pub fn class(&self) -> Option<u32> {
        self.classes.last().copied()
    }

    pub fn member(&mut self, class: u32, name: impl Into<String>, value: Expr) {
        let members = &mut self.record.classes[class as usize].members;
        if members.len() < limits::MEMBERS {
            members.push((name.into(), value));
        }
    }

    pub fn export(&mut self, name: impl Into<String>, value: Expr) {
        self.record.exports.push(ModuleExport { name: name.into(), value });
    }

    pub fn star(&mut self, module: impl Into<String>) {
        self.record.stars.push(module.into());
    }

    pub fn import(&mut self, module: impl Into<String>) {
        let module = module.into();
        if !self.record.imports.contains(&module) {
            self.record.imports.push(module);
        }
    }

    pub fn call(&mut self, call: Call) {
        self.calls += 1;
        if self.calls <= limits::CALLS {
            self.record.calls.push(call);
        }
    }

    pub fn ignore(&mut self, ignore: Ignore) {
        self.record.ignores.push(ignore);
    }

    pub fn unreadable(&mut self, span: Span, message: impl Into<String>) {
        if self.record.unreadable.len() < limits::UNREADABLE {
            self.record.unreadable.push(Unreadable { span, message: message.into() });
        }
    }

    /// Links all names and drops what is not needed.
    pub fn finish(mut self) -> FileRecord {
        if self.calls > limits::CALLS {
            let message = format!("it has {} calls, of which {} are looked at", self.calls, limits::CALLS);
            self.unreadable(Span::default(), message);
        }
        for (scope, name) in std::mem::take(&mut self.changed) {
            let found = self.find(scope, &name).and_then(|scope| self.names.get(&(scope, name)));
            if let Some(binding) = found {
                self.record.bindings[*binding as usize].is_changed = true;
            }
        }
        let mut record = std::mem::take(&mut self.record);
        each_root(&mut record, &mut |expr| self.link(expr, 0));
        drop_unreachable(&mut record);
        record
    }

    fn find(&self, mut scope: ScopeId, name: &str) -> Option<ScopeId> {
        loop {
            if self.names.contains_key(&(scope, name.to_owned())) {
                return Some(scope);
            }
            if scope == 0 {
                return None;
            }
            scope = self.parents[scope as usize];
        }
    }

    fn link(&self, expr: &mut Expr, depth: usize) {
        if depth > limits::DEPTH {
            expr.kind = ExprKind::Unknown;
            return;
        }
        if let ExprKind::Name(scope, name) = &mut expr.kind {
            let found = self.find(*scope, name).and_then(|scope| self.names.get(&(scope, name.clone())));
            expr.kind = match found {
                Some(binding) => ExprKind::Local(*binding),
                None => ExprKind::Global(std::mem::take(name)),
            };
        }
        for child in expr.children_mut() {
            self.link(child, depth + 1);
        }
    }
}

fn each_root(record: &mut FileRecord, act: &mut dyn FnMut(&mut Expr)) {
    for binding in &mut record.bindings {
        binding.values.iter_mut().for_each(&mut *act);
    }
    for class in &mut record.classes {
        class.extends.iter_mut().for_each(&mut *act);
        class.members.iter_mut().for_each(|(_, value)| act(value));
    }
    for export in &mut record.exports {
        act(&mut export.value);
    }
    for call in &mut record.calls {
        let parts = call.receiver.iter_mut().chain(call.callee.iter_mut());
        parts.chain(&mut call.arguments).chain(call.named.iter_mut().map(|(_, value)| value)).for_each(&mut *act);
    }
}

/// Empties bindings and classes that nothing leads to; their numbers stay.
fn drop_unreachable(record: &mut FileRecord) {
    let mut bindings = vec![false; record.bindings.len()];
    let mut classes = vec![false; record.classes.len()];
    let mut open: Vec<Expr> = Vec::new();
    for export in &record.exports {
        open.push(export.value.clone());
    }
    for call in &record.calls {
        let parts = call.receiver.iter().chain(call.callee.iter()).chain(&call.arguments);
        open.extend(parts.chain(call.named.iter().map(|(_, value)| value)).cloned());
    }
    while let Some(mut expr) = open.pop() {
        match expr.kind {
            ExprKind::Local(binding) if !std::mem::replace(&mut bindings[binding as usize], true) => {
                open.extend(record.bindings[binding as usize].values.iter().cloned());
            }
            ExprKind::Class(class) if !std::mem::replace(&mut classes[class as usize], true) => {
                let class = &record.classes[class as usize];
                open.extend(class.extends.iter().cloned());
                open.extend(class.members.iter().map(|(_, value)| value.clone()));
            }
            _ => open.extend(expr.children_mut().into_iter().map(|child| child.clone())),
        }
    }
    for (binding, _) in record.bindings.iter_mut().zip(bindings).filter(|(_, reached)| !reached) {
        *binding = Binding::default();
    }
    for (class, _) in record.classes.iter_mut().zip(classes).filter(|(_, reached)| !reached) {
        *class = Class::default();
    }
}

//! A validator: one function for each subschema, which returns the first problem it finds.
//!
//! Functions of subschemas are made when the first keyword asks for them, so recursion in a schema is recursion of functions.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::super::CodegenNote;
use super::super::document::CodegenDocument;
use super::super::names::{self, NameBook};
use super::{keywords, parts, runtime};
use crate::draft::Draft;

/// The code of one schema.
pub(super) struct ValidatorCode {
    pub code: String,
    /// What no function checks, sorted.
    pub uncovered: Vec<CodegenNote>,
}

pub(super) fn write(document: &CodegenDocument<'_>, versioned: &str, book: &mut NameBook) -> ValidatorCode {
    let mut writer = FunctionWriter {
        document,
        prefix: format!("_{versioned}"),
        book,
        named: HashMap::new(),
        waiting: Vec::new(),
        constants: Vec::new(),
        uncovered: Vec::new(),
    };
    let mut code = String::new();
    let root = writer.function(document.root());
    let mut next = 0;
    while let Some((name, schema)) = writer.waiting.get(next).cloned() {
        next += 1;
        let body = writer.body(schema);
        for constant in writer.constants.drain(..) {
            code.push_str(&format!("\n{constant}"));
        }
        code.push_str(&format!("\nfunction {name}(value: unknown): Problem | undefined {{\n{body}}}\n"));
    }
    code.push_str(&format!("\n/** What is wrong with a value that should be {{@link {versioned}}}. */\n"));
    code.push_str(&format!("export function check{versioned}(value: unknown): Problem | undefined {{\n"));
    code.push_str(&format!("  return {root}(value);\n}}\n"));
    let mut uncovered = writer.uncovered;
    uncovered.sort();
    uncovered.dedup();
    ValidatorCode { code, uncovered }
}

pub(super) struct FunctionWriter<'d, 's> {
    pub document: &'d CodegenDocument<'s>,
    prefix: String,
    book: &'d mut NameBook,
    named: HashMap<*const Value, String>,
    waiting: Vec<(String, &'s Value)>,
    constants: Vec<String>,
    uncovered: Vec<CodegenNote>,
}

impl<'s> FunctionWriter<'_, 's> {
    /// The name of the function that judges by this schema.
    pub fn function(&mut self, schema: &'s Value) -> String {
        let address = std::ptr::from_ref(schema);
        if let Some(name) = self.named.get(&address) {
            return name.clone();
        }
        if let Some(shared) = runtime::judges_alone(schema, self.document.draft) {
            return shared.to_owned();
        }
        let name = self.name(self.document.pointer(schema));
        self.named.insert(address, name.clone());
        self.waiting.push((name.clone(), schema));
        name
    }

    /// A constant of the module, above the function that is being written. Returns its name.
    pub fn constant(&mut self, what: &str, schema: &Value, ty: &str, value: &str) -> String {
        let name = self.name(&format!("{}/{what}", self.document.pointer(schema)));
        self.constants.push(format!("const {name}: {ty} = /* @__PURE__ */ {value};\n"));
        name
    }

    /// Says that a keyword is not checked.
    pub fn leave_out(&mut self, schema: &Value, keyword: &str, reason: &str) {
        self.uncovered.push(self.document.note(schema, keyword, reason));
    }

    fn name(&mut self, pointer: &str) -> String {
        let parts = pointer.split('/').filter(|part| !["", "properties", "$defs", "definitions"].contains(part));
        let parts: String = parts.map(|part| format!("_{}", names::snake(part).trim_start_matches("field_"))).collect();
        self.book.take(&format!("{}{parts}", self.prefix))
    }

    fn body(&mut self, schema: &'s Value) -> String {
        let lines = match schema {
            Value::Bool(false) => {
                return "  void value;\n  return _wrong(\"false\", \"must be absent\");\n".to_owned();
            }
            Value::Object(map) => self.lines(schema, map),
            _ => Vec::new(),
        };
        if lines.is_empty() {
            return "  void value;\n  return undefined;\n".to_owned();
        }
        lines.iter().map(|line| format!("  {line}\n")).collect::<String>() + "  return undefined;\n"
    }

    fn lines(&mut self, schema: &'s Value, map: &'s Map<String, Value>) -> Vec<String> {
        if self.document.draft == Draft::Draft7 && map.get("$ref").is_some_and(Value::is_string) {
            return keywords::reference(self, schema, map);
        }
        let mut lines = keywords::kind(map);
        lines.extend(keywords::literals(self, schema, map));
        for (kind, guard, checks) in [
            ("number", "typeof value === \"number\"", keywords::numbers(map)),
            ("string", "typeof value === \"string\"", keywords::texts(self, schema, map)),
            ("array", "Array.isArray(value)", parts::arrays(self, map)),
            ("object", "_isObject(value)", parts::objects(self, schema, map)),
        ] {
            // The compiler knows by then that it is one. A test for finite numbers tells it nothing.
            let is_known = kind != "number" && map.get("type").and_then(Value::as_str) == Some(kind);
            lines.extend(if is_known { checks } else { guarded(guard, checks) });
        }
        lines.extend(keywords::reference(self, schema, map));
        lines.extend(keywords::combinations(self, map));
        keywords::leave_out(self, schema, map);
        lines
    }
}

fn guarded(guard: &str, checks: Vec<String>) -> Vec<String> {
    if checks.is_empty() {
        return checks;
    }
    let inner = checks.into_iter().map(|line| format!("  {line}"));
    [format!("if ({guard}) {{")].into_iter().chain(inner).chain(["}".to_owned()]).collect()
}

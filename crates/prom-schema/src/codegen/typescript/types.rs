//! TypeScript types of a schema.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::model::{
    ArrayType, DocText, IntegerSize, ModelType, ObjectType, Presence, PropertyType, RestType, TypeModel,
};
use super::super::names::{self, NameBook};
use super::super::text;
use super::{VersionNames, about, comment};

const LARGE: &str = "May be larger than `Number.MAX_SAFE_INTEGER`: JavaScript rounds what it cannot hold.";

/// Names of definitions by their pointers.
type DefinitionNames = BTreeMap<String, String>;

/// The type of one version, its definitions, and its alias.
pub(super) fn declare(model: &TypeModel, names: &VersionNames, book: &mut NameBook) -> String {
    let VersionNames { versioned, alias } = names;
    let mut definitions = DefinitionNames::from([(String::new(), versioned.clone())]);
    for pointer in model.definitions.keys() {
        let name = book.take(&format!("{versioned}{}", names::of_pointer(pointer)));
        definitions.insert(pointer.clone(), name);
    }
    let mut code = declaration(versioned, &model.root, &model.about, &definitions);
    for (pointer, definition) in &model.definitions {
        code.push_str(&declaration(&definitions[pointer], &definition.ty, &definition.about, &definitions));
    }
    if let Some(alias) = alias {
        code.push_str(&format!("\n/** The latest version. */\nexport type {alias} = {versioned};\n"));
    }
    code
}

fn declaration(name: &str, ty: &ModelType, doc: &DocText, definitions: &DefinitionNames) -> String {
    let about = comment(&about(doc, None), "");
    let printed = print(ty, "", definitions);
    match ty {
        ModelType::Object(object) if !object.properties.is_empty() => {
            format!("\n{about}export interface {name} {printed}\n")
        }
        _ => format!("\n{about}export type {name} = {printed};\n"),
    }
}

/// A type as text. Lines after the first begin with `indent`.
fn print(ty: &ModelType, indent: &str, definitions: &DefinitionNames) -> String {
    match ty {
        ModelType::Any => "unknown".to_owned(),
        ModelType::Never => "never".to_owned(),
        ModelType::Null => "null".to_owned(),
        ModelType::Boolean => "boolean".to_owned(),
        ModelType::Integer(_) | ModelType::Number => "number".to_owned(),
        ModelType::Text => "string".to_owned(),
        ModelType::Literal(value) => print_literal(value),
        ModelType::Array(array) => print_array(array, indent, definitions),
        ModelType::Object(object) => print_object(object, indent, definitions),
        ModelType::Union(members) => join(members.iter().map(|member| print(member, indent, definitions))),
        ModelType::Reference(pointer) => definitions.get(pointer).map_or("unknown", String::as_str).to_owned(),
    }
}

/// A union of printed types, each once.
fn join(printed: impl IntoIterator<Item = String>) -> String {
    let mut members: Vec<String> = Vec::new();
    for member in printed {
        if !members.contains(&member) {
            members.push(member);
        }
    }
    if members.iter().any(|member| member == "unknown") { "unknown".to_owned() } else { members.join(" | ") }
}

fn print_literal(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(print_literal).collect::<Vec<_>>().join(", ")),
        Value::Object(map) if map.is_empty() => "{ [key: string]: unknown }".to_owned(),
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            let fields: Vec<String> =
                sorted.into_iter().map(|(name, value)| format!("{}: {}", key(name), print_literal(value))).collect();
            format!("{{ {} }}", fields.join("; "))
        }
        // `1e400` is not a number that TypeScript holds, and a negative zero is zero.
        Value::Number(number) if number.as_f64().is_none_or(|number| !number.is_finite() || number == 0.0) => {
            if number.as_f64() == Some(0.0) { "0".to_owned() } else { "number".to_owned() }
        }
        other => text::json(other),
    }
}

fn print_array(array: &ArrayType, indent: &str, definitions: &DefinitionNames) -> String {
    let of_many = |ty: &ModelType| {
        let printed = print(ty, indent, definitions);
        if printed.contains(" | ") && !matches!(ty, ModelType::Object(_)) {
            format!("({printed})[]")
        } else {
            format!("{printed}[]")
        }
    };
    if array.prefix.is_empty() {
        return if *array.rest == ModelType::Never { "[]".to_owned() } else { of_many(&array.rest) };
    }
    let mut items: Vec<String> = Vec::new();
    for (at, item) in array.prefix.iter().enumerate() {
        let printed = print(item, indent, definitions);
        items.push(match at < array.least {
            true => printed,
            false if printed.contains(" | ") => format!("({printed})?"),
            false => format!("{printed}?"),
        });
    }
    if *array.rest != ModelType::Never {
        items.push(format!("...{}", of_many(&array.rest)));
    }
    format!("[{}]", items.join(", "))
}

fn print_object(object: &ObjectType, indent: &str, definitions: &DefinitionNames) -> String {
    let inner = format!("{indent}  ");
    if object.properties.is_empty() {
        let value = match &object.rest {
            RestType::Unsaid => "unknown".to_owned(),
            RestType::Closed => "never".to_owned(),
            RestType::Typed(ty) => print(ty, &inner, definitions),
        };
        return format!("{{ [key: string]: {value} }}");
    }
    let mut code = String::from("{\n");
    for (name, property) in &object.properties {
        code.push_str(&comment(&about(&property.about, remark(&property.ty)), &inner));
        let mark = if property.presence == Presence::Optional { "?" } else { "" };
        code.push_str(&format!("{inner}{}{mark}: {};\n", key(name), print(&property.ty, &inner, definitions)));
    }
    if let RestType::Typed(rest) = &object.rest {
        code.push_str(&format!("{inner}[key: string]: {};\n", index_type(object, rest, &inner, definitions)));
    }
    code + indent + "}"
}

/// An index signature has to hold the named properties as well.
fn index_type(object: &ObjectType, rest: &ModelType, indent: &str, definitions: &DefinitionNames) -> String {
    let is_optional = |property: &PropertyType| property.presence == Presence::Optional;
    let absent = object.properties.values().any(is_optional).then(|| "undefined".to_owned());
    let named = object.properties.values().map(|property| &property.ty).filter(|ty| **ty != ModelType::Never);
    join([rest].into_iter().chain(named).map(|ty| print(ty, indent, definitions)).chain(absent))
}

fn remark(ty: &ModelType) -> Option<&'static str> {
    let is_large = |ty: &ModelType| matches!(ty, ModelType::Integer(range) if range.size == IntegerSize::Large);
    ty.members().iter().any(is_large).then_some(LARGE)
}

/// The name of a property, in quotes where it has to be.
fn key(name: &str) -> String {
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_' || first == '$');
    let is_plain = starts && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$');
    if is_plain && name != "__proto__" && name != "constructor" { name.to_owned() } else { text::json_text(name) }
}

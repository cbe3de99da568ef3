//! Structs and aliases of one version.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::model::{
    ArrayType, DocText, ModelType, ObjectType, Presence, PropertyType, RestType, Sign, TypeModel,
};
use super::super::names::{self, NameBook};
use super::super::text;
use super::recursion::{Recursion, is_map, is_tuple};
use super::{comment, identifier};

/// Names that the code uses for other things.
const RESERVED: [&str; 19] = [
    "BTreeMap",
    "Box",
    "Clone",
    "Debug",
    "Deserialize",
    "Err",
    "Map",
    "Never",
    "None",
    "Ok",
    "Option",
    "PartialEq",
    "Result",
    "SCHEMA",
    "Self",
    "Serialize",
    "Some",
    "String",
    "Value",
];

pub(super) const DERIVE: &str = "#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]\n";

/// Where a type stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    /// In a struct or a variant, which has to know its size.
    Inline,
    /// Behind the pointer of a list or a map.
    Heap,
}

pub(super) struct ItemWriter<'m> {
    pub model: &'m TypeModel,
    recursion: Recursion,
    names: BTreeMap<String, String>,
    pub book: NameBook,
    items: Vec<String>,
    /// The definition that is being written, by its pointer.
    inside: String,
}

impl<'m> ItemWriter<'m> {
    /// The items of one version, its root first.
    pub fn write(model: &'m TypeModel, name: &str) -> Vec<String> {
        let mut book = NameBook::with_reserved(&[&RESERVED[..], &["VERSION", "Vec"]].concat());
        let mut names = BTreeMap::from([(String::new(), book.take(name))]);
        for pointer in model.definitions.keys() {
            names.insert(pointer.clone(), book.take(&names::of_pointer(pointer)));
        }
        let recursion = Recursion::of(model);
        let mut writer = ItemWriter { model, recursion, names, book, items: Vec::new(), inside: String::new() };
        writer.definition("", &model.root, &model.about);
        for (pointer, definition) in &model.definitions {
            writer.definition(pointer, &definition.ty, &definition.about);
        }
        if writer.items.iter().any(|item| item.contains("Never")) {
            writer.items.push(format!("/// No value is of this type.\n{DERIVE}pub enum Never {{}}\n"));
        }
        writer.items
    }

    fn definition(&mut self, pointer: &str, ty: &ModelType, about: &DocText) {
        pointer.clone_into(&mut self.inside);
        let name = self.names[pointer].clone();
        let slot = self.reserve();
        let about = comment(about, "");
        let needs_own_type = self.recursion.needs_own_type(pointer);
        if !needs_own_type && let Some(item) = self.named_item(ty, &name) {
            self.items[slot] = about + &item;
            return;
        }
        // The name itself is taken by the alias.
        let printed = self.print(ty, &format!("{name}Value"), Storage::Inline);
        self.items[slot] = if needs_own_type {
            format!("{about}{DERIVE}#[serde(transparent)]\npub struct {name}(pub {printed});\n")
        } else {
            format!("{about}pub type {name} = {printed};\n")
        };
    }

    /// The item that a type is, if it is one.
    fn named_item(&mut self, ty: &ModelType, name: &str) -> Option<String> {
        match ty {
            ModelType::Object(object) if !is_map(object) => Some(self.structure(object, name)),
            ModelType::Literal(_) | ModelType::Union(_) => self.enumeration(ty, name),
            _ => None,
        }
    }

    /// A type as it is written where it is used. Items that it needs get names that begin with `hint`.
    pub fn print(&mut self, ty: &ModelType, hint: &str, storage: Storage) -> String {
        match ty {
            ModelType::Any => "Value".to_owned(),
            ModelType::Never => "Never".to_owned(),
            ModelType::Null => "()".to_owned(),
            ModelType::Boolean => "bool".to_owned(),
            ModelType::Integer(range) if range.sign == Sign::NotNegative => "u64".to_owned(),
            ModelType::Integer(_) => "i64".to_owned(),
            ModelType::Number => "f64".to_owned(),
            ModelType::Text => "String".to_owned(),
            ModelType::Array(array) => self.array(array, hint, storage),
            ModelType::Object(object) if is_map(object) => self.map(object, hint),
            ModelType::Reference(pointer) => self.reference(pointer, storage),
            ModelType::Literal(value) if !value.is_string() => of_literal(value).to_owned(),
            ModelType::Object(_) | ModelType::Literal(_) | ModelType::Union(_) => self.own_item(ty, hint, storage),
        }
    }

    fn own_item(&mut self, ty: &ModelType, hint: &str, storage: Storage) -> String {
        if let ModelType::Union(members) = ty
            && members.contains(&ModelType::Null)
        {
            let rest = ModelType::union(members.iter().filter(|member| **member != ModelType::Null).cloned());
            return format!("Option<{}>", self.print(&rest, hint, storage));
        }
        if let Some(only) = self.only_type(ty, hint, storage) {
            return only;
        }
        let name = self.book.take(hint);
        let slot = self.reserve();
        self.items[slot] = self.named_item(ty, &name).unwrap_or_default();
        name
    }

    fn reserve(&mut self) -> usize {
        self.items.push(String::new());
        self.items.len() - 1
    }

    fn reference(&self, pointer: &str, storage: Storage) -> String {
        let name = self.names.get(pointer).map_or("Value", String::as_str);
        let is_endless = storage == Storage::Inline && self.recursion.contains(pointer, &self.inside);
        if is_endless { format!("Box<{name}>") } else { name.to_owned() }
    }

    /// A tuple if the length is fixed; else a list of everything that can be in it.
    fn array(&mut self, array: &ArrayType, hint: &str, storage: Storage) -> String {
        if is_tuple(array) {
            let numbered = array.prefix.iter().enumerate();
            let items: Vec<String> =
                numbered.map(|(at, item)| self.print(item, &format!("{hint}Item{}", at + 1), storage)).collect();
            return format!("({},)", items.join(", ")).replace(",)", if items.len() == 1 { ",)" } else { ")" });
        }
        let item = ModelType::union(array.prefix.iter().chain([&*array.rest]).cloned());
        format!("Vec<{}>", self.print(&item, &format!("{hint}Item"), Storage::Heap))
    }

    fn map(&mut self, object: &ObjectType, hint: &str) -> String {
        match &object.rest {
            RestType::Typed(ty) if **ty != ModelType::Any => {
                format!("BTreeMap<String, {}>", self.print(ty, &format!("{hint}Value"), Storage::Heap))
            }
            _ => "Map<String, Value>".to_owned(),
        }
    }

    fn structure(&mut self, object: &ObjectType, name: &str) -> String {
        let mut code = String::from(DERIVE);
        if object.rest == RestType::Closed {
            code.push_str("#[serde(deny_unknown_fields)]\n");
        }
        code.push_str(&format!("pub struct {name} {{\n"));
        let mut fields = NameBook::default();
        for (property_name, property) in &object.properties {
            if property.ty != ModelType::Never {
                code.push_str(&self.field(name, property_name, property, &mut fields));
            }
        }
        if let RestType::Typed(_) = &object.rest {
            let rest = ObjectType { properties: BTreeMap::new(), rest: object.rest.clone() };
            let field = fields.take("additional");
            let ty = self.map(&rest, name);
            code.push_str(&format!(
                "    /// Properties that the schema does not name.\n    #[serde(flatten)]\n    pub {field}: {ty},\n"
            ));
        }
        code + "}\n"
    }

    fn field(&mut self, owner: &str, name: &str, property: &PropertyType, fields: &mut NameBook) -> String {
        let plain = fields.take(&names::snake(name));
        let field = identifier(&plain);
        let mut code = comment(&property.about, "    ");
        if field.trim_start_matches("r#") != name {
            code.push_str(&format!("    #[serde(rename = {})]\n", text::rust_literal(name)));
        }
        let printed = self.print(&property.ty, &format!("{owner}{}", names::pascal(name)), Storage::Inline);
        match property.presence {
            Presence::Optional => {
                code.push_str("    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n");
                code.push_str("    #[serde(deserialize_with = \"super::super::present\")]\n");
                code.push_str(&format!("    pub {field}: Option<{printed}>,\n"));
            }
            Presence::Required => {
                // Otherwise serde takes an absent property for null.
                if self.is_option(&property.ty) {
                    code.push_str("    #[serde(deserialize_with = \"Option::deserialize\")]\n");
                }
                code.push_str(&format!("    pub {field}: {printed},\n"));
            }
        }
        code
    }

    fn is_option(&self, ty: &ModelType) -> bool {
        match ty {
            ModelType::Union(members) => members.contains(&ModelType::Null),
            ModelType::Reference(pointer) if !self.recursion.needs_own_type(pointer) => {
                let is_boxed = self.recursion.contains(pointer, &self.inside);
                !is_boxed
                    && self.model.definitions.get(pointer).is_some_and(|definition| self.is_option(&definition.ty))
            }
            _ => false,
        }
    }
}

/// The type of a value that has no type of its own in Rust.
pub(super) fn of_literal(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "i64",
        Value::Number(number) if number.is_u64() => "u64",
        Value::Number(_) => "f64",
        _ => "Value",
    }
}

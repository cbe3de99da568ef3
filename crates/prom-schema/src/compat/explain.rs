//! Finds the keywords at fault. Each keyword of the judging schema, at every place of the document that it speaks about,
//! is put to the search on its own: is there a document that this keyword refuses?

use std::rc::Rc;

use serde_json::Value;

use super::declared::{in_place, item_nodes, member_nodes};
use super::node::{ANYTHING, Clause, Items, Keyword, Members, NodeId, Side};
use super::oracle::{Oracle, Shown};
use super::pattern::PatternId;
use super::rule::CompatRule;
use super::search::{Lit, Search, SearchAnswer};
use super::violation::{Direction, Violation};
use super::words;
use crate::limits::{EXAMPLE_BYTES, SCHEMA_CHAIN, VIOLATIONS};
use crate::references::escape;

/// From a value to a part of it.
#[derive(Clone)]
enum Step {
    Member(String),
    Matching(PatternId, String),
    Other(Rc<Members>),
    Item(usize),
    ItemFrom(usize),
}

/// A part of a keyword that can be at fault by itself.
struct Part {
    pointer: String,
    keyword: Keyword,
    /// The subschema to look into for more exact places.
    inside: Option<(Option<Step>, NodeId)>,
}

pub(super) struct Explainer<'s, 'a> {
    pub search: &'s mut Search<'a>,
    pub oracle: &'s Oracle,
    pub old: NodeId,
    pub new: NodeId,
    pub violations: Vec<Violation>,
    /// Schemas around the current one.
    entered: Vec<NodeId>,
}

impl<'s, 'a> Explainer<'s, 'a> {
    pub fn new(search: &'s mut Search<'a>, oracle: &'s Oracle, old: NodeId, new: NodeId) -> Self {
        Self { search, oracle, old, new, violations: Vec::new(), entered: Vec::new() }
    }

    /// Whether every keyword was looked at.
    pub fn run(&mut self) -> bool {
        self.look(&mut Vec::new(), self.new);
        !self.search.meter.is_spent() && self.violations.len() < VIOLATIONS
    }

    /// Whether something was reported, here or where this schema was entered before.
    fn look(&mut self, path: &mut Vec<Step>, node: NodeId) -> bool {
        if self.entered.contains(&node) || self.entered.len() >= SCHEMA_CHAIN {
            return true;
        }
        self.entered.push(node);
        let mut reported = false;
        for clause in self.search.arena.clauses(node).iter() {
            for part in self.parts(node, clause) {
                if !self.search.meter.is_spent() && self.violations.len() < VIOLATIONS {
                    reported |= self.judge(path, clause, part);
                }
            }
        }
        self.entered.pop();
        reported
    }

    fn judge(&mut self, path: &mut Vec<Step>, clause: &Clause, part: Part) -> bool {
        let alone = Clause { keyword: part.keyword.clone(), name: clause.name };
        let alone = self.search.arena.make(Side::New, &part.pointer, vec![alone]);
        let goal = path.iter().rev().fold(alone, |inner, step| self.wrap(step, inner));
        let answer = self.search.solve(&[Lit::holds(self.old), Lit::fails(goal)]);
        let SearchAnswer::Maybe(example) = answer else { return false };
        if let Some((step, inside)) = part.inside
            && !self.search.arena.node(inside).is_false()
        {
            let length = path.len();
            path.extend(step);
            let reported = self.look(path, inside);
            path.truncate(length);
            if reported {
                return true;
            }
        }
        self.report(path, clause, part.pointer, &part.keyword, example);
        true
    }

    fn report(&mut self, path: &[Step], clause: &Clause, pointer: String, keyword: &Keyword, example: Option<Value>) {
        let shown = |document: &Value| {
            let Search { arena, meter, .. } = &mut *self.search;
            self.oracle.try_out(arena, meter, document, self.old, self.new) == Shown::Incompatible
        };
        let example = example.filter(shown);
        let name = if clause.name.is_empty() { "the schema `false`" } else { clause.name };
        let (rule, message) = match &example {
            Some(_) => {
                let rule = self.rule(keyword, path);
                (rule, format!("{}: {}", rule.text().title, words::demand(keyword, &self.search.arena.patterns)))
            }
            None => (
                CompatRule::Undecided,
                format!("whether `{name}` refuses a document of the other schema could not be decided"),
            ),
        };
        let old_pointer = self.old_pointer(path, clause.name);
        if self.violations.iter().any(|other| other.pointer == pointer && other.message == message) {
            return;
        }
        self.violations.push(Violation {
            pointer,
            old_pointer,
            rule,
            message,
            fix: rule.text().fix.to_owned(),
            direction: Direction::Backward,
            example: example.filter(|example| example.to_string().len() <= EXAMPLE_BYTES),
            against_version: None,
        });
    }

    /// The parts of a keyword.
    fn parts(&self, node: NodeId, clause: &Clause) -> Vec<Part> {
        let at = &self.search.arena.node(node).pointer;
        let own = if clause.name.is_empty() { at.clone() } else { format!("{at}/{}", clause.name) };
        let pointer = |node: NodeId| self.search.arena.node(node).pointer.clone();
        let in_place =
            |node: NodeId| Part { pointer: pointer(node), keyword: Keyword::Ref(node), inside: Some((None, node)) };
        let below = |node: NodeId, keyword: Keyword, step: Step| Part {
            pointer: pointer(node),
            keyword,
            inside: Some((Some(step), node)),
        };
        match &clause.keyword {
            Keyword::AllOf(nodes) => nodes.iter().map(|node| in_place(*node)).collect(),
            Keyword::Ref(node) => vec![in_place(*node)],
            Keyword::Required(names) => {
                let part = |name: &String| Part {
                    pointer: own.clone(),
                    keyword: Keyword::Required(vec![name.clone()]),
                    inside: None,
                };
                names.iter().map(part).collect()
            }
            Keyword::DependentRequired(lists) => {
                let part = |(name, needs): (&String, &Vec<String>)| Part {
                    pointer: format!("{own}/{}", escape(name)),
                    keyword: Keyword::DependentRequired([(name.clone(), needs.clone())].into()),
                    inside: None,
                };
                lists.iter().map(part).collect()
            }
            Keyword::DependentSchemas(schemas) => {
                let part = |(name, node): (&String, &NodeId)| Part {
                    pointer: format!("{own}/{}", escape(name)),
                    keyword: Keyword::DependentSchemas([(name.clone(), *node)].into()),
                    inside: None,
                };
                schemas.iter().map(part).collect()
            }
            Keyword::Members(members) => member_parts(members, &below),
            Keyword::Items(items) => {
                let prefix = items.prefix.iter().enumerate();
                let prefix = prefix.map(|(index, node)| below(*node, item_at(index, *node), Step::Item(index)));
                let from = items.prefix.len();
                let rest = items.rest.map(|node| below(node, item_from(from, node), Step::ItemFrom(from)));
                prefix.chain(rest).collect()
            }
            keyword => vec![Part { pointer: own, keyword: keyword.clone(), inside: None }],
        }
    }

    /// A node that fails where this part of the value fails `inner`.
    fn wrap(&mut self, step: &Step, inner: NodeId) -> NodeId {
        let keyword = match step {
            Step::Member(name) => named(name, inner),
            Step::Matching(pattern, text) => matching(*pattern, text, inner),
            Step::Other(members) => Keyword::Members(Rc::new(other(members, inner))),
            Step::Item(index) => item_at(*index, inner),
            Step::ItemFrom(from) => item_from(*from, inner),
        };
        self.search.arena.make(Side::New, "", vec![Clause { keyword, name: "" }])
    }

    /// Where the other schema speaks about the same part of the document.
    fn old_pointer(&mut self, path: &[Step], name: &str) -> Option<String> {
        let mut nodes = vec![self.old];
        for step in path {
            nodes = match step {
                Step::Member(name) => member_nodes(self.search.arena, &nodes, name),
                Step::Item(index) | Step::ItemFrom(index) => item_nodes(self.search.arena, &nodes, *index),
                Step::Matching(..) | Step::Other(_) => return None,
            };
        }
        let nodes: Vec<NodeId> = in_place(self.search.arena, &nodes).into_iter().collect();
        words::place_of(&nodes, self.search.arena, name)
    }

    fn one_of_rule(&mut self, nodes: &[NodeId], path: &[Step]) -> CompatRule {
        let any = Clause { keyword: Keyword::AnyOf(nodes.to_vec()), name: "oneOf" };
        let any = self.search.arena.make(Side::New, "", vec![any]);
        let goal = path.iter().rev().fold(any, |inner, step| self.wrap(step, inner));
        let is_covered = self.search.solve(&[Lit::holds(self.old), Lit::fails(goal)]).is_no();
        if is_covered { CompatRule::OneOfOverlap } else { CompatRule::OneOfNarrowed }
    }

    fn rule(&mut self, keyword: &Keyword, path: &[Step]) -> CompatRule {
        match keyword {
            Keyword::False => CompatRule::SchemaFalse,
            Keyword::Types(_) => CompatRule::TypeNarrowed,
            Keyword::Enum(values) if values.len() == 1 => CompatRule::ConstChanged,
            Keyword::Enum(_) => CompatRule::EnumNarrowed,
            Keyword::AnyOf(_) => CompatRule::AnyOfNarrowed,
            Keyword::OneOf(nodes) => self.one_of_rule(nodes, path),
            Keyword::Not(_) => CompatRule::NotAdded,
            Keyword::If { .. } => CompatRule::ConditionChanged,
            Keyword::Minimum(..) => CompatRule::MinimumRaised,
            Keyword::Maximum(..) => CompatRule::MaximumLowered,
            Keyword::MultipleOf(_) => CompatRule::MultipleOfChanged,
            Keyword::MinLength(_) => CompatRule::MinLengthRaised,
            Keyword::MaxLength(_) => CompatRule::MaxLengthLowered,
            Keyword::Pattern(_) => CompatRule::PatternChanged,
            Keyword::Format(_) => CompatRule::FormatChanged,
            Keyword::MinItems(_) => CompatRule::MinItemsRaised,
            Keyword::MaxItems(_) => CompatRule::MaxItemsLowered,
            Keyword::Unique => CompatRule::UniqueItemsAdded,
            Keyword::Items(_) => CompatRule::ItemsClosed,
            Keyword::Contains { .. } => CompatRule::ContainsChanged,
            Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_) => CompatRule::UnevaluatedNarrowed,
            Keyword::Required(_) => CompatRule::RequiredAdded,
            Keyword::MinProperties(_) => CompatRule::MinPropertiesRaised,
            Keyword::MaxProperties(_) => CompatRule::MaxPropertiesLowered,
            Keyword::PropertyNames(_) => CompatRule::PropertyNamesNarrowed,
            Keyword::Members(_) => CompatRule::PropertiesClosed,
            Keyword::DependentRequired(_) | Keyword::DependentSchemas(_) => CompatRule::DependencyAdded,
            Keyword::AllOf(_) | Keyword::Ref(_) | Keyword::Opaque => CompatRule::CounterExample,
        }
    }
}

fn member_parts(members: &Rc<Members>, below: &dyn Fn(NodeId, Keyword, Step) -> Part) -> Vec<Part> {
    let mut parts = Vec::new();
    for (name, node) in &members.named {
        parts.push(below(*node, named(name, *node), Step::Member(name.clone())));
    }
    for (pattern, text, node) in &members.patterns {
        let keyword = matching(*pattern, text, *node);
        parts.push(below(*node, keyword, Step::Matching(*pattern, text.clone())));
    }
    if let Some(node) = members.additional {
        let keyword = Keyword::Members(Rc::new(other(members, node)));
        parts.push(below(node, keyword, Step::Other(Rc::clone(members))));
    }
    parts
}

/// Says something about the members that these do not mention, and nothing about those they do.
fn other(members: &Members, inner: NodeId) -> Members {
    Members {
        named: members.named.keys().map(|name| (name.clone(), ANYTHING)).collect(),
        patterns: members.patterns.iter().map(|(pattern, text, _)| (*pattern, text.clone(), ANYTHING)).collect(),
        additional: Some(inner),
    }
}

fn named(name: &str, node: NodeId) -> Keyword {
    Keyword::Members(Rc::new(Members { named: [(name.to_owned(), node)].into(), ..Members::default() }))
}

fn matching(pattern: PatternId, text: &str, node: NodeId) -> Keyword {
    Keyword::Members(Rc::new(Members { patterns: vec![(pattern, text.to_owned(), node)], ..Members::default() }))
}

fn item_at(index: usize, node: NodeId) -> Keyword {
    let mut prefix = vec![ANYTHING; index];
    prefix.push(node);
    Keyword::Items(Items { prefix, rest: None })
}

fn item_from(from: usize, node: NodeId) -> Keyword {
    Keyword::Items(Items { prefix: vec![ANYTHING; from], rest: Some(node) })
}

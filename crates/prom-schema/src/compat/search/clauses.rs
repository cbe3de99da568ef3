//! What it takes for one keyword to hold or to fail, for documents of one type.

use std::rc::Rc;

use super::Search;
use super::goal::{Among, Atom, Choice, Goal, Lit, SomeMember};
use crate::compat::node::{
    ANYTHING, Bound, Clause, Covered, Items, Keyword, Members, NodeId, NumberType, Side, Type, Unevaluated,
};
use crate::compat::number::Exact;
use crate::compat::settings::CompatPolicy;
use crate::limits::PARTS_TOLD_APART;

fn lit(lit: Lit) -> Goal {
    Goal::Lit(lit)
}

fn one(atom: Atom) -> Choice {
    vec![vec![Goal::Atom(atom)]]
}

/// Nothing has to be done.
fn given() -> Choice {
    vec![Vec::new()]
}

fn flip(bound: Bound) -> Bound {
    match bound {
        Bound::Inclusive => Bound::Exclusive,
        Bound::Exclusive => Bound::Inclusive,
    }
}

impl Search<'_> {
    /// All of these choices must be made for the keyword to hold.
    pub(super) fn holds(&mut self, keyword: &Keyword, kind: Type, side: Side) -> Vec<Choice> {
        let choice = match keyword {
            Keyword::False => Vec::new(),
            Keyword::Types(types) if !types.allows(kind) => Vec::new(),
            Keyword::Types(types) if kind == Type::Number && types.number == NumberType::Integer => {
                one(Atom::Multiple(Exact::one()))
            }
            Keyword::Types(_) | Keyword::Opaque => given(),
            Keyword::Enum(values) => one(Atom::Values(Rc::clone(values))),
            Keyword::AllOf(nodes) => vec![nodes.iter().map(|node| lit(Lit::holds(*node))).collect()],
            Keyword::AnyOf(nodes) => nodes.iter().map(|node| vec![lit(Lit::holds(*node))]).collect(),
            Keyword::OneOf(nodes) => self.one_of(nodes),
            Keyword::Not(node) => vec![vec![lit(Lit::fails(*node))]],
            Keyword::Ref(node) => vec![vec![lit(Lit::holds(*node))]],
            Keyword::If { condition, then, otherwise } => {
                let branch = |first: Lit, second: &Option<NodeId>| {
                    [Some(first), second.map(Lit::holds)].into_iter().flatten().map(lit).collect()
                };
                vec![branch(Lit::holds(*condition), then), branch(Lit::fails(*condition), otherwise)]
            }
            Keyword::Minimum(limit, bound) => one(Atom::Lower(limit.clone(), *bound)),
            Keyword::Maximum(limit, bound) => one(Atom::Upper(limit.clone(), *bound)),
            Keyword::MultipleOf(unit) => one(Atom::Multiple(unit.clone())),
            Keyword::MinLength(min) => one(Atom::MinLength(*min)),
            Keyword::MaxLength(max) => one(Atom::MaxLength(*max)),
            Keyword::Pattern(pattern) => one(Atom::Matches(*pattern)),
            Keyword::Format(format) => one(Atom::Format(format.clone())),
            Keyword::MinItems(min) => one(Atom::MinItems(*min)),
            Keyword::MaxItems(max) => one(Atom::MaxItems(*max)),
            Keyword::Unique => one(Atom::Unique),
            Keyword::Items(items) => one(Atom::EachItem(items.clone())),
            Keyword::Contains { node, min, max } => {
                vec![vec![Goal::Atom(Atom::AtLeast(*min, *node)), Goal::Atom(Atom::AtMost(*max, *node))]]
            }
            Keyword::UnevaluatedItems(rest) => self.unevaluated_items(rest, side),
            Keyword::UnevaluatedProperties(rest) => self.unevaluated_members(rest, side),
            _ => return object_holds(keyword, side),
        };
        vec![choice]
    }

    fn one_of(&mut self, nodes: &[NodeId]) -> Choice {
        let mut ways = Vec::new();
        for chosen in nodes {
            let mut way = vec![lit(Lit::holds(*chosen))];
            for other in nodes.iter().filter(|other| *other != chosen) {
                // What passes one of two that are apart fails the other by itself.
                if nodes.len() > PARTS_TOLD_APART || !self.are_apart(*chosen, *other) {
                    way.push(lit(Lit::fails(*other)));
                }
            }
            ways.push(way);
        }
        ways
    }

    fn none_or_two_of(&mut self, nodes: &[NodeId]) -> Choice {
        let mut ways: Choice = vec![nodes.iter().map(|node| lit(Lit::fails(*node))).collect()];
        for (index, first) in nodes.iter().enumerate() {
            for second in &nodes[index + 1..] {
                if nodes.len() > PARTS_TOLD_APART || !self.are_apart(*first, *second) {
                    ways.push(vec![lit(Lit::holds(*first)), lit(Lit::holds(*second))]);
                }
            }
        }
        ways
    }

    fn unevaluated_items(&mut self, rest: &Unevaluated, side: Side) -> Choice {
        let Unevaluated { node, sure, maybe } = rest;
        if sure.all_items {
            return given();
        }
        let unsure = self.declares(*node, side);
        let prefix = (0..maybe.items).map(|index| if index < sure.items { ANYTHING } else { unsure }).collect();
        let rest = Some(if maybe.all_items { unsure } else { *node });
        one(Atom::EachItem(Items { prefix, rest }))
    }

    fn unevaluated_members(&mut self, rest: &Unevaluated, side: Side) -> Choice {
        let Unevaluated { node, sure, maybe } = rest;
        if sure.all {
            return given();
        }
        let unsure = self.declares(*node, side);
        let covers = |is_sure: bool| if is_sure { ANYTHING } else { unsure };
        let named = maybe.names.iter().map(|name| (name.clone(), covers(sure.names.contains(name))));
        let patterns =
            maybe.patterns.iter().map(|pattern| (*pattern, String::new(), covers(sure.patterns.contains(pattern))));
        let additional = Some(if maybe.all { unsure } else { *node });
        let members = Members { named: named.collect(), patterns: patterns.collect(), additional };
        one(Atom::EachMember(Rc::new(members), side))
    }

    /// A node that accepts everything. For the old side of a lenient comparison it declares what this node declares,
    /// which it may have a say in.
    fn declares(&mut self, node: NodeId, side: Side) -> NodeId {
        if self.policy == CompatPolicy::Strict || side == Side::New {
            return ANYTHING;
        }
        let clause = Clause { keyword: Keyword::AnyOf(vec![ANYTHING, node]), name: "" };
        self.arena.make(Side::Old, "", vec![clause])
    }

    /// One of these ways must be taken for the keyword to fail.
    pub(super) fn fails(&mut self, keyword: &Keyword, kind: Type, side: Side) -> Choice {
        match keyword {
            Keyword::False | Keyword::Opaque => given(),
            Keyword::Types(types) if !types.allows(kind) => given(),
            Keyword::Types(types) if kind == Type::Number && types.number == NumberType::Integer => {
                one(Atom::NotMultiple(Exact::one()))
            }
            Keyword::Types(_) => Vec::new(),
            Keyword::Enum(values) => {
                let values = values.iter().filter(|value| Type::of(value) == kind);
                vec![values.map(|value| Goal::Atom(Atom::Except(value.clone()))).collect()]
            }
            Keyword::AllOf(nodes) => nodes.iter().map(|node| vec![lit(Lit::fails(*node))]).collect(),
            Keyword::AnyOf(nodes) => vec![nodes.iter().map(|node| lit(Lit::fails(*node))).collect()],
            Keyword::OneOf(nodes) => self.none_or_two_of(nodes),
            Keyword::Not(node) => vec![vec![lit(Lit::holds(*node))]],
            Keyword::Ref(node) => vec![vec![lit(Lit::fails(*node))]],
            Keyword::If { condition, then, otherwise } => {
                let then = then.map(|then| vec![lit(Lit::holds(*condition)), lit(Lit::fails(then))]);
                let otherwise = otherwise.map(|node| vec![lit(Lit::fails(*condition)), lit(Lit::fails(node))]);
                then.into_iter().chain(otherwise).collect()
            }
            Keyword::Minimum(limit, bound) => one(Atom::Upper(limit.clone(), flip(*bound))),
            Keyword::Maximum(limit, bound) => one(Atom::Lower(limit.clone(), flip(*bound))),
            Keyword::MultipleOf(unit) => one(Atom::NotMultiple(unit.clone())),
            Keyword::MinLength(min) => below(*min, Atom::MaxLength),
            Keyword::MaxLength(max) => above(*max, Atom::MinLength),
            Keyword::Pattern(pattern) => one(Atom::MatchesNot(*pattern)),
            Keyword::Format(format) => one(Atom::FormatNot(format.clone())),
            Keyword::MinItems(min) => below(*min, Atom::MaxItems),
            Keyword::MaxItems(max) => above(*max, Atom::MinItems),
            Keyword::Unique => one(Atom::Repeats),
            Keyword::Items(items) => {
                let prefix =
                    items.prefix.iter().enumerate().map(|(index, node)| Atom::ItemAt(index, Lit::fails(*node)));
                let rest = items.rest.map(|node| Atom::ItemFrom(items.prefix.len(), Lit::fails(node)));
                prefix.chain(rest).map(|atom| vec![Goal::Atom(atom)]).collect()
            }
            Keyword::Contains { node, min, max } => {
                let few = below(*min, |count| Atom::AtMost(count, *node));
                let many = above(*max, |count| Atom::AtLeast(count, *node));
                [few, many].concat()
            }
            Keyword::UnevaluatedItems(rest) if rest.sure.all_items => Vec::new(),
            Keyword::UnevaluatedItems(rest) => one(Atom::ItemFrom(rest.sure.items, Lit::fails(rest.node))),
            _ => self.object_fails(keyword, side),
        }
    }

    fn object_fails(&self, keyword: &Keyword, side: Side) -> Choice {
        match keyword {
            Keyword::Required(names) => names.iter().map(|name| vec![Goal::Atom(Atom::Absent(name.clone()))]).collect(),
            Keyword::MinProperties(min) => below(*min, Atom::MaxMembers),
            Keyword::MaxProperties(max) => above(*max, Atom::MinMembers),
            Keyword::PropertyNames(node) => {
                let name = Some(Lit::fails(*node));
                one(Atom::SomeMember(SomeMember { among: Among::Any, name, value: None, side }))
            }
            Keyword::Members(members) => self.members_fail(members, side),
            Keyword::DependentRequired(lists) => {
                let mut ways = Vec::new();
                for (name, needs) in lists {
                    for need in needs {
                        let atoms = [Atom::Present(name.clone()), Atom::Absent(need.clone())];
                        ways.push(atoms.into_iter().map(Goal::Atom).collect());
                    }
                }
                ways
            }
            Keyword::DependentSchemas(schemas) => schemas
                .iter()
                .map(|(name, node)| vec![Goal::Atom(Atom::Present(name.clone())), lit(Lit::fails(*node))])
                .collect(),
            Keyword::UnevaluatedProperties(rest) if rest.sure.all => Vec::new(),
            Keyword::UnevaluatedProperties(rest) => {
                let Covered { names, patterns, .. } = &rest.sure;
                let outside = (names.iter().cloned().collect(), patterns.iter().copied().collect());
                let value = Some(Lit::fails(rest.node));
                one(Atom::SomeMember(SomeMember { among: Among::Outside(Rc::new(outside)), name: None, value, side }))
            }
            _ => Vec::new(),
        }
    }

    fn members_fail(&self, members: &Members, side: Side) -> Choice {
        let can_fail = |node: &NodeId| !self.arena.node(*node).is_true();
        let some =
            |among, node| Atom::SomeMember(SomeMember { among, name: None, value: Some(Lit::fails(node)), side });
        let named = members.named.iter().filter(|(_, node)| can_fail(node));
        let named = named.map(|(name, node)| Atom::Member(name.clone(), Lit::fails(*node), side));
        let patterns = members.patterns.iter().filter(|(.., node)| can_fail(node));
        let patterns = patterns.map(|(pattern, _, node)| some(Among::Matching(*pattern), *node));
        let additional = members.additional.filter(can_fail).map(|node| {
            let names = members.named.keys().cloned().collect();
            let patterns = members.patterns.iter().map(|(pattern, ..)| *pattern).collect();
            some(Among::Outside(Rc::new((names, patterns))), node)
        });
        named.chain(patterns).chain(additional).map(|atom| vec![Goal::Atom(atom)]).collect()
    }
}

fn object_holds(keyword: &Keyword, side: Side) -> Vec<Choice> {
    let choice = match keyword {
        Keyword::Required(names) => {
            vec![names.iter().map(|name| Goal::Atom(Atom::Present(name.clone()))).collect()]
        }
        Keyword::MinProperties(min) => one(Atom::MinMembers(*min)),
        Keyword::MaxProperties(max) => one(Atom::MaxMembers(*max)),
        Keyword::PropertyNames(node) => one(Atom::EachName(*node)),
        Keyword::Members(members) => one(Atom::EachMember(Rc::clone(members), side)),
        Keyword::DependentRequired(lists) => {
            let way = |(name, needs): (&String, &Vec<String>)| {
                let all = [name].into_iter().chain(needs);
                let present = all.map(|name| Goal::Atom(Atom::Present(name.clone()))).collect();
                vec![vec![Goal::Atom(Atom::Absent(name.clone()))], present]
            };
            return lists.iter().map(way).collect();
        }
        Keyword::DependentSchemas(schemas) => {
            let way = |(name, node): (&String, &NodeId)| {
                let present = vec![Goal::Atom(Atom::Present(name.clone())), lit(Lit::holds(*node))];
                vec![vec![Goal::Atom(Atom::Absent(name.clone()))], present]
            };
            return schemas.iter().map(way).collect();
        }
        _ => given(),
    };
    vec![choice]
}

fn below(min: u64, atom: impl FnOnce(u64) -> Atom) -> Choice {
    min.checked_sub(1).map(|less| one(atom(less))).unwrap_or_default()
}

fn above(max: u64, atom: impl FnOnce(u64) -> Atom) -> Choice {
    max.checked_add(1).map(|more| one(atom(more))).unwrap_or_default()
}

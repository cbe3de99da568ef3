//! What a branch still has to bring about.

use std::rc::Rc;

use serde_json::Value;

use crate::compat::equal::ListedValues;
use crate::compat::node::{Bound, Items, Members, NodeId, Side};
use crate::compat::number::Exact;
use crate::compat::pattern::PatternId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::compat) enum Polarity {
    Holds,
    Fails,
}

/// A node that accepts or refuses the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::compat) struct Lit {
    pub node: NodeId,
    pub sign: Polarity,
}

impl Lit {
    pub fn holds(node: NodeId) -> Self {
        Self { node, sign: Polarity::Holds }
    }

    pub fn fails(node: NodeId) -> Self {
        Self { node, sign: Polarity::Fails }
    }

    pub fn opposite(self) -> Self {
        match self.sign {
            Polarity::Holds => Self::fails(self.node),
            Polarity::Fails => Self::holds(self.node),
        }
    }
}

/// Ways to go on: one of them, with all its goals.
pub(super) type Choice = Vec<Vec<Goal>>;

#[derive(Debug, Clone)]
pub(super) enum Goal {
    Lit(Lit),
    Atom(Atom),
}

/// Which members an existing one is among.
#[derive(Debug, Clone)]
pub(super) enum Among {
    Matching(PatternId),
    /// Neither named nor matched.
    Outside(Rc<(Vec<String>, Vec<PatternId>)>),
    Any,
}

/// Somewhere there is such a member.
#[derive(Debug, Clone)]
pub(super) struct SomeMember {
    pub among: Among,
    /// What its name must be.
    pub name: Option<Lit>,
    /// What its value must be.
    pub value: Option<Lit>,
    pub side: Side,
}

/// A part of a shape of one type.
#[derive(Debug, Clone)]
pub(super) enum Atom {
    /// One of these.
    Values(Rc<ListedValues>),
    Except(Value),

    Lower(Exact, Bound),
    Upper(Exact, Bound),
    Multiple(Exact),
    NotMultiple(Exact),

    MinLength(u64),
    MaxLength(u64),
    Matches(PatternId),
    MatchesNot(PatternId),
    Format(String),
    FormatNot(String),

    MinItems(u64),
    MaxItems(u64),
    Unique,
    Repeats,
    EachItem(Items),
    ItemAt(usize, Lit),
    ItemFrom(usize, Lit),
    AtLeast(u64, NodeId),
    AtMost(u64, NodeId),

    Present(String),
    Absent(String),
    MinMembers(u64),
    MaxMembers(u64),
    EachName(NodeId),
    EachMember(Rc<Members>, Side),
    Member(String, Lit, Side),
    SomeMember(SomeMember),
}

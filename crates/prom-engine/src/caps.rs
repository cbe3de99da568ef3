//! How many topics and groups there may be, in all and by one maker.
//!
//! A topic and a group cost memory for as long as they exist, and each group costs a little for every topic that it reads. The
//! subject that made one is stored with it, and it counts to that subject until it is gone; topics and groups that were made
//! without a subject, or before subjects were stored, count to nobody. Where several makers are at the limit in the same
//! moment, each may pass it by one.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::Error;

/// The most that may be made; `None` is no limit. What exists already stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caps {
    /// All topics, those of the hub itself included.
    pub topics: Option<usize>,
    /// Topics that one subject made.
    pub topics_per_subject: Option<usize>,
    /// All groups.
    pub groups: Option<usize>,
    /// Groups that one subject made.
    pub groups_per_subject: Option<usize>,
}

/// Which of them was reached. It is named as its setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as the fields of `Caps`")]
pub enum Cap {
    Topics,
    TopicsPerSubject,
    Groups,
    GroupsPerSubject,
}

/// What exists of one kind.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub total: usize,
    by_subject: HashMap<Arc<str>, usize>,
}

impl Made {
    pub fn add(&mut self, maker: Option<&Arc<str>>) {
        self.total += 1;
        if let Some(maker) = maker {
            *self.by_subject.entry(maker.clone()).or_default() += 1;
        }
    }

    pub fn remove(&mut self, maker: Option<&Arc<str>>) {
        self.total = self.total.saturating_sub(1);
        if let Some(maker) = maker
            && let Some(count) = self.by_subject.get_mut(maker)
        {
            *count -= 1;
            if *count == 0 {
                self.by_subject.remove(maker);
            }
        }
    }

    fn by(&self, subject: &str) -> usize {
        self.by_subject.get(subject).copied().unwrap_or_default()
    }
}

impl Caps {
    /// Whether `more` topics may be made.
    pub(crate) fn check_topics(&self, made: &Made, maker: Option<&Arc<str>>, more: usize) -> Result<(), Error> {
        check(made, maker, (more, more), (Cap::Topics, self.topics), (Cap::TopicsPerSubject, self.topics_per_subject))
    }

    /// Whether another topic may be made where these are counted on too.
    pub(crate) fn check_topics_beside(
        &self,
        made: &Made,
        beside: &Made,
        maker: Option<&Arc<str>>,
    ) -> Result<(), Error> {
        let more = (beside.total + 1, maker.map_or(0, |maker| beside.by(maker)) + 1);
        check(made, maker, more, (Cap::Topics, self.topics), (Cap::TopicsPerSubject, self.topics_per_subject))
    }

    /// Whether another group may be made.
    pub(crate) fn check_groups(&self, made: &Made, maker: Option<&Arc<str>>) -> Result<(), Error> {
        check(made, maker, (1, 1), (Cap::Groups, self.groups), (Cap::GroupsPerSubject, self.groups_per_subject))
    }

    /// Whether groups have to be counted.
    pub(crate) fn limit_groups(&self, maker: Option<&Arc<str>>) -> bool {
        self.groups.is_some() || (self.groups_per_subject.is_some() && maker.is_some())
    }
}

fn check(
    made: &Made,
    maker: Option<&Arc<str>>,
    (more, more_of_maker): (usize, usize),
    in_all: (Cap, Option<usize>),
    per_subject: (Cap, Option<usize>),
) -> Result<(), Error> {
    let within = |(cap, allowed): (Cap, Option<usize>), count: usize, subject: Option<&Arc<str>>| match allowed {
        Some(allowed) if count > allowed => Err(Error::Capped { cap, allowed, subject: subject.cloned() }),
        _ => Ok(()),
    };
    within(in_all, made.total + more, None)?;
    maker.map_or(Ok(()), |maker| within(per_subject, made.by(maker) + more_of_maker, Some(maker)))
}

impl Cap {
    /// The setting that raises it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Topics => "topics",
            Self::TopicsPerSubject => "topics_per_subject",
            Self::Groups => "groups",
            Self::GroupsPerSubject => "groups_per_subject",
        }
    }

    pub(crate) fn told(self, allowed: usize, subject: Option<&str>) -> impl fmt::Display {
        let (what, advice) = match self {
            Self::Topics | Self::TopicsPerSubject => ("topics", "publish to one that exists"),
            Self::Groups | Self::GroupsPerSubject => ("groups", "use one that exists, or delete one"),
        };
        let whose = match subject {
            Some(subject) => format!("subject {subject} may make {allowed} {what}, and did"),
            None => format!("there may be {allowed} {what} in all, and there are"),
        };
        format!("{whose}; {advice}, or raise `{}` under [limits]", self.setting())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_subject_made_counts_to_it_until_it_is_gone() {
        let caps = Caps { topics: Some(4), topics_per_subject: Some(2), ..Caps::default() };
        let (alpha, beta): (Arc<str>, Arc<str>) = ("alpha".into(), "beta".into());
        let mut made = Made::default();
        made.add(Some(&alpha));
        assert!(caps.check_topics(&made, Some(&alpha), 1).is_ok());
        assert!(caps.check_topics(&made, Some(&alpha), 2).is_err());
        made.add(Some(&alpha));
        let refused = caps.check_topics(&made, Some(&alpha), 1).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "subject alpha may make 2 topics, and did; publish to one that exists, or raise `topics_per_subject` \
             under [limits]"
        );
        assert!(caps.check_topics(&made, Some(&beta), 2).is_ok());
        assert!(caps.check_topics(&made, None, 2).is_ok(), "who has no subject is held by the total alone");
        let refused = caps.check_topics(&made, None, 3).unwrap_err();
        assert!(matches!(refused, Error::Capped { cap: Cap::Topics, allowed: 4, subject: None }), "{refused}");
        made.remove(Some(&alpha));
        assert!(caps.check_topics(&made, Some(&alpha), 1).is_ok());
    }
}

//! What grows, and how far.

use clap::ValueEnum;

use crate::args::GrowthArgs;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Axis {
    Events,
    Topics,
    /// Topics that twenty groups read and nothing happens in.
    Quiet,
    Groups,
    Connections,
}

impl Axis {
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Topics => "topics",
            Self::Quiet => "quiet",
            Self::Groups => "groups",
            Self::Connections => "connections",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Events => "More and more events in a topic",
            Self::Topics => "More and more topics",
            Self::Quiet => "More and more quiet topics that twenty groups read",
            Self::Groups => "More and more groups of a topic",
            Self::Connections => "More and more idle connections",
        }
    }

    fn sizes(self, args: &GrowthArgs) -> Vec<u64> {
        let longest = match self {
            Self::Events => args.measure.full_or_quick(args.max_events, args.max_events.min(1_000_000)),
            Self::Topics | Self::Quiet | Self::Connections => args.measure.full_or_quick(10_000, 100),
            Self::Groups => args.measure.full_or_quick(1_000, 100),
        };
        let first = if self == Self::Events { 10_000 } else { 1 };
        let decades = std::iter::successors(Some(first), |size: &u64| size.checked_mul(10));
        let mut sizes: Vec<u64> = decades.take_while(|size| *size <= longest).collect();
        // The longest need not be a power of ten.
        if sizes.last().is_some_and(|last| *last < longest) {
            sizes.push(longest);
        }
        sizes
    }
}

/// All axes with their sizes, or those that were named.
pub fn list(args: &GrowthArgs) -> Vec<(Axis, Vec<u64>)> {
    let wanted = |axis: &&Axis| args.only.is_empty() || args.only.contains(axis);
    Axis::value_variants().iter().filter(wanted).map(|axis| (*axis, axis.sizes(args))).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn sizes(line: &str) -> Vec<Vec<u64>> {
        match Cli::parse_from(std::iter::once("prom-bench").chain(line.split(' '))).command {
            Command::Growth(args) => list(&args).into_iter().map(|(_, sizes)| sizes).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sizes_grow_by_tens_up_to_the_longest() {
        assert_eq!(
            sizes("growth --only events --max-events 30000000")[0],
            [10_000, 100_000, 1_000_000, 10_000_000, 30_000_000]
        );
        assert_eq!(sizes("growth --only groups")[0], [1, 10, 100, 1_000]);
        assert_eq!(sizes("growth --quick").len(), 5);
    }
}

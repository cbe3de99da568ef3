//! What grows, and how far.

use anyhow::ensure;

use crate::args::Args;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    Events,
    Topics,
    Groups,
    Connections,
}

const AXES: [Axis; 4] = [Axis::Events, Axis::Topics, Axis::Groups, Axis::Connections];

impl Axis {
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Topics => "topics",
            Self::Groups => "groups",
            Self::Connections => "connections",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Events => "More and more events in a topic",
            Self::Topics => "More and more topics",
            Self::Groups => "More and more groups of a topic",
            Self::Connections => "More and more idle connections",
        }
    }

    fn sizes(self, args: &Args) -> Vec<u64> {
        let (longest, most) = match (self, args.is_full()) {
            (Self::Events, true) => (args.max_events, u64::MAX),
            (Self::Events, false) => (args.max_events.min(1_000_000), u64::MAX),
            (Self::Topics | Self::Connections, true) => (10_000, 10_000),
            (Self::Groups, true) => (1_000, 1_000),
            (_, false) => (100, 100),
        };
        let first = if self == Self::Events { 10_000 } else { 1 };
        let decades = std::iter::successors(Some(first), |size: &u64| size.checked_mul(10));
        let mut sizes: Vec<u64> = decades.take_while(|size| *size <= longest.min(most)).collect();
        // The longest need not be a power of ten.
        if sizes.last().is_some_and(|last| *last < longest) {
            sizes.push(longest);
        }
        sizes
    }
}

/// All axes with their sizes, or those that were named.
pub fn list(args: &Args) -> anyhow::Result<Vec<(Axis, Vec<u64>)>> {
    for word in &args.only {
        let names = AXES.map(Axis::name);
        ensure!(names.contains(&word.as_str()), "--only {word}: there are {}", names.join(", "));
    }
    let wanted = |axis: &Axis| args.only.is_empty() || args.only.iter().any(|word| word == axis.name());
    Ok(AXES.into_iter().filter(wanted).map(|axis| (axis, axis.sizes(args))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(line: &str) -> Vec<Vec<u64>> {
        let args = Args::parse(line.split_whitespace().map(str::to_owned)).unwrap();
        list(&args).unwrap().into_iter().map(|(_, sizes)| sizes).collect()
    }

    #[test]
    fn sizes_grow_by_tens_up_to_the_longest() {
        assert_eq!(
            sizes("growth --only events --max-events 30000000")[0],
            [10_000, 100_000, 1_000_000, 10_000_000, 30_000_000]
        );
        assert_eq!(sizes("growth --only groups")[0], [1, 10, 100, 1_000]);
        assert_eq!(sizes("growth --quick").len(), 4);
    }

    #[test]
    fn an_unknown_axis_is_refused() {
        let args = Args::parse("growth --only wishes".split(' ').map(str::to_owned)).unwrap();
        assert!(list(&args).unwrap_err().to_string().contains("wishes"));
    }
}

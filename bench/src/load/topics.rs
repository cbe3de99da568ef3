//! The topics of a measurement.

/// Topics with names that every server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topics {
    pub count: usize,
}

impl Topics {
    pub const ONE: Self = Self { count: 1 };

    pub fn name(&self, index: usize) -> String {
        format!("bench.events.t{index}")
    }

    pub fn names(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|index| self.name(index))
    }

    /// What to subscribe to, to get all of them.
    pub fn pattern(&self) -> String {
        match self.count {
            1 => self.name(0),
            _ => "bench.events.*".to_owned(),
        }
    }
}

/// The group that consumes them.
pub const GROUP: &str = "bench";

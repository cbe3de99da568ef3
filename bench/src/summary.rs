//! Several rounds of one figure as one line: the median, and how far the rounds lay apart.

/// Of at least one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Summary {
    /// `None` where there are no values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
            _ => sorted[middle],
        };
        Some(Self { median, least, most })
    }

    /// Not a number where there are no values.
    pub fn median_of(values: &[f64]) -> f64 {
        Self::of(values).map_or(f64::NAN, |summary| summary.median)
    }

    /// `12.5 (11.0–13.2)`, each number as `shown` writes it.
    pub fn shown(&self, shown: impl Fn(f64) -> String) -> String {
        format!("{} ({}–{})", shown(self.median), shown(self.least), shown(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle_whatever_the_order() {
        assert_eq!(Summary::of(&[3.0, 1.0, 2.0]), Some(Summary { median: 2.0, least: 1.0, most: 3.0 }));
        assert_eq!(Summary::of(&[4.0, 1.0, 2.0, 3.0]).map(|it| it.median), Some(2.5));
        assert_eq!(Summary::of(&[]), None);
    }
}

//! A pattern as words, and the gaps before, between and after them. `a.*.**.*.b` and `a.**.*.*.b` have the same shape:
//! the words `a` and `b` with at least two segments between them.

use prom_types::TopicPattern;

/// First segments of the hub's own topics: `dlq.` and `system.`. Only patterns that name them match those topics.
const HUB_WORDS: [&str; 2] = ["dlq", "system"];

/// A name of several segments that begins with this word is the hub's.
pub fn is_hub_word(word: &str) -> bool {
    HUB_WORDS.contains(&word)
}

pub fn hub_words() -> [&'static str; 2] {
    HUB_WORDS
}

/// How many segments the wildcards in one gap match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WildcardGap {
    pub at_least: usize,
    /// Also any larger number; otherwise exactly `at_least`.
    pub open: bool,
}

/// One gap more than words: `gaps[i]` comes before `words[i]`, the last gap after the last word.
#[derive(Debug, PartialEq, Eq)]
pub struct PatternShape<'p> {
    pub words: Vec<&'p str>,
    pub gaps: Vec<WildcardGap>,
}

impl<'p> PatternShape<'p> {
    pub fn of(pattern: &'p TopicPattern) -> Self {
        let mut shape = Self { words: Vec::new(), gaps: Vec::new() };
        let mut gap = WildcardGap::default();
        for segment in pattern.split('.') {
            match segment {
                "*" => gap.at_least += 1,
                "**" => gap.open = true,
                word => {
                    shape.words.push(word);
                    shape.gaps.push(std::mem::take(&mut gap));
                }
            }
        }
        shape.gaps.push(gap);
        shape
    }

    /// Whether it begins with a wildcard, and so does not match the hub's topics.
    pub fn starts_wild(&self) -> bool {
        self.gaps[0] != WildcardGap::default()
    }

    /// Whether it can only match a name of one segment.
    pub fn is_one_word(&self) -> bool {
        self.words.len() == 1 && self.gaps.iter().all(|gap| *gap == WildcardGap::default())
    }
}

#[cfg(test)]
mod tests {
    use prom_types::TopicName;

    use super::*;

    #[test]
    fn wildcards_between_two_words_are_one_gap_in_any_order() {
        let one = TopicPattern::parse("a.*.**.*.b").unwrap();
        let other = TopicPattern::parse("a.**.*.*.b").unwrap();
        assert_eq!(PatternShape::of(&one), PatternShape::of(&other));
        assert_eq!(
            PatternShape::of(&one).gaps,
            [WildcardGap::default(), WildcardGap { at_least: 2, open: true }, WildcardGap::default()]
        );
    }

    #[test]
    fn the_hubs_words_are_those_of_prom_types() {
        for word in ["dlq", "system", "a", "dlqa", "systems"] {
            let below = TopicName::parse(&format!("{word}.a")).unwrap();
            assert_eq!(is_hub_word(word), below.is_reserved(), "{word}");
            assert!(!TopicName::parse(word).unwrap().is_reserved(), "{word} alone is an ordinary name");
        }
    }
}

//! A pattern by what it demands: words, and the gaps before, between and after them. `a.*.**.*.b` and `a.**.*.*.b` are
//! one shape: the words `a` and `b` with at least two segments between them.

use prom_types::TopicPattern;

/// First segments of the topics that a pattern must name to match: `dlq.` and `system.` with anything after it.
const HUB_WORDS: [&str; 2] = ["dlq", "system"];

/// A name of several segments that begins with this word is the hub's.
pub fn is_hub_word(word: &str) -> bool {
    HUB_WORDS.contains(&word)
}

pub fn hub_words() -> [&'static str; 2] {
    HUB_WORDS
}

/// How many segments stand where the wildcards are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gap {
    pub at_least: usize,
    /// Any number above `at_least` as well; otherwise exactly as many.
    pub open: bool,
}

/// One gap more than words: `gaps[i]` stands before `words[i]`, the last one after the last word.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape<'p> {
    pub words: Vec<&'p str>,
    pub gaps: Vec<Gap>,
}

impl<'p> Shape<'p> {
    pub fn of(pattern: &'p TopicPattern) -> Self {
        let mut shape = Self { words: Vec::new(), gaps: Vec::new() };
        let mut gap = Gap::default();
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

    /// Begins with a wildcard, and so does not match the hub's topics.
    pub fn starts_wild(&self) -> bool {
        self.gaps[0] != Gap::default()
    }

    /// Can match a name of one segment only.
    pub fn is_one_word(&self) -> bool {
        self.words.len() == 1 && self.gaps.iter().all(|gap| *gap == Gap::default())
    }
}

#[cfg(test)]
mod tests {
    use prom_types::TopicName;

    use super::*;

    #[test]
    fn wildcards_between_two_words_are_one_gap_in_whatever_order() {
        let one = TopicPattern::parse("a.*.**.*.b").unwrap();
        let other = TopicPattern::parse("a.**.*.*.b").unwrap();
        assert_eq!(Shape::of(&one), Shape::of(&other));
        assert_eq!(Shape::of(&one).gaps, [Gap::default(), Gap { at_least: 2, open: true }, Gap::default()]);
    }

    #[test]
    fn the_hubs_words_are_those_of_the_vocabulary() {
        for word in ["dlq", "system", "a", "dlqa", "systems"] {
            let below = TopicName::parse(&format!("{word}.a")).unwrap();
            assert_eq!(is_hub_word(word), below.is_reserved(), "{word}");
            assert!(!TopicName::parse(word).unwrap().is_reserved(), "{word} alone is nobody's");
        }
    }
}

//! Whether two topic patterns can meet in a topic, now or later.

/// True if some topic could match both. May say yes for topics only the hub can make; never no wrongly.
pub(super) fn can_meet(one: &str, other: &str) -> bool {
    let one: Vec<&str> = one.split('.').collect();
    let other: Vec<&str> = other.split('.').collect();
    // meets[j]: the rest of `one` from here and other[j..] can be the same segments.
    let mut meets = vec![false; other.len() + 1];
    for i in (0..=one.len()).rev() {
        let below = meets.clone();
        for j in (0..=other.len()).rev() {
            meets[j] = match (one.get(i).copied(), other.get(j).copied()) {
                (None, None) => true,
                // `**` stands for nothing, or takes one segment of the other and stays.
                (Some("**"), _) if below[j] => true,
                (Some("**"), Some(_)) => meets[j + 1],
                (_, Some("**")) if meets[j + 1] => true,
                (Some(_), Some("**")) => below[j],
                (Some(a), Some(b)) => (a == b || a == "*" || b == "*") && below[j + 1],
                (None, Some(_)) | (Some(_), None) => false,
            };
        }
    }
    meets[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_meet_where_a_topic_could_match_both() {
        let meeting = [
            ("a.b", "a.b"),
            ("a.*", "a.b"),
            ("a.*", "*.b"),
            ("a.**", "a"),
            ("**", "a.b.c"),
            ("a.**.c", "a.*"),
            ("a.**.c", "**.b.c"),
            ("**.a", "a.**"),
            ("**", "**"),
        ];
        let apart = [("a.b", "a.c"), ("a.*", "a"), ("a.*", "b.*"), ("a.*.c", "a.b"), ("a.**.c", "a.b.d"), ("a", "a.b")];
        for (one, other) in meeting {
            assert!(can_meet(one, other) && can_meet(other, one), "{one} and {other} meet");
        }
        for (one, other) in apart {
            assert!(!can_meet(one, other) && !can_meet(other, one), "{one} and {other} stay apart");
        }
    }
}

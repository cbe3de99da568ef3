//! `--from`: where reading begins, as it is typed on the command line.

use prom_types::{EventId, Position};

use crate::moment;

/// For clap: `latest`, `earliest`, `ts:TIME`, `after:ID` or `offset:N`.
pub fn parse(text: &str) -> Result<Position, String> {
    let (kind, value) = text.split_once(':').map_or((text, None), |(kind, value)| (kind, Some(value)));
    match (kind, value) {
        ("latest", None) => Ok(Position::Latest),
        ("earliest", None) => Ok(Position::Earliest),
        ("ts", Some(value)) => moment::parse(value).map(Position::StoredAt),
        ("after", Some(value)) => EventId::parse(value).map(Position::AfterId).map_err(|error| error.to_string()),
        ("offset", Some(value)) => {
            value.parse().map(Position::Offset).map_err(|_| format!("`{value}` is not an offset; use 0, 1, 2…"))
        }
        _ => Err(format!("`{text}` is not one of latest, earliest, ts:TIME, after:ID, offset:N")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_the_hub_shows_them() {
        let id = "after:0190163d-8694-739b-aea5-966c26f8ad91";
        for text in ["latest", "earliest", "ts:1700000000000", "offset:7", id] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "later", "latest:1", "ts", "ts:soon", "after:1", "offset:-1", "offset:"] {
            assert!(parse(bad).is_err(), "{bad:?} passed");
        }
    }
}

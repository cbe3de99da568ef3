//! Where reading begins, in the words of a request.

use prom_engine::Position;
use prom_types::{EpochMs, EventId, Offset};

use super::problem::Problem;

/// `from` with what belongs to it, as a query or a body says it.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub from: Option<String>,
    pub ts: Option<EpochMs>,
    pub after_id: Option<String>,
    pub offset: Option<Offset>,
}

impl Asked {
    /// `None` if nothing was said. `from` may be left out where `ts`, `afterId` or `offset` says it.
    pub fn position(self) -> Result<Option<Position>, Problem> {
        let said = match (&self.from, self.ts, &self.after_id, self.offset) {
            (Some(from), ..) => from.as_str(),
            (None, Some(_), None, None) => "ts",
            (None, None, Some(_), None) => "afterId",
            (None, None, None, Some(_)) => "offset",
            (None, None, None, None) => return Ok(None),
            _ => return Err(Problem::field("from", "say one of ts, afterId and offset")),
        };
        let missing = |name: &str| Problem::field(name, format_args!("is missing; from={name} needs it"));
        let position = match said {
            "earliest" => Position::Earliest,
            "latest" => Position::Latest,
            "ts" => Position::StoredAt(self.ts.ok_or_else(|| missing("ts"))?),
            "offset" => Position::Offset(self.offset.ok_or_else(|| missing("offset"))?),
            "afterId" => {
                let id = self.after_id.ok_or_else(|| missing("afterId"))?;
                Position::AfterId(EventId::parse(&id).map_err(|invalid| Problem::field("afterId", invalid))?)
            }
            other => {
                let reason = format!("{other:?} is none of earliest, latest, ts, afterId, offset");
                return Err(Problem::field("from", reason));
            }
        };
        Ok(Some(position))
    }
}

//! Reading what a client sends: within bounds, within a time, and within the budget of all bodies.

use axum::body::{Body, HttpBody as _};
use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::budget::{BodyBudget, BodyShare, Holder};
use super::limits::{BODY_DEADLINE, BODY_SILENCE};
use super::problem::{Code, Problem};

/// A body that is in memory whole.
pub(super) struct WholeBody {
    pub text: Bytes,
    /// To be kept as long as the text.
    pub share: BodyShare,
}

/// The whole body, if it has at most `most` bytes. One that announces more is refused unread. `limit` looks at the
/// first bytes and may allow less.
pub(super) async fn whole(
    body: Body,
    budget: &BodyBudget,
    holder: &Holder,
    most: usize,
    limit: impl FnOnce(&[u8]) -> usize,
) -> Result<WholeBody, Problem> {
    let announced = body.size_hint().lower();
    if announced > most as u64 {
        return Err(too_large(most));
    }
    match timeout(BODY_DEADLINE, collect(Pieces(body), announced, (budget, holder), limit)).await {
        Ok(collected) => collected,
        Err(_) => Err(too_slow(format!("the body took longer than {} s", BODY_DEADLINE.as_secs()))),
    }
}

async fn collect(
    mut pieces: Pieces,
    announced: u64,
    (budget, holder): (&BodyBudget, &Holder),
    limit: impl FnOnce(&[u8]) -> usize,
) -> Result<WholeBody, Problem> {
    let first = pieces.next().await?.unwrap_or_default();
    let mut share = budget.take(holder, first.len())?;
    let limit = limit(&first);
    if announced > limit as u64 || first.len() > limit {
        return Err(too_large(limit));
    }
    if first.len() as u64 == announced {
        return Ok(WholeBody { text: first, share });
    }
    let end = usize::try_from(announced).ok().filter(|announced| *announced > 0).unwrap_or(limit);
    let mut collected = first.to_vec();
    drop(first);
    while let Some(piece) = pieces.next().await? {
        let length = collected.len() + piece.len();
        if length > limit {
            return Err(too_large(limit));
        }
        if length > collected.capacity() {
            // Doubled, but never beyond what can still come.
            let capacity = (2 * length).min(end).max(length);
            share.grow_to(capacity)?;
            collected.reserve_exact(capacity - collected.len());
        }
        collected.extend_from_slice(&piece);
    }
    Ok(WholeBody { text: collected.into(), share })
}

/// A body piece by piece.
pub(super) struct Pieces(pub Body);

impl Pieces {
    /// `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let frame = match timeout(BODY_SILENCE, self.0.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    return Err(Problem::new(Code::BadRequest, format!("the body ended early: {error}")));
                }
                Ok(None) => return Ok(None),
                Err(_) => return Err(too_slow(format!("the body stalled for {} s", BODY_SILENCE.as_secs()))),
            };
            // Trailers carry nothing for us.
            if let Ok(data) = frame.into_data()
                && !data.is_empty()
            {
                return Ok(Some(data));
            }
        }
    }
}

/// Refuses what is no JSON object at first sight: an array would be taken for a list of its fields.
pub(super) fn check_object(text: &[u8]) -> Result<(), Problem> {
    match text.trim_ascii_start().first() {
        Some(b'{') => Ok(()),
        Some(_) => Err(Problem::new(Code::BadJson, "not a JSON object")),
        None => Err(Problem::new(Code::BadJson, "the body is empty; send a JSON object")),
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(Code::TooLarge, format!("the body is above {limit} bytes; send less at once"))
}

fn too_slow(detail: String) -> Problem {
    Problem::new(Code::BadRequest, detail).with_status(StatusCode::REQUEST_TIMEOUT)
}

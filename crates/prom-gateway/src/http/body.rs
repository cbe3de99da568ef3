//! Reading what a client sends, within bounds.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::limits::BODY_SILENCE;
use super::problem::{Code, Problem};

/// The whole body, if it has at most `limit` bytes. One that announces more is refused unread.
pub(super) async fn whole(body: Body, limit: usize) -> Result<Bytes, Problem> {
    use axum::body::HttpBody as _;
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(too_large(limit));
    }
    let mut pieces = Pieces(body);
    let Some(first) = pieces.next().await? else {
        return Ok(Bytes::new());
    };
    if first.len() as u64 == announced {
        return Ok(first);
    }
    let mut collected = BytesMut::from(&first[..]);
    while let Some(piece) = pieces.next().await? {
        if collected.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        collected.extend_from_slice(&piece);
    }
    if collected.len() > limit { Err(too_large(limit)) } else { Ok(collected.freeze()) }
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
                    return Err(Problem::new(Code::BadRequest, format!("the body broke off: {error}")));
                }
                Ok(None) => return Ok(None),
                Err(_) => {
                    let detail = format!("nothing of the body came for {} s", BODY_SILENCE.as_secs());
                    return Err(Problem::new(Code::BadRequest, detail).with_status(http::StatusCode::REQUEST_TIMEOUT));
                }
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
        None => Err(Problem::new(Code::BadJson, "there is nothing here; send a JSON object")),
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(Code::TooLarge, format!("the body is above {limit} bytes; send less at once"))
}

//! Looking at a frame without reading all of it: for a relay that passes frames on, and for load generators.
//!
//! Hubs write `op` first, so a frame's kind is known by its beginning. Nothing is checked beyond what is looked at: a
//! caller that needs a valid frame uses [`super::HubFrame::read`].

use super::usual::{EventStart, ID_BYTES, Rest};

/// What a hub's frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Ok,
    Err,
    /// EVENT or EVENTS.
    Event,
    /// Any other frame, or one whose `op` does not come first.
    Other,
}

/// The kind of a frame that a hub wrote.
pub fn kind(text: &[u8]) -> FrameKind {
    match text.strip_prefix(b"{\"op\":\"").unwrap_or_default() {
        [b'O', b'K', b'"', ..] => FrameKind::Ok,
        [b'E', b'R', b'R', b'"', ..] => FrameKind::Err,
        [b'E', b'V', b'E', b'N', b'T', b'"', ..] | [b'E', b'V', b'E', b'N', b'T', b'S', b'"', ..] => FrameKind::Event,
        _ => FrameKind::Other,
    }
}

/// What an EVENT frame delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeekedEvent<'t> {
    /// In its dashed form.
    pub id: &'t str,
    /// The payload and the rest of the frame. Where the payload ends is not looked for.
    pub payload_on: &'t [u8],
}

/// The event of an EVENT frame in the usual form: without headers and the like. `None` for any other frame.
pub fn event(text: &[u8]) -> Option<PeekedEvent<'_>> {
    const ID_AT: usize = "{\"id\":\"".len();
    let whole = std::str::from_utf8(text).ok()?;
    let mut rest = Rest::of(whole);
    rest.skip("{\"op\":\"EVENT\",\"topic\":\"")?;
    rest.text()?;
    if rest.skip(",\"group\":\"").is_some() {
        rest.text()?;
    }
    rest.skip(",\"event\":")?;
    let event = &whole[rest.at..];
    let start = EventStart::read(event)?;
    Some(PeekedEvent { id: event.get(ID_AT..ID_AT + ID_BYTES)?, payload_on: event.as_bytes().get(start.payload_at..)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_told_by_its_beginning() {
        for (text, expected) in [
            ("{\"op\":\"OK\"}", FrameKind::Ok),
            ("{\"op\":\"OK\",\"corr\":1}", FrameKind::Ok),
            ("{\"op\":\"ERR\",\"code\":\"overloaded\"}", FrameKind::Err),
            ("{\"op\":\"EVENT\",\"topic\":\"a\"}", FrameKind::Event),
            ("{\"op\":\"EVENTS\",\"topic\":\"a\"}", FrameKind::Event),
            ("{\"op\":\"EVENTUAL\"}", FrameKind::Other),
            ("{\"op\":\"GAP\"}", FrameKind::Other),
            ("{\"corr\":1,\"op\":\"OK\"}", FrameKind::Other),
            ("", FrameKind::Other),
        ] {
            assert_eq!(kind(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn id_and_payload_are_found_with_and_without_a_group() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        for group in ["", ",\"group\":\"g\""] {
            let text = format!(
                r#"{{"op":"EVENT","topic":"a.*"{group},"event":{{"id":"{id}","ts":1,"stored_ts":2,"topic":"a.b","partition":0,"offset":4,"payload":{{"n":7}}}}}}"#
            );
            let event = event(text.as_bytes()).unwrap();
            assert_eq!((event.id, event.payload_on), (id, &b"{\"n\":7}}}"[..]));
        }
        assert_eq!(event(b"{\"op\":\"OK\"}"), None);
        assert_eq!(event(b"{\"op\":\"EVENTS\",\"topic\":\"a\",\"events\":[]}"), None);
    }
}

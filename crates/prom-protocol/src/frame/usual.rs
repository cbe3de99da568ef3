//! Reading frames and events that are written as hubs write them, member by member, without a general parser.
//!
//! Promise: what is read here reads the same by the general way, and what is written in any other order or form is
//! left to it. Payloads are checked like any other JSON.

use std::ops::Range;

use bytes::Bytes;
use prom_types::{EpochMs, EventId, Offset};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::SubscriptionName;
use super::event::{Delivered, DeliveryContext};

/// The beginning of a stored event: everything before its payload, where that is all there is. Texts are told by where
/// they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventStart {
    pub id: EventId,
    pub ts: EpochMs,
    pub stored_ts: EpochMs,
    pub topic: Range<usize>,
    pub partition: u32,
    pub offset: Offset,
    pub key: Option<Range<usize>>,
    /// Where the payload begins.
    pub payload_at: usize,
}

impl EventStart {
    /// `None` if it is written in another form, or has headers and the like.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut rest = Rest::of(text);
        rest.skip("{\"id\":\"")?;
        let id = EventId::parse(text.get(rest.at..rest.at + ID_BYTES)?).ok()?;
        rest.at += ID_BYTES;
        rest.skip("\",\"ts\":")?;
        let ts = rest.signed()?;
        rest.skip(",\"stored_ts\":")?;
        let stored_ts = rest.signed()?;
        rest.skip(",\"topic\":\"")?;
        let topic = rest.text()?;
        rest.skip(",\"partition\":")?;
        let partition = u32::try_from(rest.number()?).ok()?;
        rest.skip(",\"offset\":")?;
        let offset = rest.number()?;
        let key = match rest.skip(",\"key\":\"") {
            Some(()) => Some(rest.text()?),
            None => None,
        };
        rest.skip(",\"payload\":")?;
        Some(Self { id, ts, stored_ts, topic, partition, offset, key, payload_at: rest.at })
    }
}

/// The dashed form.
pub(super) const ID_BYTES: usize = 36;

/// An EVENT or EVENTS frame whose events all are in the usual form, with nothing behind their payloads.
pub(super) fn delivered(text: &Bytes) -> Option<Delivered> {
    let whole = std::str::from_utf8(text).ok()?;
    let mut rest = Rest::of(whole);
    let many = match rest.skip("{\"op\":\"EVENTS\",\"topic\":\"") {
        Some(()) => true,
        None => {
            rest.skip("{\"op\":\"EVENT\",\"topic\":\"")?;
            false
        }
    };
    let topic = whole[rest.text()?].to_owned();
    let group = match rest.skip(",\"group\":\"") {
        Some(()) => Some(whole[rest.text()?].to_owned()),
        None => None,
    };
    rest.skip(if many { ",\"events\":[" } else { ",\"event\":" })?;
    let (mut events, mut starts) = (Vec::new(), Vec::new());
    loop {
        let begin = rest.at;
        starts.push(rest.event()?);
        events.push(text.slice(begin..rest.at));
        if !many || rest.skip("]").is_some() {
            break;
        }
        rest.skip(",")?;
    }
    let ctx: Option<DeliveryContext> = match rest.skip(",\"ctx\":") {
        Some(()) => Some(rest.value()?),
        None => None,
    };
    rest.skip("}")?;
    let leased = |at| ctx.as_ref().map(|ctx| ctx.leased(at));
    let events = events.into_iter().enumerate().map(|(at, event)| (event, leased(at))).collect();
    let name = SubscriptionName { topic, group };
    (rest.at == text.len()).then_some(Delivered { name, events, starts: Some(starts) })
}

/// The correlation of an OK that begins as hubs write it, and what follows it.
pub(super) fn ok_corr(text: &[u8]) -> Option<(u64, &[u8])> {
    digits(text.strip_prefix(b"{\"op\":\"OK\",\"corr\":")?)
}

/// A number as JSON has it, without sign, fraction and exponent, and what follows it.
pub(super) fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    /// This many digits always fit.
    const SAFE: usize = 19;
    let (mut number, mut count) = (0_u64, 0);
    while let Some(digit) = text.get(count).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        number = if count < SAFE {
            number * 10 + u64::from(digit)
        } else {
            number.checked_mul(10)?.checked_add(u64::from(digit))?
        };
        count += 1;
    }
    let is_json = count == 1 || (count > 1 && text[0] != b'0');
    is_json.then_some((number, &text[count..]))
}

/// What has not been read yet.
pub(super) struct Rest<'a> {
    whole: &'a str,
    pub at: usize,
}

impl<'a> Rest<'a> {
    pub fn of(whole: &'a str) -> Self {
        Self { whole, at: 0 }
    }

    fn bytes(&self) -> &'a [u8] {
        &self.whole.as_bytes()[self.at..]
    }

    /// Exactly this. Inlined, a literal is compared as a few words; left alone, the compiler calls `memcmp` ten times an event.
    #[inline(always)]
    pub fn skip(&mut self, literal: &str) -> Option<()> {
        self.bytes().starts_with(literal.as_bytes()).then(|| self.at += literal.len())
    }

    /// A string without escapes, its opening quote already read.
    pub fn text(&mut self) -> Option<Range<usize>> {
        let begin = self.at;
        self.at += self.bytes().iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        let text = begin..self.at;
        self.skip("\"")?;
        Some(text)
    }

    fn number(&mut self) -> Option<u64> {
        let bytes = self.bytes();
        let (number, behind) = digits(bytes)?;
        self.at += bytes.len() - behind.len();
        Some(number)
    }

    fn signed(&mut self) -> Option<i64> {
        match self.skip("-") {
            // Minus zero is left to the general way.
            Some(()) => i64::try_from(self.number()?).ok().filter(|number| *number != 0).map(|number| -number),
            None => i64::try_from(self.number()?).ok(),
        }
    }

    fn event(&mut self) -> Option<EventStart> {
        let start = EventStart::read(self.whole.get(self.at..)?)?;
        self.at += start.payload_at;
        self.raw()?;
        self.skip("}")?;
        Some(start)
    }

    /// Any JSON, checked.
    fn raw(&mut self) -> Option<&'a RawValue> {
        let mut values = serde_json::Deserializer::from_str(self.whole.get(self.at..)?).into_iter::<&'a RawValue>();
        let raw = values.next()?.ok()?;
        // White space around it would be in neither piece.
        (values.byte_offset() == raw.get().len()).then(|| self.at += raw.get().len())?;
        Some(raw)
    }

    fn value<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_str(self.raw()?.get()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"id":"01890a5d-ac96-774b-bcce-b302099a8057","ts":-5,"stored_ts":2,"topic":"a.b","partition":3,"offset":4,"key":"k","payload":{"a":[1,"}"]}}"#;

    fn frame(events: &str, ctx: &str) -> Bytes {
        format!(r#"{{"op":"EVENTS","topic":"a.*","group":"g","events":[{events}]{ctx}}}"#).into()
    }

    const CTX: &str = r#","ctx":{"attempts":{"1":3},"max_attempts":5,"ack_deadline_ms":30000}"#;

    #[test]
    fn the_usual_form_is_read_as_the_general_way_reads_it() {
        let second = EVENT.replace("\"key\":\"k\",", "").replace("{\"a\":[1,\"}\"]}", "null");
        let both = format!("{EVENT},{second}");
        let one = format!(r#"{{"op":"EVENT","topic":"a","event":{EVENT}}}"#);
        for text in [frame(&both, CTX), frame(EVENT, ""), one.into()] {
            let usual = delivered(&text).expect("the usual form");
            let general = Delivered::read_generally(&text).unwrap();
            assert_eq!((&usual.name, &usual.events), (&general.name, &general.events));
            assert_eq!(usual.starts.map(|starts| starts.len()), Some(usual.events.len()));
        }
        let start = EventStart::read(EVENT).unwrap();
        assert_eq!((start.ts, start.stored_ts, start.partition, start.offset), (-5, 2, 3, 4));
        assert_eq!((&EVENT[start.topic], start.key.map(|key| &EVENT[key])), ("a.b", Some("k")));
        assert!(EVENT[start.payload_at..].starts_with("{\"a\""));
    }

    #[test]
    fn any_other_form_is_left_to_the_general_way() {
        for (usual, other) in [
            ("\"ts\":-5", "\"ts\": -5"),
            ("\"ts\":-5", "\"ts\":-0"),
            ("\"ts\":-5", "\"ts\":05"),
            ("\"ts\":-5", "\"ts\":1e3"),
            ("\"offset\":4", "\"offset\":18446744073709551616"),
            ("01890a5d-", "01890a5d"),
            ("\"key\":\"k\"", "\"key\":\"\\u006b\""),
            ("\"offset\":4,", "\"offset\":4,\"headers\":{\"x-a\":\"b\"},"),
            ("]}}", "]},\"tags\":[]}"),
            ("]}}", "]} }"),
            ("[1,", "[1 2,"),
            ("]}}", "]}"),
        ] {
            let text = frame(&EVENT.replace(usual, other), CTX);
            assert_eq!(delivered(&text), None, "{other}");
        }
        assert_eq!(delivered(&frame("", CTX)), None);
        let cut = frame(EVENT, CTX);
        (0..cut.len()).for_each(|end| assert_eq!(delivered(&cut.slice(..end)), None, "cut at {end}"));
    }
}

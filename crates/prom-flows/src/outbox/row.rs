//! A row of an outbox, and the event that it becomes.

use mongodb::bson::Bson;
use prom_types::{EpochMs, EventId, Headers, Json, NewEvent, TopicName};
use serde::de::IgnoredAny;

/// One row as it was read. What the writer got wrong is found when it becomes an event, so that it stops nothing else.
#[derive(Debug, Clone)]
pub struct OutboxRow {
    pub id: RowId,
    pub topic: String,
    /// `Err` says what is wrong with it.
    pub payload: Result<Json, String>,
    pub headers: Result<Headers, String>,
    pub key: Option<String>,
    /// Rows of one lane keep their order: the key, or the document whose array they are in.
    pub lane: Option<String>,
    /// When it was written, as the writer says.
    pub ts: EpochMs,
    /// Failed tries so far.
    pub attempts: u32,
}

/// What a row is found by.
#[derive(Debug, Clone, PartialEq)]
pub struct RowId {
    /// As people see it.
    pub text: String,
    /// As MongoDB has it.
    pub bson: Option<Bson>,
    /// The document whose array the row is in.
    pub document: Option<Bson>,
    /// In the database it is no text, and this is what it is in hexadecimal.
    pub is_hexadecimal: bool,
}

impl RowId {
    pub fn text(text: String) -> Self {
        Self { text, bson: None, document: None, is_hexadecimal: false }
    }
}

impl OutboxRow {
    /// The event of a row. Its id depends on the row alone, so that publishing it again stores nothing.
    pub fn event(&self, outbox: &str) -> Result<NewEvent, String> {
        let topic = TopicName::parse(&self.topic).map_err(|error| error.to_string())?;
        let mut event = NewEvent::new(topic, self.payload.clone()?);
        event.id = Some(self.event_id(outbox));
        event.exact = true;
        event.ts = Some(self.ts);
        event.key = self.key.clone();
        event.headers = self.headers.clone()?;
        event.check().map_err(|error| error.to_string())?;
        Ok(event)
    }

    /// The row's own id where it is one; else derived from it and from the name of the outbox, as others count from 1 too.
    /// The rows of two documents may count from 1 as well.
    pub fn event_id(&self, outbox: &str) -> EventId {
        let id = &self.id.text;
        let derived = || match self.lane.as_ref().filter(|_| self.id.document.is_some()) {
            Some(document) => EventId::derived(&format!("outbox {outbox} {document} {id}")),
            None => EventId::derived(&format!("outbox {outbox} {id}")),
        };
        EventId::parse(id).unwrap_or_else(|_| derived())
    }

    pub fn bytes(&self) -> usize {
        self.payload.as_ref().map_or(0, |payload| payload.as_bytes().len())
    }
}

/// The payload of a text column. Nothing there is a tombstone.
pub fn payload_of_text(text: Option<String>) -> Result<Json, String> {
    text.map_or(Ok(Json::NULL), |text| Json::parse(text).map_err(|error| error.to_string()))
}

/// Headers as JSON text: an object whose values are texts.
pub fn headers_of_text(text: Option<&str>) -> Result<Headers, String> {
    let Some(text) = text else {
        return Ok(Headers::default());
    };
    if serde_json::from_str::<Option<IgnoredAny>>(text).is_ok_and(|value| value.is_none()) {
        return Ok(Headers::default());
    }
    serde_json::from_str(text).map_err(|error| format!("headers are an object of names and texts: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> OutboxRow {
        OutboxRow {
            id: RowId::text(id.to_owned()),
            topic: "orders.placed".to_owned(),
            payload: payload_of_text(Some("{\"n\":1}".to_owned())),
            headers: headers_of_text(Some("{\"x-a\":\"b\"}")),
            key: Some("k".to_owned()),
            lane: Some("k".to_owned()),
            ts: 5,
            attempts: 0,
        }
    }

    #[test]
    fn an_event_has_the_id_of_its_row_or_one_that_follows_from_it() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let event = row(id).event("shop.outbox").unwrap();
        assert_eq!((event.id.unwrap().to_string().as_str(), event.exact), (id, true));
        assert_eq!((event.key.as_deref(), event.ts, event.headers.get("x-a")), (Some("k"), Some(5), Some("b")));
        assert_eq!(row("7").event_id("a"), row("7").event_id("a"));
        assert_ne!(row("7").event_id("a"), row("7").event_id("b"));
        assert_ne!(row("7").event_id("a"), row("8").event_id("a"));
    }

    #[test]
    fn what_the_writer_got_wrong_is_told() {
        let told = |change: fn(&mut OutboxRow)| {
            let mut row = row("1");
            change(&mut row);
            row.event("a").unwrap_err()
        };
        assert!(told(|row| row.topic = "No Topic".to_owned()).contains("No Topic"));
        assert!(told(|row| row.payload = payload_of_text(Some("{".to_owned()))).contains("JSON"));
        assert!(told(|row| row.headers = headers_of_text(Some("[1]"))).contains("headers"));
        let large = || Json::from(serde_json::Value::String("x".repeat(prom_types::limits::PAYLOAD_BYTES)));
        let mut big = row("1");
        big.payload = Ok(large());
        assert!(big.event("a").unwrap_err().contains("payload"));
    }

    #[test]
    fn nothing_in_a_column_is_a_tombstone_and_no_header() {
        assert!(payload_of_text(None).unwrap().is_null());
        assert!(headers_of_text(None).unwrap().is_empty());
        assert!(headers_of_text(Some("null")).unwrap().is_empty());
    }
}

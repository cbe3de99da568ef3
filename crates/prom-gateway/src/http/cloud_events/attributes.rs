//! The attributes of a CloudEvent as text, and the event they make.

use prom_types::{EventId, Json, NewEvent, TopicName};

use super::time;
use crate::http::problem::{Code, Problem};

/// Attributes by name, in the order in which they came. The payload comes from elsewhere.
#[derive(Debug, Default)]
pub(super) struct Attributes(Vec<(String, String)>);

impl Attributes {
    /// Names are lower-case letters and digits; a repeated one is refused.
    pub fn add(&mut self, name: &str, value: String) -> Result<(), Problem> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if name.is_empty() || !name.bytes().all(allowed) {
            return Err(bad(name, "attribute names are lower-case letters and digits"));
        }
        if self.get(name).is_some() {
            return Err(bad(name, "it occurs twice"));
        }
        self.0.push((name.to_owned(), value));
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn required(&self, name: &str) -> Result<&str, Problem> {
        match self.get(name) {
            None => Err(bad(name, "it is required")),
            Some("") => Err(bad(name, "it must not be empty")),
            Some(value) => Ok(value),
        }
    }

    /// The event; `topic` wins over `type`.
    pub fn into_event(self, payload: Json, topic: Option<&TopicName>) -> Result<NewEvent, Problem> {
        match self.required("specversion")? {
            "1.0" => {}
            other => return Err(bad("specversion", &format!("{other:?} is not supported, only 1.0"))),
        }
        let (id, source, kind) = (self.required("id")?, self.required("source")?, self.required("type")?);
        let topic = match topic {
            Some(topic) => topic.clone(),
            None => TopicName::parse(kind)
                .map_err(|invalid| bad("type", &format!("it names the topic: {invalid}; or give ?topic=…")))?,
        };
        let mut event = NewEvent::new(topic, payload);
        event.id = Some(EventId::parse(id).unwrap_or_else(|_| EventId::derived(&format!("{source}\n{id}"))));
        event.key = self.get("subject").filter(|subject| !subject.is_empty()).map(str::to_owned);
        if let Some(text) = self.get("time") {
            event.ts = Some(time::parse(text).ok_or_else(|| bad("time", "it is not a time as in RFC 3339"))?);
        }
        let same_id = event.id.is_some_and(|known| known.to_string() == id);
        for (name, value) in &self.0 {
            let header = match name.as_str() {
                "specversion" | "subject" | "time" => continue,
                "id" if same_id => continue,
                "type" if event.topic.as_str() == value => continue,
                "datacontenttype" => "content-type".to_owned(),
                "traceparent" | "tracestate" => name.clone(),
                other => format!("x-ce-{other}"),
            };
            event.headers.insert(&header, value).map_err(|invalid| bad(name, &invalid.to_string()))?;
        }
        Ok(event)
    }
}

pub(super) fn bad(attribute: &str, reason: &str) -> Problem {
    let detail = format!("the CloudEvent's attribute {attribute:?} is invalid: {reason}");
    Problem::new(Code::BadRequest, detail).with_field(attribute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(attributes: &[(&str, &str)]) -> Result<NewEvent, Problem> {
        let mut all = Attributes::default();
        for (name, value) in attributes {
            all.add(name, (*value).to_owned())?;
        }
        all.into_event(Json::NULL, None)
    }

    const PLAIN: [(&str, &str); 4] =
        [("specversion", "1.0"), ("id", "7"), ("source", "/shop"), ("type", "orders.placed")];

    #[test]
    fn an_id_that_is_no_uuid_makes_the_same_id_every_time_and_is_kept() {
        let (first, again) = (event(&PLAIN).unwrap(), event(&PLAIN).unwrap());
        assert_eq!(first.id, again.id);
        assert_eq!(first.headers.get("x-ce-id"), Some("7"));
        let other = event(&[PLAIN[0], PLAIN[1], ("source", "/other"), PLAIN[3]]).unwrap();
        assert_ne!(first.id, other.id);
    }

    #[test]
    fn a_uuid_is_the_id() {
        let uuid = "0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f";
        let event = event(&[PLAIN[0], ("id", uuid), PLAIN[2], PLAIN[3]]).unwrap();
        assert_eq!(event.id.unwrap().to_string(), uuid);
        assert_eq!(event.headers.get("x-ce-id"), None);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (missing, _) in PLAIN {
            let rest: Vec<_> = PLAIN.into_iter().filter(|(name, _)| *name != missing).collect();
            let told = event(&rest).unwrap_err().into_document();
            assert_eq!(told.field.as_deref(), Some(missing));
        }
        let wrong = [("specversion", "0.3"), ("type", "Not.A.Topic"), ("source", "")];
        for (name, value) in wrong {
            let all: Vec<_> =
                PLAIN.iter().map(|&(known, old)| (known, if known == name { value } else { old })).collect();
            let told = event(&all).unwrap_err().into_document();
            assert_eq!(told.field.as_deref(), Some(name));
        }
        let told = event(&[&PLAIN[..], &[("time", "yesterday")]].concat()).unwrap_err();
        assert_eq!(told.into_document().field.as_deref(), Some("time"));
    }
}

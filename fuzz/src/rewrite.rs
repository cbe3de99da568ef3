//! Frames that were accepted are written again by our own writers and read back: they must mean the same.

use bytes::Bytes;
use prom_protocol::frame::event::{Delivered, EventHead};
use prom_protocol::frame::publish::{self, Publish};
use prom_protocol::frame::{Done, gap, ok, pause, unsubscribe};
use prom_protocol::{ClientFrame, Corr, HubFrame, Request};
use prom_types::{NewEvent, TopicName};

pub fn request(request: &Request<'_>) {
    let mut out = Vec::new();
    let corr = request.corr.as_ref();
    match &request.frame {
        ClientFrame::Auth(frame) => frame.write(&mut out, corr),
        ClientFrame::Publish(frame) => match event(frame) {
            Some(event) => publish::write(&mut out, corr, &event),
            None => return,
        },
        ClientFrame::PublishBatch(batch) => {
            let events: Option<Vec<NewEvent>> = batch.events.iter().map(|item| event(item.as_ref().ok()?)).collect();
            match (events, batch.atomic) {
                (Some(events), true) => publish::write_atomic(&mut out, corr, events.iter()),
                (Some(events), false) => publish::write_batch(&mut out, corr, events.iter()),
                (None, _) => return,
            }
        }
        ClientFrame::Subscribe(frame) => frame.write(&mut out, corr),
        ClientFrame::Unsubscribe(name) => unsubscribe::write(&mut out, corr, name),
        ClientFrame::Pause(name) => pause::write_pause(&mut out, corr, name),
        ClientFrame::Resume(frame) => pause::write_resume(&mut out, corr, &frame.name, frame.max_in_flight),
        ClientFrame::Ack(frame) => frame.write(&mut out, corr),
        ClientFrame::Nack(frame) => frame.write(&mut out, corr),
        ClientFrame::Modack(frame) => frame.write(&mut out, corr),
    }
    let text = Bytes::from(out);
    let again = Request::read(&text).unwrap_or_else(|refused| panic!("{text:?} is refused: {refused:?}"));
    assert_eq!(format!("{again:?}"), format!("{request:?}"));
}

/// The event of a publish, if its topic is valid: a client that writes frames has checked that.
fn event(frame: &Publish<'_>) -> Option<NewEvent> {
    let topic = TopicName::parse(&frame.topic).ok()?;
    let opts = frame.opts.clone();
    Some(Publish { topic: frame.topic.clone(), payload: frame.payload.clone(), opts }.into_event(topic))
}

pub fn hub_frame(frame: &HubFrame) {
    let mut out = Vec::new();
    match frame {
        HubFrame::Ok(done) => return answers(done),
        HubFrame::Err { corr, problem, subscription: None } => problem.write(&mut out, corr.as_ref()),
        // Ending a subscription answers no request.
        HubFrame::Err { corr: Some(_), .. } => return,
        HubFrame::Err { problem, subscription: Some(name), .. } => problem.write_for(&mut out, name),
        HubFrame::Events(delivered) => deliver(&mut out, delivered),
        HubFrame::Gap(name, gap) => gap::write(gap, &mut out, name),
        HubFrame::Assigned(name, assignment) => assignment.write_assigned(&mut out, name),
        HubFrame::Revoked(name, assignment) => assignment.write_revoked(&mut out, name),
        HubFrame::Other(_) => return,
    }
    let text = Bytes::from(out);
    let again = HubFrame::read(text.clone()).unwrap_or_else(|error| panic!("{text:?} is refused: {error}"));
    assert_eq!(format!("{again:?}"), format!("{frame:?}"));
}

fn deliver(out: &mut Vec<u8>, delivered: &Delivered) {
    let head = EventHead::new(&delivered.name);
    let mut many = head.begin_many(out);
    for (event, lease) in &delivered.events {
        many.event(*lease, |out| out.extend_from_slice(event));
    }
    many.end();
}

/// What an OK holds depends on the request it answers; here all forms are tried.
fn answers(done: &Done) {
    let corr = done.corr.as_ref();
    if let Ok(receipt) = done.receipt() {
        assert_eq!(written(|out| ok::write_receipt(out, corr, &receipt), corr).receipt(), Ok(receipt));
    }
    if let Ok(welcome) = done.welcome() {
        assert_eq!(written(|out| ok::write_welcome(out, corr, &welcome), corr).welcome(), Ok(welcome));
    }
    if let Ok(batch) = done.batch() {
        let results = || batch.results.iter().map(|result| result.as_ref().copied());
        let again = written(|out| ok::write_results(out, corr, batch.durability, results()), corr);
        assert_eq!(again.batch(), Ok(batch));
    }
    drop(done.unknown_offsets());
}

fn written(write: impl FnOnce(&mut Vec<u8>), corr: Option<&Corr>) -> Done {
    let mut out = Vec::new();
    write(&mut out);
    match HubFrame::read(Bytes::from(out)) {
        Ok(HubFrame::Ok(done)) => {
            assert_eq!(done.corr.as_ref(), corr);
            done
        }
        other => panic!("an OK became {other:?}"),
    }
}

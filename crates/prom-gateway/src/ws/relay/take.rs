//! What the owner says: answers go to the frames that wait for them, the rest to the client.

use bytes::Bytes;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::peek::{self, FrameKind};
use prom_protocol::frame::{HubFrame, SubscriptionName, unsubscribe};
use prom_protocol::websocket::Message;
use tokio::sync::oneshot;

use super::link::Subscribing;
use super::task::{Followed, PendingAnswer, RelayTask};
use crate::ws::burst::FrameReply;
use crate::ws::outbox::frame;

impl RelayTask {
    pub fn take_messages(&mut self) -> Result<(), String> {
        while self.listens() {
            let Some(message) = self.wire.next_message().map_err(|error| error.to_string())? else {
                return Ok(());
            };
            match message {
                Message::Text(text) => self.take(text)?,
                // A link that carries members answers by their heartbeats.
                Message::Ping(payload) if !self.pulse.carries_members() => self.wire.pong(&payload),
                Message::Ping(_) | Message::Pong => {}
                Message::Close(_) => return Err("the other hub closed the connection".to_owned()),
            }
        }
        Ok(())
    }

    fn take(&mut self, text: Bytes) -> Result<(), String> {
        match peek::kind(&text) {
            FrameKind::Ok => return self.answer(text, None),
            FrameKind::Err => {}
            FrameKind::Event | FrameKind::Other => {
                if self.is_of_ended(&text) {
                    return Ok(());
                }
                self.held = Some(text);
                if self.outbox.has_room() {
                    self.pass_on_held();
                }
                return Ok(());
            }
        }
        match HubFrame::read(text.clone()) {
            Ok(HubFrame::Err { problem, subscription: None, .. }) => self.answer(text, Some(problem)),
            Ok(HubFrame::Err { subscription: Some(name), .. }) => {
                // The client hears why, as it would from the owner itself.
                self.outbox.put(|out| frame(out, |out| out.extend_from_slice(&text)));
                if let Some(followed) = self.subscriptions.remove(&name) {
                    let _task_may_be_gone = followed.over.send(());
                }
                Ok(())
            }
            _ => Err("the other hub sent an ERR that cannot be read".to_owned()),
        }
    }

    /// A subscription that has ended gets nothing more, also of what was on its way: it may have lost the right to it. The owner
    /// takes the leases back.
    fn is_of_ended(&mut self, text: &Bytes) -> bool {
        self.subscriptions.retain(|_, followed| !followed.over.is_closed());
        let is_ended = |followed: &Followed| followed.seat.upgrade().is_none_or(|seat| seat.is_ended());
        if !self.subscriptions.values().any(is_ended) {
            return false;
        }
        let Ok(frame) = HubFrame::read(text.clone()) else {
            return false;
        };
        frame.subscription().is_some_and(|name| self.subscriptions.get(name).is_some_and(is_ended))
    }

    /// What the client is told of its partitions is remembered: it has to hear of it when they are gone.
    fn note(&self, text: &Bytes) {
        if peek::kind(text) == FrameKind::Event {
            return;
        }
        let seat = |name: &SubscriptionName| self.subscriptions.get(name)?.seat.upgrade();
        match HubFrame::read(text.clone()) {
            Ok(HubFrame::Assigned(name, told)) => drop(seat(&name).map(|seat| seat.note_assigned(&told))),
            Ok(HubFrame::Revoked(name, told)) => drop(seat(&name).map(|seat| seat.note_revoked(&told))),
            _ => {}
        }
    }

    fn answer(&mut self, text: Bytes, problem: Option<Problem>) -> Result<(), String> {
        let Some(pending) = self.pending.pop_front() else {
            return Err("the other hub answered what it was not asked".to_owned());
        };
        match (pending, problem) {
            (PendingAnswer::Frame(reply), _) => drop(reply.send(FrameReply::Raw(text))),
            (PendingAnswer::Token, None) | (PendingAnswer::Ignored, _) => {}
            (PendingAnswer::Token, Some(problem)) => {
                return Err(format!("the other hub refused AUTH: {}", problem.msg));
            }
            (PendingAnswer::Subscribe { started, .. }, Some(problem)) => drop(started.send(Err(problem))),
            (PendingAnswer::Subscribe { name, seat, started }, None) => {
                let (begin, begun) = oneshot::channel();
                let (over, ended) = oneshot::channel();
                let notes = match HubFrame::read(text) {
                    Ok(HubFrame::Ok(done)) => done.notes().unwrap_or_default(),
                    _ => Vec::new(),
                };
                if started.send(Ok(Subscribing { begin, ended, notes })).is_err() {
                    // It is not wanted any more.
                    let mut text = Vec::new();
                    unsubscribe::write(&mut text, None, &name);
                    self.write(&text, PendingAnswer::Ignored);
                    return Ok(());
                }
                self.gate = Some(begun);
                self.subscriptions.insert(name, Followed { seat: std::sync::Arc::downgrade(&seat), over });
            }
        }
        Ok(())
    }

    pub fn pass_on_held(&mut self) {
        if let Some(text) = self.held.take() {
            self.note(&text);
            self.outbox.put(|out| frame(out, |out| out.extend_from_slice(&text)));
        }
    }
}

//! What the hub says: answers go to the callers that wait for them, events to their subscriptions.

use bytes::Bytes;
use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::publish::Written;
use prom_protocol::frame::{Corr, HubFrame};

use super::answers::Awaited;
use super::publish::kind_of;
use super::session::Session;
use super::subscriptions::answer;
use crate::Error;
use crate::assignment::AssignmentChange;

impl Session<'_> {
    /// An error means that the hub does not keep to the protocol: the connection cannot go on.
    pub fn hear(&mut self, text: Bytes) -> Result<(), String> {
        match HubFrame::read(text).map_err(|error| error.to_string())? {
            HubFrame::Events(delivered) => self.deliver(delivered),
            HubFrame::Gap(name, gap) => {
                self.hear_gap(&name, gap);
                Ok(())
            }
            HubFrame::Assigned(name, assignment) => {
                self.hear_assignment(&name, AssignmentChange::Assigned(assignment));
                Ok(())
            }
            HubFrame::Revoked(name, assignment) => {
                self.hear_assignment(&name, AssignmentChange::Revoked(assignment));
                Ok(())
            }
            HubFrame::Ok(done) => {
                let awaited = self.take_awaited(done.corr.as_ref())?;
                match awaited {
                    Awaited::Publish(list) => match kind_of(&list) {
                        Written::One => self.published(list, done.receipt()),
                        Written::Many => self.published_several(list, done.batch()),
                        Written::Atomic => self.published_atomic(list, done.batch()),
                    },
                    Awaited::Settled(list) => {
                        let unknown = done.unknown_offsets().map_err(|error| error.to_string())?;
                        self.settled(list, &unknown);
                        Ok(())
                    }
                    Awaited::Auth => {
                        let welcome = done.welcome().map_err(|error| error.to_string())?;
                        self.refresh.schedule(&self.work.core, &welcome);
                        Ok(())
                    }
                    Awaited::Subscribed { name, number } => {
                        let notes = done.notes().map_err(|error| error.to_string())?;
                        self.subscribed(&name, number, notes);
                        Ok(())
                    }
                    other => {
                        self.agreed(other);
                        Ok(())
                    }
                }
            }
            HubFrame::Err { corr: None, problem, subscription: Some(name) } => {
                self.ended_by_hub(&name, problem);
                Ok(())
            }
            HubFrame::Err { corr: None, problem, subscription: None } => {
                self.hear_complaint(&problem);
                Ok(())
            }
            HubFrame::Err { corr, problem, .. } => {
                let awaited = self.take_awaited(corr.as_ref())?;
                self.refused(awaited, problem);
                Ok(())
            }
            HubFrame::Other(op) => {
                tracing::trace!(%op, "a frame this client does not know");
                Ok(())
            }
        }
    }

    fn take_awaited(&mut self, corr: Option<&Corr>) -> Result<Awaited, String> {
        let number = corr.and_then(Corr::as_number).ok_or("an answer without the correlation that was sent")?;
        self.answers.take(number).ok_or_else(|| format!("an answer to nothing that was asked (corr {number})"))
    }

    /// An OK that says nothing more.
    fn agreed(&mut self, awaited: Awaited) {
        match awaited {
            Awaited::Unsubscribed { name, number } => self.unsubscribed(&name, number),
            Awaited::Switched(replies) => replies.into_iter().for_each(|reply| answer(Some(reply), Ok(()))),
            Awaited::Publish(_) | Awaited::Settled(_) | Awaited::Subscribed { .. } | Awaited::Auth => {}
        }
    }

    fn refused(&mut self, awaited: Awaited, problem: Problem) {
        if problem.code == ErrorCode::JwtExpired {
            self.refresh.hurry(&self.work.core);
        }
        match awaited {
            Awaited::Publish(list) => self.publish_refused(list, &problem),
            Awaited::Settled(list) => self.settle_refused(list, problem),
            Awaited::Subscribed { name, number } => self.subscribe_refused(&name, number, problem),
            // Whatever it says, the hub has no such subscription (any more).
            Awaited::Unsubscribed { name, number } => self.unsubscribed(&name, number),
            Awaited::Switched(replies) => {
                let error = Error::from(problem);
                replies.into_iter().for_each(|reply| answer(Some(reply), Err(error.clone())));
            }
            Awaited::Auth => self.token_failed(&problem.into()),
        }
    }

    /// An ERR that answers nothing; most often the reason for the close that follows.
    fn hear_complaint(&mut self, problem: &Problem) {
        tracing::warn!(code = %problem.code, message = %problem.msg, "the hub complains");
        if problem.code == ErrorCode::JwtExpired {
            self.refresh.hurry(&self.work.core);
        }
    }
}

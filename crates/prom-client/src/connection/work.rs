//! What outlives a connection: publishes that wait, subscriptions, and the request to close.

use std::sync::Arc;

use tokio::time::Instant;

use super::queue::PublishQueue;
use super::subscriptions::{Subscriptions, answer};
use crate::Error;
use crate::core::ClientCore;
use crate::mailbox::{ClientCommand, CommandReply, Mail};
use crate::settle::PendingSettlement;
use crate::state::ConnectionState;

pub(super) struct ClientWork {
    pub core: Arc<ClientCore>,
    pub publishes: PublishQueue,
    pub subscriptions: Subscriptions,
    pub settlements: Vec<PendingSettlement>,
    pub closing: Option<Closing>,
    /// Emptied mail, to be filled again.
    mail: Mail,
    finished: bool,
}

/// The application wants to close.
pub(super) struct Closing {
    pub deadline: Instant,
    replies: Vec<CommandReply>,
}

impl ClientWork {
    pub fn new(core: Arc<ClientCore>) -> Self {
        Self {
            core,
            publishes: PublishQueue::new(),
            subscriptions: Subscriptions::default(),
            settlements: Vec::new(),
            closing: None,
            mail: Mail::default(),
            finished: false,
        }
    }

    /// Takes over what has gathered.
    pub fn take_in(&mut self) {
        self.core.mailbox.take(&mut self.mail);
        if !self.mail.publishes.is_empty() {
            let deadline = Instant::now() + self.core.options.give_up_after;
            self.publishes.add(&mut self.mail.publishes, deadline);
        }
        self.settlements.append(&mut self.mail.settlements);
        let mut commands = std::mem::take(&mut self.mail.commands);
        commands.drain(..).for_each(|command| self.obey(command));
        self.mail.commands = commands;
    }

    fn obey(&mut self, command: ClientCommand) {
        match command {
            ClientCommand::Subscribe(wanted) => self.subscriptions.subscribe(*wanted),
            ClientCommand::Unsubscribe { name, number, reply } => self.subscriptions.unsubscribe(&name, number, reply),
            ClientCommand::Pause { name, number, pausing, reply } => {
                self.subscriptions.pause(&name, number, pausing, reply);
            }
            ClientCommand::TellHub { name, number } => self.subscriptions.tell_hub(&name, number),
            ClientCommand::Close { reply } => {
                if self.closing.is_none() {
                    self.subscriptions.end_all();
                }
                let deadline = Instant::now() + self.core.options.drain_timeout;
                let closing = self.closing.get_or_insert_with(|| Closing { deadline, replies: Vec::new() });
                closing.replies.extend(reply);
            }
        }
    }

    /// Leases end with their connection.
    pub fn refuse_settlements(&mut self) {
        for settlement in self.settlements.drain(..) {
            settlement.answer_lost("the connection that brought it has ended");
        }
    }

    /// Without a connection: nothing is left to be done, or the time for it is over.
    pub fn is_done_offline(&self, now: Instant) -> bool {
        self.closing.as_ref().is_some_and(|closing| self.publishes.is_empty() || closing.deadline <= now)
    }

    /// Tells every caller that waits that it is over. `failure` where the application did not ask for it.
    pub fn finish(&mut self, failure: Option<&Error>) {
        self.finished = true;
        let reason = match failure {
            Some(Error::Closed { reason }) => reason.clone(),
            Some(error) => error.to_string(),
            None => "it was asked to close".to_owned(),
        };
        let told = Error::closed(&reason);
        self.core.next_epoch();
        let mut mail = self.core.mailbox.close(&reason);
        self.settlements.append(&mut mail.settlements);
        self.settlements.drain(..).for_each(|settlement| settlement.answer_lost(&reason));
        let give_up_after = self.core.options.give_up_after;
        for mut pending in self.publishes.drain().chain(mail.publishes) {
            if pending.was_sent { pending.give_up(give_up_after, &reason) } else { pending.fail(&told) }
        }
        mail.commands.into_iter().for_each(|command| self.obey(command));
        self.subscriptions.close(failure, &told);
        let closing = self.closing.take();
        closing.into_iter().flat_map(|closing| closing.replies).for_each(|reply| answer(Some(reply), Ok(())));
        self.core.teller.enter(ConnectionState::Closed { reason });
    }
}

impl Drop for ClientWork {
    /// The runtime went away, or the task failed: no caller may wait forever.
    fn drop(&mut self) {
        if !self.finished {
            self.finish(Some(&Error::closed("the connection's task has ended")));
        }
    }
}

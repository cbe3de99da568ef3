//! The running side of groups: one dispatcher per partition that has a subscriber.
//!
//! A dispatcher is started by the first subscriber that needs it. It retires when none does and everything
//! it knows is durable. Both happen under the lock of its group, so that no subscriber joins one that is gone. One that has
//! nothing to do rests, without a mailbox; asking for its mailbox wakes it.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use prom_store::{CursorName, LogName};
use prom_types::{GroupName, TopicName};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::GroupOptions;
use super::coordinator::{Desk, PartitionOwners};
use crate::bus::Core;
use crate::dispatch::DispatcherWake;
use crate::dispatch::task::{self, DispatchRequest, DispatcherMailbox, DispatcherSetup, Outlets};
use crate::filter::GroupFilters;
use crate::meters::{DispatcherCounts, GroupMeter};
use crate::outlet::Outlet;

/// All groups that run.
#[derive(Default)]
pub(crate) struct RunningGroups(Mutex<HashMap<GroupName, Arc<Group>>>);

/// The dispatchers of one group.
pub(crate) struct Group {
    pub name: GroupName,
    pub filters: GroupFilters,
    dispatchers: Mutex<HashMap<LogName, Running>>,
    /// By topic; they outlive the dispatchers and go with the group.
    meters: Mutex<HashMap<TopicName, Arc<GroupMeter>>>,
    /// By topic; for those whose partitions have owners.
    desks: Mutex<HashMap<TopicName, Arc<Desk>>>,
}

struct Running {
    /// `None` while it rests.
    mailbox: Option<mpsc::Sender<DispatchRequest>>,
    /// The other end of a mailbox that was made for it while it rested.
    handed: Option<mpsc::Receiver<DispatchRequest>>,
    wake: Arc<DispatcherWake>,
    /// Subscribers the task has not taken in yet.
    joining: Vec<Arc<Outlet>>,
    /// Until a shutdown takes it to wait for its end.
    task: Option<JoinHandle<()>>,
}

impl RunningGroups {
    pub fn get(&self, name: &GroupName) -> Arc<Group> {
        let mut groups = self.0.lock();
        let new = || Arc::new(Group::new(name.clone()));
        groups.entry(name.clone()).or_insert_with(new).clone()
    }

    /// Where something of it runs or ran.
    pub fn known(&self, name: &GroupName) -> Option<Arc<Group>> {
        self.0.lock().get(name).cloned()
    }

    pub fn all(&self) -> Vec<Arc<Group>> {
        self.0.lock().values().cloned().collect()
    }

    pub fn forget(&self, name: &GroupName) {
        self.0.lock().remove(name);
    }

    /// The meter of every topic and group that was dispatched here.
    pub fn meters(&self) -> Vec<(TopicName, GroupName, Arc<GroupMeter>)> {
        let groups: Vec<Arc<Group>> = self.0.lock().values().cloned().collect();
        let of_group = |group: Arc<Group>| {
            let meters = group.meters.lock();
            let named =
                |(topic, meter): (&TopicName, &Arc<GroupMeter>)| (topic.clone(), group.name.clone(), meter.clone());
            meters.iter().map(named).collect::<Vec<_>>()
        };
        groups.into_iter().flat_map(of_group).collect()
    }

    /// How many dispatchers there are.
    pub fn dispatchers(&self) -> DispatcherCounts {
        let mut counts = DispatcherCounts::default();
        for group in self.0.lock().values() {
            let dispatchers = group.dispatchers.lock();
            let resting = dispatchers.values().filter(|running| running.mailbox.is_none()).count();
            counts.resting += resting as u64;
            counts.working += (dispatchers.len() - resting) as u64;
        }
        counts
    }

    /// Who owns what in every topic and group whose partitions have owners.
    pub fn owners(&self) -> Vec<(TopicName, GroupName, PartitionOwners)> {
        let groups: Vec<Arc<Group>> = self.0.lock().values().cloned().collect();
        let of_group = |group: Arc<Group>| {
            let desks: Vec<Arc<Desk>> = group.desks.lock().values().cloned().collect();
            let named = |desk: Arc<Desk>| Some((desk.topic.clone(), group.name.clone(), desk.owners()?));
            desks.into_iter().filter_map(named).collect::<Vec<_>>()
        };
        groups.into_iter().flat_map(of_group).collect()
    }

    /// All dispatcher tasks, for the shutdown.
    pub fn take_tasks(&self) -> Vec<JoinHandle<()>> {
        let groups = self.0.lock();
        groups.values().flat_map(|group| group.take_tasks()).collect()
    }
}

impl Group {
    fn new(name: GroupName) -> Self {
        Self {
            name,
            filters: GroupFilters::default(),
            dispatchers: Mutex::default(),
            meters: Mutex::default(),
            desks: Mutex::default(),
        }
    }

    /// Where the coordinator of a topic is met.
    pub fn desk(&self, topic: &TopicName) -> Arc<Desk> {
        let mut desks = self.desks.lock();
        desks.entry(topic.clone()).or_insert_with(|| Arc::new(Desk::new(topic.clone()))).clone()
    }

    /// Ends what the group does in a topic that is gone. Its subscribers stay, and take part again if it is made again.
    pub async fn end_topic(&self, topic: &TopicName) {
        let desk = self.desks.lock().remove(topic);
        if let Some(desk) = desk {
            desk.end();
        }
        for log in self.running_logs().into_iter().filter(|log| log.topic == *topic) {
            // One that ends by itself finds that its topic is gone.
            let _ended = self.ask(&log, DispatchRequest::TopicDeleted).await;
        }
        self.meters.lock().remove(topic);
    }

    /// Lets a subscriber take part in the dispatching of a log; once per log.
    pub fn attach(
        self: &Arc<Self>,
        core: &Arc<Core>,
        log: &LogName,
        options: &Arc<GroupOptions>,
        outlet: &Arc<Outlet>,
    ) {
        let mut dispatchers = self.dispatchers.lock();
        let running = self.get_or_start(core, &mut dispatchers, log, options);
        if outlet.attach(log, &running.wake) {
            running.joining.push(outlet.clone());
            running.wake.notify_one();
        }
    }

    /// The mailbox of the dispatcher of a log, which is started if it does not run.
    pub fn mailbox(
        self: &Arc<Self>,
        core: &Arc<Core>,
        log: &LogName,
        options: &Arc<GroupOptions>,
    ) -> mpsc::Sender<DispatchRequest> {
        let mut dispatchers = self.dispatchers.lock();
        self.get_or_start(core, &mut dispatchers, log, options).reach()
    }

    /// The mailbox of the dispatcher of a log, if it runs; one that rests is woken.
    pub fn running_mailbox(&self, log: &LogName) -> Option<mpsc::Sender<DispatchRequest>> {
        self.dispatchers.lock().get_mut(log).map(Running::reach)
    }

    /// As [`Group::running_mailbox`], but one that rests is left alone: it holds nothing.
    fn working_mailbox(&self, log: &LogName) -> Option<mpsc::Sender<DispatchRequest>> {
        self.dispatchers.lock().get(log)?.mailbox.clone()
    }

    pub fn running_logs(&self) -> Vec<LogName> {
        self.dispatchers.lock().keys().cloned().collect()
    }

    /// Subscribers that joined since the last call.
    pub fn take_joining(&self, log: &LogName) -> Vec<Arc<Outlet>> {
        match self.dispatchers.lock().get_mut(log) {
            Some(running) => std::mem::take(&mut running.joining),
            None => Vec::new(),
        }
    }

    /// Takes the dispatcher off the list unless a subscriber is about to need it.
    pub fn retire(&self, log: &LogName, mailbox: &mut mpsc::Receiver<DispatchRequest>) -> Retired {
        let mut dispatchers = self.dispatchers.lock();
        let needed = dispatchers.get(log).is_some_and(|running| !running.joining.is_empty());
        if needed || !mailbox.is_empty() {
            return Retired::No;
        }
        mailbox.close();
        dispatchers.remove(log);
        Retired::Yes
    }

    /// Lets a dispatcher rest unless a subscriber joins or somebody can still reach its mailbox: that is, has a sender
    /// beside the one here and the one that its deliveries share.
    pub fn rest(&self, log: &LogName, mailbox: &mut mpsc::Receiver<DispatchRequest>) -> Retired {
        let mut dispatchers = self.dispatchers.lock();
        match dispatchers.get_mut(log) {
            // Senders before the mailbox: what the last of them sent is there by then.
            Some(running) if running.joining.is_empty() && mailbox.sender_strong_count() <= 2 && mailbox.is_empty() => {
                mailbox.close();
                running.mailbox = None;
                Retired::Yes
            }
            _ => Retired::No,
        }
    }

    /// For a dispatcher that rests: takes in who joined, lets go of who ended, and says whether there is a reason to go on
    /// resting. Without a subscriber it is taken off the list. One that joined may have ended already, and wakes it only
    /// once for both.
    pub fn look_up(&self, log: &LogName, wake: &Arc<DispatcherWake>, outlets: &mut Outlets) -> LooksUp {
        let mut dispatchers = self.dispatchers.lock();
        let Some(running) = dispatchers.get_mut(log).filter(|running| Arc::ptr_eq(&running.wake, wake)) else {
            return LooksUp::NotNeeded;
        };
        outlets.extend(std::mem::take(&mut running.joining));
        outlets.retain(|outlet| {
            let is_ended = outlet.is_ended();
            if is_ended {
                outlet.detach(log, wake);
            }
            !is_ended
        });
        if running.handed.is_some() {
            LooksUp::Asked
        } else if outlets.is_empty() {
            dispatchers.remove(log);
            LooksUp::NotNeeded
        } else {
            LooksUp::Rests
        }
    }

    /// The mailbox of a dispatcher that begins to work; `None` if it is off the list.
    pub fn open_mailbox(&self, log: &LogName, wake: &Arc<DispatcherWake>) -> Option<DispatcherMailbox> {
        let mut dispatchers = self.dispatchers.lock();
        let running = dispatchers.get_mut(log).filter(|running| Arc::ptr_eq(&running.wake, wake))?;
        let sender = running.reach();
        Some(DispatcherMailbox { sender, requests: running.handed.take()? })
    }

    /// Takes those that rest off the list: they have nothing to make durable.
    pub fn dismiss_resting(&self) {
        let mut dispatchers = self.dispatchers.lock();
        let resting = dispatchers.extract_if(|_, running| running.mailbox.is_none());
        resting.for_each(|(_, running)| running.wake.notify_one());
    }

    /// Takes the dispatcher off the list. Returns the subscribers that were about to join; they are told that it ended.
    pub fn remove(&self, log: &LogName) -> Vec<Arc<Outlet>> {
        self.dispatchers.lock().remove(log).map_or_else(Vec::new, |running| running.joining)
    }

    /// A new mailbox for a dispatcher that is built anew; `None` if it is off the list.
    pub fn renew_mailbox(&self, log: &LogName) -> Option<DispatcherMailbox> {
        let mut dispatchers = self.dispatchers.lock();
        let running = dispatchers.get_mut(log)?;
        let mailbox = DispatcherMailbox::new();
        running.mailbox = Some(mailbox.sender.clone());
        Some(mailbox)
    }

    /// Asks a running dispatcher; `None` where none runs.
    pub async fn ask<A>(
        &self,
        log: &LogName,
        request: impl FnOnce(oneshot::Sender<A>) -> DispatchRequest,
    ) -> Option<A> {
        ask_at(self.running_mailbox(log)?, request).await
    }

    /// As [`Group::ask`]; `None` also where it rests.
    pub async fn ask_if_working<A>(
        &self,
        log: &LogName,
        request: impl FnOnce(oneshot::Sender<A>) -> DispatchRequest,
    ) -> Option<A> {
        ask_at(self.working_mailbox(log)?, request).await
    }

    /// What is counted for the group in a topic.
    pub fn meter(&self, topic: &TopicName) -> Arc<GroupMeter> {
        self.meters.lock().entry(topic.clone()).or_default().clone()
    }

    fn take_tasks(&self) -> Vec<JoinHandle<()>> {
        let mut dispatchers = self.dispatchers.lock();
        dispatchers.values_mut().filter_map(|running| running.task.take()).collect()
    }

    fn get_or_start<'a>(
        self: &Arc<Self>,
        core: &Arc<Core>,
        dispatchers: &'a mut HashMap<LogName, Running>,
        log: &LogName,
        options: &Arc<GroupOptions>,
    ) -> &'a mut Running {
        dispatchers.entry(log.clone()).or_insert_with(|| {
            let wake = Arc::<DispatcherWake>::default();
            let setup = DispatcherSetup {
                core: core.clone(),
                group: self.clone(),
                cursor: CursorName::new(log.clone(), self.name.clone()),
                options: options.clone(),
                wake: wake.clone(),
            };
            let task = tokio::spawn(task::run(setup));
            Running { mailbox: None, handed: None, wake, joining: Vec::new(), task: Some(task) }
        })
    }
}

impl Running {
    /// Its mailbox. One that rests gets a new one, and is woken.
    fn reach(&mut self) -> mpsc::Sender<DispatchRequest> {
        if let Some(mailbox) = &self.mailbox {
            return mailbox.clone();
        }
        let DispatcherMailbox { sender, requests } = DispatcherMailbox::new();
        self.handed = Some(requests);
        self.mailbox = Some(sender.clone());
        self.wake.notify_one();
        sender
    }
}

async fn ask_at<A>(
    mailbox: mpsc::Sender<DispatchRequest>,
    request: impl FnOnce(oneshot::Sender<A>) -> DispatchRequest,
) -> Option<A> {
    let (reply, answer) = oneshot::channel();
    mailbox.send(request(reply)).await.ok()?;
    answer.await.ok()
}

/// What a dispatcher that rests finds when it looks up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LooksUp {
    /// Somebody has its mailbox.
    Asked,
    /// It has no subscriber, or is off the list.
    NotNeeded,
    Rests,
}

/// Whether a dispatcher may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retired {
    Yes,
    No,
}

//! SUBSCRIBE: rights, options, and a task that delivers.

use std::time::Duration;

use prom_auth::{Action, Identity, Policy};
use prom_engine::{Mode, Order, Position, TaskName};
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::subscribe::{Subscribe, SubscribeOpts};
use prom_protocol::position::PositionError;
use prom_protocol::{Corr, ErrorCode};
use prom_types::{GroupName, TopicPattern};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::burst::{AwaitedAnswer, FrameReply};
use super::connection::{Connection, Speaker};
use super::liveness::ReadPause;
use super::member::{GroupMember, SubscribeError};
use super::outbox::frame;
use super::sight::Sight;
use super::subscription::{InGroup, Subscribed, SubscriptionKind};
use super::subscription_cap::CountedSubscription;
use super::tail::TailPump;
use super::thin::Thinning;
use crate::{Hub, problem};

impl Connection {
    pub(super) async fn subscribe(&mut self, corr: Option<Corr>, frame: Subscribe) {
        let reply = match self.start(frame).await {
            Ok((begin, notes)) => FrameReply::Subscribed { begin, notes },
            Err(problem) => FrameReply::Err(problem),
        };
        self.burst.answer(corr, AwaitedAnswer::Ready(reply));
    }

    /// Deliveries begin when the sender is used. The notes are for the client.
    async fn start(&mut self, frame: Subscribe) -> Result<(oneshot::Sender<()>, Vec<String>), Problem> {
        let Subscribe { name, mut opts } = frame;
        if self.subscriptions.get(&name).is_some_and(|running| !running.task.is_finished()) {
            let msg = format!("this connection is already subscribed to {}", name.topic);
            return Err(Problem::new(ErrorCode::AlreadySubscribed, msg));
        }
        self.subscriptions.retain(|_, subscribed| !subscribed.task.is_finished());
        let most = self.hub.options.subscriptions_per_connection;
        if self.subscriptions.len() >= most {
            let msg = format!("this connection has {most} subscriptions, the most allowed; use a pattern");
            return Err(Problem::new(ErrorCode::BadRequest, msg));
        }
        let patterns = parse_patterns(&name.topic, &opts.topics)?;
        // A new group is a durable thing: making many is limited as publishing is.
        if self.speaker == Speaker::Client {
            self.take_rates(&[])?;
        }
        let group = name.group.as_deref().map(GroupName::parse).transpose().map_err(invalid)?;
        if group.is_some() && opts.max_per_second.is_some() {
            let msg = "field `opts.maxPerSecond` belongs to a subscription without a group: a group gets every event";
            return Err(Problem::new(ErrorCode::BadRequest, msg));
        }
        self.check_rights(&patterns, group.as_ref())?;
        let sight = self.sight(&patterns, group.as_ref(), &opts);
        if sight == Sight::Masked {
            // Also for the hub that serves the group, if that is another one.
            opts.masked = Some(true);
        }
        let counted = CountedSubscription::new(&self.hub, self.subject().filter(|_| self.speaker == Speaker::Client))?;
        let (begin, begun) = oneshot::channel();
        let mut notes = Vec::new();
        let (kind, task) = match group {
            Some(group) => {
                let member = GroupMember::new(self, name.clone(), group.clone(), opts);
                self.pulse.works(ReadPause::Backpressure);
                let placed = match check_addition(&self.hub, self.identity.as_ref(), &patterns, &group).await {
                    Ok(()) => member.settle_in().await,
                    Err(problem) => Err(problem),
                };
                self.pulse.reads_again();
                let placed = placed?;
                notes = placed.notes();
                let kind = SubscriptionKind::Group(InGroup { group, seat: member.seat.clone() });
                (kind, self.spawn_watched(name.clone(), counted, member.run(placed, begun)))
            }
            None => {
                check_without_group(&opts)?;
                let thinning = Thinning::new(&self.hub, self.subject(), &opts).await?;
                let from = position(&opts)?.unwrap_or_default();
                let mut tail = self.hub.bus.tail(&name.topic).topics(opts.topics.clone()).from(from);
                if opts.normalize == Some(true) {
                    tail = tail.normalize();
                }
                if sight == Sight::Masked {
                    tail = tail.masked();
                }
                let tail = tail.start().await.map_err(|error| problem::of_bus(&error))?;
                let (pause, paused) = watch::channel(false);
                let pump = TailPump::new(self, name.clone(), tail, thinning, paused);
                (SubscriptionKind::Tail(pause), self.spawn_watched(name.clone(), counted, pump.run(begun)))
            }
        };
        self.subscriptions.insert(name, Subscribed { patterns, kind, sight, task });
        Ok((begin, notes))
    }

    /// The task of a subscription. If it panics the client hears that the subscription has ended.
    fn spawn_watched(
        &self,
        name: SubscriptionName,
        counted: CountedSubscription,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let (hub, outbox) = (self.hub.clone(), self.outbox.clone());
        let listed = self.listing.entry.subscribed(name.clone());
        tokio::spawn(async move {
            let (_counted, _listed) = (counted, listed);
            if hub.failures().watch(&TaskName::one("subscription", &name.topic), work).await.is_err() {
                let problem =
                    Problem::new(ErrorCode::Internal, "the hub failed to serve this subscription; subscribe again");
                outbox.put(|out| frame(out, |out| problem.write_for(out, &name)));
            }
        })
    }

    /// A hub that speaks for its client says what that may see.
    fn sight(&self, patterns: &[TopicPattern], group: Option<&GroupName>, opts: &SubscribeOpts) -> Sight {
        match &self.identity {
            Some(identity) if opts.masked != Some(true) => Sight::of(&identity.policy, patterns, group),
            _ => Sight::Masked,
        }
    }

    fn check_rights(&self, patterns: &[TopicPattern], group: Option<&GroupName>) -> Result<(), Problem> {
        let policy = self.identity.as_ref().map(|identity| &*identity.policy);
        if policy.is_some_and(|policy| may_subscribe(policy, patterns, group)) {
            Ok(())
        } else {
            Err(forbidden(patterns, group))
        }
    }
}

/// A group takes more topics only from those who may read everything that it reads already: it would share them. If the
/// group changes after this look, it is as if this subscriber had come first.
async fn check_addition(
    hub: &Hub,
    identity: Option<&Identity>,
    patterns: &[TopicPattern],
    group: &GroupName,
) -> Result<(), Problem> {
    let Some(Identity { policy, .. }) = identity.filter(|identity| !identity.policy.is_open()) else {
        return Ok(());
    };
    let Some(known) = hub.bus.group(group).await.map_err(|error| problem::of_bus(&error))? else {
        return Ok(());
    };
    let mut asked = patterns.to_vec();
    asked.sort();
    asked.dedup();
    let joins = known.subscriptions.iter().any(|subscription| subscription.topics == asked);
    if joins || known.subscriptions.iter().all(|one| may_subscribe(policy, &one.topics, Some(group))) {
        Ok(())
    } else {
        Err(forbidden(patterns, Some(group)))
    }
}

/// Joins the group, with whatever the subscriber asks for. A group that is made by it counts to the subject.
pub async fn join(member: &GroupMember, opts: &SubscribeOpts) -> Result<prom_engine::Subscription, SubscribeError> {
    let GroupMember { hub, name, group, subject, address, .. } = member;
    let bus = hub.bus.acting_for(subject.as_deref());
    let mut subscribe = bus.subscribe(&name.topic, group).topics(opts.topics.clone());
    subscribe = subscribe.origin(subject.as_deref().map(str::to_owned), Some(address.clone()));
    if let Some(position) = position(opts).map_err(SubscribeError::Problem)? {
        subscribe = subscribe.from(position);
    }
    if let Some(order) = opts.order {
        subscribe = subscribe.order(order);
    }
    if opts.park == Some(true) {
        subscribe = subscribe.park();
    }
    if let Some(filter) = &opts.filter {
        subscribe = subscribe.filter(filter);
    }
    if let Some(attempts) = opts.max_attempts {
        subscribe = subscribe.max_attempts(attempts);
    }
    if let Some(backoff) = opts.backoff {
        subscribe = subscribe.backoff(Duration::from_millis(backoff.first_ms), Duration::from_millis(backoff.max_ms));
    }
    if let Some(expire_after_ms) = opts.expire_after {
        subscribe = subscribe.expire_after(Duration::from_millis(expire_after_ms));
    }
    if let Some(events) = opts.batch_size {
        subscribe = subscribe.batch_size(events);
    }
    if let Some(events) = opts.max_in_flight {
        subscribe = subscribe.max_in_flight(events);
    }
    if let Some(ack_timeout_ms) = opts.ack_timeout_ms {
        subscribe = subscribe.ack_timeout(Duration::from_millis(ack_timeout_ms));
    }
    if opts.normalize == Some(true) {
        subscribe = subscribe.normalize();
    }
    if let Some(member) = &opts.member_id {
        subscribe = subscribe.member_id(member);
    }
    as_member(subscribe, opts).start().await.map_err(SubscribeError::Bus)
}

/// What matters where partitions have owners. A connected client is heard, so it can fall silent.
fn as_member<'a>(mut subscribe: prom_engine::Subscribe<'a>, opts: &SubscribeOpts) -> prom_engine::Subscribe<'a> {
    if let Some(mode) = opts.mode {
        subscribe = subscribe.mode(mode);
    }
    if let Some(partitions) = opts.partitions {
        subscribe = subscribe.partitions(partitions);
    }
    if let Some(meta) = &opts.meta {
        subscribe = subscribe.meta(meta);
    }
    if let Some(weight) = opts.weight {
        subscribe = subscribe.weight(weight);
    }
    if opts.assignments == Some(true) {
        subscribe = subscribe.tell_assignments();
    }
    let ttl = opts.ttl_ms.map_or(prom_engine::limits::MEMBER_TTL, Duration::from_millis);
    subscribe.pin(opts.pin.iter().copied()).ttl(ttl)
}

pub fn may_subscribe(policy: &Policy, patterns: &[TopicPattern], group: Option<&GroupName>) -> bool {
    patterns.iter().all(|pattern| policy.allows_pattern(Action::Subscribe, pattern, group))
}

pub fn forbidden(patterns: &[TopicPattern], group: Option<&GroupName>) -> Problem {
    let topics: Vec<&str> = patterns.iter().map(|pattern| pattern.as_str()).collect();
    let in_group = group.map_or_else(|| " without a group".to_owned(), |group| format!(" in group {group}"));
    let of_group = if group.is_some() { ", or on a topic that the group already reads" } else { "" };
    let msg = format!("this token lacks the right `subscribe` on {}{in_group}{of_group}", topics.join(", "));
    Problem::new(ErrorCode::Forbidden, msg)
}

fn parse_patterns(topic: &str, more: &[String]) -> Result<Vec<TopicPattern>, Problem> {
    let all = std::iter::once(topic).chain(more.iter().map(String::as_str));
    all.map(|topic| TopicPattern::parse(topic).map_err(invalid)).collect()
}

fn invalid(error: prom_types::Invalid) -> Problem {
    Problem::new(ErrorCode::BadRequest, error.to_string())
}

/// What only a group can keep is not silently left out.
fn check_without_group(opts: &SubscribeOpts) -> Result<(), Problem> {
    let option = match opts {
        SubscribeOpts { order: Some(Order::Key), .. } => "order",
        SubscribeOpts { mode: Some(Mode::Partitioned), .. } => "mode",
        SubscribeOpts { partitions: Some(_), .. } => "partitions",
        _ => return Ok(()),
    };
    let msg = format!("field `opts.{option}` belongs to a group; name one, or leave it out");
    Err(Problem::new(ErrorCode::BadRequest, msg))
}

fn position(opts: &SubscribeOpts) -> Result<Option<Position>, Problem> {
    let refuse = |error: PositionError| {
        let msg = format!("field `opts.{}` {error}", error.field());
        Problem::new(ErrorCode::BadRequest, msg)
    };
    opts.position.position().map_err(refuse)
}

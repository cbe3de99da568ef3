//! Lanes: commits that touch the same log, cursor or document run one after the other, in the order of the calls.
//! Different lanes run concurrently. A lane is a task only while it has work. If work panics, its callers hear of it and the lane
//! goes on with what follows.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use hashbrown::HashMap;
use parking_lot::Mutex;
use prom_store::{Commit, CommitError, CommitReply, Committed, CursorName, LogName, Outcome};
use tokio::sync::{Notify, Semaphore};

use super::{append, transaction};
use crate::shared::MongoShared;
use crate::{cursor, document};

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaneKey {
    Log(LogName),
    Cursor(CursorName),
    Document(String, String),
}

/// A commit without an answer. It takes up space until it has one.
pub struct WaitingCommit {
    pub commit: Commit,
    pub bytes: usize,
    reply: Option<CommitReply>,
    waiting_bytes: Arc<AtomicUsize>,
}

impl WaitingCommit {
    /// Frees the space.
    pub fn take_reply(&mut self) -> Option<CommitReply> {
        let reply = self.reply.take()?;
        self.waiting_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        Some(reply)
    }
}

/// The work on it panicked.
impl Drop for WaitingCommit {
    fn drop(&mut self) {
        if let Some(reply) = self.take_reply() {
            let reason = "the hub failed while it was storing this; its log says why".to_owned();
            reply.send(Err(CommitError::Failed { reason, outcome: Outcome::Unknown }));
        }
    }
}

/// A commit that several lanes pause for.
struct Crossing {
    waiting: Mutex<Option<WaitingCommit>>,
    missing: AtomicUsize,
    /// Closed when the work is done.
    over: Semaphore,
}

enum Item {
    Own(Box<WaitingCommit>),
    Crossing(Arc<Crossing>),
}

/// What a lane does next.
enum Turn {
    Own(Vec<WaitingCommit>),
    Crossing(Arc<Crossing>),
    Over,
}

#[derive(Default)]
pub struct CommitLanes {
    queues: Mutex<HashMap<LaneKey, VecDeque<Item>>>,
    waiting_bytes: Arc<AtomicUsize>,
    /// Notified whenever a lane ends.
    ended: Notify,
}

impl CommitLanes {
    /// Whether there is room for this many more bytes; counts them if so.
    pub fn admit(&self, bytes: usize, most: usize) -> bool {
        let before = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        // A commit larger than the limit runs alone.
        if before != 0 && before + bytes > most {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// A commit that was admitted with this many bytes.
    pub fn waiting(&self, commit: Commit, bytes: usize, reply: CommitReply) -> WaitingCommit {
        WaitingCommit { commit, bytes, reply: Some(reply), waiting_bytes: self.waiting_bytes.clone() }
    }

    /// Answers, and frees the space.
    pub fn answer(&self, mut waiting: WaitingCommit, result: Result<Committed, CommitError>) {
        if let Some(reply) = waiting.take_reply() {
            reply.send(result);
        }
    }

    /// Ready when no commit is in progress.
    pub async fn drained(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.queues.lock().is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn next_turn(&self, key: &LaneKey, most_commits: usize) -> Turn {
        let mut queues = self.queues.lock();
        let Some(queue) = queues.get_mut(key) else {
            return Turn::Over;
        };
        let mut own = Vec::new();
        while own.len() < most_commits {
            match queue.pop_front() {
                Some(Item::Own(waiting)) => own.push(*waiting),
                Some(Item::Crossing(crossing)) if own.is_empty() => return Turn::Crossing(crossing),
                Some(crossing) => {
                    queue.push_front(crossing);
                    break;
                }
                None => break,
            }
        }
        if own.is_empty() {
            queues.remove(key);
            return Turn::Over;
        }
        Turn::Own(own)
    }
}

/// Puts a commit into all of its lanes at once, so that two commits meet in the same order everywhere.
pub fn enqueue(shared: &Arc<MongoShared>, mut keys: Vec<LaneKey>, waiting: WaitingCommit) {
    let mut queues = shared.lanes.queues.lock();
    let single = if keys.len() == 1 { keys.pop() } else { None };
    if let Some(key) = single {
        push(shared, &mut queues, key, Item::Own(Box::new(waiting)));
        return;
    }
    let crossing = Arc::new(Crossing {
        waiting: Mutex::new(Some(waiting)),
        missing: AtomicUsize::new(keys.len()),
        over: Semaphore::new(0),
    });
    for key in keys {
        push(shared, &mut queues, key, Item::Crossing(crossing.clone()));
    }
}

fn push(shared: &Arc<MongoShared>, queues: &mut HashMap<LaneKey, VecDeque<Item>>, key: LaneKey, item: Item) {
    match queues.get_mut(&key) {
        Some(queue) => queue.push_back(item),
        None => {
            queues.insert(key.clone(), VecDeque::from([item]));
            shared.runtime.spawn(run(shared.clone(), key));
        }
    }
}

async fn run(shared: Arc<MongoShared>, key: LaneKey) {
    let most_commits = shared.options.sizes.batch_events;
    loop {
        let turn = match shared.lanes.next_turn(&key, most_commits) {
            Turn::Own(waiting) => own_turn(&shared, &key, waiting).boxed(),
            Turn::Crossing(crossing) => cross(&shared, crossing).boxed(),
            Turn::Over => break,
        };
        // The next caller of this lane would wait forever for a task that is gone.
        if AssertUnwindSafe(turn).catch_unwind().await.is_err() {
            tracing::error!(lane = ?key, "storing panicked; its callers are told that it may be stored or not");
        }
    }
    shared.lanes.ended.notify_waiters();
}

async fn own_turn(shared: &Arc<MongoShared>, key: &LaneKey, waiting: Vec<WaitingCommit>) {
    match key {
        LaneKey::Log(log) => append::append(shared, &shared.log(log), waiting).await,
        LaneKey::Cursor(cursor) => cursor::change(shared, cursor, waiting).await,
        LaneKey::Document(..) => document::write(shared, waiting).await,
    }
}

/// The last lane to arrive does the work; the others wait for it.
async fn cross(shared: &Arc<MongoShared>, crossing: Arc<Crossing>) {
    if crossing.missing.fetch_sub(1, Ordering::AcqRel) > 1 {
        // The semaphore is only ever closed: an error means that the work is done.
        drop(crossing.over.acquire().await);
        return;
    }
    let _over = CrossingEnd(&crossing);
    let waiting = crossing.waiting.lock().take();
    if let Some(waiting) = waiting {
        let result = transaction::in_transaction(shared, &waiting.commit).await;
        shared.lanes.answer(waiting, result);
    }
}

/// However the work ends, the other lanes go on.
struct CrossingEnd<'a>(&'a Crossing);

impl Drop for CrossingEnd<'_> {
    fn drop(&mut self) {
        self.0.over.close();
    }
}

//! Compacted logs: the latest event of each key, and what compaction leaves.

use std::time::Duration;

use super::Harness;
use super::scene::{CheckResult, EventDraft, MINUTE, StoreScene, Unexpected, log};
use crate::{CommitError, CompactPlan, LogName, Record, StoreError};

const GRACE: Duration = Duration::from_secs(3600);

async fn compacted<'a>(harness: &'a dyn Harness, topic: &str) -> Result<(StoreScene<'a>, LogName), Unexpected> {
    let scene = StoreScene::open(harness).await?;
    let states = log(topic)?;
    scene.turn_compaction_on(&states).await?;
    Ok((scene, states))
}

async fn latest(scene: &StoreScene<'_>, log: &LogName, keys: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
    let records = scene.store.latest_by_key(log, keys).await?;
    Ok(records.iter().map(|record| record.as_ref().map(Record::offset)).collect())
}

pub async fn the_latest_event_of_a_key_is_looked_up(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    for key in ["a", "b", "a", "a", "c"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    scene.append(&states, EventDraft::unnamed().key("c").tombstone()).await?;
    scene.append(&states, EventDraft::unnamed().key("").payload(serde_json::json!(1).into())).await?;
    let expected = [None, Some(3), Some(1), Some(6), None];
    let keys = ["never", "a", "b", "", "c"];
    assert_eq!(latest(&scene, &states, &keys).await?, expected);
    let scene = scene.reopen().await?;
    assert_eq!(latest(&scene, &states, &keys).await?, expected);
    Ok(())
}

pub async fn a_deleted_key_can_come_back(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    scene.append(&states, EventDraft::unnamed().key("a")).await?;
    scene.append(&states, EventDraft::unnamed().key("a").tombstone()).await?;
    assert_eq!(latest(&scene, &states, &["a"]).await?, [None]);
    scene.append(&states, EventDraft::unnamed().key("a")).await?;
    assert_eq!(latest(&scene, &states, &["a"]).await?, [Some(2)]);
    Ok(())
}

pub async fn a_trimmed_event_is_no_longer_the_latest_of_its_key(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    scene.append(&states, EventDraft::unnamed().key("a")).await?;
    scene.append(&states, EventDraft::unnamed().key("b")).await?;
    scene.store.trim(&states, 1).await?;
    assert_eq!(latest(&scene, &states, &["a", "b"]).await?, [None, Some(1)]);
    let scene = scene.reopen().await?;
    assert_eq!(latest(&scene, &states, &["a", "b"]).await?, [None, Some(1)]);
    Ok(())
}

pub async fn a_log_that_is_not_compacted_has_no_latest_events(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append(&orders, EventDraft::unnamed().key("a")).await?;
    let answer = scene.store.latest_by_key(&orders, &["a"]).await;
    assert!(matches!(answer, Err(StoreError::NotCompacted { .. })), "{answer:?}");
    Ok(())
}

pub async fn compaction_can_be_turned_on_for_a_log_that_has_events(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let states = log("states")?;
    for key in ["a", "b", "a"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    scene.append(&states, EventDraft::unnamed()).await?;
    scene.append(&states, EventDraft::unnamed().key("b").tombstone()).await?;
    let scene = scene.reopen().await?;
    scene.turn_compaction_on(&states).await?;
    assert_eq!(latest(&scene, &states, &["a", "b"]).await?, [Some(2), None]);
    scene.append(&states, EventDraft::unnamed().key("a")).await?;
    assert_eq!(latest(&scene, &states, &["a"]).await?, [Some(5)]);
    let scene = scene.reopen().await?;
    assert_eq!(latest(&scene, &states, &["a", "b"]).await?, [Some(5), None]);
    Ok(())
}

pub async fn an_event_without_a_key_is_refused_on_a_compacted_log(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    let mut commit = crate::Commit::default();
    commit.appends.push(EventDraft::named("keyed").key("a").for_log(&states)?);
    commit.appends.push(EventDraft::named("keyless").for_log(&states)?);
    let refusal = scene.commit(commit).await;
    assert!(matches!(&refusal, Err(CommitError::KeyRequired { log }) if *log == states), "{refusal:?}");
    assert!(
        scene.offsets(&states).await?.is_empty(),
        "the event with a key was stored although the commit was refused"
    );
    Ok(())
}

pub async fn compaction_keeps_the_latest_event_of_each_key(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    for key in ["a", "b", "a", "c", "a", "b"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    scene.seal(&states).await?;
    let before = scene.read_all(&states).await?;
    let report = scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    let after = scene.read_all(&states).await?;

    assert_eq!(scene.offsets_of(&states, "a").await?, [4]);
    assert_eq!(scene.offsets_of(&states, "b").await?, [5]);
    assert_eq!(scene.offsets_of(&states, "c").await?, [3]);
    assert_eq!((report.events_before, report.events_after), (before.len() as u64, after.len() as u64));
    assert!(report.bytes_after < report.bytes_before);
    let unchanged = after.iter().all(|record| before.contains(record));
    assert!(unchanged, "compaction changed an event that it keeps");
    assert_eq!(latest(&scene, &states, &["a", "b", "c"]).await?, [Some(4), Some(5), Some(3)]);

    let scene = scene.reopen().await?;
    assert_eq!(scene.read_all(&states).await?, after);
    assert_eq!(latest(&scene, &states, &["a", "b", "c"]).await?, [Some(4), Some(5), Some(3)]);
    Ok(())
}

pub async fn compaction_leaves_the_newest_events_alone(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    scene.seal(&states).await?;
    let first = scene.append(&states, EventDraft::unnamed().key("a")).await?.offset;
    scene.append(&states, EventDraft::unnamed().key("a")).await?;
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    assert_eq!(scene.offsets_of(&states, "a").await?, [first, first + 1]);
    Ok(())
}

pub async fn compacting_again_changes_nothing(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    for key in ["a", "a", "b"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    scene.seal(&states).await?;
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    let once = scene.offsets(&states).await?;
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    assert_eq!(scene.offsets(&states).await?, once);
    Ok(())
}

pub async fn a_tombstone_stays_for_its_grace_from_when_it_was_first_cleaned(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    scene.append(&states, EventDraft::unnamed().key("a")).await?;
    scene.append(&states, EventDraft::unnamed().key("a").tombstone()).await?;
    scene.seal(&states).await?;
    scene.clock().advance(10 * GRACE);
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    assert_eq!(scene.offsets_of(&states, "a").await?, [1], "its grace begins with this cleaning, not before");

    let scene = scene.reopen().await?;
    scene.clock().advance(GRACE - MINUTE);
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    assert_eq!(scene.offsets_of(&states, "a").await?, [1]);
    scene.clock().advance(2 * MINUTE);
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    assert!(scene.offsets_of(&states, "a").await?.is_empty());
    assert_eq!(latest(&scene, &states, &["a"]).await?, [None]);
    Ok(())
}

pub async fn reads_skip_what_compaction_removed(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    for key in ["a", "a", "a", "b", "a"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    scene.seal(&states).await?;
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    let one = crate::ReadLimit { events: 1, bytes: usize::MAX };
    let first = scene.store.read(&states, 1, one).await?;
    assert_eq!(first.records.iter().map(Record::offset).collect::<Vec<_>>(), [3]);
    assert!(first.next == 4, "a read continues after its last event, at {}", first.next);
    let second = scene.store.read(&states, first.next, one).await?;
    assert_eq!(second.records.iter().map(Record::offset).collect::<Vec<_>>(), [4]);
    let end = scene.store.bounds(&states).await?.next;
    assert_eq!(scene.append(&states, EventDraft::unnamed().key("a")).await?.offset, end, "offsets are never reused");
    Ok(())
}

/// The newest offset of each key before an offset.
fn state_before(records: &[Record], before: u64) -> std::collections::BTreeMap<&str, u64> {
    let earlier = records.iter().filter(|record| record.offset() < before);
    earlier.filter_map(|record| Some((record.key()?, record.offset()))).collect()
}

pub async fn compaction_stops_at_its_limit_and_the_state_there_stays_whole(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    for key in ["a", "b", "a", "c", "a", "b", "a", "a"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    scene.seal(&states).await?;
    // The latest event of every key is beyond the limit: what replaces what before it has to be known all the same.
    for key in ["a", "b", "c"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    let before = scene.read_all(&states).await?;
    for limit in [0, 3, 5] {
        let plan = CompactPlan { before: limit, ..CompactPlan::everything(GRACE) };
        scene.store.compact(&states, plan).await?;
        let after = scene.read_all(&states).await?;
        let at_or_beyond = |records: &[Record]| {
            records.iter().map(Record::offset).filter(|offset| *offset >= limit).collect::<Vec<_>>()
        };
        assert_eq!(at_or_beyond(&after), at_or_beyond(&before), "limit {limit}");
        for offset in limit..=limit + 4 {
            assert_eq!(state_before(&after, offset), state_before(&before, offset), "limit {limit}, at {offset}");
        }
    }
    assert_eq!(scene.offsets_of(&states, "a").await?[..3], [4, 6, 7], "nothing was removed before the limit");
    Ok(())
}

/// Remembers that it was asked.
struct Asked {
    may: bool,
    times: std::sync::atomic::AtomicU32,
}

#[async_trait::async_trait]
impl crate::Announce for Asked {
    async fn may_remove(&self) -> bool {
        self.times.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.may
    }
}

fn announcing(asked: &Asked) -> CompactPlan<'_> {
    CompactPlan { announce: Some(asked), ..CompactPlan::everything(GRACE) }
}

pub async fn compaction_tells_before_it_removes_and_takes_no_for_an_answer(harness: &dyn Harness) -> CheckResult {
    let (scene, states) = compacted(harness, "states").await?;
    for key in ["a", "b", "a", "b"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    scene.seal(&states).await?;
    let before = scene.offsets(&states).await?;
    let mut asked = Asked { may: false, times: Default::default() };
    let times = |asked: &Asked| asked.times.load(std::sync::atomic::Ordering::Relaxed);
    let nothing = CompactPlan { before: 2, announce: Some(&asked), ..CompactPlan::everything(GRACE) };
    scene.store.compact(&states, nothing).await?;
    assert_eq!(times(&asked), 0, "it was told of a removal, and nothing is removed");
    scene.store.compact(&states, announcing(&asked)).await?;
    assert_eq!((times(&asked), scene.offsets(&states).await?), (1, before));
    asked.may = true;
    scene.store.compact(&states, announcing(&asked)).await?;
    assert_eq!((times(&asked), scene.offsets_of(&states, "a").await?), (2, vec![2]));
    Ok(())
}

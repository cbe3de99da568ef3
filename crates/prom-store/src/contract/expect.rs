//! Expectations: an append that is stored only if its log or its key is as its publisher says.

use std::time::Duration;

use prom_types::Expectation::{self, KeyOffset, Offset};

use super::Harness;
use super::scene::{CheckResult, EventDraft, MINUTE, StoreScene, Unexpected, WAKE_DEADLINE, log, partition, unnamed};
use crate::{Commit, CommitError, Committed, CompactPlan, Dedupe, LogName, LogOptions};

const VERSIONS: LogOptions = LogOptions { compacted: false, versions: true };
const NOTHING: LogOptions = LogOptions { compacted: false, versions: false };
const GRACE: Duration = Duration::from_secs(3600);

async fn versioned<'a>(harness: &'a dyn Harness) -> Result<(StoreScene<'a>, LogName), Unexpected> {
    let scene = StoreScene::open(harness).await?;
    let accounts = log("accounts")?;
    scene.set(&accounts, VERSIONS).await?;
    Ok((scene, accounts))
}

/// One append that expects something.
async fn expecting(
    scene: &StoreScene<'_>,
    log: &LogName,
    draft: EventDraft,
    expected: Expectation,
) -> Result<Result<Committed, CommitError>, Unexpected> {
    let mut commit = Commit::default();
    commit.appends.push(draft.expect(expected).for_log(log)?);
    Ok(scene.commit(commit).await)
}

/// What is so instead; `None` where the append was stored.
async fn unmet(
    scene: &StoreScene<'_>,
    log: &LogName,
    key: &str,
    expected: Expectation,
) -> Result<Option<Expectation>, Unexpected> {
    match expecting(scene, log, EventDraft::unnamed().key(key), expected).await? {
        Ok(_) => Ok(None),
        Err(CommitError::Unmet { actual, .. }) => Ok(Some(actual)),
        Err(other) => Err(other.into()),
    }
}

/// The same, where the newest offsets may have to be gathered first.
async fn unmet_once_known(
    scene: &StoreScene<'_>,
    log: &LogName,
    key: &str,
    expected: Expectation,
) -> Result<Option<Expectation>, Unexpected> {
    let known = async {
        loop {
            match expecting(scene, log, EventDraft::unnamed().key(key), expected).await? {
                Ok(_) => return Ok(None),
                Err(CommitError::Unmet { actual, .. }) => return Ok(Some(actual)),
                Err(CommitError::VersionsUnknown { .. }) => tokio::task::yield_now().await,
                Err(other) => return Err(other.into()),
            }
        }
    };
    tokio::time::timeout(WAKE_DEADLINE, known).await.unwrap_or_else(|_| Err("the offsets were never known".into()))
}

pub async fn an_append_at_the_expected_offset_is_stored_and_another_is_refused(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    assert_eq!(unmet(&scene, &orders, "k", Offset(0)).await?, None);
    assert_eq!(unmet(&scene, &orders, "k", Offset(0)).await?, Some(Offset(1)));
    assert_eq!(unmet(&scene, &orders, "k", Offset(7)).await?, Some(Offset(1)));
    assert_eq!(unmet(&scene, &orders, "k", Offset(1)).await?, None);
    let scene = scene.reopen().await?;
    assert_eq!(unmet(&scene, &orders, "k", Offset(1)).await?, Some(Offset(2)));
    assert_eq!(scene.offsets(&orders).await?, [0, 1], "what is refused leaves nothing, not even a hole");
    Ok(())
}

pub async fn an_append_is_stored_only_behind_the_expected_event_of_its_key(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(Some(0))).await?, Some(KeyOffset(None)));
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(None)).await?, None);
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(None)).await?, Some(KeyOffset(Some(0))));
    scene.append(&accounts, EventDraft::unnamed().key("b")).await?;
    scene.append(&accounts, EventDraft::unnamed()).await?;
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(Some(0))).await?, None, "other keys change nothing");
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(Some(0))).await?, Some(KeyOffset(Some(3))));
    let scene = scene.reopen().await?;
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(Some(2))).await?, Some(KeyOffset(Some(3))));
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(Some(3))).await?, None);
    assert_eq!(unmet(&scene, &accounts, "b", KeyOffset(Some(1))).await?, None);
    Ok(())
}

pub async fn a_key_whose_newest_event_is_a_tombstone_has_no_live_event(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    scene.append(&accounts, EventDraft::unnamed().key("a")).await?;
    scene.append(&accounts, EventDraft::unnamed().key("a").tombstone()).await?;
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(Some(0))).await?, Some(KeyOffset(None)));
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(None)).await?, None);
    scene.append(&accounts, EventDraft::unnamed().key("a").tombstone()).await?;
    let scene = scene.reopen().await?;
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(Some(3))).await?, None, "the newest event may be a tombstone");
    Ok(())
}

pub async fn of_appends_that_expect_the_same_one_is_stored(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    let mut waiting = Vec::new();
    for _ in 0..50 {
        let mut commit = Commit::default();
        commit.appends.push(EventDraft::unnamed().key("a").expect(KeyOffset(None)).for_log(&accounts)?);
        waiting.push(scene.store.commit(commit));
    }
    let (mut stored, mut refused) = (0, 0);
    for pending in waiting {
        match pending.await {
            Ok(_) => stored += 1,
            Err(CommitError::Unmet { actual: KeyOffset(Some(0)), .. }) => refused += 1,
            Err(other) => return Err(other.into()),
        }
    }
    assert_eq!((stored, refused), (1, 49));
    assert_eq!(scene.offsets(&accounts).await?, [0]);
    Ok(())
}

pub async fn every_expectation_of_a_batch_is_held_against_the_state_before_it(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    scene.append(&accounts, EventDraft::unnamed().key("a")).await?;
    let batch = |expected: [Expectation; 2]| -> Result<Commit, Unexpected> {
        let mut commit = Commit::default();
        for expected in expected {
            commit.appends.push(EventDraft::unnamed().key("a").expect(expected).for_log(&accounts)?);
        }
        Ok(commit)
    };
    let in_sequence = scene.commit(batch([KeyOffset(Some(0)), KeyOffset(Some(1))])?).await;
    let unmet = CommitError::Unmet {
        log: accounts.clone(),
        index: 1,
        expected: KeyOffset(Some(1)),
        actual: KeyOffset(Some(0)),
    };
    assert_eq!(in_sequence, Err(unmet), "the first of the batch is not there yet");
    assert_eq!(scene.offsets(&accounts).await?, [0], "one that is not met refuses the whole batch");
    scene.commit(batch([KeyOffset(Some(0)), Offset(1)])?).await?;
    assert_eq!(scene.offsets(&accounts).await?, [0, 1, 2]);
    Ok(())
}

pub async fn a_batch_over_several_logs_is_refused_for_one_of_them(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    let others = [partition("accounts", 1)?, log("orders")?];
    let batch = |expected| -> Result<Commit, Unexpected> {
        let mut commit = Commit::default();
        commit.appends.push(EventDraft::unnamed().key("a").expect(KeyOffset(None)).for_log(&accounts)?);
        commit.appends.push(EventDraft::unnamed().for_log(&others[0])?);
        commit.appends.push(EventDraft::unnamed().expect(Offset(expected)).for_log(&others[1])?);
        Ok(commit)
    };
    let refused = scene.commit(batch(1)?).await;
    assert!(matches!(&refused, Err(CommitError::Unmet { index: 2, actual: Offset(0), .. })), "{refused:?}");
    for log in others.iter().chain([&accounts]) {
        assert!(scene.offsets(log).await?.is_empty(), "{log}");
    }
    scene.commit(batch(0)?).await?;
    let again = scene.commit(batch(1)?).await;
    assert!(matches!(&again, Err(CommitError::Unmet { index: 0, .. })), "{again:?}");
    Ok(())
}

pub async fn a_repeated_id_is_answered_before_its_expectation_is_looked_at(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    for dedupe in [Dedupe::Window, Dedupe::Exact] {
        let name = format!("{dedupe:?}");
        let draft = || EventDraft::named(&name).key(&name).dedupe(dedupe);
        let first = expecting(&scene, &accounts, draft(), KeyOffset(None)).await??.stored[0];
        let again = expecting(&scene, &accounts, draft(), KeyOffset(None)).await??.stored[0];
        assert_eq!((again.offset, again.duplicate), (first.offset, true));
        let mut twice = Commit::default();
        let fresh = format!("{name} twice");
        for _ in 0..2 {
            let draft = EventDraft::named(&fresh).key(&name).dedupe(dedupe).expect(KeyOffset(Some(first.offset)));
            twice.appends.push(draft.for_log(&accounts)?);
        }
        let stored = scene.commit(twice).await?.stored;
        assert!(!stored[0].duplicate && stored[1].duplicate, "{stored:?}");
    }
    Ok(())
}

pub async fn retention_does_not_make_a_key_look_unwritten(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    scene.append(&accounts, EventDraft::unnamed().key("a")).await?;
    scene.append(&accounts, EventDraft::unnamed().key("b").tombstone()).await?;
    scene.append_all(&accounts, unnamed(3)).await?;
    scene.store.trim(&accounts, 4).await?;
    let scene = scene.reopen().await?;
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(None)).await?, Some(KeyOffset(Some(0))));
    assert_eq!(unmet(&scene, &accounts, "b", KeyOffset(None)).await?, None, "it was deleted");
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(Some(0))).await?, None);
    let latest = scene.store.latest_by_key(&accounts, &["a", "b", "c"]).await?;
    let latest: Vec<_> = latest.iter().map(|record| record.as_ref().map(crate::Record::offset)).collect();
    assert_eq!(latest, [Some(6), Some(5), None]);
    Ok(())
}

pub async fn compaction_does_not_change_what_a_key_is_expected_to_be(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let states = log("states")?;
    scene.turn_compaction_on(&states).await?;
    for key in ["a", "a", "b"] {
        scene.append(&states, EventDraft::unnamed().key(key)).await?;
    }
    scene.append(&states, EventDraft::unnamed().key("b").tombstone()).await?;
    scene.seal(&states).await?;
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    scene.clock().advance(GRACE + MINUTE);
    scene.store.compact(&states, CompactPlan::everything(GRACE)).await?;
    assert!(scene.offsets_of(&states, "b").await?.is_empty(), "the tombstone has gone");
    assert_eq!(unmet(&scene, &states, "a", KeyOffset(Some(0))).await?, Some(KeyOffset(Some(1))));
    assert_eq!(unmet(&scene, &states, "b", KeyOffset(Some(3))).await?, Some(KeyOffset(None)));
    assert_eq!(unmet(&scene, &states, "b", KeyOffset(None)).await?, None);
    assert_eq!(unmet(&scene, &states, "a", KeyOffset(Some(1))).await?, None);
    Ok(())
}

pub async fn versions_turned_on_later_know_what_is_there(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let accounts = log("accounts")?;
    for key in ["a", "b", "a"] {
        scene.append(&accounts, EventDraft::unnamed().key(key)).await?;
    }
    let refused = expecting(&scene, &accounts, EventDraft::unnamed().key("a"), KeyOffset(None)).await?;
    assert!(matches!(refused, Err(CommitError::NoVersions { .. })), "{refused:?}");
    scene.set(&accounts, VERSIONS).await?;
    assert_eq!(unmet_once_known(&scene, &accounts, "a", KeyOffset(None)).await?, Some(KeyOffset(Some(2))));
    assert_eq!(unmet(&scene, &accounts, "c", KeyOffset(None)).await?, None);
    let scene = scene.reopen().await?;
    assert_eq!(unmet_once_known(&scene, &accounts, "b", KeyOffset(Some(0))).await?, Some(KeyOffset(Some(1))));
    Ok(())
}

pub async fn what_was_known_before_versions_were_off_for_a_while_is_not_believed(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    scene.append(&accounts, EventDraft::unnamed().key("a")).await?;
    scene.set(&accounts, NOTHING).await?;
    scene.append(&accounts, EventDraft::unnamed().key("a")).await?;
    scene.append(&accounts, EventDraft::unnamed().key("b")).await?;
    scene.store.trim(&accounts, 2).await?;
    let scene = scene.reopen().await?;
    scene.set(&accounts, VERSIONS).await?;
    let actual = unmet_once_known(&scene, &accounts, "a", KeyOffset(Some(0))).await?;
    assert_eq!(actual, Some(KeyOffset(None)), "what retention took before is not known, and not told wrongly");
    assert_eq!(unmet(&scene, &accounts, "b", KeyOffset(Some(2))).await?, None);
    Ok(())
}

pub async fn a_log_that_begins_anew_knows_no_key(harness: &dyn Harness) -> CheckResult {
    let (scene, accounts) = versioned(harness).await?;
    scene.append(&accounts, EventDraft::unnamed().key("a")).await?;
    scene.commit(Commit { ends: vec![accounts.clone()], ..Commit::default() }).await?;
    scene.set(&accounts, VERSIONS).await?;
    assert_eq!(unmet_once_known(&scene, &accounts, "a", KeyOffset(Some(0))).await?, Some(KeyOffset(None)));
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(None)).await?, None);
    let scene = scene.reopen().await?;
    let newest = scene.store.bounds(&accounts).await?.next - 1;
    assert_eq!(unmet(&scene, &accounts, "a", KeyOffset(None)).await?, Some(KeyOffset(Some(newest))));
    Ok(())
}

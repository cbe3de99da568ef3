//! Leases: one holder at a time, expiry, fences that grow.

use std::time::Duration;

use super::Harness;
use super::scene::{CheckResult, StoreScene};

const TTL: Duration = Duration::from_secs(30);

pub async fn a_lease_has_one_holder_until_it_ends(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let first = scene.store.acquire_lease("retention", "hub-1", TTL).await?.ok_or("it is free")?;
    assert_eq!((first.name.as_str(), first.holder.as_str()), ("retention", "hub-1"));
    assert_eq!(scene.store.acquire_lease("retention", "hub-2", TTL).await?, None);
    let other = scene.store.acquire_lease("compaction", "hub-2", TTL).await?;
    assert!(other.is_some(), "leases of other names are free");
    scene.clock().advance(TTL + Duration::from_secs(1));
    let second = scene.store.acquire_lease("retention", "hub-2", TTL).await?.ok_or("it ended")?;
    assert!(second.fence > first.fence);
    assert_eq!(scene.store.acquire_lease("retention", "hub-1", TTL).await?, None);
    Ok(())
}

pub async fn a_holder_extends_its_lease_under_the_same_fence(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let first = scene.store.acquire_lease("retention", "hub-1", TTL).await?.ok_or("it is free")?;
    for _ in 0..5 {
        scene.clock().advance(TTL / 2);
        let extended = scene.store.acquire_lease("retention", "hub-1", TTL).await?;
        assert_eq!(extended.as_ref(), Some(&first));
        assert_eq!(scene.store.acquire_lease("retention", "hub-2", TTL).await?, None);
    }
    Ok(())
}

pub async fn a_released_lease_is_free_at_once(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let first = scene.store.acquire_lease("retention", "hub-1", TTL).await?.ok_or("it is free")?;
    scene.store.release_lease(&first).await?;
    let second = scene.store.acquire_lease("retention", "hub-2", TTL).await?.ok_or("it was released")?;
    assert!(second.fence > first.fence);
    scene.store.release_lease(&first).await?;
    assert_eq!(scene.store.acquire_lease("retention", "hub-3", TTL).await?, None, "only its holder releases it");
    Ok(())
}

pub async fn releasing_an_earlier_lease_leaves_the_later_one(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let acquire = async |holder| scene.store.acquire_lease("retention", holder, TTL).await;
    let first = acquire("hub-1").await?.ok_or("it is free")?;
    scene.store.release_lease(&first).await?;
    let second = acquire("hub-2").await?.ok_or("it was released")?;
    scene.store.release_lease(&second).await?;
    let third = acquire("hub-1").await?.ok_or("it was released")?;
    assert!(third.fence > second.fence);
    scene.store.release_lease(&first).await?;
    assert_eq!(acquire("hub-2").await?, None, "hub-1 holds it under a newer fence");
    Ok(())
}

pub async fn a_lease_can_be_looked_up(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let held = async || scene.store.held_lease("retention").await;
    assert_eq!(held().await?, None, "it was never taken");
    let first = scene.store.acquire_lease("retention", "hub-1", TTL).await?.ok_or("it is free")?;
    assert_eq!(held().await?.as_ref(), Some(&first));
    scene.clock().advance(TTL + Duration::from_secs(1));
    assert_eq!(held().await?, None, "it ended");
    let second = scene.store.acquire_lease("retention", "hub-2", TTL).await?.ok_or("it ended")?;
    assert_eq!(held().await?.as_ref(), Some(&second));
    scene.store.release_lease(&second).await?;
    assert_eq!(held().await?, None, "it was released");
    Ok(())
}

pub async fn turning_the_wall_clock_back_keeps_no_lease_alive(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    scene.store.acquire_lease("retention", "hub-1", TTL).await?.ok_or("it is free")?;
    scene.clock().advance(TTL + Duration::from_secs(1));
    scene.clock().turn_back(2 * TTL);
    assert!(scene.store.acquire_lease("retention", "hub-2", TTL).await?.is_some());
    Ok(())
}

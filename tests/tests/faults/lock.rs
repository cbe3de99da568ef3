//! Two stores on one directory.

use prom_store::{Store, StoreError};

use super::scene::{FaultScene, publish};

#[tokio::test]
async fn a_second_opener_is_refused_by_name_and_the_first_continues() {
    let scene = FaultScene::new();
    let store = scene.open().await;
    let refused = scene.try_open().await.err();
    let Some(StoreError::InUse { path, holder }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(path, scene.dir.path());
    assert!(holder.contains(&std::process::id().to_string()), "{holder}");
    publish(&store, 1).await.unwrap();
    store.close().await.unwrap();
    scene.open().await;
}

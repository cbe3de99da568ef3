//! The change feeds of the configuration: started with the hub's background work, and ended with it.

use prom_engine::Bus;
use prom_flows::feed::{self, FeedOptions, FeedUnfit};
use prom_jobs::{FlowBoard, Keeper};

use crate::config::{Config, DeclaredFeed, StoreKind};
use crate::exit::{CommandResult, Failure};

/// The database of an address that names none.
const USUAL_DATABASE: &str = "prom";

/// What can be told without a database.
pub fn check(config: &Config) -> CommandResult {
    config.feeds.iter().try_for_each(|declared| options(config, declared).map(drop))
}

/// Starts them and shows them. A database that does not answer is told by the board, and does not stop the hub.
pub fn start(config: &Config, bus: &Bus, keeper: &Keeper, board: &FlowBoard) -> CommandResult {
    for declared in &config.feeds {
        board.add(feed::start(keeper, bus, options(config, declared)?).map_err(|unfit| explain(&unfit))?);
    }
    Ok(())
}

fn options(config: &Config, declared: &DeclaredFeed) -> Result<FeedOptions, Failure> {
    let name = &declared.options.name;
    let url = declared.url.as_ref().or(config.mongo.url.as_ref()).cloned().ok_or_else(|| {
        Failure::usage(format!("[[changefeed]] {name} has no url")).fix("set `url` there, or in [mongo]")
    })?;
    if follows_itself(config, declared, &url) {
        let what = format!("[[changefeed]] {name} would follow what the hub itself stores, and publish without end");
        return Err(Failure::usage(what).fix("name a collection of yours, or another database"));
    }
    let options = FeedOptions { url, ..declared.options.clone() };
    feed::check(&options).map_err(|unfit| explain(&unfit))?;
    Ok(options)
}

/// Whether its events would be among the changes.
fn follows_itself(config: &Config, declared: &DeclaredFeed, url: &str) -> bool {
    let is_same_server = config.store.kind == StoreKind::Mongo && config.mongo.url.as_deref() == Some(url);
    let source = &declared.options.source;
    let batches = format!("{}event_batches", config.mongo.prefix);
    is_same_server
        && source.database == database_of(url)
        && source.collection.as_ref().is_none_or(|collection| *collection == batches)
}

fn database_of(url: &str) -> &str {
    let behind_hosts = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    match behind_hosts.split('?').next() {
        None | Some("") => USUAL_DATABASE,
        Some(database) => database,
    }
}

fn explain(unfit: &FeedUnfit) -> Failure {
    Failure::usage(format!("[[changefeed]]: {unfit}"))
}

#[cfg(test)]
mod tests {
    use prom_flows::feed::{FeedRoute, FeedSource};

    use super::*;

    #[test]
    fn a_feed_of_what_the_hub_stores_is_refused() {
        let url = "mongodb://u:p@a:1,b:2/shop?replicaSet=rs0";
        let mut config = Config::default();
        config.store.kind = StoreKind::Mongo;
        config.mongo.url = Some(url.to_owned());
        let route = FeedRoute::parse("all.{collection}").expect("a route");
        for (source, is_refused) in [
            (FeedSource::database("shop"), true),
            (FeedSource::collection("shop", "event_batches"), true),
            (FeedSource::collection("shop", "orders"), false),
            (FeedSource::database("other"), false),
        ] {
            let declared = DeclaredFeed { url: None, options: FeedOptions::new("f", "", source, route.clone()) };
            assert_eq!(options(&config, &declared).is_err(), is_refused, "{declared:?}");
        }
        assert_eq!(database_of("mongodb://h/?replicaSet=rs0"), "prom");
    }
}

//! Lists of groups: what only the hub that serves a group knows is asked there, once for all the groups of a hub.

use bytes::Bytes;
use futures::future::join_all;
use hashbrown::HashSet;
use http::Uri;
use http_body_util::Full;
use serde::de::DeserializeOwned;

use super::api::Api;
use super::caller::Caller;
use super::limits::LIST_TIMEOUT;

/// The lists of other hubs.
pub(super) struct Gathered<T> {
    /// By the address of the hub.
    pub lists: Vec<(String, T)>,
    /// Hubs that did not answer in time.
    pub silent: Vec<String>,
}

/// Asks the hubs at these addresses what this one was asked. Another hub gets what is known here alone.
pub(super) async fn from_owners<T: DeserializeOwned>(
    api: &Api,
    caller: &Caller,
    asked: &Uri,
    served_at: impl Iterator<Item = &str>,
) -> Gathered<T> {
    let mut gathered = Gathered { lists: Vec::new(), silent: Vec::new() };
    let Some(peers) = api.hub.peers.as_ref().filter(|_| !caller.is_hub()) else {
        return gathered;
    };
    let others: HashSet<&str> = served_at.filter(|url| !peers.is_this_hub(url)).collect();
    let path = asked.path_and_query().map_or("/", |path| path.as_str());
    let answers = join_all(others.into_iter().map(async |url| {
        let request = http::Request::get(path).body(Full::new(Bytes::new())).map_err(|error| error.to_string());
        let answer = match request {
            Ok(request) => tokio::time::timeout(LIST_TIMEOUT, peers.ask(url, request)).await,
            Err(error) => Ok(Err(error)),
        };
        let list = match answer {
            Ok(Ok(answer)) => serde_json::from_slice::<T>(answer.body()).map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(format!("no answer within {} s", LIST_TIMEOUT.as_secs())),
        };
        (url, list)
    }));
    for (url, list) in answers.await {
        match list {
            Ok(list) => gathered.lists.push((url.to_owned(), list)),
            Err(error) => {
                tracing::warn!(hub = url, %error, "a hub cannot be asked about the groups that it serves");
                gathered.silent.push(url.to_owned());
            }
        }
    }
    gathered.silent.sort_unstable();
    gathered
}

//! When keys are fetched, and who waits for the fetch.
//!
//! Promises: fetches begin at least the floor apart, whatever tokens name. The answer "not published" is given only
//! after a fetch that the caller waited for. Within the floor the answer is "cannot tell yet".

use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::fetch::KeyEndpoint;
use super::key_set::{KeyLookup, KeySet};
use crate::error::excerpt;
use crate::token::Algorithm;
use prom_types::Clock;

use crate::{AuthError, JwksOptions};

/// The keys behind one address.
pub struct Jwks(Arc<Shared>);

struct Shared {
    endpoint: KeyEndpoint,
    options: JwksOptions,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Counts finished fetches, successful or not.
    ended: watch::Sender<u64>,
}

/// Times are monotonic.
#[derive(Default)]
struct State {
    keys: Option<Arc<KeySet>>,
    fetched_at: Duration,
    /// When the last fetch began.
    tried_at: Option<Duration>,
    under_way: bool,
    /// Why the last fetch failed, if it did.
    failure: Option<String>,
}

/// What the known keys say about a token.
enum Answer {
    Now(Result<Vec<DecodingKey>, AuthError>),
    /// Ask again when the current fetch has ended.
    After(watch::Receiver<u64>),
}

impl Jwks {
    pub fn new(url: &str, options: JwksOptions, clock: Arc<dyn Clock>) -> Result<Self, AuthError> {
        if options.min_fetch_interval.is_zero() || options.timeout.is_zero() {
            let reason = "the interval between fetches of signing keys and their timeout must be more than zero";
            return Err(AuthError::misconfigured(reason));
        }
        let endpoint = KeyEndpoint::new(url, options.timeout)?;
        let (ended, _) = watch::channel(0);
        Ok(Self(Arc::new(Shared { endpoint, options, clock, state: Mutex::default(), ended })))
    }

    /// The keys that may verify a token of this algorithm and key id.
    pub async fn keys(&self, algorithm: Algorithm, id: Option<&str>) -> Result<Vec<DecodingKey>, AuthError> {
        let mut ended = match self.0.ask(algorithm, id) {
            Answer::Now(answer) => return answer,
            Answer::After(ended) => ended,
        };
        // An error would mean that the sender is gone, so the fetch has ended.
        let _ = ended.changed().await;
        self.0.state.lock().look_up(algorithm, id)
    }
}

impl Shared {
    fn ask(self: &Arc<Self>, algorithm: Algorithm, id: Option<&str>) -> Answer {
        let now = self.clock.monotonic();
        let mut state = self.state.lock();
        let since_last_try = state.tried_at.map(|tried_at| now.saturating_sub(tried_at));
        let may_fetch = !state.under_way && since_last_try.is_none_or(|since| since >= self.options.min_fetch_interval);
        let is_missing = state.is_missing(algorithm, id);
        let is_old = now.saturating_sub(state.fetched_at) >= self.options.refresh_after;
        if may_fetch && (is_missing || is_old) {
            state.tried_at = Some(now);
            state.under_way = true;
            tokio::spawn(fetch(Fetch(self.clone())));
        }
        // An idle hub does not trust old keys one more time: they may have been withdrawn meanwhile.
        let long_unasked = since_last_try.is_some_and(|since| since >= self.options.refresh_after * 2);
        if state.under_way && (is_missing || long_unasked) {
            return Answer::After(self.ended.subscribe());
        }
        Answer::Now(match (is_missing, &state.failure) {
            (true, None) => {
                let wait = self.options.min_fetch_interval.saturating_sub(since_last_try.unwrap_or_default());
                Err(too_early(algorithm, id, wait))
            }
            _ => state.look_up(algorithm, id),
        })
    }
}

impl State {
    fn find(&self, algorithm: Algorithm, id: Option<&str>) -> KeyLookup {
        self.keys.as_ref().map_or(KeyLookup::Nothing, |keys| keys.find(algorithm, id))
    }

    /// A fetch could help. It does not help against too many keys.
    fn is_missing(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        matches!(self.find(algorithm, id), KeyLookup::Nothing)
    }

    fn look_up(&self, algorithm: Algorithm, id: Option<&str>) -> Result<Vec<DecodingKey>, AuthError> {
        match (self.find(algorithm, id), &self.failure, id) {
            (KeyLookup::Keys(keys), ..) => Ok(keys),
            (KeyLookup::Ambiguous, ..) => {
                Err(AuthError::invalid(format!("it has no `kid`, and several {algorithm} keys are published")))
            }
            // The key may be a new one that could not be fetched.
            (KeyLookup::Nothing, Some(failure), _) => Err(AuthError::Unavailable { reason: failure.clone() }),
            (KeyLookup::Nothing, None, id) => {
                Err(AuthError::invalid(format!("no {} is published", named(algorithm, id))))
            }
        }
    }
}

/// The key may be newer than the last fetch, and it is too early for another one.
fn too_early(algorithm: Algorithm, id: Option<&str>, wait: Duration) -> AuthError {
    let (key, seconds) = (named(algorithm, id), wait.as_millis().div_ceil(1000).max(1));
    let reason = format!(
        "no {key} was published when the keys were fetched a moment ago; they are fetched again in {seconds} s"
    );
    AuthError::Unavailable { reason }
}

fn named(algorithm: Algorithm, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("{algorithm} key with the `kid` {:?}", excerpt(id)),
        None => format!("{algorithm} key"),
    }
}

/// The current fetch. Dropping it, for whatever reason, ends it, so that no caller waits for a dead one.
struct Fetch(Arc<Shared>);

async fn fetch(under_way: Fetch) {
    let shared = &under_way.0;
    let result = shared.endpoint.fetch().await;
    let now = shared.clock.monotonic();
    let mut state = shared.state.lock();
    match result {
        Ok(keys) => {
            tracing::debug!(keys = keys.len(), "signing keys fetched");
            state.keys = Some(Arc::new(keys));
            state.fetched_at = now;
            state.failure = None;
        }
        Err(reason) => {
            let kept = state.keys.as_ref().map_or(0, |keys| keys.len());
            tracing::warn!(reason, kept, "cannot fetch signing keys");
            state.failure = Some(reason);
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.under_way = false;
        if state.keys.is_none() && state.failure.is_none() {
            state.failure = Some("the fetch of the signing keys was cancelled".to_owned());
        }
        drop(state);
        self.0.ended.send_modify(|count| *count += 1);
    }
}

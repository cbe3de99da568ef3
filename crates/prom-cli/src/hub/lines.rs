//! An answer that comes in lines of JSON while the hub works.

use std::time::Duration;

use reqwest::Response;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::{Answer, HubClient};
use crate::exit::Failure;

/// A hub that works tells about it more often.
const SILENCE: Duration = Duration::from_secs(120);

pub struct JsonLines {
    hub: HubClient,
    response: Response,
    /// What came and is not a whole line yet.
    waiting: Vec<u8>,
}

impl JsonLines {
    pub fn new(hub: HubClient, response: Response) -> Self {
        Self { hub, response, waiting: Vec::new() }
    }

    /// The next line; `None` at the end.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Failure> {
        loop {
            if let Some(end) = self.waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.waiting.drain(..=end).collect();
                return Answer { text: String::from_utf8_lossy(&line).into_owned() }.parse().map(Some);
            }
            let silent = || Failure::unreachable(format!("the hub said nothing for {} s", SILENCE.as_secs()));
            let chunk = timeout(SILENCE, self.response.chunk()).await.map_err(|_| silent())?;
            match chunk.map_err(|error| self.hub.broken(&error))? {
                Some(chunk) => self.waiting.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}

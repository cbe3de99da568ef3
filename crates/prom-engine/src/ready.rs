//! Whether the bus takes events now, and how durable they become.

use std::time::Duration;

use prom_store::LogInfo;
use prom_types::Durability;

use crate::{Bus, Error};

impl Bus {
    /// Takes events: it is open, its store has no trouble and answers an empty commit in time.
    pub async fn ready(&self, within: Duration) -> Result<(), Error> {
        let refuse = |reason: String| Err(Error::NotReady { reason });
        if !self.is_open() {
            return refuse("the hub is shutting down".to_owned());
        }
        if let Some(trouble) = self.store().trouble() {
            return refuse(trouble);
        }
        match tokio::time::timeout(within, self.unit_of_work().send()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => refuse(error.to_string()),
            Err(_) => refuse(format!("the store did not answer within {} s", within.as_secs())),
        }
    }

    /// How durable an event is that has a receipt.
    pub fn durability(&self) -> Durability {
        self.store().durability()
    }

    /// Every log with its bounds and its size, by name. Reads no events.
    pub async fn logs(&self) -> Result<Vec<LogInfo>, Error> {
        Ok(self.store().logs().await?)
    }
}

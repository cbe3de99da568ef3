//! The watchers of each log. Costs memory only while there are any.

use hashbrown::HashMap;
use tokio::sync::watch;

use crate::{Bounds, HeadWatch, LogName};

#[derive(Default)]
pub(super) struct Heads(HashMap<LogName, watch::Sender<Bounds>>);

impl Heads {
    pub fn watch(&mut self, log: &LogName, bounds: Bounds) -> HeadWatch {
        let sender = self.0.entry(log.clone()).or_insert_with(|| watch::Sender::new(bounds));
        HeadWatch::new(sender.subscribe())
    }

    pub fn tell(&mut self, log: &LogName, bounds: Bounds) {
        let Some(sender) = self.0.get(log) else {
            return;
        };
        if sender.receiver_count() == 0 {
            self.0.remove(log);
            return;
        }
        sender.send_if_modified(|known| std::mem::replace(known, bounds) != bounds);
    }
}

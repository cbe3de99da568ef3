//! The desk of one topic's letters: its fold and its book, used by one at a time.

use prom_engine::Bus;
use prom_types::TopicName;

use super::book::LetterBook;
use super::letter::letters_of;
use crate::{Fold, JobError};

/// Where the letters of one topic are worked on.
pub(crate) struct LetterDesk {
    pub bus: Bus,
    /// Whose letters they are.
    pub topic: TopicName,
    /// Where they lie.
    pub letters: TopicName,
    pub fold: Fold,
    pub book: LetterBook,
    /// Somebody began to change the book and did not store it.
    is_torn: bool,
}

impl LetterDesk {
    pub async fn open(bus: &Bus, topic: TopicName) -> Result<Self, JobError> {
        let letters = letters_of(&topic)?;
        let fold = Fold::open(bus, "letters", letters.clone()).await?;
        Ok(Self { bus: bus.clone(), book: LetterBook::new(topic.clone()), topic, letters, fold, is_torn: false })
    }

    /// Takes in what was written, removed, and marked elsewhere, until now.
    pub async fn catch_up(&mut self) -> Result<(), JobError> {
        if self.is_torn || !self.book.is_current(&self.bus).await? {
            self.book.forget_all();
            self.fold.distrust();
            self.is_torn = false;
        }
        self.fold.catch_up(&mut self.book).await?;
        self.book.read(&self.bus).await
    }

    /// From here until [`LetterDesk::stored`], the book may be ahead of what is stored.
    pub fn begin(&mut self) {
        self.is_torn = true;
    }

    /// The changes of the book are durable.
    pub fn stored(&mut self) {
        self.is_torn = false;
    }
}

//! The bus: from a publish to the floor of a group, over any store.
//!
//! ```text
//!   publish ─▶ admit ─▶ append ─▶ wake ─▶ dispatch ─▶ deliver ─▶ ack ─▶ the floor moves
//! ```
//!
//! [`Bus`] is what an application holds. Promises: nothing is acknowledged before it is durable; what
//! was not acked comes again; nothing polls, the append wakes; memory follows the windows of the
//! subscribers, not the backlog. This crate knows no socket, no driver and no wall clock but the
//! [`prom_store::Clock`] it is given.

#![warn(missing_docs)]

mod bus;
mod caps;
mod error;
pub mod limits;

mod admit;
mod commit;
mod dual_write;
mod import;
mod publish;
mod schema;
mod topic;

mod group;
mod ownership;
mod position;
mod run;
mod subscribe;
mod subscription;
mod tail;

mod ack;
mod dead_letter;
mod deliver;
pub mod dispatch;
mod event;
mod event_text;
mod filter;
mod forget_given;
mod gap;
mod give_back;
mod held_bytes;
mod held_cursors;
mod letter_ref;
mod modack;
mod nack;
mod normalize;
mod outlet;
mod parked;
mod program;
mod set_aside;
mod settled;
mod turns;

mod audit;
mod cursor;
mod document;
mod kick;
mod lag;
mod locate;
mod mask;
mod members;
mod meters;
mod read;
mod read_topic;
mod ready;
mod release;
mod report;
mod search;
mod skip;
mod standing;
mod why;

mod compact;
mod history;
mod maintain;
mod retain;
mod shutdown;
mod supervise;

pub use ack::{ack_all, ack_tickets};
pub use bus::{Bus, BusOptions, NewTopics};
pub use caps::{Cap, Caps};
pub use commit::{CommittingUnit, UnitOfWork};
pub use cursor::{CursorInfo, CursorMove};
pub use dead_letter::PARKED_BEHIND;
pub use deliver::{Delivery, Ticket};
pub use dual_write::DualWrite;
pub use error::{Error, ErrorKind};
pub use event::StoredEvent;
pub use give_back::{DroppedLetter, GivenBack, LetterOutcome};
pub use group::{
    Expiry, GroupChange, GroupInfo, GroupOptions, GroupSubscription, MemberStatus, OptionDifference, PartitionOwner,
    PartitionOwners,
};
pub use held_cursors::{HeldBatch, HeldCursors};
pub use history::{CompactedTo, KnownHistory, TopicHistory};
pub use import::PlacedEvent;
pub use kick::KickedMember;
pub use lag::{Lag, LagCount, PartitionLag};
pub use letter_ref::{LetterPlace, LetterRef};
pub use locate::Located;
pub use mask::{MaskedView, TopicMask, administered_with};
pub use members::GroupMemberInfo;
pub use meters::{DispatcherCounts, GroupMeters, MetersSnapshot, OwnerMeters, TopicMeters};
pub use modack::modack_tickets;
pub use nack::give_back_tickets;
pub use outlet::{Arrivals, AssignmentChange};
pub use ownership::{HubOptions, Owner};
pub use parked::{ParkedAfter, ParkedKeyInfo, ParkedPage};
pub use position::BeyondEnd;
pub use publish::{Publish, Publishing};
pub use read::Page;
pub use read_topic::{TopicOffsets, TopicPage};
pub use release::{LeasesOf, ReleasedLease};
pub use report::METRICS_TOPIC;
pub use retain::Retained;
pub use schema::{
    Deletion, Difference, DifferenceKind, JudgedEvent, Normalized, NotNormalized, Registered, RegistrationVerdict,
    SchemaById, SchemaCandidate, SchemaChoice, SchemaComparison, SchemaReferrer, SchemaTrial, SchemaVersion,
    UPCAST_ERROR, UPCASTED_FROM, VERSION_HEADER,
};
pub use search::{FoundEvents, HeaderMatch, Search, SearchCriteria};
pub use skip::{EventPlace, SkippedEvent};
pub use standing::{EventStanding, StandingState};
pub use subscribe::Subscribe;
pub use subscription::{Item, Subscription, SubscriptionControl};
pub use supervise::{TaskFailures, TaskName, TaskPanicked, TaskTrouble};
pub use tail::{Tail, TailOptions};
pub use topic::{BETWEEN_TOPICS, DeletedTopic, PartitionInfo, TopicInfo, TopicLetters, TopicSettings};
pub use why::{HeldLease, PartitionWhy, Why, WhyAction};

pub use prom_schema::compat::Violation;
pub use prom_schema::{
    Admit, Compat, CompatPolicy, Formats, Reference, Refusal, SchemaDocument, SchemaError, SchemaSettings,
    SettingsChange, TopicSchemas, Undecided, UpcastFn, VersionEntry,
};
pub use prom_transform::{Program, RunError};
pub use prom_types::{Backoff, Compaction, Gap, GapReason, Mode, Order, Position, Retention, SnapshotSettings};

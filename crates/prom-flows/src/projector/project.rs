//! From events to what they come to: each projected on a thread that may be kept busy, then folded so that a document is written
//! once for a batch.

use std::collections::HashMap;

use prom_engine::Bus;
use prom_types::limits::KEY_BYTES;

use super::change::{DocumentVersion, KeyProjection, NewestChange, VersionNumber, VersionRule};
use super::edit::DocumentEdit;
use super::error::ProjectError;
use super::event_view::EventView;
use super::program::Projection;
use super::settings::ProjectorSettings;
use super::target::{EditsByDocument, ProjectedBatch, StateChange};

/// What events came to, in their order.
pub(crate) struct ProjectedEvents {
    pub batch: ProjectedBatch,
    /// By place among the events: why they cannot be projected.
    pub unfit: Vec<(usize, String)>,
    pub without_key: u64,
    pub left_out: u64,
}

enum ProjectedEvent {
    Change(KeyProjection),
    Edits(Vec<DocumentEdit>),
}

pub(crate) async fn project(
    bus: &Bus,
    settings: &ProjectorSettings,
    events: &[EventView],
) -> Result<ProjectedEvents, ProjectError> {
    let projection = settings.projection.clone();
    let each = move |event: EventView| match &projection {
        Projection::Changelog(changelog) | Projection::States(changelog) => {
            changelog.project(&event).map(ProjectedEvent::Change)
        }
        Projection::Transactional(edits) => edits.edits(&event).map(ProjectedEvent::Edits),
    };
    let projected = bus.in_turns(events.to_vec(), each).await?;
    let mut fold = EventFold { settings, unfit: Vec::new(), without_key: 0, left_out: 0 };
    let batch = match &settings.projection {
        Projection::Changelog(_) => ProjectedBatch::Changes(fold.changes(events, projected)),
        Projection::Transactional(_) => ProjectedBatch::Edits(fold.edits(events, projected)),
        Projection::States(_) => ProjectedBatch::States(fold.states(events, projected)),
    };
    let EventFold { unfit, without_key, left_out, .. } = fold;
    Ok(ProjectedEvents { batch, unfit, without_key, left_out })
}

struct EventFold<'s> {
    settings: &'s ProjectorSettings,
    unfit: Vec<(usize, String)>,
    without_key: u64,
    left_out: u64,
}

impl EventFold<'_> {
    /// The newest change of each key, in the order in which the keys came first.
    fn changes(&mut self, events: &[EventView], projected: Vec<Result<ProjectedEvent, String>>) -> Vec<NewestChange> {
        let rule = self.settings.version;
        let mut newest: Vec<NewestChange> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, (event, projected)) in events.iter().zip(projected).enumerate() {
            let (key, version, body) = match projected {
                Ok(ProjectedEvent::Change(KeyProjection::Put { key, version, body })) => (key, version, Some(body)),
                Ok(ProjectedEvent::Change(KeyProjection::Delete { key, version })) => (key, version, None),
                Ok(ProjectedEvent::Change(KeyProjection::WithoutKey)) => {
                    self.without_key += 1;
                    continue;
                }
                Ok(_) => {
                    self.left_out += 1;
                    continue;
                }
                Err(reason) => {
                    self.unfit.push((at, reason));
                    continue;
                }
            };
            let version = match check_key(&key).and_then(|()| version_of(event, version, rule)) {
                Ok(version) => version,
                Err(reason) => {
                    self.unfit.push((at, reason));
                    continue;
                }
            };
            let change = NewestChange { key, version, body };
            // Looked at here, so that a document that is none is the fault of its own event.
            if let Err(reason) = change.document() {
                self.unfit.push((at, reason));
                continue;
            }
            match places.get(&change.key).and_then(|place| newest.get_mut(*place)) {
                Some(known) if change.version.is_newer(known.version, rule) => *known = change,
                Some(_) => self.left_out += 1,
                None => {
                    places.insert(change.key.clone(), newest.len());
                    newest.push(change);
                }
            }
        }
        newest
    }

    /// Every event is one.
    fn states(&mut self, events: &[EventView], projected: Vec<Result<ProjectedEvent, String>>) -> Vec<StateChange> {
        let mut states = Vec::with_capacity(events.len());
        for (at, (event, projected)) in events.iter().zip(projected).enumerate() {
            let (key, state) = match projected {
                Ok(ProjectedEvent::Change(KeyProjection::Put { key, body, .. })) => (key, Some(body)),
                Ok(ProjectedEvent::Change(KeyProjection::Delete { key, .. })) => (key, None),
                Ok(ProjectedEvent::Change(KeyProjection::WithoutKey)) => {
                    self.without_key += 1;
                    continue;
                }
                Ok(_) => {
                    self.left_out += 1;
                    continue;
                }
                Err(reason) => {
                    self.unfit.push((at, reason));
                    continue;
                }
            };
            states.push(StateChange { key, state, cause: event.id(), heard: event.stored_ts() });
        }
        states
    }

    /// All edits of an event count, or none.
    fn edits(&mut self, events: &[EventView], projected: Vec<Result<ProjectedEvent, String>>) -> EditsByDocument {
        let mut folded = EditsByDocument::new();
        for (at, (event, projected)) in events.iter().zip(projected).enumerate() {
            let edits = match projected {
                Ok(ProjectedEvent::Edits(edits)) => edits,
                Ok(ProjectedEvent::Change(_)) => Vec::new(),
                Err(reason) => {
                    self.unfit.push((at, reason));
                    continue;
                }
            };
            if let Some(reason) = edits.iter().find_map(|edit| check_key(&edit.key).err()) {
                self.unfit.push((at, reason));
                continue;
            }
            let stranger =
                edits.iter().find(|edit| self.settings.collections.iter().all(|one| one.name != edit.collection));
            if let Some(DocumentEdit { collection, .. }) = stranger {
                self.unfit.push((at, format!("{collection} is none of the projector's collections")));
                continue;
            }
            if edits.is_empty() {
                self.left_out += 1;
            }
            for DocumentEdit { collection, key, action } in edits {
                let (document, newest) = folded.entry((collection, key)).or_default();
                document.add(action);
                *newest = event.stored_ts().max(*newest);
            }
        }
        folded
    }
}

/// A store finds documents by their keys, and none takes keys of any length.
fn check_key(key: &str) -> Result<(), String> {
    match key.len() {
        0..=KEY_BYTES => Ok(()),
        size => Err(format!("the key of a document is {size} bytes, the limit is {KEY_BYTES}")),
    }
}

fn version_of(event: &EventView, given: Option<VersionNumber>, rule: VersionRule) -> Result<DocumentVersion, String> {
    let ts = event.stored_ts();
    match (rule, given) {
        (VersionRule::Given, Some(v)) => Ok(DocumentVersion { v, ts }),
        (VersionRule::Given, None) => Err("the projection gives no version, and this projector goes by it".to_owned()),
        (VersionRule::ByPlace, _) => {
            let v = VersionNumber::Int(i64::try_from(event.offset()).unwrap_or(i64::MAX));
            Ok(DocumentVersion { v, ts })
        }
    }
}

//! The projectors of the configuration, started on a bus.

use std::sync::Arc;

use prom_engine::{Bus, Program};
use prom_flows::projector::{
    JqChangelog, JqEdits, ProjectedCollection, Projection, Projector, ProjectorSettings, ProjectorTarget, Silence,
    VersionRule,
};
use prom_jobs::{FlowBoard, Keeper};

use crate::config::{Config, DeclaredCollection, DeclaredProjector, DocumentPlace, ProjectorMakes, ProjectorPrograms};
use crate::exit::{CommandResult, Failure};

/// Refuses what would be refused at the start, as far as it can be told without opening anything.
pub fn check(config: &Config) -> CommandResult {
    for declared in &config.projectors {
        if let ProjectorMakes::Documents { place, .. } | ProjectorMakes::Edits { place, .. } = &declared.makes {
            url(config, place).map_err(|reason| refused(declared, &reason))?;
        }
    }
    Ok(())
}

/// Starts all of them. They show themselves on the board, and end with the keeper.
pub async fn start(config: &Config, bus: &Bus, keeper: &Keeper, board: &FlowBoard) -> CommandResult {
    for declared in &config.projectors {
        let started = match settings(config, bus, declared).await {
            Ok(settings) => Projector::start(bus, keeper, board, settings),
            Err(reason) => Err(reason),
        };
        started.map_err(|reason| refused(declared, &reason))?;
    }
    Ok(())
}

fn refused(declared: &DeclaredProjector, reason: &str) -> Failure {
    Failure::usage(format!("[[projector]] {}: {reason}", declared.name))
}

async fn settings(config: &Config, bus: &Bus, declared: &DeclaredProjector) -> Result<ProjectorSettings, String> {
    let DeclaredProjector { name, topic, makes, warm_from } = declared.clone();
    let mut settings = ProjectorSettings {
        name,
        topic,
        projection: Projection::Changelog(Arc::new(JqChangelog::default())),
        version: VersionRule::default(),
        collections: Vec::new(),
        target: ProjectorTarget::Store,
        warm_from,
    };
    match makes {
        ProjectorMakes::Documents { collection, programs, place } => {
            settings.version = if programs.version.is_some() { VersionRule::Given } else { VersionRule::ByPlace };
            settings.projection = Projection::Changelog(Arc::new(compiled(bus, &programs).await?));
            settings.collections = vec![projected(collection)];
            settings.target = target(config, &place)?;
        }
        ProjectorMakes::Edits { collections, program, place } => {
            settings.projection = Projection::Transactional(Arc::new(JqEdits(compile(bus, &program).await?)));
            settings.collections = collections.into_iter().map(projected).collect();
            settings.target = target(config, &place)?;
        }
        ProjectorMakes::Events { into, programs, silence } => {
            settings.projection = Projection::States(Arc::new(compiled(bus, &programs).await?));
            let silence = match silence {
                Some((after, program)) => Some(Silence::by_program(after, compile(bus, &program).await?)),
                None => None,
            };
            settings.target = ProjectorTarget::Topic { into, silence };
        }
    }
    Ok(settings)
}

async fn compiled(bus: &Bus, programs: &ProjectorPrograms) -> Result<JqChangelog, String> {
    Ok(JqChangelog {
        key: compile_some(bus, programs.key.as_deref()).await?,
        map: compile_some(bus, programs.map.as_deref()).await?,
        version: compile_some(bus, programs.version.as_deref()).await?,
        tombstone: compile_some(bus, programs.tombstone.as_deref()).await?,
    })
}

async fn compile_some(bus: &Bus, text: Option<&str>) -> Result<Option<Program>, String> {
    match text {
        Some(text) => Ok(Some(compile(bus, text).await?)),
        None => Ok(None),
    }
}

async fn compile(bus: &Bus, text: &str) -> Result<Program, String> {
    bus.compile_program(text).await.map_err(|error| error.to_string())
}

fn projected(DeclaredCollection { name, indexes }: DeclaredCollection) -> ProjectedCollection {
    ProjectedCollection { name, indexes }
}

fn target(config: &Config, place: &DocumentPlace) -> Result<ProjectorTarget, String> {
    Ok(match url(config, place)? {
        Some(url) => ProjectorTarget::Mongo { url, database: None },
        None => ProjectorTarget::Store,
    })
}

/// `None` for the hub's own store.
fn url(config: &Config, place: &DocumentPlace) -> Result<Option<String>, String> {
    match place {
        DocumentPlace::Store => Ok(None),
        DocumentPlace::Mongo(Some(url)) => Ok(Some(url.clone())),
        DocumentPlace::Mongo(None) => match &config.mongo.url {
            Some(url) => Ok(Some(url.clone())),
            None => Err("target = \"mongo\" needs a `url`, here or in [mongo]".to_owned()),
        },
    }
}

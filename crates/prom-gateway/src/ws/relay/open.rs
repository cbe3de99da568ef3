//! Opening a link: the way to the owner, AUTH, and the task that keeps it.

use std::sync::Arc;

use prom_client::wire::{Wire, WireReading};
use prom_engine::TaskName;
use prom_protocol::frame::HubFrame;
use prom_protocol::websocket::Message;
use tokio::time::timeout;

use super::link::{LinkPulse, RelayLink};
use super::task::{PINGS_PER_TTL, RelayTask};
use crate::Hub;
use crate::hub::Counted;
use crate::peers::Batches;
use crate::ws::outbox::Outbox;

/// Connects to the owner of a group and lets the link run.
pub async fn open(hub: Arc<Hub>, outbox: Arc<Outbox>, batches: Batches, url: String) -> Result<Arc<RelayLink>, String> {
    let Some(peers) = &hub.peers else {
        return Err("this hub is alone on its store".to_owned());
    };
    peers.check_reachable(&url)?;
    let patience = hub.bus.hub_ttl().unwrap_or(prom_engine::limits::HUB_TTL);
    let auth = peers.auth_frame(batches).map_err(|error| error.to_string())?;
    let dialled = timeout(patience / PINGS_PER_TTL, async {
        let mut wire = peers.dial(&url, hub.options.frame_bytes).await.map_err(|error| error.to_string())?;
        authenticate(&mut wire, &auth).await?;
        Ok::<_, String>(wire)
    });
    let wire = match dialled.await {
        Ok(Ok(wire)) => wire,
        failed => {
            peers.note_unreachable(&url);
            return Err(
                failed.map_or_else(|_| "it does not answer".to_owned(), |failed| failed.err().unwrap_or_default())
            );
        }
    };
    let pulse = Arc::new(LinkPulse::default());
    let (link, commands) = RelayLink::new(pulse.clone());
    let task = RelayTask::new(hub.clone(), wire, outbox, batches, commands, pulse);
    tokio::spawn(async move {
        let hub = task.hub.clone();
        let _open = Counted::new(&hub.links);
        // Those who are served through a link that panicked see that it is lost, and look for another.
        if let Ok(why) = hub.failures().watch(&TaskName::one("link", &url), task.run()).await {
            tracing::debug!(url, why, "a link to another hub ends");
        }
    });
    Ok(Arc::new(link))
}

async fn authenticate(wire: &mut Wire, auth: &[u8]) -> Result<(), String> {
    let broken = |error: prom_client::Error| error.to_string();
    wire.send(auth);
    loop {
        while let Some(message) = wire.next_message().map_err(broken)? {
            let Message::Text(text) = message else {
                continue;
            };
            return match HubFrame::read(text) {
                Ok(HubFrame::Ok(_)) => Ok(()),
                Ok(HubFrame::Err { problem, .. }) => Err(format!("the other hub refused AUTH: {}", problem.msg)),
                _ => Err("the other hub answered AUTH oddly".to_owned()),
            };
        }
        if !wire.step(WireReading::On).await.map_err(broken)? {
            return Err("the other hub hung up during AUTH".to_owned());
        }
    }
}

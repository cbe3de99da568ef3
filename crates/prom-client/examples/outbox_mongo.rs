//! Writes an order and its event in one transaction of MongoDB:
//! `cargo run -p prom-client --features outbox-mongo --example outbox_mongo -- MONGODB_URL ORDER`

use std::error::Error;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use prom_client::json;
use prom_client::outbox::OutboxEvent;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (url, order) = arguments.next().zip(arguments.next()).ok_or("name the address of MongoDB and an order")?;
    let client = Client::with_uri_str(&url).await?;
    let shop = client.default_database().ok_or("the address names no database")?;

    let event = OutboxEvent::new("orders.placed", json!({"order": order, "from": "rust"}))?;
    let event = event.key(&order).header("x-source", "shop")?;
    let mut session = client.start_session().await?;
    session.start_transaction().await?;
    let placed = doc! { "_id": &order, "state": "placed" };
    shop.collection::<Document>("orders").insert_one(placed).session(&mut session).await?;
    event.add_to_mongo(&shop.collection("outbox"), &mut session).await?;
    session.commit_transaction().await?;
    Ok(())
}

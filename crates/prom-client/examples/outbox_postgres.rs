//! Writes an order and its event in one transaction of PostgreSQL:
//! `cargo run -p prom-client --features outbox-sql --example outbox_postgres -- POSTGRES_URL ORDER`

use std::error::Error;

use prom_client::json;
use prom_client::outbox::OutboxEvent;
use sqlx::PgPool;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (url, order) = arguments.next().zip(arguments.next()).ok_or("name the address of PostgreSQL and an order")?;
    let pool = PgPool::connect(&url).await?;

    let event = OutboxEvent::new("orders.placed", json!({"order": order, "from": "rust"}))?;
    let event = event.key(&order).header("x-source", "shop")?;
    let mut transaction = pool.begin().await?;
    let insert = sqlx::query("INSERT INTO orders (id, state) VALUES ($1, 'placed')");
    insert.bind(&order).execute(&mut *transaction).await?;
    event.add_to_postgres(&mut transaction, "outbox").await?;
    transaction.commit().await?;
    Ok(())
}

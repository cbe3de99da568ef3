//! The JSON body of `POST /publish` as the OpenAPI document describes it: one event, or an array of them. It is read by
//! [`Form`](super::form::Form), item by item.

use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use prom_protocol::frame::publish::Publish;

pub(super) struct PublishBody;

impl PartialSchema for PublishBody {
    fn schema() -> RefOr<Schema> {
        let one = Ref::from_schema_name(Publish::name());
        let many = ArrayBuilder::new().items(one.clone());
        OneOfBuilder::new().item(one).item(many).description(Some("One event, or many.")).into()
    }
}

impl ToSchema for PublishBody {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Publish::name().into_owned(), Publish::schema()));
        Publish::schemas(schemas);
    }
}

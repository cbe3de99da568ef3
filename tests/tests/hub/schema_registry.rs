//! The schema registry as Confluent's own Python client uses it.

use std::process::Command;

use prom_testkit::{HubProcess, tools};

use super::or_skip;

const SCRIPT: &str = r#"
import sys
from confluent_kafka.schema_registry import SchemaRegistryClient, Schema, SchemaReference
from confluent_kafka.schema_registry.common.schema_registry_client import ServerConfig, ConfigCompatibilityLevel
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONSerializer, JSONDeserializer
from confluent_kafka.serialization import SerializationContext, MessageField
import json

client = SchemaRegistryClient({"url": sys.argv[1], "max.retries": 0})

def refused(status, code, call):
    try:
        call()
    except SchemaRegistryError as error:
        assert (error.http_status_code, error.error_code) == (status, code), error
        assert error.error_message
        return
    raise AssertionError(f"nothing was refused, {code} was expected")

def schema(text, references=None):
    return Schema(json.dumps(text), "JSON", references or [])

person = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
aged = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}
optional = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}

# Registering, fetching, looking up.
refused(404, 40401, lambda: client.get_versions("people-value"))
first = client.register_schema("people-value", schema(person))
fresh = SchemaRegistryClient({"url": sys.argv[1], "max.retries": 0})
assert fresh.register_schema("people-value", schema(dict(reversed(person.items()))), True) == first
assert json.loads(fresh.get_schema(first).schema_str) == person
assert fresh.get_schema(first).schema_type == "JSON"
latest = fresh.get_latest_version("people-value")
assert (latest.subject, latest.version, latest.schema_id) == ("people-value", 1, first)
assert fresh.get_version("people", 1).schema_id == first
assert fresh.lookup_schema("people-value", schema(person)).version == 1
assert fresh.get_subjects() == ["people"]
assert fresh.get_schema_types() == ["JSON"]
assert fresh.get_subjects_by_schema_id(first) == ["people"]
assert fresh.get_schema_versions(first)[0].version == 1
assert fresh.get_global_mode() == "READWRITE"

# Refusals.
refused(404, 40402, lambda: fresh.get_version("people-value", 9))
refused(404, 40403, lambda: fresh.get_schema(99999))
refused(404, 40403, lambda: fresh.lookup_schema("people-value", schema(aged)))
refused(422, 42201, lambda: fresh.register_schema("people-value", schema({"type": "strung"})))
refused(422, 42201, lambda: fresh.register_schema("people-value", Schema('{"type": "string"}', "AVRO")))
refused(409, 409, lambda: fresh.register_schema("people-value", schema(aged)))

# Compatibility.
assert fresh.test_compatibility("people-value", schema(optional)) is True
assert fresh.test_compatibility("people-value", schema(aged), 1, verbose=True) is False
assert fresh.test_compatibility_all_versions("people-value", schema(aged)) is False

# Settings.
assert fresh.get_compatibility() == "BACKWARD"
refused(404, 40408, lambda: fresh.get_compatibility("people-value"))
fresh.set_compatibility("people-value", "NONE")
assert fresh.get_compatibility("people-value") == "NONE"
refused(422, 42203, lambda: fresh.set_compatibility("people-value", "SIDEWAYS"))
second = fresh.register_schema("people-value", schema(aged))
assert second != first and fresh.get_versions("people-value") == [1, 2]
fresh.set_config("people-value", ServerConfig(compatibility=ConfigCompatibilityLevel.FULL))
assert fresh.get_config("people-value").compatibility_level == ConfigCompatibilityLevel.FULL
assert fresh.delete_config("people-value").compatibility_level == ConfigCompatibilityLevel.FULL
refused(404, 40408, lambda: fresh.get_config("people-value"))

# References.
fresh.register_schema("address-value", schema({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}))
reference = SchemaReference("address.json", "address-value", 1)
parcel = {"type": "object", "properties": {"to": {"$ref": "address.json"}}, "required": ["to"]}
parcel_id = fresh.register_schema("parcel-value", schema(parcel, [reference]))
assert fresh.get_referenced_by("address-value", 1) == [parcel_id]
assert fresh.get_schema(parcel_id, subject_name="parcel-value").references[0].name == "address.json"
refused(422, 42206, lambda: fresh.delete_version("address-value", 1))

# Deleting.
refused(404, 40407, lambda: fresh.delete_version("people-value", 1, permanent=True))
assert fresh.delete_version("people-value", 1) == 1
assert fresh.get_versions("people-value") == [2]
assert fresh.get_versions("people-value", deleted=True) == [1, 2]
refused(404, 40405, lambda: fresh.delete_subject("people-value", permanent=True))
assert fresh.delete_subject("people-value") == [2]
refused(404, 40401, lambda: fresh.get_versions("people-value"))
assert fresh.delete_subject("people-value", permanent=True) == [1, 2]
assert "people" not in fresh.get_subjects(deleted=True)

# Serializers, which register and fetch by themselves.
context = SerializationContext("orders", MessageField.VALUE)
order = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
         "properties": {"number": {"type": "integer"}}, "required": ["number"]}
written = JSONSerializer(json.dumps(order), fresh)({"number": 7}, context)
assert fresh.get_subjects(subject_prefix="orders") == ["orders"]
reader = SchemaRegistryClient({"url": sys.argv[1], "max.retries": 0})
assert JSONDeserializer(None, schema_registry_client=reader)(written, context) == {"number": 7}
to = {"to": {"city": "Oslo"}}
parcels = SerializationContext("parcel", MessageField.VALUE)
writer = JSONSerializer(Schema(json.dumps(parcel), "JSON", [reference]), fresh, conf={"auto.register.schemas": False})
assert JSONDeserializer(None, schema_registry_client=reader)(writer(to, parcels), parcels) == to
print("everything was as expected")
"#;

#[test]
fn confluents_python_client_registers_checks_refers_deletes_and_serializes() {
    let packages = ["confluent-kafka[schemaregistry,json]==2.16.0"];
    let Some(python) = or_skip(tools::python_packages(&packages)) else {
        return;
    };
    let hub = HubProcess::in_memory().unwrap();
    let output = Command::new(python).args(["-c", SCRIPT, &hub.url()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("everything was as expected"), "{said}");
}

//! The table of rights: what a token says, what is asked, and the answer at every door.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prom_auth::AuthOptions;
use serde_json::{Value, json};

use crate::doors::{Deed, Doors};
use crate::issuer::Key;

const SECRET: &str = "a secret that only tests know and that is long enough";
const YES: &str = "ok";
const NO: &str = "forbidden";

/// A case: its name, the rights in the token, and questions with their answers.
type Case = (&'static str, Value, &'static [(&'static str, &'static str)]);

fn scopes(scopes: &[&str]) -> Value {
    json!({"scopes": scopes})
}

fn policy(rules: Value) -> Value {
    json!({"policy": {"rules": rules}})
}

fn allow(action: &str, topics: &[&str]) -> Value {
    json!({"effect": "allow", "action": action, "topics": topics})
}

fn deny(action: &str, topics: &[&str]) -> Value {
    json!({"effect": "deny", "action": action, "topics": topics})
}

fn of_scopes() -> Vec<Case> {
    vec![
        ("no rights at all", json!({}), &[("publish a", NO), ("read a", NO), ("ops a", NO), ("admin a", NO)]),
        ("empty scopes", scopes(&[]), &[("publish a", NO), ("read a", NO), ("group a g", NO), ("read **", NO)]),
        ("one topic", scopes(&["publish:a.b"]), &[("publish a.b", YES), ("publish a", NO), ("publish a.b.c", NO)]),
        ("one action", scopes(&["publish:a"]), &[("read a", NO), ("ops a", NO), ("admin a", NO)]),
        ("another action", scopes(&["subscribe:a"]), &[("read a", YES), ("publish a", NO), ("ops a", NO)]),
        ("every topic", scopes(&["subscribe"]), &[("read a.b", YES), ("read **", YES), ("publish a", NO)]),
        (
            "every action",
            scopes(&["*:a.*"]),
            &[("publish a.b", YES), ("read a.b", YES), ("admin a.b", YES), ("ops b", NO)],
        ),
        ("everything", scopes(&["*"]), &[("publish x", YES), ("read x", YES), ("group x.* g1", YES), ("ops x", YES)]),
        ("operators", scopes(&["ops"]), &[("ops a", YES), ("read a", NO), ("admin a", NO)]),
        ("administrators", scopes(&["admin:a"]), &[("admin a", YES), ("admin b", NO), ("publish a", NO)]),
    ]
}

fn of_wildcards() -> Vec<Case> {
    vec![
        (
            "a star is one segment",
            scopes(&["publish:a.*"]),
            &[("publish a.b", YES), ("publish a", NO), ("publish a.b.c", NO)],
        ),
        (
            "two stars are any number",
            scopes(&["publish:a.**"]),
            &[("publish a", YES), ("publish a.b.c", YES), ("publish ab", NO)],
        ),
        (
            "two stars in the middle",
            scopes(&["publish:a.**.z", "subscribe:a.**.z"]),
            &[
                ("publish a.z", YES),
                ("publish a.b.c.z", YES),
                ("publish a.z.b.z", YES),
                ("publish a.b", NO),
                ("publish a.z.b", NO),
                ("read a.*.z", YES),
                ("read a.**.y.z", YES),
                ("read a.**.z", YES),
                ("read a.**", NO),
                ("read **.z", NO),
            ],
        ),
        (
            "two stars in front",
            scopes(&["subscribe:**.z"]),
            &[("read z", YES), ("read a.b.z", YES), ("read a.**.z", YES), ("read a.z.b", NO)],
        ),
        (
            "a pattern as wide as the right",
            scopes(&["subscribe:a.*"]),
            &[("read a.*", YES), ("read a.**", NO), ("read *.b", NO)],
        ),
        (
            "two rights are not one wide one",
            scopes(&["subscribe:a", "subscribe:a.*"]),
            &[("read a", YES), ("read a.b", YES), ("read a.**", NO)],
        ),
        (
            "wildcards do not reach the hub's topics",
            scopes(&["subscribe:**"]),
            &[("read dlq.a", NO), ("read system.audit", NO)],
        ),
        (
            "the hub's topics by name",
            scopes(&["subscribe:dlq.a"]),
            &[("read dlq.a", YES), ("read dlq.b", NO), ("read dlq.*", NO)],
        ),
        (
            "scopes in one text",
            json!({"scopes": "publish:a subscribe:b"}),
            &[("publish a", YES), ("read b", YES), ("read a", NO)],
        ),
    ]
}

fn of_policies() -> Vec<Case> {
    let but_secret = || policy(json!([allow("*", &["**"]), deny("*", &["secret.**"])]));
    vec![
        ("a policy", policy(json!([allow("publish", &["a.*"])])), &[("publish a.b", YES), ("read a.b", NO)]),
        ("an empty policy", policy(json!([])), &[("publish a", NO), ("read a", NO)]),
        (
            "a policy wins over scopes",
            json!({"scopes": ["*"], "policy": {"rules": [allow("publish", &["a"])]}}),
            &[("publish a", YES), ("publish b", NO), ("read a", NO), ("ops a", NO)],
        ),
        (
            "an empty policy wins too",
            json!({"scopes": ["*"], "policy": {"rules": []}}),
            &[("publish a", NO), ("ops a", NO)],
        ),
        (
            "deny beats allow",
            but_secret(),
            &[
                ("publish a", YES),
                ("publish secret.x", NO),
                ("read secret", NO),
                ("admin secret.x", NO),
                ("ops a", YES),
            ],
        ),
        (
            "deny beats allow in any order",
            policy(json!([deny("*", &["a.b"]), allow("*", &["a.*"])])),
            &[("publish a.b", NO), ("publish a.c", YES)],
        ),
        (
            "a pattern that meets a deny",
            but_secret(),
            &[
                ("read a.**", YES),
                ("read **", NO),
                ("read *.x", NO),
                ("read secret.*", NO),
                ("group *.x g2", NO),
                ("group a.* g3", YES),
            ],
        ),
    ]
}

fn of_details() -> Vec<Case> {
    vec![
        (
            "a deny in the middle",
            policy(json!([allow("*", &["a.**"]), deny("subscribe", &["a.**.pii.**"])])),
            &[
                ("read a.b", YES),
                ("read a.b.pii", NO),
                ("read a.pii.x.y", NO),
                ("publish a.pii", YES),
                ("read a.*", NO),
                ("read a.b.*.c", NO),
            ],
        ),
        (
            "deny of one action",
            policy(json!([allow("*", &["**"]), deny("publish", &["a"])])),
            &[("publish a", NO), ("read a", YES)],
        ),
        ("only denies", policy(json!([deny("publish", &["a"])])), &[("publish a", NO), ("publish b", NO)]),
        (
            "several actions",
            policy(json!([{"effect": "allow", "action": ["publish", "ops"], "topics": ["a"]}])),
            &[("publish a", YES), ("ops a", YES), ("read a", NO)],
        ),
        (
            "several patterns",
            policy(json!([allow("publish", &["a", "b.*"])])),
            &[("publish a", YES), ("publish b.c", YES), ("publish b", NO)],
        ),
    ]
}

fn of_groups() -> Vec<Case> {
    let rule =
        |effect: &str, groups: &[&str]| json!({"effect": effect, "action": "*", "topics": ["a.**"], "groups": groups});
    vec![
        (
            "one group",
            policy(json!([rule("allow", &["billing"])])),
            &[("group a.b billing", YES), ("group a.b audit", NO), ("read a.b", NO), ("publish a.b", NO)],
        ),
        (
            "several groups",
            policy(json!([rule("allow", &["billing", "audit"])])),
            &[("group a billing", YES), ("group a audit", YES), ("group a other", NO)],
        ),
        (
            "any group but some group",
            policy(json!([rule("allow", &["*"])])),
            &[("group a billing", YES), ("group a x", YES), ("read a", NO)],
        ),
        (
            "all but one group",
            policy(json!([rule("allow", &["*"]), rule("deny", &["billing"])])),
            &[("group a billing", NO), ("group a audit", YES), ("group a.* billing", NO)],
        ),
        (
            "a group by pattern",
            policy(json!([rule("allow", &["g4"])])),
            &[("group a.* g4", YES), ("group a.b.** g4", YES)],
        ),
        ("a group elsewhere", policy(json!([rule("allow", &["billing"])])), &[("group b billing", NO)]),
        (
            "a rule for everybody and one for a group",
            policy(json!([allow("*", &["b"]), rule("allow", &["billing"])])),
            &[("read b", YES), ("group b any", YES), ("group a billing", YES), ("group a any", NO), ("read a", NO)],
        ),
        (
            "what only a group may read is not read without one",
            policy(json!([allow("subscribe", &["**"]), {"effect": "deny", "action": "subscribe", "topics": ["a"]}])),
            &[("read a", NO), ("read b", YES), ("read **", NO)],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_mean_the_same_at_every_door() {
    let doors = Doors::with(AuthOptions { jwt_secret: Some(SECRET.to_owned()), ..AuthOptions::default() }).await;
    let expires = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(600);
    let (mut cases, mut questions, mut asked) = (0, 0, 0);
    for (name, mut claims, table) in [of_scopes(), of_wildcards(), of_policies(), of_details(), of_groups()].concat() {
        claims["sub"] = json!("alpha");
        claims["exp"] = json!(expires.as_secs());
        let token = Key::secret(SECRET).token("", &claims);
        cases += 1;
        for (question, expected) in table {
            questions += 1;
            asked += doors.check(name, Some(&token), Deed::parse(question), expected).await;
        }
    }
    println!("{cases} kinds of rights, {questions} questions, asked {asked} times");
    assert!(questions >= 100 && asked > 2 * questions, "{questions} questions, asked {asked} times");
}

//! Help is there for everything, with examples; wrong usage is told apart.

use crate::prom::prom;

const COMMANDS: [&[&str]; 63] = [
    &["serve"],
    &["pub"],
    &["sub"],
    &["topics"],
    &["topics", "ls"],
    &["topics", "show"],
    &["topics", "set"],
    &["topics", "delete"],
    &["groups"],
    &["groups", "ls"],
    &["groups", "show"],
    &["groups", "delete"],
    &["groups", "release"],
    &["groups", "kick"],
    &["lag"],
    &["cursor"],
    &["cursor", "get"],
    &["cursor", "set"],
    &["skip"],
    &["why"],
    &["export"],
    &["import"],
    &["codegen"],
    &["lint"],
    &["token"],
    &["config"],
    &["config", "check"],
    &["fsck"],
    &["bench"],
    &["bench", "publish"],
    &["bench", "consume"],
    &["bench", "both"],
    &["bench", "latency"],
    &["bench", "fan-out"],
    &["schema"],
    &["schema", "ls"],
    &["schema", "show"],
    &["schema", "check"],
    &["schema", "prove"],
    &["schema", "register"],
    &["schema", "diff"],
    &["schema", "set"],
    &["schema", "upcast"],
    &["schema", "delete"],
    &["cutover"],
    &["outbox"],
    &["outbox", "ls"],
    &["outbox", "show"],
    &["outbox", "rows"],
    &["outbox", "requeue"],
    &["outbox", "drop"],
    &["outbox", "restart"],
    &["feeds"],
    &["feeds", "ls"],
    &["feeds", "show"],
    &["feeds", "seek"],
    &["feeds", "restart"],
    &["projections"],
    &["projections", "ls"],
    &["projections", "show"],
    &["projections", "rebuild"],
    &["projections", "restart"],
    &["completions"],
];

#[test]
fn every_command_has_help_with_at_least_two_examples() {
    for command in COMMANDS {
        let asked: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let help = prom(&asked).exits(0).stdout;
        let examples = help.split_once("Examples:").unwrap_or_else(|| panic!("{command:?} has no examples")).1;
        let typed = format!("prom {}", command.join(" "));
        let shown = examples.lines().filter(|line| line.contains(&typed)).count();
        assert!(shown >= 2, "{command:?} shows {shown} examples");
    }
}

#[test]
fn the_overview_names_every_command() {
    let help = prom(&["--help"]).exits(0).stdout;
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {} ", command[0])), "{command:?}");
    }
}

#[test]
fn wrong_usage_exits_2_and_says_so_on_standard_error() {
    for wrong in [
        &["frobnicate"][..],
        &[],
        &["pub"],
        &["lag", "--max", "many"],
        &["why", "Orders", "billing"],
        &["cursor", "set", "orders", "billing", "--from", "sometime"],
        &["skip", "orders", "billing", "the-bad-one"],
        &["topics", "--url", "not an address"],
        &["serve", "--listen", "everywhere"],
    ] {
        let ran = prom(wrong).exits(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{wrong:?}: {ran:#?}");
    }
}

#[test]
fn a_slip_in_a_command_is_recognised() {
    let ran = prom(&["tpoics"]).exits(2);
    assert!(ran.stderr.contains("topics"), "{}", ran.stderr);
}

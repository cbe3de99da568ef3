//! A few seconds of each target, always from the same seed: what CI runs.

use std::time::Duration;

use prom_fuzz::TARGETS;
use prom_fuzz::drive::{Target, Until, drive};

fn target(name: &str) -> Target {
    TARGETS.into_iter().find(|target| target.name == name).expect("a target of that name")
}

/// At least this many inputs within the time, or it was not worth it.
fn briefly(name: &str, seconds: u64, at_least: u64) {
    match drive(&target(name), 1, Until::Elapsed(Duration::from_secs(seconds))) {
        Ok(report) => assert!(report.inputs >= at_least, "{name}: only {} inputs", report.inputs),
        Err(broken) => {
            let input = broken.input.escape_ascii();
            panic!("prom-fuzz {name} --seed {} --inputs 1 repeats it\n{input}", broken.seed)
        }
    }
}

#[test]
fn no_frame_breaks_a_promise() {
    briefly("frames", 5, 1000);
}

#[test]
fn no_record_breaks_a_promise() {
    briefly("records", 3, 1000);
}

#[test]
fn no_damaged_directory_breaks_a_promise() {
    briefly("directory", 5, 5);
}

#[test]
fn the_driver_finds_what_is_there_and_repeats_it() {
    fn run(input: &[u8]) {
        assert!(!input.windows(2).any(|pair| pair == b"!!"), "found");
    }
    let target =
        Target { name: "planted", run, seeds: || vec![b"nothing to see here".to_vec()], words: || vec![b"!".to_vec()] };
    let broken = drive(&target, 0, Until::Inputs(200_000)).expect_err("it is there to be found");
    let again = drive(&target, broken.seed, Until::Inputs(1)).expect_err("the number repeats it");
    assert_eq!(again.input, broken.input);
}

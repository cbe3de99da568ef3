//! `prom completions`: a script for every shell.

use crate::prom::prom;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = prom(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("fsck") && script.contains("completions"), "{shell}: {script}");
    }
    prom(&["completions", "tcsh"]).exits(2);
}

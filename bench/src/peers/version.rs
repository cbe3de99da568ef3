//! What the programs of others say about themselves.

use std::path::Path;

use anyhow::Context;

/// The first line that a program says about its version.
pub async fn of(program: &Path) -> anyhow::Result<String> {
    let said = tokio::process::Command::new(program).arg("--version").output().await;
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

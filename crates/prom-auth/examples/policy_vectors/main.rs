//! Writes the test vectors about rights that other languages read: `cargo run -p prom-auth --example policy_vectors`.

mod files;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocol/vectors");
    std::fs::create_dir_all(&folder)?;
    for (name, text) in files::all() {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

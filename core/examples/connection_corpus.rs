//! Writes connections to begin with for the fuzz target `connection`:
//! `cargo run -p verdict-core --example connection_corpus -- fuzz/corpus/connection 2000`.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().ok_or("a folder is missing")?);
    let count: u64 = args.next().ok_or("a count is missing")?.parse()?;
    fs::create_dir_all(&folder)?;
    for seed in 0..count {
        let name = folder.join(format!("seed-{seed}"));
        fs::write(name, verdict_core::memory::fuzz::any_connection(seed))?;
    }
    Ok(())
}

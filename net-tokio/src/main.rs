//! The `verdict` command.

use std::process::ExitCode;

#[cfg(not(madsim))]
fn main() -> ExitCode {
    verdict_net_tokio::cli::main()
}

/// The simulated network has no processes; its tests call the library.
#[cfg(madsim)]
fn main() -> ExitCode {
    ExitCode::FAILURE
}

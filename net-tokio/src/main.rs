//! The `verdict` command.

use std::process::ExitCode;

/// A broker allocates on one thread what another one frees, and keeps buffers of all sizes for
/// long: measured against the system's, this one takes a fraction of the memory and less time
/// (docs/manual/performance.md).
#[cfg(not(madsim))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(not(madsim))]
fn main() -> ExitCode {
    verdict_net_tokio::cli::main()
}

/// The simulated network has no processes; its tests call the library.
#[cfg(madsim)]
fn main() -> ExitCode {
    ExitCode::FAILURE
}

//! Where tokio and madsim differ, and nowhere else.
//!
//! `Cargo.toml` gives the name `tokio` to one or the other. What this file adds is the one thing
//! they cannot share: a real broker gives the node and each file lane a thread of its own, a
//! simulated one must have no threads at all and runs them as tasks. madsim's traps that the rest
//! of the crate respects: flush after every answer (its streams send nothing before), no
//! `into_split`, `biased` in every `select!`, no `tokio::fs`, no blocking pool.

use std::future::Future;

use tokio::sync::oneshot;

/// Ends when the worker it belongs to has ended.
pub struct Worker {
    ended: oneshot::Receiver<()>,
}

impl Worker {
    /// Waits for the worker's end.
    pub async fn ended(self) {
        // The sender is dropped with the worker; both say the same.
        self.ended.await.unwrap_or(());
    }
}

/// Runs a future on a thread of its own, which may therefore block. A panic in it ends the
/// process, after the panic's message was printed.
///
/// # Errors
/// When the operating system refuses the thread.
#[cfg(not(madsim))]
pub fn dedicated(
    name: &str,
    work: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<Worker> {
    let (done, ended) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let guard = AbortOnPanic;
        runtime.block_on(work);
        drop(guard);
        done.send(()).unwrap_or(());
    })?;
    Ok(Worker { ended })
}

/// Runs a future as a task of the simulated node.
///
/// # Errors
/// Never; the signature is the one of the real runtime.
#[cfg(madsim)]
pub fn dedicated(
    _name: &str,
    work: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<Worker> {
    let (done, ended) = oneshot::channel();
    tokio::spawn(async move {
        work.await;
        done.send(()).unwrap_or(());
    });
    Ok(Worker { ended })
}

/// Does what must not go on after a panic: a panic in it ends the process, after the panic's message
/// was printed, on whichever thread and in whichever task it is.
#[cfg(not(madsim))]
pub(crate) fn unforgiving<R>(work: impl FnOnce() -> R) -> R {
    let guard = AbortOnPanic;
    let result = work();
    drop(guard);
    result
}

/// Does what must not go on after a panic: a panic of a simulated node fails the simulation anyway.
#[cfg(madsim)]
pub(crate) fn unforgiving<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Ends the process when it is dropped by a panic.
#[cfg(not(madsim))]
struct AbortOnPanic;

#[cfg(not(madsim))]
impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

#[cfg(all(test, not(madsim)))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use super::*;

    const ABORTED: i32 = 6;

    #[test]
    #[ignore = "ends its process; run by the test below in one of its own"]
    fn a_worker_that_panics() {
        let worker = dedicated("node", async { panic!("a broken invariant") }).expect("a thread");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(worker.ended());
    }

    #[test]
    fn a_panic_of_a_worker_ends_the_process() {
        let status = Command::new(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "rt::tests::a_worker_that_panics"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("it runs");
        assert_eq!(status.signal(), Some(ABORTED), "{status}");
    }
}

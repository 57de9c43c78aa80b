//! Which mutant is on. Copied into the core of the switched tree, never into the product.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

static ON: LazyLock<u32> = LazyLock::new(|| {
    let wanted = std::env::var("VERDICT_MUTANT").ok();
    wanted.map_or(u32::MAX, |id| id.parse().expect("a mutant has a number"))
});
static REACHED: AtomicBool = AtomicBool::new(false);

/// Whether this mutant is on.
#[inline]
pub fn on(id: u32) -> bool {
    if *ON != id {
        return false;
    }
    if !REACHED.load(Ordering::Relaxed) {
        tell();
    }
    true
}

#[cold]
fn tell() {
    if !REACHED.swap(true, Ordering::Relaxed) {
        eprintln!("the mutant is reached");
    }
}

/// Nothing, while this mutant is on.
pub fn emptied<I: Iterator>(id: u32, all: I) -> impl Iterator<Item = I::Item> {
    all.filter(move |_| !on(id))
}

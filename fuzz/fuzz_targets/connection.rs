#![no_main]

use verdict_core::memory::{Machine, fuzz};

thread_local! {
    static BROKER: Machine = fuzz::machine();
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| BROKER.with(|it| fuzz::serve_any_connection(it, data)));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::wire::fuzz::screen_any_records(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::partition::fuzz::read_any_snapshot(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::config::fuzz_properties(data));

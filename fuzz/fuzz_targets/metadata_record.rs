#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::meta::fuzz::read_any_record(data));

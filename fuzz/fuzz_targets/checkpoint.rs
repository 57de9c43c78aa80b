#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::store::fuzz::read_any_checkpoint(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::batch::fuzz::walk_any_records(data));

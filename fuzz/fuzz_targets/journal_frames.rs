#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::store::fuzz::scan_any_journal(data));

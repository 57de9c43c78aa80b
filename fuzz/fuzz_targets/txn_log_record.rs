#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::txn::fuzz::read_any_record(data));

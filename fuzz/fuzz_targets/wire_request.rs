#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verdict_core::wire::fuzz::decode_any_request(data));

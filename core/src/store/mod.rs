//! (being built)

pub mod recovered;

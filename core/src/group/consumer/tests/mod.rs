//! Consumer groups, row by row.

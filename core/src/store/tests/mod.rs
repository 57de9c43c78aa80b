//! The storage as a whole, over a disk in memory.

mod checkpoints;
mod cleaning;
mod damage;
mod named_files;
mod placing;
mod properties;
mod world;
mod write_and_read;

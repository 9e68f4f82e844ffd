//! Whole runs on the scripted engine: what the protocol says happens.

mod embedded;
mod harness;
mod protocol;
mod steering;

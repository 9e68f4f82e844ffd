//! Whole runs on the scripted engine: what the protocol says happens.

mod harness;
mod protocol;
mod steering;

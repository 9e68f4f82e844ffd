//! Whole runs on the scripted engine: what the protocol says happens.

mod breakpoints;
mod embedded;
mod engines;
mod guard;
mod harness;
mod machine;
mod nested;
mod protocol;
mod resuming;
mod seats;
mod steering;
mod travel;

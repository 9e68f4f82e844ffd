//! Tasks: make an instance, state it as a query, verify an answer, solve.
//!
//! Pure: no engine, no clock, no thread. Answers are untrusted text.

pub mod countdown;
pub mod rng;

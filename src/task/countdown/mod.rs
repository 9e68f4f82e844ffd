//! Multi-solution countdown: make a target from all numbers, each used once, in several distinct ways.

pub mod preset;

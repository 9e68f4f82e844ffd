//! Servers: every kind, and everything that can go wrong with one.

mod evaluating;
mod fake;
mod faults;
mod harness;
mod kinds;
mod program;
mod real;
mod seats;
mod sessions;
mod teaching;

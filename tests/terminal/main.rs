//! orgtop under a real pseudo terminal, seen through a VT100 parser.

mod app;
mod colours;
mod demo;
mod desk;
mod faults;
mod guard;
mod harness;
mod slow;
mod text;
mod wedged;

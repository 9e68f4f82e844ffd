//! orgtop under a real pseudo terminal, seen through a VT100 parser.

mod app;
mod guard;
mod harness;
mod text;

//! The whole screen: what it looks like, and what keys do to it.

mod keys;
mod pictures;
mod screen;
mod story;

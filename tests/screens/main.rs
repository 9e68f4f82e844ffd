//! The whole screen: what it looks like, what keys do to it, when it draws.

mod app;
mod breakpoints;
mod cost;
mod guard;
mod keys;
mod nested;
mod pictures;
mod replay;
mod screen;
mod seats;
mod storm;
mod story;
mod travel;

//! The teacher of stage 1: a solver that writes its search down in the model's words.
//!
//! [`region`] cuts a countdown problem into six regions and searches one; [`trace`] and [`organizer`] make
//! whole threads of such searches, with [`noise`] from outside; [`judge`] drops what the protocol would
//! refuse. What share of which thread is drawn is the business of [`super::dataset`].

pub mod example;
pub mod expression;
pub mod judge;
pub mod noise;
pub mod organizer;
pub mod region;
pub mod trace;

pub use example::{Example, Query, Role};
pub use organizer::Topology;
pub use region::{Problem, REGIONS, Region, Search, search};

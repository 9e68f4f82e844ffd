//! The teacher of stage 1: a solver that writes its search down in the model's words.
//!
//! [`region`] cuts a countdown problem into six regions and searches one; [`trace`] makes whole organizer,
//! worker and sequential threads of such searches, in sampled topologies; [`judge`] drops what the protocol
//! would refuse. What share of which thread is drawn is the business of [`super::dataset`].

pub mod judge;
pub mod region;
pub mod trace;

pub use region::{Problem, REGIONS, Region, Search, search};
pub use trace::{Example, Role, Topology};

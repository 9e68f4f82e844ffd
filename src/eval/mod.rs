//! Evaluation: how well a policy does on a set of tasks.
//!
//! Sets of instances are run as ordinary sessions, many at once over one engine, and counted up with intervals.
//! Three policies are compared fairly: they share machinery, verifier, rules and, where asked, budgets.
//!
//! | room | what it does |
//! |---|---|
//! | `run` | which sessions a policy needs, and how each is set up |
//! | `collect` | runs them over an engine |
//! | `outcome` | what is kept of a session |
//! | `verdict` | what one session's answer is worth |
//! | `judge` | what a policy got right on one instance |
//! | `capacity` | what capacity buys, by ideal time alone |
//! | `statistics` | means, shares, intervals |
//! | `report` | the figures of a policy |
//! | `frontier` | accuracy against `T` |
//! | `journal` | finished sessions on disk, so that an evaluation goes on where it stopped |
//!
//! Nothing here opens models, prints or draws; [`crate::cli`] does.

mod capacity;
mod collect;
mod frontier;
mod journal;
mod judge;
mod outcome;
mod report;
mod run;
mod statistics;
mod verdict;

pub use capacity::lengths::{Length, Plan};
pub use capacity::{CapacityPoint, Overflow, PathLink, Timed, capacity_curve, timed};
pub use collect::{Error, Meter, Observer, collect, collect_side_by_side, evaluate};
pub use frontier::{Frontier, Line, Point, contenders, frontier};
pub use journal::{Journal, JournalError, Role};
pub use judge::{Judged, judge};
pub use outcome::{Outcome, Outcomes};
pub use report::{
    Comparison, Figures, Intervals, Latency, PolicyReport, Report, SeedFigures, report,
};
pub use run::{Contender, Kind, Run, Settings, Spec};
pub use statistics::{Interval, Sample};
pub use verdict::verdict;

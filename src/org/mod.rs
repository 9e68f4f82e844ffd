//! The organization: events, the state they fold to, ideal time and what is measured in it.
//!
//! Plain data in, plain data out: no clock, no thread, no I/O. It never knows the engine.

mod approval;
mod branch;
mod breakpoint;
mod command;
mod command_line;
mod critical_path;
mod event;
mod ids;
mod merge;
mod metrics;
mod organization;
mod plan;
pub mod roster;
pub mod rules;
mod schedule;
mod seat;
mod thread;
mod what_if;

pub use approval::{AskKind, AskRecord, Verdict};
pub use branch::{BranchRecord, Place, Standing, Trail, Turn};
pub use breakpoint::{
    BREAKPOINT_SPECS, BadBreakpoint, Breakpoint, BreakpointRecord, BreakpointState,
};
pub use command::{Command, Outcome, Switch};
pub use command_line::{Arg, ArgKind, COMMANDS, CommandForm, parse_command};
pub use critical_path::{Link, blame, critical_path, slack, slack_of};
pub use event::{
    ActionKind, Anchor, Author, Body, ErrorKind, Event, Role, RunEnd, SpliceKind, TextBytes,
    TextMark, TextStand, ThreadEnd, WaitOn,
};
pub use ids::{BadThreadId, BranchId, MAX_DEPTH, MAX_INDEX, Seq, Step, ThreadId};
pub use metrics::{DEFAULT_TAU, Metrics, concurrency, concurrency_reward, measure};
pub use organization::{CommandRecord, ErrorRecord, MarkRecord, Organization};
pub use plan::{Draft, Fate, PlanBoard, PlanChange};
pub use roster::RosterSeat;
pub use schedule::{IdealWait, Lane, Op, OpKind, Schedule, Trace, simulate, simulate_with};
pub use seat::{BadSeat, Seat, Writing};
pub use thread::{LivedWait, Moment, People, Refusal, Status, Thread};
pub use what_if::Change;

//! Session files: write, open, recover, play.

mod header;
mod line;

pub use header::{FORMAT, Header, Limits, Policy, PoolPolicy, Prompts, VERSION, Version};
pub use line::{Line, LineError, encode, kind_of, parse, place_of};

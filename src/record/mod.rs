//! Session files: write, open, recover, play.

mod header;

pub use header::{FORMAT, Header, Limits, Policy, PoolPolicy, Prompts, VERSION, Version};

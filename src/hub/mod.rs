//! Checkpoints from the Hugging Face hub: pulled into the usual cache, found there again.
//!
//! The hub's addresses, client and cache layout come from `hf-hub`; which files are taken and how they are
//! written is decided here, because nothing that a server says is trusted: names never leave the cache, sizes and
//! hashes are checked, and pickled files, which can run code when they are read, are never taken. What is
//! inside a checkpoint is the business of [`crate::engine::local`].
//!
//! ```text
//! pull ─ listing ─ choose          which files (pure)
//!   └─ fetch ─ room                one file, resumed by ranges; free disk
//! cached                           name → path, without network
//! recommended                      what fits which machine (pure)
//! ```

mod cached;
mod choose;
mod error;
mod fetch;
mod listing;
mod name;
mod patience;
mod place;
mod pull;
mod recommended;
mod room;

pub use cached::{find, pulled};
pub use choose::{Choice, choose, shards};
pub use error::HubError;
pub use fetch::State;
pub use name::{Wanted, check_file};
pub use patience::Patience;
pub use place::Place;
pub use pull::{News, Pulled, PulledFile, pull};
pub use recommended::{MEMORY_THREADS, MEMORY_TOKENS, Recommended, recommended};

//! orgtop: *top* for agentic organizations.
//!
//! One organizer thread delegates sub-queries to worker threads that decode at the same time with the
//! same weights. This crate runs such an organization, records it, replays it and shows it. Each
//! floor uses only the floors listed before it:
//!
//! | floor | what it holds |
//! |---|---|
//! | [`protocol`] | text to actions and back: tags, scanner, prompts, format errors |
//! | [`org`] | the organization as a fold over events; time, critical path, metrics |
//! | [`record`] | session files: write, open, recover, play |
//! | [`engine`] | sequences to tokens: local models, scripts |
//! | [`hub`] | checkpoints from the Hugging Face hub: pulled, found again, recommended |
//! | [`task`] | countdown, sudoku, math: make, state, verify, solve |
//! | [`live`] | one running session: organization, engine, recorder, commands |
//! | [`eval`] | policies on sets of tasks, counted up with intervals |
//! | [`learn`] | teacher, datasets, training: network, optimizers, both stages |

pub mod cli;
pub mod engine;
pub mod eval;
pub mod hub;
pub mod learn;
pub mod live;
pub mod org;
pub mod protocol;
pub mod record;
mod simd;
mod small_file;
pub mod task;
pub mod tui;

//! `orgtop train`

mod args;
mod data;
mod rl;
mod screen;
mod sft;
mod teacher;

pub use args::TrainVerb;

use super::Exit;
use super::settings::{ConfigFile, ScreenOptions};
use crate::learn::training::LowRank;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Trains.
///
/// # Errors
/// Whatever the training stumbles over; what was saved until then is kept.
pub fn run(verb: TrainVerb, config: &ConfigFile, screen: &ScreenOptions) -> anyhow::Result<Exit> {
    match verb {
        TrainVerb::Sft(args) => sft::run(&args, screen),
        TrainVerb::Rl(args) => rl::run(&args, screen),
        TrainVerb::Data(args) => data::run(&args, config),
    }
}

/// LoRA as most people set it: twice as strong as its rank says.
fn low_rank(rank: u16) -> LowRank {
    LowRank {
        rank: usize::from(rank),
        alpha: 2.0 * f32::from(rank),
    }
}

/// A flag that an interrupt sets, so that a training can save and end.
fn stop_on_signals() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

//! Progress on stderr: runs, speed, time left.

use crate::eval::Meter;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A bar; nothing where stderr is no terminal.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar of `all` runs, of which `missing` are to be done.
    pub fn new(all: usize, missing: usize, meter: &Meter) -> Self {
        let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::stderr())
            .with_position((all - missing) as u64);
        let decoded = std::sync::Arc::clone(&meter.decoded);
        let rate = move |state: &ProgressState, text: &mut dyn Write| {
            let seconds = state.elapsed().as_secs_f64().max(0.001);
            // a text that cannot be written is not shown
            let _ = write!(
                text,
                "{:.0}",
                decoded.load(Ordering::Relaxed) as f64 / seconds
            );
        };
        let style = ProgressStyle::with_template(
            "{bar:24} {pos}/{len} runs · {rate} tok/s · {eta} left · {msg}",
        );
        bar.set_style(
            style
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .with_key("rate", rate),
        );
        bar.enable_steady_tick(Duration::from_millis(250));
        bar.reset_eta();
        Self { bar }
    }

    /// A model is being opened.
    pub fn loading(&self, name: &str) {
        self.bar.set_message(format!("loading {name}"));
    }

    /// It is open.
    pub fn running(&self) {
        self.bar.set_message("");
    }

    /// A run ended.
    pub fn ended(&self) {
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

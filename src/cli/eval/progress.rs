//! Progress on stderr: runs, speed, time left.

use crate::eval::Meter;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A bar; nothing where stderr is no terminal.
pub struct Progress {
    bar: ProgressBar,
    decoded: Arc<AtomicU64>,
    /// Tokens before the model now at work was opened.
    before: Arc<AtomicU64>,
}

impl Progress {
    /// A bar of `all` runs, of which `missing` are to be done.
    pub fn new(all: usize, missing: usize, meter: &Meter) -> Self {
        let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::stderr())
            .with_position((all - missing) as u64);
        let decoded = Arc::clone(&meter.decoded);
        let before = Arc::<AtomicU64>::default();
        let (all_tokens, earlier) = (Arc::clone(&decoded), Arc::clone(&before));
        let rate = move |state: &ProgressState, text: &mut dyn Write| {
            let seconds = state.elapsed().as_secs_f64().max(0.001);
            let tokens = all_tokens.load(Ordering::Relaxed) - earlier.load(Ordering::Relaxed);
            // a text that cannot be written is not shown
            let _ = write!(text, "{:.0}", tokens as f64 / seconds);
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
        Self {
            bar,
            decoded,
            before,
        }
    }

    /// A model is being opened.
    pub fn loading(&self, name: &str) {
        self.bar.set_message(format!("loading {name}"));
    }

    /// It is open: time and speed count from here.
    pub fn running(&self) {
        self.bar.set_message("");
        let now = self.decoded.load(Ordering::Relaxed);
        self.before.store(now, Ordering::Relaxed);
        self.bar.reset_elapsed();
        self.bar.reset_eta();
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

//! Progress on stderr: runs, speed, time left.

use crate::eval::Meter;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A bar; nothing where stderr is no terminal.
pub struct Progress {
    bar: ProgressBar,
    counts: Arc<Counts>,
}

/// What speed and time left are told from. Runs end in herds, tokens come evenly, so time is told from tokens.
#[derive(Default)]
struct Counts {
    decoded: Arc<AtomicU64>,
    /// Tokens before the model now at work was opened.
    before: AtomicU64,
    /// Runs that this call has to do.
    missing: u64,
    /// Those of them that ended, and their tokens.
    ended: AtomicU64,
    tokens: AtomicU64,
}

impl Counts {
    fn per_second(&self, elapsed: Duration) -> f64 {
        let tokens = self.decoded.load(Relaxed) - self.before.load(Relaxed);
        tokens as f64 / elapsed.as_secs_f64().max(0.001)
    }

    /// If the runs to come are like those that ended; `None` before one did.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let ended = self.ended.load(Relaxed);
        let rate = self.per_second(elapsed);
        if ended == 0 || rate <= 0.0 {
            return None;
        }
        let all = self.tokens.load(Relaxed) as f64 / ended as f64 * self.missing as f64;
        let rest = (all - self.decoded.load(Relaxed) as f64).max(0.0);
        Duration::try_from_secs_f64(rest / rate).ok()
    }
}

impl Progress {
    /// A bar of `all` runs, of which `missing` are to be done.
    pub fn new(all: usize, missing: usize, meter: &Meter) -> Self {
        let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::stderr())
            .with_position((all - missing) as u64);
        let counts = Arc::new(Counts {
            decoded: Arc::clone(&meter.decoded),
            missing: missing as u64,
            ..Counts::default()
        });
        // a text that cannot be written is not shown
        let (speed, time) = (Arc::clone(&counts), Arc::clone(&counts));
        let rate = move |state: &ProgressState, text: &mut dyn Write| {
            let _ = write!(text, "{:.0}", speed.per_second(state.elapsed()));
        };
        let left = move |state: &ProgressState, text: &mut dyn Write| {
            if let Some(left) = time.left(state.elapsed()) {
                let _ = write!(text, "· {} left ", HumanDuration(left));
            }
        };
        let style =
            ProgressStyle::with_template("{bar:24} {pos}/{len} runs · {rate} tok/s {left}{msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", rate).with_key("left", left));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, counts }
    }

    /// A model is being opened.
    pub fn loading(&self, name: &str) {
        self.bar.set_message(format!("· loading {name}"));
    }

    /// It is open: speed counts from here.
    pub fn running(&self) {
        self.bar.set_message("");
        let now = self.counts.decoded.load(Relaxed);
        self.counts.before.store(now, Relaxed);
        self.bar.reset_elapsed();
    }

    /// A run ended, after so many tokens.
    pub fn ended(&self, tokens: u64) {
        self.counts.ended.fetch_add(1, Relaxed);
        self.counts.tokens.fetch_add(tokens, Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_told_from_tokens() {
        let counts = Counts {
            missing: 10,
            ..Counts::default()
        };
        let elapsed = Duration::from_secs(10);
        assert_eq!(counts.left(elapsed), None);
        // two of ten ended after 100 tokens each; the others have 200 so far, at 40 a second
        counts.decoded.store(400, Relaxed);
        counts.ended.store(2, Relaxed);
        counts.tokens.store(200, Relaxed);
        assert_eq!(counts.left(elapsed), Some(Duration::from_secs(15)));
    }
}

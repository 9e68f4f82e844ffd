//! `orgtop models pull`

use super::args::PullArgs;
use crate::cli::{Exit, Usage, output};
use crate::hub::{HubError, News, Place, Pulled, State, Wanted, pull};
use crate::tui::text::safe_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// Pulls a checkpoint.
///
/// # Errors
/// Wrong names and settings as [`Usage`]; whatever else keeps it from being there.
pub fn run(args: &PullArgs) -> anyhow::Result<Exit> {
    let pulled = pull_it(args).map_err(|e| match e {
        HubError::Name { .. } | HubError::Setting(_) => Usage(e.to_string()).into(),
        other => anyhow::Error::from(other),
    })?;
    if args.json {
        output::json(&pulled)?;
    } else {
        output::line(&pulled.path.display().to_string())?;
    }
    Ok(Exit::Done)
}

fn pull_it(args: &PullArgs) -> Result<Pulled, HubError> {
    let mut wanted: Wanted = args.name.parse()?;
    if let Some(revision) = &args.revision {
        wanted = wanted.at(revision)?;
    }
    let place = Place::from_env()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| HubError::Setting(format!("no connections on this machine: {e}")))?;
    let mut told = Told::new();
    let pulled = runtime.block_on(pull(&wanted, &place, &mut |news| told.tell(&news)));
    told.bar.finish_and_clear();
    pulled
}

/// Progress on stderr: a bar on a terminal, a line a file elsewhere.
struct Told {
    bar: ProgressBar,
    /// Bytes of the file at work, as shown.
    file: u64,
}

impl Told {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(
            "{bar:24} {bytes}/{total_bytes} · {bytes_per_sec} · {eta} left · {wide_msg}",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, file: 0 }
    }

    fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Plan { bytes, here, .. } => {
                self.bar.set_length(*bytes);
                self.bar.set_position(*here);
                // what was here already says nothing about the speed
                self.bar.reset_eta();
            }
            News::File { name, at, .. } => {
                self.file = *at;
                self.bar.set_message(safe_line(name).into_owned());
            }
            News::Bytes(n) => {
                self.file += n;
                self.bar.inc(*n);
            }
            News::Restart => {
                self.bar.dec(self.file);
                self.file = 0;
            }
            News::Again { why } => self.line(&format!("asking again: {why}")),
            News::Done { name, size, state } => {
                let how = match state {
                    State::Here => "already here",
                    State::Fetched => "pulled",
                    State::Resumed => "resumed and pulled",
                };
                self.line(&format!("{name}  {} {how}", super::size(*size)));
            }
        }
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| output::say(text));
    }
}

//! A run without a screen: progress on stderr, the answer or one object on stdout.

use super::summary::Summary;
use super::{Exit, output};
use crate::live::{Finished, Handle, Mailbox, Plan, launch};
use crate::org::{Body, Command, Organization, RunEnd, Status};
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::emulate_default_handler;
use std::io::IsTerminal;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Runs a plan to its end.
///
/// # Errors
/// Whatever kept the session from starting, or stdout.
pub fn run(plan: Plan, json: bool) -> anyhow::Result<Exit> {
    let file = plan.file.clone();
    let finished = finish(plan)?;
    if let Some(why) = &finished.header.engine.why_cpu {
        output::say(&format!("computed on the CPU: {why}"));
    }
    let session = file.map(|f| f.display().to_string());
    let summary = Summary::new(&finished.header, &finished.organization, session.clone());
    if json {
        output::json(&summary)?;
    } else {
        print_answer(&summary)?;
        if let Some(session) = session {
            output::say(&format!("recorded in {session}"));
        }
    }
    if let Some(error) = &finished.record_error {
        output::say(&format!("orgtop: the recording is incomplete: {error}"));
    }
    Ok(exit(&finished))
}

/// Runs a plan to its end, with progress where it can be seen.
///
/// # Errors
/// Whatever kept the session from starting.
pub fn finish(plan: Plan) -> anyhow::Result<Finished> {
    let handle = launch(plan);
    interrupt_on_signals(handle.commands.clone())?;
    follow(&handle);
    Ok(handle.wait()?)
}

/// An orderly end is done; breaking down, standing still or losing the recording is not.
#[must_use]
pub fn exit(finished: &Finished) -> Exit {
    let orderly = !matches!(finished.organization.end, None | Some(RunEnd::Failed));
    if orderly && !finished.stuck && finished.record_error.is_none() {
        Exit::Done
    } else {
        Exit::Failed
    }
}

fn print_answer(summary: &Summary) -> anyhow::Result<()> {
    for error in &summary.errors {
        let text = format!(
            "{:?} ({}, step {}): {}",
            error.kind, error.thread, error.step, error.message
        );
        output::say(&text);
    }
    match &summary.answer {
        // What the model wrote, unless it could drive a terminal.
        Some(answer) => output::line(answer)?,
        None => output::say("no answer"),
    }
    let m = &summary.metrics;
    output::say(&format!(
        "T {} · alone {} · ×{:.2} · η {:.2} (η/c {:.2}) · {:.1} s · {:.0} tok/s",
        m.latency,
        m.work,
        m.speedup,
        m.eta,
        m.eta_over_c,
        m.wall_ms / 1000.0,
        m.tok_per_s
    ));
    Ok(())
}

/// The first signal interrupts the run; where that takes too long (a model that loads, an engine that
/// hangs), the third ends the program as if nobody had caught it.
fn interrupt_on_signals(commands: Sender<Command>) -> anyhow::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for (i, signal) in signals.forever().enumerate() {
            match i {
                // If the run is over already nobody takes this, and nobody needs to.
                0 => drop(commands.send(Command::Interrupt)),
                1 => output::say("orgtop: still stopping; once more leaves it as it is"),
                _ => {
                    // Only fails for signals that cannot be caught.
                    let _ = emulate_default_handler(signal);
                }
            }
        }
    });
    Ok(())
}

/// Shows progress where stderr is a terminal; elsewhere only keeps the mailbox empty.
fn follow(handle: &Handle) {
    let bar = std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.set_message("loading");
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    });
    let mut shown = Shown::default();
    while !handle.is_finished() {
        shown.take(&handle.mailbox);
        if let (Some(bar), Some(text)) = (&bar, shown.text()) {
            bar.set_message(text);
        }
        std::thread::sleep(Duration::from_millis(if bar.is_some() { 100 } else { 5 }));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

#[derive(Default)]
struct Shown {
    org: Organization,
    tokens: u64,
    since: Option<Instant>,
}

impl Shown {
    fn take(&mut self, mailbox: &Mailbox) {
        for event in mailbox.take().events {
            if let Body::Tokens { ids, .. } = &event.body {
                self.tokens += ids.len() as u64;
                self.since.get_or_insert_with(Instant::now);
            }
            self.org.apply(&event);
        }
    }

    fn text(&self) -> Option<String> {
        let seconds = self.since?.elapsed().as_secs_f64().max(0.001);
        let running = self
            .org
            .threads()
            .filter(|t| t.status == Status::Running)
            .count();
        Some(format!(
            "step {} · {running} running of {} threads · {:.0} tok/s",
            self.org.now.step,
            self.org.threads().len(),
            self.tokens as f64 / seconds
        ))
    }
}

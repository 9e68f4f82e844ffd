//! A run without a screen: progress on stderr, the answer or one object on stdout.

use super::args::OutputArgs;
use super::summary::Summary;
use super::{Exit, outcome, output};
use crate::live::{Finished, Handle, Mailbox, Phase, Plan, launch};
use crate::org::{Body, Command, Organization, Status};
use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::emulate_default_handler;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How long a run without a token may take to end in order: an engine that reads a prompt does it, a server that
/// never answers does not.
const BEFORE_THE_FIRST_TOKEN: Duration = Duration::from_secs(1);

/// Runs a plan to its end.
///
/// # Errors
/// Whatever kept the session from starting, or stdout.
pub fn run(plan: Plan, args: &OutputArgs) -> anyhow::Result<Exit> {
    let file = plan.file.clone();
    let finished = finish(plan)?;
    if let Some(why) = &finished.header.engine.why_cpu {
        output::say(&format!("computed on the CPU: {why}"));
    }
    let session = file.as_ref().map(|f| f.display().to_string());
    let summary = Summary::new(&finished.header, &finished.organization, session.clone());
    if args.json {
        output::json(&summary)?;
    } else {
        print_answer(&summary)?;
    }
    for line in outcome::orders_in_vain(&finished, args.commands.as_deref()) {
        output::say(&line);
    }
    if let Some(why) = outcome::why(&finished, file.as_deref()) {
        output::say(&why);
    }
    if !args.json {
        print_measures(&summary);
        if let Some(session) = session {
            output::say(&format!("recorded in {session}"));
        }
    }
    if let Some(error) = &finished.record_error {
        output::say(&format!("orgtop: the recording is incomplete: {error}"));
    }
    Ok(outcome::exit(&finished))
}

/// Runs a plan to its end, with progress where it can be seen.
///
/// # Errors
/// Whatever kept the session from starting; a signal before anything had begun.
pub fn finish(plan: Plan) -> anyhow::Result<Finished> {
    let file = plan.file.clone();
    let handle = launch(plan);
    let stop = interrupt_on_signals(handle.commands.clone())?;
    match follow(&handle, &stop) {
        Followed::ToItsEnd => Ok(handle.wait()?),
        Followed::NotBegun => {
            handle.leave_behind();
            bail!("stopped before anything began; nothing is lost")
        }
        Followed::NoToken => {
            handle.leave_behind();
            let file = file.map(|f| format!("; orgtop resume {} asks again", f.display()));
            bail!("stopped before the first token{}", file.unwrap_or_default())
        }
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
        Some(answer) => output::line(answer),
        None => Ok(()),
    }
}

fn print_measures(summary: &Summary) {
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
}

/// The first signal interrupts the run; where that takes too long (a model that loads, an engine that
/// hangs), the third ends the program as if nobody had caught it. What is returned becomes true with the first.
fn interrupt_on_signals(commands: Sender<Command>) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for (i, signal) in signals.forever().enumerate() {
            match i {
                // If the run is over already nobody takes this, and nobody needs to.
                0 => {
                    drop(commands.send(Command::Interrupt));
                    stopped.store(true, Ordering::Release);
                }
                1 => output::say("orgtop: still stopping; once more leaves it as it is"),
                _ => {
                    // Only fails for signals that cannot be caught.
                    let _ = emulate_default_handler(signal);
                }
            }
        }
    });
    Ok(stop)
}

/// How it was left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Followed {
    /// Its thread is done.
    ToItsEnd,
    /// A signal came before its prompt was made.
    NotBegun,
    /// A signal came before its first token, and it does not end by itself.
    NoToken,
}

/// Shows progress where stderr is a terminal; elsewhere only keeps the mailbox empty.
fn follow(handle: &Handle, stop: &AtomicBool) -> Followed {
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
    let mut stopping: Option<Instant> = None;
    let mut followed = Followed::ToItsEnd;
    while !handle.is_finished() {
        // Before the events: what is not begun now was not when the signal came.
        let asked = stop.load(Ordering::Acquire);
        let phase = shown.take(&handle.mailbox);
        if asked && phase == Phase::Loading {
            followed = Followed::NotBegun;
            break;
        }
        if asked && stopping.is_none() {
            stopping = Some(Instant::now());
            output::say("orgtop: stopping after this step");
        }
        let patience = BEFORE_THE_FIRST_TOKEN;
        if shown.tokens == 0 && stopping.is_some_and(|since| since.elapsed() > patience) {
            followed = Followed::NoToken;
            break;
        }
        if let (Some(bar), Some(text)) = (&bar, shown.text()) {
            bar.set_message(text);
        }
        std::thread::sleep(Duration::from_millis(if bar.is_some() { 100 } else { 5 }));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    followed
}

#[derive(Default)]
struct Shown {
    org: Organization,
    tokens: u64,
    since: Option<Instant>,
}

impl Shown {
    /// Takes what has come; how far the session is.
    fn take(&mut self, mailbox: &Mailbox) -> Phase {
        let batch = mailbox.take();
        for event in batch.events {
            if let Body::Tokens { ids, .. } = &event.body {
                self.tokens += ids.len() as u64;
                self.since.get_or_insert_with(Instant::now);
            }
            self.org.apply(&event);
        }
        batch.report.phase
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{ChatMessage, Engine, EngineCard, EngineError, SeqOp, StepOutput, TokenId};
    use crate::live::{Audience, RunConfig, ServerSet, Start, ToolSet};

    /// Longer than the test waits.
    const LONG: Duration = Duration::from_secs(60);

    /// Never comes to its first token.
    #[derive(Default)]
    struct Wedged(EngineCard);

    impl Engine for Wedged {
        fn card(&self) -> &EngineCard {
            &self.0
        }
        fn encode(&mut self, _: &str) -> Result<Vec<TokenId>, EngineError> {
            Ok(Vec::new())
        }
        fn prompt(&mut self, _: &[ChatMessage], _: bool) -> Result<Vec<TokenId>, EngineError> {
            Ok(Vec::new())
        }
        fn decode(&mut self, _: &[TokenId]) -> Vec<u8> {
            Vec::new()
        }
        fn advance(&mut self, _: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
            std::thread::sleep(LONG);
            Ok(StepOutput::default())
        }
    }

    #[test]
    fn an_engine_that_hangs_before_its_first_token_is_left_at_the_first_signal() {
        let config = RunConfig {
            query: "q".into(),
            ..RunConfig::default()
        };
        let handle = launch(Plan {
            open: Box::new(|| Ok(Box::new(Wedged::default()))),
            start: Start::Fresh {
                config,
                id: "hangs".into(),
                created: "2026-01-01T00:00:00Z".into(),
            },
            file: None,
            orders: std::collections::VecDeque::new(),
            audience: Audience::Nobody,
            tools: ToolSet::new(),
            servers: ServerSet::new(),
        });
        while handle.mailbox.take().report.phase == Phase::Loading {
            std::thread::sleep(Duration::from_millis(5));
        }
        let began = Instant::now();
        assert!(follow(&handle, &AtomicBool::new(true)) == Followed::NoToken);
        assert!(began.elapsed() < LONG / 4);
        handle.leave_behind();
    }
}

//! What everything around the engine costs: the same run alone, recorded, and recorded on a screen.
//!
//! Eight copies of one query decode at once. CPU time of the session's, the recorder's and the screen's threads is
//! read from the system and set against the CPU time of the engine's own threads, or against the time that its steps
//! took where that is more.

use super::machine::Clocks;
use super::paper::Paper;
use crate::engine::{Engine, Sampling, Wrapped};
use crate::live::{Audience, OpenEngine, Plan, RunConfig, Start, launch};
use crate::record::{Limits, Merge, Policy};
use crate::tui::keymap::Keymap;
use crate::tui::look::Look;
use crate::tui::terminal::Modes;
use crate::tui::theme::{ColorDepth, Theme};
use crate::tui::{self, LiveSource};
use anyhow::Context;
use crossterm::event::KeyCode;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a screen has to show what came last.
const SEEING: Duration = Duration::from_millis(250);

/// Threads that decode at once.
pub const THREADS: u32 = 8;

/// CPU time beyond the engine's, as shares of the engine's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Overhead {
    /// Tokens that were decoded in each run.
    pub tokens: u64,
    /// Running the organization.
    pub org: f64,
    /// Recording it.
    pub record: f64,
    /// Showing it, 120 columns by 36 rows.
    pub ui: f64,
    /// All of it.
    pub total: f64,
}

/// What a run has around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    Recorder,
    RecorderAndScreen,
}

/// CPU seconds of one run, for each second of the engine's.
struct Costs {
    session: f64,
    recorder: f64,
    screen: f64,
    tokens: u64,
}

/// Measures `open`'s engine with `tokens` tokens a thread; `None` where the system does not tell threads apart.
///
/// # Errors
/// A run that does not start, or a folder that cannot be written.
pub fn measure(
    open: &dyn Fn() -> anyhow::Result<OpenEngine>,
    query: &str,
    tokens: u64,
) -> anyhow::Result<Option<Overhead>> {
    let folder = tempfile::tempdir().context("cannot make a folder for a recording")?;
    let run = |around| {
        once(
            open()?,
            query,
            tokens,
            around,
            folder.path().join(format!("{around:?}.jsonl")),
        )
    };
    let Some(alone) = run(Around::Nothing)? else {
        return Ok(None);
    };
    let (Some(recorded), Some(shown)) = (run(Around::Recorder)?, run(Around::RecorderAndScreen)?)
    else {
        return Ok(None);
    };
    // what the session does for the others: differences of small numbers, which noise can turn around
    let more = |with: &Costs, without: &Costs| (with.session - without.session).max(0.0);
    let org = alone.session;
    let record = recorded.recorder + more(&recorded, &alone);
    let ui = shown.screen + more(&shown, &recorded);
    Ok(Some(Overhead {
        tokens: alone.tokens,
        org,
        record,
        ui,
        total: org + record + ui,
    }))
}

fn once(
    open: OpenEngine,
    query: &str,
    tokens: u64,
    around: Around,
    file: PathBuf,
) -> anyhow::Result<Option<Costs>> {
    let spent = Arc::new(Spent::default());
    let inside = Arc::clone(&spent);
    let Some(clocks) = Clocks::start() else {
        return Ok(None);
    };
    let handle = launch(Plan {
        open: Box::new(move || Ok(timed(open()?, inside))),
        start: Start::Fresh {
            config: config(query, tokens),
            id: "bench".into(),
            created: jiff::Timestamp::now().to_string(),
        },
        file: (around != Around::Nothing).then_some(file),
        orders: VecDeque::new(),
        audience: Audience::Nobody,
        tools: BTreeMap::default(),
        servers: BTreeMap::default(),
    });
    if around == Around::RecorderAndScreen {
        let source = LiveSource {
            commands: handle.commands.clone(),
            mailbox: Arc::clone(&handle.mailbox),
        };
        let (mut paper, leave) = Paper::new(120, 36);
        let screen = std::thread::Builder::new()
            .name("screen".into())
            .spawn(move || {
                tui::app::run(tui::source::Source::Live(source), look()?, &mut paper).map(drop)
            })?;
        while !handle.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let costs = clocks.stop();
        // the screen leaves at once where it has seen the end, and asks where it has not: then the question is closed
        for code in [KeyCode::Char('q'), KeyCode::Esc].into_iter().cycle() {
            std::thread::sleep(SEEING);
            if screen.is_finished() {
                break;
            }
            leave.press(code);
        }
        screen
            .join()
            .map_err(|_| anyhow::anyhow!("the screen broke down"))??;
        handle.wait()?;
        return Ok(Some(spent.costs(&costs)));
    }
    while !handle.is_finished() {
        // nobody looks, but what is posted must go somewhere
        drop(handle.mailbox.take());
        std::thread::sleep(Duration::from_millis(20));
    }
    let costs = clocks.stop();
    handle.wait()?;
    Ok(Some(spent.costs(&costs)))
}

fn config(query: &str, tokens: u64) -> RunConfig {
    RunConfig {
        query: query.to_owned(),
        policy: Policy::Parallel,
        k: THREADS,
        merge: Merge::Rule,
        sampling: Sampling::default(),
        limits: Limits {
            worker: tokens,
            ..Limits::default()
        },
        ..RunConfig::default()
    }
}

fn look() -> std::io::Result<tui::Options> {
    let theme = Theme::load("terminal", &[], ColorDepth::True).map_err(std::io::Error::other)?;
    Ok(tui::Options {
        look: Look::new(theme, false, true),
        keymap: Keymap::default(),
        modes: Modes::default(),
        loading: "bench".into(),
        accepts: Box::new(|_| Ok(())),
        themes: None,
        demo: None,
    })
}

/// Time inside an engine, and what it decoded.
#[derive(Default)]
struct Spent {
    ns: AtomicU64,
    tokens: AtomicU64,
}

impl Spent {
    fn costs(&self, by_name: &BTreeMap<String, f64>) -> Costs {
        let wall = self.ns.load(Ordering::Relaxed) as f64 / 1e9;
        let decodes = |name: &str| name == "engine" || name.starts_with("candle-bp");
        let all = by_name.iter().filter(|(name, _)| decodes(name));
        let cpu: f64 = all.map(|(_, seconds)| seconds).sum();
        // a CPU decodes on several cores; a GPU takes time and hardly any CPU
        let engine = cpu.max(wall).max(1e-9);
        let share = |name: &str| by_name.get(name).copied().unwrap_or(0.0) / engine;
        Costs {
            session: share("session"),
            recorder: share("recorder"),
            screen: share("screen"),
            tokens: self.tokens.load(Ordering::Relaxed),
        }
    }
}

/// An engine on whose steps a clock runs.
fn timed(engine: Box<dyn Engine>, spent: Arc<Spent>) -> Box<dyn Engine> {
    Box::new(Wrapped::new(engine, move |engine, ops| {
        let begun = Instant::now();
        let output = engine.advance(ops)?;
        if !output.decoded.is_empty() {
            let ns = begun.elapsed().as_nanos() as u64;
            spent.ns.fetch_add(ns, Ordering::Relaxed);
            let tokens = output.decoded.len() as u64;
            spent.tokens.fetch_add(tokens, Ordering::Relaxed);
        }
        Ok(output)
    }))
}

//! `orgtop eval`
//!
//! Opens the models, shows progress, keeps finished runs on disk, prints and draws; what is evaluated and how it is
//! counted is [`crate::eval`].

mod args;
mod chart;
mod plan;
mod print;
mod progress;

pub use args::{EvalArgs, PolicyWord, SetWord};

use super::settings::ConfigFile;
use super::target::{Existing, Target};
use super::{Exit, output};
use crate::engine::EngineCard;
use crate::eval::{
    Error, Journal, Kind, Meter, Observer, Outcome, Outcomes, Role, Run, collect,
    collect_side_by_side, frontier, report,
};
use plan::Plan;
use print::{Printed, Speed};
use progress::Progress;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Evaluates.
///
/// # Errors
/// Wrong usage, models that do not load, a folder that holds something else.
pub fn run(args: &EvalArgs, config: &ConfigFile) -> anyhow::Result<Exit> {
    let options = args.engine_options(&config.run);
    let plan = Plan::new(args, &options, config)?;
    let picture = match &args.frontier {
        Some(path) => {
            let inputs = args.inputs();
            Some(Target::new(path, Existing::by_force(args.force), &inputs)?)
        }
        None => None,
    };
    let (mut journal, mut outcomes) = match &args.out {
        Some(folder) => {
            let settings = &plan.spec.settings;
            let (journal, outcomes) = Journal::open(folder, &plan.name, &plan.set, settings)?;
            (Some(journal), outcomes)
        }
        None => (None, Outcomes::new()),
    };
    let meter = Meter::default();
    stop_on_signals(&meter)?;
    let all = plan.needed.runs();
    let missing: Vec<Run> = all
        .iter()
        .filter(|r| !outcomes.contains_key(r))
        .copied()
        .collect();
    let progress = Progress::new(all.len(), missing.len(), &meter);
    let mut models = BTreeMap::new();
    let mut seconds = 0.0;
    for player in &plan.players {
        progress.loading(&player.source.to_string());
        let open = || player.source.open_for_many(&options);
        let engine = open()?()?;
        let card = engine.card().clone();
        for role in &player.roles {
            if let Some(journal) = &mut journal {
                journal.admit(*role, &card.model)?;
            }
            models.insert(*role, card.clone());
        }
        let due = |run: &&Run| player.roles.contains(&role(run));
        let own: Vec<Run> = missing.iter().filter(due).copied().collect();
        let mut observer = Watcher {
            journal: journal.as_mut(),
            progress: &progress,
        };
        let began = Instant::now();
        progress.running();
        let (spec, outcomes) = (&plan.needed, &mut outcomes);
        let end = if player.engines.min(own.len()) > 1 {
            drop(engine);
            let engines = (0..player.engines)
                .map(|_| open())
                .collect::<Result<_, _>>()?;
            collect_side_by_side(engines, spec, &own, outcomes, &meter, &mut observer)
        } else {
            collect(engine, spec, &own, outcomes, &meter, &mut observer)
        };
        seconds += began.elapsed().as_secs_f64();
        if let Err(why) = end {
            progress.clear();
            let kept = all.iter().filter(|r| outcomes.contains_key(r)).count();
            let left = left_off(kept, all.len(), args.out.as_deref());
            if matches!(why, Error::Stopped) {
                output::say(&format!("stopped: {left}"));
                return Ok(Exit::Failed);
            }
            anyhow::bail!("{why}; {left}");
        }
    }
    progress.clear();
    let speed = Speed::new(seconds, meter.decoded.load(Ordering::Relaxed));
    finish(args, &plan, &outcomes, &models, speed, picture)?;
    Ok(Exit::Done)
}

fn finish(
    args: &EvalArgs,
    plan: &Plan,
    outcomes: &Outcomes,
    models: &BTreeMap<Role, EngineCard>,
    speed: Speed,
    place: Option<Target>,
) -> anyhow::Result<()> {
    let report = report(&plan.spec, outcomes);
    let curves = args
        .frontier
        .as_ref()
        .map(|_| frontier(&plan.spec, outcomes));
    let picture = curves
        .as_ref()
        .map(|curves| chart::draw(curves, &plan.name));
    let printed = Printed::new(args, plan, models, speed, report, curves);
    if args.json {
        output::json(&printed)?;
    } else {
        output::line(&print::table(&printed))?;
    }
    match (place, picture) {
        (Some(place), Some(picture)) => place.write(|to| Ok(to.write_all(picture.as_bytes())?)),
        _ => Ok(()),
    }
}

fn role(run: &Run) -> Role {
    match run.kind {
        Kind::Organized { .. } => Role::Model,
        Kind::Lone { .. } => Role::Baseline,
    }
}

struct Watcher<'a> {
    journal: Option<&'a mut Journal>,
    progress: &'a Progress,
}

impl Observer for Watcher<'_> {
    fn ended(&mut self, run: &Run, outcome: &Outcome) -> Result<(), String> {
        self.progress.ended(outcome.decoded);
        match &mut self.journal {
            Some(journal) => journal.note(run, outcome).map_err(|e| e.to_string()),
            None => Ok(()),
        }
    }
}

/// The first signal stops between two steps; the second, where that takes too long, at once.
fn stop_on_signals(meter: &Meter) -> anyhow::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let stop = || std::sync::Arc::clone(&meter.stop);
        signal_hook::flag::register_conditional_default(signal, stop())?;
        signal_hook::flag::register(signal, stop())?;
    }
    Ok(())
}

/// What an evaluation that did not finish leaves.
fn left_off(kept: usize, of: usize, folder: Option<&Path>) -> String {
    match folder {
        Some(folder) => format!(
            "{kept} of {of} runs are in {}; the same call goes on there",
            folder.display()
        ),
        None => {
            format!("{kept} of {of} runs had ended; with --out FOLDER they would have been kept")
        }
    }
}

//! `orgtop rerun`: the same model, seed and commands once more.

use super::args::RerunArgs;
use super::diff::DiffObject;
use super::run::where_to_record;
use super::server;
use super::settings::ConfigFile;
use super::{Exit, Usage, headless, outcome, output};
use crate::live::{At, Audience, Departure, Order, Plan, Start};
use crate::org::{Author, Body, BranchId, Command, Event, Outcome, Place, Seq, Step};
use crate::record::{Header, History, LineOf, SessionFile, history, store};
use crate::tui::text::safe_line;
use serde::Serialize;
use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;

/// Alternatives that are recorded with each token, so that a divergence can be measured.
const ALTERNATIVES: u8 = 16;

/// What a rerun comes to.
#[derive(Debug, Serialize)]
struct Verdict {
    /// Whether every token is the same.
    same: bool,
    /// The first event that was not forced; `null`: nothing was.
    from: Option<Seq>,
    /// The new session.
    session: Option<PathBuf>,
    /// Recorded commands that never came due again.
    unfired: usize,
    /// The recorded line against the new one.
    #[serde(flatten)]
    diff: DiffObject,
}

/// Runs a session again.
///
/// # Errors
/// When there is nothing to run again, or the model is another one.
pub fn run(args: RerunArgs, config: &ConfigFile) -> anyhow::Result<Exit> {
    let file = SessionFile::open(&args.file)?;
    let past = history(&file)?;
    let source = args.with.source(file.header(), config)?;
    let open = args.with.open(&source, file.header(), config)?;
    let place = departure(&past, args.from)
        .map_err(|why| Usage(format!("{}: {why}", args.file.display())))?;
    let now = jiff::Zoned::now();
    let id = store::new_id(&now);
    let record = where_to_record(args.record, args.no_record, config, &id)?;
    let departure = Departure {
        header: file.header().clone(),
        history: past,
        place,
    };
    let mut header = departure.header(id, now.timestamp().to_string());
    header.sampling.alternatives = header.sampling.alternatives.max(ALTERNATIVES);
    let orders = orders(&departure.history, place);
    let recorded = LineOf::read(&file, None)?;
    let plan = Plan {
        open,
        start: Start::From {
            departure: Box::new(departure),
            header: Box::new(header),
        },
        file: record.clone(),
        orders,
        audience: Audience::Nobody,
        tools: config.tools.clone(),
        servers: server::beside(config, &config.run),
    };
    let finished = headless::finish(plan)?;
    let again = line_of(&finished.header, &finished.history);
    let names = (args.file.display().to_string(), finished.header.id.clone());
    let diff = DiffObject::new((&names.0, &recorded), (&names.1, &again));
    let verdict = Verdict {
        same: diff.divergence.is_none(),
        from: args.from.map(Seq),
        session: record,
        unfired: finished.unfired.len(),
        diff,
    };
    tell(&verdict, args.json)?;
    if let Some(error) = &finished.record_error {
        output::say(&format!("orgtop: the recording is incomplete: {error}"));
    }
    // The same again is done, however it ended.
    if verdict.same {
        return Ok(outcome::orderly(&finished));
    }
    if let Some(why) = outcome::why(&finished, verdict.session.as_deref()) {
        output::say(&why);
    }
    Ok(outcome::exit(&finished))
}

fn tell(verdict: &Verdict, json: bool) -> anyhow::Result<()> {
    if json {
        return output::json(verdict);
    }
    for line in verdict.diff.text().lines() {
        output::line(&safe_line(line))?;
    }
    if verdict.unfired > 0 {
        output::say(&format!(
            "{} recorded commands never came due again",
            verdict.unfired
        ));
    }
    if let Some(session) = &verdict.session {
        output::say(&format!("recorded in {}", session.display()));
    }
    Ok(())
}

fn line_of(header: &Header, history: &History) -> LineOf {
    let end = history.tip(history.present()).unwrap_or(Place {
        branch: BranchId(0),
        seq: Seq(0),
        step: Step(0),
    });
    LineOf::at(header, history, end)
}

/// The place before event `from`; without it, the place at which only the organizer's prompt is there.
fn departure(history: &History, from: Option<u64>) -> Result<Place, String> {
    let events = history.events();
    let begin = events
        .iter()
        .find(|e| matches!(e.body, Body::Thread { .. }))
        .ok_or("its organizer never began, so there is nothing to run again")?;
    let Some(asked) = from else {
        return Ok(Place {
            branch: begin.branch,
            seq: begin.seq.next(),
            step: begin.step,
        });
    };
    let last = events.last().map_or(0, |e| e.seq.0);
    if asked > last {
        return Err(format!("--from {asked}: its last event is {last}"));
    }
    let seq = before_command(events, Seq(asked));
    let Some(before) = events
        .iter()
        .rfind(|e| e.seq < seq)
        .filter(|e| e.seq >= begin.seq)
    else {
        return Err(format!(
            "--from {asked}: nothing had begun before that event"
        ));
    };
    Ok(history.settled(Place {
        branch: before.branch,
        seq,
        step: Step(u64::MAX),
    }))
}

/// `from`, or the command that was being carried out then.
fn before_command(events: &[Event], from: Seq) -> Seq {
    let answered = |command: Seq| {
        events.iter().any(|e| {
            e.seq < from && e.cause == Some(command) && matches!(e.body, Body::Effect { .. })
        })
    };
    events
        .iter()
        .filter(|e| e.seq < from && matches!(e.body, Body::Command { .. }))
        .map(|e| e.seq)
        .find(|seq| !answered(*seq))
        .unwrap_or(from)
}

/// What was asked after `place`, each due where it was asked.
fn orders(history: &History, place: Place) -> VecDeque<Order> {
    let unfired: HashSet<Seq> = history
        .events()
        .iter()
        .filter(|e| matches!(&e.body, Body::Effect { outcome } if *outcome == Outcome::Unfired))
        .filter_map(|e| e.cause)
        .collect();
    history
        .events()
        .iter()
        .filter(|e| e.seq >= place.seq && e.by == Author::Human && !unfired.contains(&e.seq))
        .filter_map(|e| match &e.body {
            Body::Command { command } if matters(command) => Some((e, command.clone())),
            _ => None,
        })
        .map(|(e, command)| Order {
            at: Some(At::Place {
                branch: BranchId(e.branch.0.saturating_sub(place.branch.0)),
                step: e.step.0,
            }),
            together: false,
            line: None,
            command,
        })
        .collect()
}

/// Whether a command can change what is decoded.
fn matters(command: &Command) -> bool {
    command.changes_the_run() || command.travels()
}

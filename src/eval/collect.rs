//! Runs what an evaluation needs, over one engine or several.

use super::outcome::{Outcome, Outcomes};
use super::report::{Report, report};
use super::run::{Run, Spec};
use crate::engine::{Engine, EngineError, Wrapped};
use crate::live::{Arrival, Keep, OpenEngine, RunConfig, travel_side_by_side, travel_together};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Who is told about finished runs.
pub trait Observer {
    /// A run ended.
    ///
    /// # Errors
    /// A sentence; the evaluation ends with it.
    fn ended(&mut self, _run: &Run, _outcome: &Outcome) -> Result<(), String> {
        Ok(())
    }
}

/// Nobody.
impl Observer for () {}

/// Read and set from other threads while an evaluation goes on.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    /// Set it, and the evaluation ends before its next step.
    pub stop: Arc<AtomicBool>,
    /// Tokens decoded so far.
    pub decoded: Arc<AtomicU64>,
}

impl Meter {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Why an evaluation could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The meter said so.
    #[error("stopped")]
    Stopped,
    /// The model does not open, or a prompt could not be made for it.
    #[error(transparent)]
    Model(#[from] EngineError),
    /// The engine broke down; nothing is concluded from that.
    #[error("the engine failed: {0}")]
    Engine(String),
    /// The observer's sentence.
    #[error("{0}")]
    Observer(String),
}

/// Runs each of `runs`, at most [`Spec::width`] at once, and hands its outcome to `outcomes` and to the observer.
///
/// # Errors
/// [`Error`]; outcomes until then are kept.
pub fn collect(
    engine: Box<dyn Engine>,
    spec: &Spec,
    runs: &[Run],
    outcomes: &mut Outcomes,
    meter: &Meter,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let (runs, configs) = configs(spec, runs);
    let mut heard = Ok(());
    let arrived = |arrival: Arrival| {
        heard = outcome_of(&arrival, meter)
            .and_then(|outcome| take(*runs[arrival.number], outcome, outcomes, observer));
        goes_on(&heard)
    };
    let engine = metered(engine, meter.clone());
    travel_together(engine, spec.width, Keep::State, configs, arrived)?;
    heard
}

/// The same over several engines side by side. What comes of a run does not depend on it.
///
/// # Errors
/// As [`collect`], and where an engine does not open.
pub fn collect_side_by_side(
    engines: Vec<OpenEngine>,
    spec: &Spec,
    runs: &[Run],
    outcomes: &mut Outcomes,
    meter: &Meter,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let (runs, configs) = configs(spec, runs);
    let engines = engines
        .into_iter()
        .map(|open| -> OpenEngine {
            let meter = meter.clone();
            Box::new(move || Ok(metered(open()?, meter)))
        })
        .collect();
    let mut told = Ok(());
    travel_side_by_side(
        engines,
        spec.width,
        Keep::State,
        &configs,
        |arrival| outcome_of(&arrival, meter),
        |number, outcome| {
            told = take(*runs[number], outcome, outcomes, observer);
            goes_on(&told)
        },
    )?;
    told
}

fn take(
    run: Run,
    outcome: Outcome,
    outcomes: &mut Outcomes,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let told = observer.ended(&run, &outcome);
    outcomes.insert(run, outcome);
    told.map_err(Error::Observer)
}

/// The runs that there is anything to run for, with what is asked of each.
fn configs<'r>(spec: &Spec, runs: &'r [Run]) -> (Vec<&'r Run>, Vec<RunConfig>) {
    runs.iter()
        .filter_map(|run| Some((run, spec.config(run)?)))
        .unzip()
}

/// What a run came to; an engine that broke off because it was told to is no fault.
fn outcome_of(arrival: &Arrival, meter: &Meter) -> Result<Outcome, Error> {
    Outcome::of(&arrival.finished.organization).map_err(|why| {
        if meter.stopped() {
            Error::Stopped
        } else {
            Error::Engine(why)
        }
    })
}

fn goes_on(so_far: &Result<(), Error>) -> ControlFlow<()> {
    match so_far {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}

/// Evaluates all contenders over one engine, in memory.
///
/// # Errors
/// [`Error`].
pub fn evaluate(
    engine: Box<dyn Engine>,
    spec: &Spec,
    meter: &Meter,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let mut outcomes = Outcomes::new();
    collect(engine, spec, &spec.runs(), &mut outcomes, meter, observer)?;
    Ok(report(spec, &outcomes))
}

/// An engine that counts its tokens, and breaks off when told to.
fn metered(engine: Box<dyn Engine>, meter: Meter) -> Box<dyn Engine> {
    Box::new(Wrapped::new(engine, move |engine, ops| {
        if meter.stopped() {
            return Err(EngineError::Gone("the evaluation was stopped".into()));
        }
        let output = engine.advance(ops)?;
        let decoded = output.decoded.len() as u64;
        meter.decoded.fetch_add(decoded, Ordering::Relaxed);
        Ok(output)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::run::{Contender, Kind, Settings};
    use super::*;
    use crate::engine::{Script, Scripted};
    use crate::record::Policy;
    use crate::task::Task;

    fn spec() -> Spec {
        let specs = ["countdown 12 9 6 4 = 18 find 1", "countdown 3 2 = 6 find 1"];
        Spec {
            tasks: specs.map(|s| Task::parse(s, 0).unwrap()).to_vec(),
            seeds: vec![1],
            contenders: vec![
                Contender::new(Policy::Asyncthink, 2),
                Contender::new(Policy::Sequential, 2),
                Contender::new(Policy::Parallel, 2),
            ],
            settings: Settings::default(),
            width: 3,
        }
    }

    fn engine(organizer: &[&str]) -> Box<dyn Engine> {
        let line = serde_json::json!({"thread": "organizer", "tokens": organizer});
        let script = Script::parse(&line.to_string(), "test").unwrap();
        Box::new(Scripted::new(script, "test"))
    }

    const ANSWER: [&str; 3] = ["<ANSWER>", "3 * 2", "</ANSWER>"];

    #[test]
    fn every_policy_is_counted_on_every_instance() {
        let meter = Meter::default();
        let report = evaluate(engine(&ANSWER), &spec(), &meter, &mut ()).unwrap();
        let all: Vec<(&str, f64, f64, f64)> = report
            .policies
            .iter()
            .map(|p| {
                (
                    p.name,
                    p.figures.all,
                    p.figures.format_valid,
                    p.figures.decoded,
                )
            })
            .collect();
        assert_eq!(
            all,
            [
                ("asyncthink", 0.5, 1.0, 3.0),
                ("sequential", 0.5, 1.0, 3.0),
                ("parallel", 0.5, 1.0, 6.0)
            ]
        );
        // two instances: an organization and two traces, one of them shared
        assert_eq!(meter.decoded.load(Ordering::Relaxed), 2 * 3 * 3);
    }

    #[test]
    fn engines_side_by_side_give_the_same() {
        let (meter, spec) = (Meter::default(), spec());
        let mut alone = Outcomes::new();
        collect(
            engine(&ANSWER),
            &spec,
            &spec.runs(),
            &mut alone,
            &meter,
            &mut (),
        )
        .unwrap();
        let open = || -> OpenEngine { Box::new(|| Ok(engine(&ANSWER))) };
        let mut both = Outcomes::new();
        let engines = vec![open(), open(), open(), open()];
        collect_side_by_side(engines, &spec, &spec.runs(), &mut both, &meter, &mut ()).unwrap();
        assert_eq!(alone, both);
        let broken: OpenEngine = Box::new(|| Err(EngineError::Gone("shut".into())));
        let end = collect_side_by_side(
            vec![open(), broken],
            &spec,
            &spec.runs(),
            &mut Outcomes::new(),
            &meter,
            &mut (),
        );
        assert!(end.unwrap_err().to_string().contains("shut"));
    }

    #[test]
    fn a_format_error_is_counted_and_ends_the_run() {
        let twice = [
            "<FORK-1>",
            "q",
            "</FORK-1>",
            "<FORK-1>",
            "q",
            "</FORK-1>",
            " x",
        ];
        let mut outcomes = Outcomes::new();
        let spec = spec();
        let run = spec.runs()[0];
        assert_eq!(run.kind, Kind::Organized { capacity: 2 });
        let meter = Meter::default();
        collect(
            engine(&twice),
            &spec,
            &[run],
            &mut outcomes,
            &meter,
            &mut (),
        )
        .unwrap();
        let outcome = &outcomes[&run];
        assert!(!outcome.valid && outcome.answer.is_none());
        assert_eq!((outcome.errors.len(), outcome.decoded), (1, 6));
    }

    struct Stops(Meter);

    impl Observer for Stops {
        fn ended(&mut self, _: &Run, _: &Outcome) -> Result<(), String> {
            self.0.stop.store(true, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn it_stops_between_steps_and_keeps_what_ended() {
        let (meter, mut outcomes, mut spec) = (Meter::default(), Outcomes::new(), spec());
        spec.width = 1;
        let runs = spec.runs();
        let mut observer = Stops(meter.clone());
        let end = collect(
            engine(&ANSWER),
            &spec,
            &runs,
            &mut outcomes,
            &meter,
            &mut observer,
        );
        assert!(matches!(end, Err(Error::Stopped)));
        assert_eq!(outcomes.len(), 1);
    }

    #[test]
    fn an_engine_that_breaks_down_is_no_result() {
        let line = r#"{"thread": "organizer", "tokens": ["a", "b"], "fail_at": 1}"#;
        let script = Script::parse(line, "test").unwrap();
        let engine = Box::new(Scripted::new(script, "test"));
        let end = evaluate(engine, &spec(), &Meter::default(), &mut ());
        assert!(matches!(end, Err(Error::Engine(why)) if why.contains("fails after 1")));
    }
}

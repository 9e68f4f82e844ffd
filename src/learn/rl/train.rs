//! The loop: rollout, advantages, gradients, and at intervals everything to disk.

mod lesson;

use super::line::{HeldOut, Line, Means, latency_chart, rewards_chart};
use super::rollout::{Ride, Rollout};
use super::{Observer, Report, Settings, Spec, Start};
use crate::engine::local::folder_text;
use crate::learn::checkpoint::{
    self, Precision, State, config_json, copy_companions, read_tokenizer, read_weights, save,
    write_atomically,
};
use crate::learn::network::{Network, Replicas, initial};
use crate::learn::training::{End, Error, Journal, Places, Subject, bar};
use crate::task::rng::Rng;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Names streams of chance apart.
const ASKED: u64 = 1;
const DRAWN: u64 = 2;
const TRIED: u64 = 3;
const SHUFFLED: u64 = 4;

/// A training at work.
struct Training<'a> {
    spec: &'a Spec,
    places: Places,
    rollout: PathBuf,
    best: PathBuf,
    network: Network,
    tokenizer: Value,
    replicas: Replicas,
    subject: Subject,
    state: State,
    /// Weights of the first model, where there is a leash to them.
    reference: Option<Vec<f32>>,
    journal: Journal<Line>,
    held_out: Vec<HeldOut>,
    bar: ProgressBar,
}

/// Train, or go on training, until all steps are taken or `observer` wants to stop.
///
/// # Errors
/// When settings, folder, model or tasks are unfit, or numbers run away. What was on disk stays usable.
pub fn train(spec: &Spec, observer: &mut dyn Observer) -> Result<Report, Error> {
    check(spec)?;
    let places = Places::new(&spec.folder);
    let _lock = places.lock()?;
    let mut training = Training::begin(spec, places)?;
    if training.held_out.is_empty() {
        training.try_held_out(observer)?;
        training.write()?;
    }
    training.run(observer)
}

fn check(spec: &Spec) -> Result<(), Error> {
    let s = &spec.settings;
    let positive = [
        ("steps", s.schedule.steps as f64),
        ("queries", s.queries as f64),
        ("passes", s.passes as f64),
        ("capacity", f64::from(s.capacity)),
        ("replicas", s.replicas as f64),
        ("clip", s.clip),
        ("tau", s.reward.tau),
        ("interval", spec.interval as f64),
    ];
    for (name, value) in positive {
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::Settings(format!(
                "{name} is {value}, expected more than 0"
            )));
        }
    }
    if s.group < 2 {
        return Err(Error::Settings(format!(
            "group is {}, expected at least 2: an advantage is relative to the others of a group",
            s.group
        )));
    }
    if spec.tasks.is_empty() || spec.held_out.is_empty() {
        return Err(Error::Settings(
            "there are no instances to learn from, or none held out".into(),
        ));
    }
    Ok(())
}

impl<'a> Training<'a> {
    fn begin(spec: &'a Spec, places: Places) -> Result<Self, Error> {
        let settings = &spec.settings;
        let (config, _) = folder_text(&spec.model).map_err(|e| Error::Settings(e.to_string()))?;
        let network = Network::new(config).map_err(Error::Settings)?;
        let first = || match settings.start {
            Start::Random => Ok(initial(network.layout(), settings.seed)),
            Start::Model { .. } => Ok(read_weights(&spec.model, &network)?),
        };
        let noted = json!({
            "network": config_json(network.config(), Precision::F16),
            "training": settings,
        });
        let leashed = settings.bounds.kl > 0.0;
        let reference = leashed.then(first).transpose()?;
        let kind = (settings.low_rank, settings.seed);
        let (subject, state) = Subject::begin(&places, noted, network.layout(), kind, first)?;
        let journal: Journal<Line> = Journal::open(&places.log, state.next_example)?;
        let held_out = journal.evaluations().iter().map(|(_, e)| e.clone());
        Ok(Self {
            rollout: spec.folder.join("rollout"),
            best: spec.folder.join("best"),
            tokenizer: read_tokenizer(&spec.model)?,
            replicas: Replicas::new(settings.replicas, network.layout().size()),
            reference,
            subject,
            held_out: held_out
                .filter_map(|e| serde_json::from_value(e).ok())
                .collect(),
            bar: bar(spec.progress, settings.schedule.steps, state.next_example),
            journal,
            spec,
            places,
            network,
            state,
        })
    }

    fn rollout(&self) -> Rollout<'_> {
        Rollout {
            folder: &self.rollout,
            shape: self.settings().reward,
            replicas: self.settings().replicas,
        }
    }

    fn settings(&self) -> &'a Settings {
        &self.spec.settings
    }

    fn run(&mut self, observer: &mut dyn Observer) -> Result<Report, Error> {
        let steps = self.settings().schedule.steps;
        while self.state.next_example < steps {
            let Some(line) = self.step(observer)? else {
                return Ok(self.report(End::Stopped));
            };
            observer.stepped(&line);
            self.journal.step(line)?;
            let step = self.state.next_example;
            if step >= steps || step.is_multiple_of(self.spec.interval) {
                self.try_held_out(observer)?;
                self.write()?;
            }
        }
        self.bar.finish_and_clear();
        Ok(self.report(End::Finished))
    }

    /// The runs of the coming step, group after group.
    fn rides(&self) -> Vec<Ride> {
        let (s, step) = (self.settings(), self.state.next_example);
        let mut rides = Vec::with_capacity(s.queries * s.group);
        for query in 0..s.queries as u64 {
            let mut asked = Rng::new(&[s.seed, ASKED, step, query]);
            let task = &self.spec.tasks[asked.below(self.spec.tasks.len())];
            rides.extend((0..s.group as u64).map(|member| Ride {
                task: task.clone(),
                seed: Rng::new(&[s.seed, DRAWN, step, query, member]).next_u64(),
                capacity: s.capacity,
            }));
        }
        rides
    }

    /// One step; `None` where the observer wanted to stop: nothing of the step is kept then.
    fn step(&mut self, observer: &mut dyn Observer) -> Result<Option<Line>, Error> {
        let (s, started) = (self.settings(), Instant::now());
        self.save(&self.rollout, Precision::F32)?;
        let rides = self.rides();
        let (mut done, mut decoded) = (0, 0);
        let units = self.rollout().units(&rides, |tokens| {
            done += 1;
            decoded += tokens;
            let speed = decoded as f64 / started.elapsed().as_secs_f64().max(1e-9);
            self.bar.set_message(format!(
                "unit {done} of {} · {speed:.0} tokens/s",
                rides.len()
            ));
            observer.decoding(done, rides.len());
            if observer.stopping() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if units.len() < rides.len() {
            return Ok(None);
        }
        let decoding = started.elapsed().as_secs_f64();
        let rate = s.schedule.factor(self.state.next_example);
        let (tally, gradient) = self.learn(&units, rate)?;
        self.state.next_example += 1;
        self.state.tokens += decoded as u64;
        let drawn = units
            .iter()
            .flat_map(|u| &u.traces)
            .flat_map(|t| &t.logprobs);
        let line = Line {
            step: self.state.next_example,
            scores: Means::of(units.iter().map(|u| &u.score)),
            entropy: -drawn.map(|l| f64::from(*l)).sum::<f64>() / decoded.max(1) as f64,
            cut: tally.cut as f64 / tally.tokens.max(1) as f64,
            kl: tally.kl / tally.tokens.max(1) as f64,
            drift: tally.drift / tally.tokens.max(1) as f64,
            gradient,
            rate,
            tokens: self.state.tokens,
            tokens_per_second: decoded as f64 / decoding.max(1e-9),
            seconds: started.elapsed().as_secs_f64(),
        };
        self.bar.set_position(self.state.next_example);
        self.bar.set_message(format!(
            "R {:.3} · solved {:.3} · T {:.0} · {:.0} tokens/s",
            line.scores.reward, line.scores.solved, line.scores.latency, line.tokens_per_second
        ));
        Ok(Some(line))
    }

    /// Tries the held-out instances with the present weights, and keeps the best.
    fn try_held_out(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.save(&self.rollout, Precision::F32)?;
        let s = self.settings();
        let rides: Vec<Ride> = self
            .spec
            .held_out
            .iter()
            .zip(0u64..)
            .map(|(task, i)| Ride {
                task: task.clone(),
                // the same draws at every step and in every training, so that curves can be compared
                seed: Rng::new(&[TRIED, i]).next_u64(),
                capacity: s.capacity,
            })
            .collect();
        let mut done = 0;
        let scores = self.rollout().scores(&rides, |_| {
            done += 1;
            self.bar
                .set_message(format!("held out {done} of {}", rides.len()));
            observer.decoding(done, rides.len());
            ControlFlow::Continue(())
        })?;
        let held_out = HeldOut {
            step: self.state.next_example,
            scores: Means::of(scores.iter()),
        };
        observer.evaluated(&held_out);
        let so_far = self.held_out.iter().map(|h| h.scores.reward);
        if so_far.fold(f64::NEG_INFINITY, f64::max) < held_out.scores.reward {
            self.save(&self.best, Precision::F16)?;
        }
        self.held_out.push(held_out);
        let noted = serde_json::to_value(held_out);
        let noted = noted.map_err(|e| checkpoint::Error::content(&self.places.log, e))?;
        self.journal.evaluation(held_out.step, noted)
    }

    /// Writes the present weights as a model folder.
    fn save(&self, folder: &Path, precision: Precision) -> Result<(), Error> {
        save(
            folder,
            &self.network,
            self.subject.weights(&self.state.weights),
            &self.tokenizer,
            precision,
        )?;
        Ok(copy_companions(&self.spec.model, folder)?)
    }

    /// Everything to disk, the state last: whatever is cut short before is done again from the state before.
    fn write(&self) -> Result<(), Error> {
        self.save(&self.places.model, Precision::F16)?;
        let lines = self.journal.lines();
        for (name, chart) in [
            ("rewards.svg", rewards_chart(lines, &self.held_out)),
            ("latency.svg", latency_chart(lines, &self.held_out)),
        ] {
            write_atomically(&self.spec.folder.join(name), chart.as_bytes())?;
        }
        Ok(self.state.write(&self.places.state)?)
    }

    fn report(&self, end: End) -> Report {
        let best = self
            .held_out
            .iter()
            .max_by(|a, b| a.scores.reward.total_cmp(&b.scores.reward));
        Report {
            end,
            steps: self.state.next_example,
            tokens: self.state.tokens,
            first: self.held_out.first().filter(|h| h.step == 0).copied(),
            best: best.copied(),
            model: self.places.model.clone(),
            best_model: self.best.clone(),
        }
    }
}

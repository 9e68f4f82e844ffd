//! The loop: batch, gradient, step, and at intervals everything to disk.

use super::batches::{Batch, produce};
use super::line::{Line, chart, recent};
use super::{End, Error, Examples, Moment, Observer, Report, Settings, Spec, Start};
use crate::learn::checkpoint::{State, config_json, read_weights, save, write_atomically};
use crate::learn::network::{Network, Replicas, initial};
use crate::learn::ops::{Tally, cross_entropy};
use crate::learn::optimizer::clip;
use crate::learn::training::{Journal, Places, Subject, bar};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

/// Batches made ahead.
const AHEAD: usize = 4;

/// Steps over which the report's means are taken.
const RECENT: usize = 100;

/// A training at work.
struct Training<'a> {
    spec: &'a Spec,
    places: Places,
    network: &'a Network,
    replicas: Replicas,
    subject: Subject,
    state: State,
    journal: Journal<Line>,
    bar: ProgressBar,
    /// Time spent on steps, and tokens learned from in it.
    spent: Duration,
    learned: usize,
}

/// Train, or go on training, until all steps are taken or `observer` wants to stop.
///
/// # Errors
/// When settings, folder or examples are unfit, or numbers run away. What was on disk stays usable.
pub fn train(
    spec: &Spec,
    examples: &dyn Examples,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    check(spec)?;
    let places = Places::new(&spec.folder);
    let _lock = places.lock()?;
    let network = Network::new(spec.config.clone()).map_err(Error::Settings)?;
    let (subject, state) = begin(spec, &places, &network)?;
    let mut training = Training {
        spec,
        replicas: Replicas::new(spec.settings.replicas, network.layout().size()),
        journal: Journal::open(&places.log, state.optimizer.steps)?,
        bar: bar(
            spec.progress,
            spec.settings.schedule.steps,
            state.optimizer.steps,
        ),
        network: &network,
        places,
        subject,
        state,
        spent: Duration::ZERO,
        learned: 0,
    };
    let (next, tokens) = (training.state.next_example, spec.settings.batch_tokens);
    thread::scope(|scope| {
        let (to, batches) = sync_channel(AHEAD);
        scope.spawn(|| {
            // owned here, so that the training hears of it if this thread dies
            let to = to;
            produce(examples, &network, next, tokens, &to);
        });
        // dropping the receiver on the way out ends the producer, also after an error
        training.run(batches.into_iter(), observer)
    })
}

fn check(spec: &Spec) -> Result<(), Error> {
    let s = &spec.settings;
    let positive = [
        ("steps", s.schedule.steps as f64),
        ("batch_tokens", s.batch_tokens as f64),
        ("replicas", s.replicas as f64),
        ("clip", s.clip),
        ("rates.matrices", f64::from(s.rates.matrices)),
        ("rates.others", f64::from(s.rates.others)),
        ("interval", spec.interval as f64),
    ];
    for (name, value) in positive {
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::Settings(format!(
                "{name} is {value}, expected more than 0"
            )));
        }
    }
    Ok(())
}

/// Everything that must be as it was for a training to go on.
fn settings(spec: &Spec) -> Value {
    json!({
        "network": config_json(&spec.config, spec.precision),
        "training": spec.settings,
    })
}

/// What is learned, and the state on disk or a new one.
fn begin(spec: &Spec, places: &Places, network: &Network) -> Result<(Subject, State), Error> {
    let noted = settings(spec);
    let Settings {
        seed,
        start,
        low_rank,
        ..
    } = &spec.settings;
    let first = || match start {
        Start::Random => Ok(initial(network.layout(), *seed)),
        Start::Model(folder) => Ok(read_weights(folder, network)?),
    };
    Subject::begin(places, noted, network.layout(), (*low_rank, *seed), first)
}

impl Training<'_> {
    fn run(
        &mut self,
        mut batches: impl Iterator<Item = Result<Batch, Error>>,
        observer: &mut dyn Observer,
    ) -> Result<Report, Error> {
        let steps = self.spec.settings.schedule.steps;
        while self.state.optimizer.steps < steps {
            let started = Instant::now();
            let batch = batches
                .next()
                .expect("the producer ends only after an error or after us")?;
            let line = self.step(&batch, started)?;
            observer.stepped(&line);
            self.journal.step(line)?;
            let stopping = observer.stopping();
            let step = self.state.optimizer.steps;
            if stopping || step >= steps || step.is_multiple_of(self.spec.interval) {
                self.save(observer)?;
            }
            if stopping && step < steps {
                return Ok(self.report(End::Stopped));
            }
        }
        self.bar.finish_and_clear();
        Ok(self.report(End::Finished))
    }

    fn step(&mut self, batch: &Batch, started: Instant) -> Result<Line, Error> {
        let settings = &self.spec.settings;
        let state = &mut self.state;
        let rate = settings.schedule.factor(state.optimizer.steps);
        let weight = 1.0 / batch.learned().max(1) as f32;
        let (gradient, tallies) = self.replicas.gradient(
            self.network,
            self.subject.weights(&state.weights),
            &batch.sequences(),
            |shard, row, logits, tally: &mut Tally| {
                cross_entropy(logits, shard.packed.targets()[row], weight, tally);
            },
        );
        let mut tally = Tally::default();
        tallies.into_iter().for_each(|t| tally.add(t));
        let gradient = self.subject.gradient(&state.weights, gradient);
        let length = clip(gradient, settings.clip);
        if !length.is_finite() || !tally.loss.is_finite() {
            return Err(Error::Diverged {
                step: state.optimizer.steps + 1,
            });
        }
        let rates = settings.rates.scaled(rate);
        state.optimizer.step(
            self.subject.slots(),
            &mut state.weights,
            gradient,
            rates,
            settings.replicas,
        );
        self.subject.refresh(&state.weights);
        state.next_example = batch.next;
        state.tokens += batch.tokens() as u64;
        let elapsed = started.elapsed();
        self.spent += elapsed;
        self.learned += batch.tokens();
        let speed = batch.tokens() as f64 / elapsed.as_secs_f64().max(1e-9);
        self.bar.set_position(state.optimizer.steps);
        self.bar
            .set_message(format!("loss {:.4} · {:.0} tokens/s", tally.mean(), speed));
        Ok(Line {
            step: state.optimizer.steps,
            loss: tally.mean(),
            accuracy: tally.accuracy(),
            gradient: length,
            rate,
            tokens: state.tokens,
            tokens_per_second: speed,
        })
    }

    /// Everything to disk, the state last: whatever is cut short before is done again from the state before.
    fn save(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let (spec, step) = (self.spec, self.state.optimizer.steps);
        let weights = self.subject.weights(&self.state.weights);
        save(
            &self.places.model,
            self.network,
            weights,
            &spec.tokenizer,
            spec.precision,
        )?;
        let moment = Moment {
            step,
            network: self.network,
            weights,
            model: &self.places.model,
        };
        let evaluated = observer.evaluate(&moment);
        if let Some(value) = evaluated.map_err(|message| Error::Evaluation { step, message })? {
            self.journal.evaluation(step, value)?;
        }
        let curve = self.places.folder.join("loss.svg");
        write_atomically(&curve, chart(self.journal.lines()).as_bytes())?;
        Ok(self.state.write(&self.places.state)?)
    }

    fn report(&self, end: End) -> Report {
        let (loss, accuracy) = recent(self.journal.lines(), RECENT);
        Report {
            end,
            steps: self.state.optimizer.steps,
            tokens: self.state.tokens,
            loss,
            accuracy,
            tokens_per_second: self.learned as f64 / self.spent.as_secs_f64().max(1e-9),
            model: self.places.model.clone(),
            log: self.places.log.clone(),
        }
    }
}

/// Loss and accuracy on the examples of a range, without learning from them.
///
/// # Errors
/// When an example does not fit the network.
pub fn evaluate(
    network: &Network,
    weights: &[f32],
    examples: &dyn Examples,
    range: std::ops::Range<u64>,
) -> Result<Tally, Error> {
    let mut tally = Tally::default();
    let mut workspace = crate::learn::network::Workspace::default();
    for index in range {
        let batch = super::batches::batch(examples, network, index, 1)?;
        for example in &batch.examples {
            let mut packed = crate::learn::network::Packed::default();
            packed.push(&example.tokens, &example.loss_mask);
            let logits = network.logits(weights, &packed, &mut workspace);
            for (row, target) in logits
                .chunks_exact_mut(network.config().vocab)
                .zip(packed.targets())
            {
                cross_entropy(row, *target, 0.0, &mut tally);
            }
        }
    }
    Ok(tally)
}

//! Rollouts: ordinary runs of the present model on queries of the task, many in one batch.

use super::unit::{RewardShape, Score, Unit, score};
use crate::engine::local::{self, Options};
use crate::engine::{EngineError, Sampling};
use crate::learn::training::Error;
use crate::live::{Arrival, Keep, OpenEngine, RunConfig, travel_side_by_side};
use crate::record::PoolPolicy;
use crate::task::Task;
use std::ops::ControlFlow;
use std::path::Path;

/// Sessions that decode at once. More make larger products and cost more memory.
const WIDTH: usize = 48;

/// Prompt rows in a step: with so many sessions somebody always begins.
const PREFILL_ROWS: usize = 512;

/// One run to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Ride {
    /// The task it is about.
    pub task: Task,
    /// Decides every draw.
    pub seed: u64,
    /// Organizer plus workers at once.
    pub capacity: u32,
}

impl Ride {
    fn config(&self) -> RunConfig {
        RunConfig {
            query: self.task.query(),
            task: Some(self.task.to_string()),
            capacity: Some(self.capacity),
            pool: PoolPolicy::Error,
            strict: true,
            sampling: Sampling {
                // the distribution that is learned: nothing tempered, nothing cut off
                temperature: 1.0,
                top_p: None,
                seed: self.seed,
                ..Sampling::default()
            },
            ..RunConfig::default()
        }
    }
}

/// Runs made with one model, shared out over engines side by side.
#[derive(Debug, Clone, Copy)]
pub struct Rollout<'a> {
    /// The model.
    pub folder: &'a Path,
    /// How rewards are put together.
    pub shape: RewardShape,
    /// Engines side by side. Which runs share an engine depends on this alone.
    pub replicas: usize,
}

impl Rollout<'_> {
    /// The unit of every run, in order; `done` hears of each with the number of its tokens, and may break off.
    ///
    /// # Errors
    /// When the model does not open, or its engine fails.
    pub fn units(
        &self,
        rides: &[Ride],
        done: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<Unit>, Error> {
        let unit = |arrival: &Arrival, task: &Task| Unit::new(arrival, task, self.shape);
        self.run(rides, Keep::Events, unit, Unit::decoded, done)
    }

    /// The same without keeping what was decoded.
    ///
    /// # Errors
    /// As [`Rollout::units`].
    pub fn scores(
        &self,
        rides: &[Ride],
        done: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<Score>, Error> {
        let judged = |arrival: &Arrival, task: &Task| score(arrival, task, self.shape);
        self.run(
            rides,
            Keep::State,
            judged,
            |s| s.outcome.decoded as usize,
            done,
        )
    }

    fn run<T: Send>(
        &self,
        rides: &[Ride],
        keep: Keep,
        make: impl Fn(&Arrival, &Task) -> Result<T, String> + Sync,
        decoded: impl Fn(&T) -> usize,
        mut done: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<T>, Error> {
        let engines = (0..self.replicas.clamp(1, rides.len().max(1)))
            .map(|_| self.engine())
            .collect();
        let configs: Vec<RunConfig> = rides.iter().map(Ride::config).collect();
        let mut made: Vec<Option<T>> = rides.iter().map(|_| None).collect();
        let make = |arrival: Arrival| -> Result<T, Error> {
            make(&arrival, &rides[arrival.number].task)
                .map_err(|why| EngineError::Device(why).into())
        };
        travel_side_by_side(engines, WIDTH, keep, &configs, make, |place, one| {
            let goes_on = done(decoded(&one));
            made[place] = Some(one);
            goes_on
        })?;
        Ok(made.into_iter().flatten().collect())
    }

    fn engine(&self) -> OpenEngine {
        let folder = self.folder.to_owned();
        Box::new(move || local::open(&folder, &options()))
    }
}

fn options() -> Options {
    Options {
        prefill_rows: Some(PREFILL_ROWS),
        ..Options::default()
    }
}

//! Rollouts: ordinary runs of the present model on queries of the task, many in one batch.

use super::unit::{RewardShape, Score, Unit, score};
use crate::engine::local::{self, Options};
use crate::engine::{EngineError, Sampling};
use crate::learn::training::Error;
use crate::live::{Arrival, Keep, RunConfig, travel_together};
use crate::record::PoolPolicy;
use crate::task::Task;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

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

/// Runs made with one model, shared out over threads with an engine each: engines that share a computation
/// would wait for each other at every product.
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
        let replicas = self.replicas.clamp(1, rides.len().max(1));
        let (stop, make) = (AtomicBool::new(false), &make);
        let mut made: Vec<Option<T>> = rides.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            let (to, from) = channel();
            let threads: Vec<_> = (0..replicas)
                .map(|replica| {
                    let (to, stop) = (to.clone(), &stop);
                    scope.spawn(move || {
                        let own = rides.iter().enumerate().skip(replica).step_by(replicas);
                        let own: Vec<(usize, &Ride)> = own.collect();
                        let configs = own.iter().map(|(_, ride)| ride.config());
                        let engine = local::open(self.folder, &options())?;
                        let mut broken = None;
                        travel_together(engine, WIDTH, keep, configs, |arrival| {
                            let (place, ride) = own[arrival.number];
                            let heard = match make(&arrival, &ride.task) {
                                Ok(one) => to.send((place, one)).is_ok(),
                                Err(why) => {
                                    broken = Some(EngineError::Device(why));
                                    false
                                }
                            };
                            if heard && !stop.load(Ordering::Relaxed) {
                                ControlFlow::Continue(())
                            } else {
                                ControlFlow::Break(())
                            }
                        })?;
                        broken.map_or(Ok(()), Err)
                    })
                })
                .collect();
            drop(to);
            for (place, one) in from {
                if done(decoded(&one)).is_break() {
                    stop.store(true, Ordering::Relaxed);
                }
                made[place] = Some(one);
            }
            for thread in threads {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(())
        })
        .map(|()| made.into_iter().flatten().collect())
    }
}

fn options() -> Options {
    Options {
        prefill_rows: Some(PREFILL_ROWS),
        ..Options::default()
    }
}

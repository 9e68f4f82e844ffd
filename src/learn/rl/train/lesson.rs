//! What units teach: gradients of their threads, and the step that the weights take.

use super::{SHUFFLED, Training};
use crate::learn::network::Learned;
use crate::learn::ops::log_sum_exp;
use crate::learn::optimizer::clip;
use crate::learn::rl::objective::{Drawn, Tally, policy_gradient};
use crate::learn::rl::unit::{Trace, Unit, advantages};
use crate::learn::training::Error;
use crate::task::rng::Rng;

impl Training<'_> {
    /// Moves the weights by what the units teach; counts, and the mean length of the gradients.
    pub(super) fn learn(&mut self, units: &[Unit], rate: f32) -> Result<(Tally, f64), Error> {
        let s = self.settings();
        let rewards: Vec<f64> = units.iter().map(|u| u.score.reward.total).collect();
        let advantages = rewards.chunks(s.group).flat_map(advantages);
        let mut lessons: Vec<(&Trace, f32)> = units
            .iter()
            .zip(advantages)
            .filter(|(_, advantage)| *advantage != 0.0)
            .flat_map(|(unit, advantage)| unit.traces.iter().map(move |t| (t, advantage)))
            .filter(|(trace, _)| !trace.logprobs.is_empty() && self.network.fits(&trace.tokens))
            .collect();
        Rng::new(&[s.seed, SHUFFLED, self.state.next_example]).shuffle(&mut lessons);
        let (mut tally, mut lengths) = (Tally::default(), 0.0);
        let part = lessons.len().div_ceil(s.passes).max(1);
        for lessons in lessons.chunks(part) {
            let (seen, length) = self.learn_part(lessons, rate)?;
            tally.add(seen);
            lengths += length;
        }
        Ok((tally, lengths / s.passes as f64))
    }

    fn learn_part(&mut self, lessons: &[(&Trace, f32)], rate: f32) -> Result<(Tally, f64), Error> {
        let s = self.settings();
        let batch: Vec<Learned<'_>> = lessons
            .iter()
            .map(|(trace, _)| Learned {
                tokens: &trace.tokens,
                mask: &trace.decoded,
            })
            .collect();
        let references = self.references(&batch);
        let tokens: usize = lessons.iter().map(|(t, _)| t.logprobs.len()).sum();
        let weight = 1.0 / tokens.max(1) as f32;
        let (gradient, tallies) = self.replicas.gradient(
            &self.network,
            self.subject.weights(&self.state.weights),
            &batch,
            |shard, row, logits, tally: &mut Tally| {
                let (sequence, place) = (shard.sequence[row], shard.place[row]);
                let (trace, advantage) = lessons[sequence];
                let drawn = Drawn {
                    token: shard.packed.targets()[row],
                    logprob: trace.logprobs[place],
                    reference: references.as_ref().map(|r| r[sequence][place]),
                    advantage,
                };
                policy_gradient(logits, drawn, s.bounds, weight, tally);
            },
        );
        let mut tally = Tally::default();
        tallies.into_iter().for_each(|t| tally.add(t));
        let gradient = self.subject.gradient(&self.state.weights, gradient);
        let length = clip(gradient, s.clip);
        if !length.is_finite() {
            return Err(Error::Diverged {
                step: self.state.next_example + 1,
            });
        }
        self.state.optimizer.step(
            self.subject.slots(),
            &mut self.state.weights,
            gradient,
            s.rates.scaled(rate),
            s.replicas,
        );
        self.subject.refresh(&self.state.weights);
        Ok((tally, length))
    }

    /// What the first model thinks of every token that counts, by sequence.
    fn references(&mut self, batch: &[Learned<'_>]) -> Option<Vec<Vec<f32>>> {
        let reference = self.reference.as_ref()?;
        let seen: Vec<Vec<(usize, usize, f32)>> = self.replicas.look(
            &self.network,
            reference,
            batch,
            |shard, row, logits, seen: &mut Vec<_>| {
                let logit = logits[shard.packed.targets()[row] as usize];
                let logprob = logit - log_sum_exp(logits);
                seen.push((shard.sequence[row], shard.place[row], logprob));
            },
        );
        let mut out: Vec<Vec<f32>> = batch
            .iter()
            .map(|l| vec![0.0; l.mask.iter().filter(|m| **m).count()])
            .collect();
        for (sequence, place, logprob) in seen.into_iter().flatten() {
            out[sequence][place] = logprob;
        }
        Some(out)
    }
}

//! What a training changes: all weights of a network, or low-rank corrections to frozen ones.
//!
//! A correction to a matrix `W` `[out, in]` is `(alpha / rank) B A` with `A` `[rank, in]` and `B` `[out, rank]`
//! (LoRA; Hu et al. 2021). The sum is kept ready, so that forward and backward know nothing of it: the gradient
//! of the sum gives those of `A` and `B` by one product each.

use super::{Error, Places, resume};
use crate::engine::sampler::Key;
use crate::learn::checkpoint::State;
use crate::learn::network::{Kind, Layout, Slot};
use crate::learn::ops::{Add, View, ViewMut, matmul};
use crate::learn::optimizer::Optimizer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Low-rank corrections to the matrices of attention and MLP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LowRank {
    /// Columns of `B`, rows of `A`.
    pub rank: usize,
    /// Strength: corrections count `alpha / rank` times.
    pub alpha: f32,
}

/// See the module's docs.
#[derive(Debug)]
pub(crate) enum Subject {
    /// Every weight is learned; they are the parameters.
    Everything(Vec<Slot>),
    /// Corrections are.
    Corrections(Box<Corrections>),
}

/// Frozen weights and where their corrections lie among the parameters.
#[derive(Debug)]
pub(crate) struct Corrections {
    frozen: Vec<f32>,
    /// Frozen weights plus corrections.
    merged: Vec<f32>,
    strength: f32,
    rank: usize,
    /// Corrected matrix, `A`, `B`.
    triples: Vec<(Slot, Slot, Slot)>,
    /// All `A` and `B` in order.
    slots: Vec<Slot>,
}

impl Subject {
    /// What is learned, and where to go on: the state on disk, which must be of the settings `noted`, or a new one.
    /// `first` gives the weights at the beginning; all are learned, or corrections to them.
    ///
    /// # Errors
    /// Those of `first`; a state that is damaged or of other settings.
    pub fn begin(
        places: &Places,
        noted: Value,
        layout: &Layout,
        (low_rank, seed): (Option<LowRank>, u64),
        first: impl Fn() -> Result<Vec<f32>, Error>,
    ) -> Result<(Self, State), Error> {
        let mut subject = match low_rank {
            None => Self::Everything(layout.slots().to_vec()),
            Some(low_rank) => {
                Self::Corrections(Box::new(Corrections::new(layout, low_rank, first()?)))
            }
        };
        let state = match resume(places, &noted, subject.size())? {
            Some(state) => state,
            None => State {
                weights: match &subject {
                    Self::Everything(_) => first()?,
                    Self::Corrections(c) => c.initial(seed),
                },
                optimizer: Optimizer::new(subject.size()),
                next_example: 0,
                tokens: 0,
                settings: noted,
            },
        };
        subject.refresh(&state.weights);
        Ok((subject, state))
    }

    /// What the optimizer moves.
    pub fn slots(&self) -> &[Slot] {
        match self {
            Self::Everything(slots) => slots,
            Self::Corrections(c) => &c.slots,
        }
    }

    /// Number of parameters.
    pub fn size(&self) -> usize {
        self.slots().last().map_or(0, |slot| slot.range.end)
    }

    /// Takes new parameters in.
    pub fn refresh(&mut self, parameters: &[f32]) {
        if let Self::Corrections(c) = self {
            c.merge(parameters);
        }
    }

    /// The network's weights under the parameters last taken in.
    pub fn weights<'a>(&'a self, parameters: &'a [f32]) -> &'a [f32] {
        match self {
            Self::Everything(_) => parameters,
            Self::Corrections(c) => &c.merged,
        }
    }

    /// Turns the gradient of the weights into that of the parameters, in place.
    pub fn gradient<'a>(&self, parameters: &[f32], gradient: &'a mut [f32]) -> &'a mut [f32] {
        match self {
            Self::Everything(_) => gradient,
            Self::Corrections(c) => {
                let own = c.gradient(parameters, gradient);
                let front = &mut gradient[..own.len()];
                front.copy_from_slice(&own);
                front
            }
        }
    }
}

fn view<'a>(values: &'a [f32], slot: &Slot) -> View<'a> {
    View::new(&values[slot.range.clone()], slot.shape.0, slot.shape.1)
}

impl Corrections {
    fn new(layout: &Layout, LowRank { rank, alpha }: LowRank, frozen: Vec<f32>) -> Self {
        let mut end = 0;
        let mut slot = |name: String, shape: (usize, usize)| {
            let range = end..end + shape.0 * shape.1;
            end = range.end;
            Slot {
                name,
                shape,
                range,
                kind: Kind::Correction,
            }
        };
        let matrices = layout
            .slots()
            .iter()
            .filter(|s| matches!(s.kind, Kind::Inner | Kind::Output));
        let triples: Vec<(Slot, Slot, Slot)> = matrices
            .map(|matrix| {
                let (rows, columns) = matrix.shape;
                let a = slot(format!("{}.lora_A", matrix.name), (rank, columns));
                let b = slot(format!("{}.lora_B", matrix.name), (rows, rank));
                (matrix.clone(), a, b)
            })
            .collect();
        Self {
            merged: frozen.clone(),
            frozen,
            strength: alpha / rank as f32,
            rank,
            slots: triples
                .iter()
                .flat_map(|(_, a, b)| [a.clone(), b.clone()])
                .collect(),
            triples,
        }
    }

    /// `A` random, `B` zero.
    fn initial(&self, seed: u64) -> Vec<f32> {
        let key = Key::new("initial corrections");
        let mut values = vec![0.0; self.slots.last().map_or(0, |s| s.range.end)];
        for (_, a, _) in &self.triples {
            // uniform with the variance 1 / in
            let width = (12.0 / a.shape.1 as f32).sqrt();
            for at in a.range.clone() {
                values[at] = (key.draw(seed, at) as f32 - 0.5) * width;
            }
        }
        values
    }

    fn merge(&mut self, parameters: &[f32]) {
        self.merged.copy_from_slice(&self.frozen);
        for (matrix, a, b) in &self.triples {
            let (rows, columns) = matrix.shape;
            let into = ViewMut::new(&mut self.merged[matrix.range.clone()], rows, columns);
            matmul(
                into,
                Add::Accumulate,
                self.strength,
                view(parameters, b),
                view(parameters, a),
            );
        }
    }

    fn gradient(&self, parameters: &[f32], gradient: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; parameters.len()];
        for (matrix, a, b) in &self.triples {
            let of_sum = view(gradient, matrix);
            let into = ViewMut::new(&mut out[a.range.clone()], self.rank, matrix.shape.1);
            matmul(
                into,
                Add::Replace,
                self.strength,
                view(parameters, b).transposed(),
                of_sum,
            );
            let into = ViewMut::new(&mut out[b.range.clone()], matrix.shape.0, self.rank);
            matmul(
                into,
                Add::Replace,
                self.strength,
                of_sum,
                view(parameters, a).transposed(),
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::network::{Network, initial};
    use crate::learn::small;

    const LOW: LowRank = LowRank {
        rank: 3,
        alpha: 6.0,
    };

    fn subject() -> (Network, Subject, Vec<f32>) {
        let network = Network::new(small::config().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let first = || Ok(initial(network.layout(), 1));
        let (subject, state) = Subject::begin(
            &Places::new(folder.path()),
            Value::Null,
            network.layout(),
            (Some(LOW), 2),
            first,
        )
        .unwrap();
        (network, subject, state.weights)
    }

    #[test]
    fn corrections_begin_at_nothing_and_are_few() {
        let (network, mut subject, parameters) = subject();
        assert_eq!(parameters.len(), subject.size());
        assert!(subject.size() * 10 < network.layout().size());
        subject.refresh(&parameters);
        assert_eq!(subject.weights(&parameters), initial(network.layout(), 1));
    }

    #[test]
    fn their_gradient_is_that_of_the_sum() {
        let (network, mut subject, mut parameters) = subject();
        for (i, p) in parameters.iter_mut().enumerate() {
            *p += ((i * 7) % 11) as f32 * 0.01 - 0.05;
        }
        // a loss that is linear in the weights, so that its gradient is known
        let slope: Vec<f32> = (0..network.layout().size())
            .map(|i| ((i * 5) % 7) as f32 - 3.0)
            .collect();
        let mut loss = |parameters: &[f32]| -> f64 {
            subject.refresh(parameters);
            let weights = subject.weights(parameters);
            weights
                .iter()
                .zip(&slope)
                .map(|(w, s)| f64::from(w * s))
                .sum()
        };
        let mut differences = Vec::new();
        for at in [0, 100, 385, 5000] {
            let mut moved = |by: f32| {
                let mut parameters = parameters.clone();
                parameters[at] += by;
                loss(&parameters)
            };
            differences.push((at, (moved(0.5) - moved(-0.5)) as f32));
        }
        let mut of_weights = slope.clone();
        let gradient = subject.gradient(&parameters, &mut of_weights);
        for (at, wanted) in differences {
            assert!(
                (gradient[at] - wanted).abs() < 0.02 * wanted.abs().max(1.0),
                "{at}: {} {wanted}",
                gradient[at]
            );
        }
    }
}

//! One batch over several cores: each replica computes the gradient of its share, then they are summed.
//!
//! How sequences are shared out depends on them and on the number of replicas, never on the machine, so that
//! the sum rounds alike wherever and however often it is computed.

use super::{Network, Packed, Workspace};
use crate::learn::ops::add;
use std::thread;

/// Rows computed together: more fall out of the cache, fewer make products inefficient.
const SHARD_ROWS: usize = 1024;

/// Length at which attention over a sequence costs as much as everything else.
const EVEN_LENGTH: usize = 1300;

/// A sequence to learn from.
#[derive(Debug, Clone, Copy)]
pub struct Learned<'a> {
    /// Its tokens.
    pub tokens: &'a [u32],
    /// Which of them count.
    pub mask: &'a [bool],
}

/// Sequences that are computed together.
#[derive(Debug, Default)]
pub struct Shard {
    /// Their rows.
    pub packed: Packed,
    /// Which sequence of the batch each wanted row belongs to.
    pub sequence: Vec<usize>,
    /// Which of its sequence's tokens that count each wanted row predicts, from 0.
    pub place: Vec<usize>,
}

#[derive(Debug)]
struct Replica {
    workspace: Workspace,
    gradient: Vec<f32>,
}

/// Memory of all replicas.
#[derive(Debug)]
pub struct Replicas {
    replicas: Vec<Replica>,
}

impl Replicas {
    /// Memory for `count` replicas of a network with `size` weights; at least one.
    #[must_use]
    pub fn new(count: usize, size: usize) -> Self {
        let replica = || Replica {
            workspace: Workspace::default(),
            gradient: vec![0.0; size],
        };
        Self {
            replicas: (0..count.max(1)).map(|_| replica()).collect(),
        }
    }

    /// The gradient of a batch. `objective` is given each wanted row of a shard with its logits, which it
    /// replaces by their gradient, and what it keeps count in; these counts come back, one per replica.
    ///
    /// # Panics
    /// As [`Network::logits`].
    pub fn gradient<T: Default + Send>(
        &mut self,
        network: &Network,
        weights: &[f32],
        batch: &[Learned<'_>],
        objective: impl Fn(&Shard, usize, &mut [f32], &mut T) + Sync,
    ) -> (&mut [f32], Vec<T>) {
        let compute = |replica: &mut Replica, shards: &[Shard]| {
            let mut count = T::default();
            replica.gradient.fill(0.0);
            for shard in shards {
                let mut row =
                    |row: usize, logits: &mut [f32]| objective(shard, row, logits, &mut count);
                let Replica {
                    workspace,
                    gradient,
                } = replica;
                network.gradient(weights, &shard.packed, &mut row, gradient, workspace);
            }
            count
        };
        let counts = self.side_by_side(batch, compute);
        let (first, rest) = self
            .replicas
            .split_first_mut()
            .expect("there is at least one replica");
        for replica in rest {
            add(&mut first.gradient, &replica.gradient);
        }
        (&mut first.gradient, counts)
    }

    /// Computes a batch without learning from it. `look` is given each wanted row of a shard with its logits,
    /// and what it keeps count in.
    ///
    /// # Panics
    /// As [`Network::logits`].
    pub fn look<T: Default + Send>(
        &mut self,
        network: &Network,
        weights: &[f32],
        batch: &[Learned<'_>],
        look: impl Fn(&Shard, usize, &mut [f32], &mut T) + Sync,
    ) -> Vec<T> {
        let vocab = network.config().vocab;
        self.side_by_side(batch, |replica: &mut Replica, shards: &[Shard]| {
            let mut count = T::default();
            for shard in shards {
                let logits = network.logits(weights, &shard.packed, &mut replica.workspace);
                for (row, logits) in logits.chunks_exact_mut(vocab).enumerate() {
                    look(shard, row, logits, &mut count);
                }
            }
            count
        })
    }

    /// Gives each replica its share, each on a thread of its own.
    fn side_by_side<T: Send>(
        &mut self,
        batch: &[Learned<'_>],
        compute: impl Fn(&mut Replica, &[Shard]) -> T + Sync,
    ) -> Vec<T> {
        let shares = share(batch, self.replicas.len());
        let compute = &compute;
        thread::scope(|scope| {
            let started: Vec<_> = self
                .replicas
                .iter_mut()
                .zip(&shares)
                .map(|(replica, shards)| scope.spawn(move || compute(replica, shards)))
                .collect();
            let joined = started.into_iter().map(|thread| thread.join());
            joined
                .map(|r| r.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }
}

/// Shares of about equal work, each in shards.
fn share(batch: &[Learned<'_>], count: usize) -> Vec<Vec<Shard>> {
    let mut order: Vec<usize> = (0..batch.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(batch[*i].tokens.len()));
    let mut shares = vec![(0, Vec::new()); count];
    for i in order {
        let length = batch[i].tokens.len();
        let least = shares
            .iter_mut()
            .min_by_key(|(work, _)| *work)
            .expect("there is at least one share");
        least.0 += length + length * length / EVEN_LENGTH;
        least.1.push(i);
    }
    shares
        .into_iter()
        .map(|(_, members)| shards(batch, &members))
        .collect()
}

fn shards(batch: &[Learned<'_>], members: &[usize]) -> Vec<Shard> {
    let mut shards: Vec<Shard> = Vec::new();
    for member in members {
        let Learned { tokens, mask } = batch[*member];
        let full = shards
            .last()
            .is_none_or(|s| s.packed.rows() > 0 && s.packed.rows() + tokens.len() > SHARD_ROWS);
        if full {
            shards.push(Shard::default());
        }
        let shard = shards
            .last_mut()
            .expect("one was just pushed where there was none");
        let before = shard.packed.wanted().len();
        shard.packed.push(tokens, mask);
        let after = shard.packed.wanted().len();
        shard.sequence.resize(after, *member);
        shard.place.extend(0..after - before);
    }
    shards
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_is_in_one_shard_and_work_is_even() {
        let tokens = vec![1; 3000];
        let mask = vec![true; 3000];
        let lengths = [700, 5, 1500, 60, 60, 900, 2, 300, 300];
        let batch: Vec<Learned<'_>> = lengths
            .iter()
            .map(|length| Learned {
                tokens: &tokens[..*length],
                mask: &mask[..*length],
            })
            .collect();
        let shares = share(&batch, 2);
        let rows = |share: &Vec<Shard>| share.iter().map(|s| s.packed.rows()).sum::<usize>();
        assert_eq!(
            rows(&shares[0]) + rows(&shares[1]),
            lengths.iter().map(|l| l - 1).sum::<usize>()
        );
        assert!(rows(&shares[0]).abs_diff(rows(&shares[1])) < 800);
        let mut seen: Vec<usize> = shares
            .iter()
            .flatten()
            .flat_map(|s| s.sequence.clone())
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
        let alone = |s: &Shard| s.packed.sequences().len() == 1;
        assert!(
            shares
                .iter()
                .flatten()
                .all(|s| s.packed.rows() <= SHARD_ROWS || alone(s))
        );
    }
}

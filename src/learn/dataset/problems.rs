//! The problems that examples are made of, sorted by how much there is to find.

use crate::learn::teacher::region::{MAX_HITS, Problem, Region, search};
use crate::task::countdown::preset::{Split, small_sets};
use crate::task::rng::Rng;

/// Targets to learn from: wider than those asked, so that the edges are no edges.
pub const TARGETS: std::ops::RangeInclusive<u32> = 5..=55;

#[derive(Debug)]
pub(super) struct Problems {
    /// With at least four solutions in the six regions together.
    rich: Vec<Problem>,
    /// The others.
    poor: Vec<Problem>,
    /// Regions with a hit.
    pub(super) hits: Vec<(Problem, Region)>,
}

impl Problems {
    pub(super) fn of(split: Split) -> Self {
        let mut out = Self {
            rich: Vec::new(),
            poor: Vec::new(),
            hits: Vec::new(),
        };
        for numbers in small_sets(split) {
            for target in TARGETS {
                let problem = Problem { numbers, target };
                let found = Region::ALL.map(|region| search(&problem, region, MAX_HITS).hits.len());
                let list = if found.iter().sum::<usize>() >= MAX_HITS {
                    &mut out.rich
                } else {
                    &mut out.poor
                };
                list.push(problem);
                let with_hit = Region::ALL
                    .into_iter()
                    .zip(found)
                    .filter(|(_, found)| *found > 0);
                out.hits
                    .extend(with_hit.map(|(region, _)| (problem, region)));
            }
        }
        out
    }

    pub(super) fn draw(&self, rich: f64, rng: &mut Rng) -> Problem {
        let list = if rng.chance(rich) {
            &self.rich
        } else {
            &self.poor
        };
        list[rng.below(list.len())]
    }
}

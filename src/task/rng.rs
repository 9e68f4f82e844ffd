//! Reproducible chance for instances and examples.
//!
//! Test sets and training positions are named by their seeds, so the sequence of draws must never change
//! with a dependency: splitmix64 (Steele, Lea, Flood 2014), seeded by any number of parts.

/// A stream of draws that depends on its seed alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// A stream named by its parts: (seed, index), say. Order and number of parts matter.
    #[must_use]
    pub fn new(parts: &[u64]) -> Self {
        let mut rng = Self(parts.len() as u64);
        for part in parts {
            rng.0 = mix(rng.0.wrapping_mul(GOLDEN) ^ part.wrapping_add(GOLDEN));
        }
        rng
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Uniform in `0..n`; 0 for `n == 0`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Uniform in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of them; `None` of none.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// An index drawn in proportion to the weights; 0 for none.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        for (i, weight) in weights.iter().enumerate() {
            if left < *weight {
                return i;
            }
            left -= weight;
        }
        weights.len().saturating_sub(1)
    }

    /// Any order, each as likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_its_parts_and_their_order() {
        let first = |parts: &[u64]| Rng::new(parts).next_u64();
        assert_eq!(first(&[1, 2]), first(&[1, 2]));
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1]), first(&[1, 0]));
        assert_eq!(
            first(&[7, 0]),
            9_462_677_592_197_996_078,
            "draws never change"
        );
    }

    #[test]
    fn draws_are_even() {
        let mut rng = Rng::new(&[3]);
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[rng.below(5)] += 1;
        }
        assert!(
            counts.iter().all(|c| (9_600..10_400).contains(c)),
            "{counts:?}"
        );
        let heavy = (0..10_000)
            .filter(|_| rng.weighted(&[1.0, 3.0]) == 1)
            .count();
        assert!((7_300..7_700).contains(&heavy), "{heavy}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..20).collect();
        Rng::new(&[9]).shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}

//! Numbers to begin with.

use super::layout::{Kind, Layout};
use crate::engine::sampler::Key;

/// Standard deviation of token vectors.
const EMBEDDING: f32 = 0.02;

/// Random weights: norms are 1, matrices keep the variance of their input, and those that add to the residual
/// stream are smaller the more of them there are.
#[must_use]
pub fn initial(layout: &Layout, seed: u64) -> Vec<f32> {
    let key = Key::new("initial weights");
    let outputs = layout
        .slots()
        .iter()
        .filter(|slot| slot.kind == Kind::Output)
        .count();
    let mut values = vec![1.0; layout.size()];
    for slot in layout.slots() {
        let fan_in = 1.0 / (slot.shape.1 as f32).sqrt();
        let deviation = match slot.kind {
            Kind::Embedding => EMBEDDING,
            Kind::Inner => fan_in,
            Kind::Output => fan_in / (outputs as f32).sqrt(),
            Kind::Norm | Kind::Correction => continue,
        };
        for at in slot.range.clone() {
            values[at] = deviation * normal(key, seed, at);
        }
    }
    values
}

/// A normal number by Box and Muller's transform.
fn normal(key: Key, seed: u64, index: usize) -> f32 {
    let (u, v) = (key.draw(seed, 2 * index), key.draw(seed, 2 * index + 1));
    let radius = (-2.0 * (1.0 - u).ln()).sqrt();
    (radius * (std::f64::consts::TAU * v).cos()) as f32
}

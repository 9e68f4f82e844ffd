//! The operations of a decoder block over rows of f32, each forward with its own backward.
//!
//! Plain functions over slices: no tape, no allocation, no threads. A caller keeps what a backward pass needs
//! and runs one replica per core. Matrices are row-major; *accumulate* in a name or a doc means that the
//! result is added to what is there.

mod attention;
mod cross_entropy;
mod heads;
mod matmul;
mod norm;
mod swiglu;

pub use crate::simd::{add, dot, log_sum_exp, norm_squared, scale, vectorized};
pub use attention::{Attention, Scratch};
pub use cross_entropy::{Tally, cross_entropy};
pub use heads::{Heads, Rotation};
pub use matmul::{Add, View, ViewMut, matmul};
pub use norm::Norm;
pub use swiglu::{swiglu, swiglu_backward};

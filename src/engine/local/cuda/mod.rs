//! Own attention kernels for CUDA devices: one launch a layer puts keys and values away, one attends, for all rows of
//! a ragged batch at once.
//!
//! `attention.cu` is compiled when a model is loaded, with that model's shape, and then tried on a made-up layer
//! ([`super::arena`]): it is used where it agrees with [`super::portable`]. What the kernels read is made here as
//! plain data, so that everything but the launches (`kernels`) is built and tested without a GPU.

#[cfg(feature = "cuda")]
mod kernels;
pub mod made_up;
pub mod table;

#[cfg(feature = "cuda")]
pub use kernels::{KernelArena, Kernels};

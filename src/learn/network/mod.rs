//! A Qwen3-style network with its gradient: one flat vector of numbers in, another out.
//!
//! Weights of a layer that are multiplied with the same input lie one after the other (q, k, v; gate, up), so
//! that each group is one product and no direction copies. Sequences of any lengths are packed without
//! padding. One [`Workspace`] serves one thread; a [`Network`] is shared.

mod layout;
mod packed;
mod parameters;
mod pass;
mod replicas;
mod workspace;

pub use layout::{Kind, Layout, Slot};
pub use packed::Packed;
pub use parameters::initial;
pub use replicas::{Learned, Replicas, Shard};
pub use workspace::Workspace;

use super::ops::{Attention, Norm, Rotation};
use crate::engine::local::config::Config;
use crate::engine::local::rope::RopeLayout;

/// Longest context that positions are prepared for.
const LONGEST: usize = 1 << 17;

/// Shape and positions of a network; its numbers are passed in.
#[derive(Debug)]
pub struct Network {
    config: Config,
    layout: Layout,
    rotation: Rotation,
}

impl Network {
    /// Prepare a network of this shape.
    ///
    /// # Errors
    /// A sentence that says which trait of the checkpoint has no gradient here.
    pub fn new(config: Config) -> Result<Self, String> {
        if config.arch != "qwen3" {
            return Err(format!(
                "training supports qwen3 networks, not `{}`",
                config.arch
            ));
        }
        if !config.tied {
            return Err(
                "training supports networks whose head is the embedding (tie_word_embeddings)"
                    .into(),
            );
        }
        if config.rope.layout != RopeLayout::Halves {
            return Err(
                "training supports rotary embeddings of halves, as in Hugging Face files".into(),
            );
        }
        if config.context > LONGEST {
            return Err(format!(
                "training supports contexts up to {LONGEST} tokens, not {}",
                config.context
            ));
        }
        let frequencies = config.rope.frequencies(config.head_dim, None);
        Ok(Self {
            layout: Layout::new(&config),
            rotation: Rotation::new(&frequencies, config.context),
            config,
        })
    }

    /// The shape.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where each weight lies.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn attention(&self) -> Attention {
        Attention {
            heads: self.config.heads,
            kv_heads: self.config.kv_heads,
            width: self.config.head_dim,
        }
    }

    fn norm<'a>(&self, weight: &'a [f32]) -> Norm<'a> {
        Norm {
            weight,
            eps: self.config.rms_eps,
        }
    }
}

#[cfg(test)]
mod tests;

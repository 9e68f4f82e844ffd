//! Where each weight lies in the flat vector, under the name that checkpoints use.

use crate::engine::local::config::Config;
use std::ops::Range;

/// What a weight is, which decides how it is initialised and optimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rows of token vectors, which are also the head.
    Embedding,
    /// A matrix that reads the residual stream.
    Inner,
    /// A matrix that adds to the residual stream.
    Output,
    /// The scale of a norm.
    Norm,
    /// Half of a low-rank correction to a matrix; not part of a network.
    Correction,
}

/// One weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Hugging Face name.
    pub name: String,
    /// Rows and columns; one row for a norm.
    pub shape: (usize, usize),
    /// Where its numbers lie.
    pub range: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

impl Slot {
    /// Dimensions as a checkpoint states them.
    #[must_use]
    pub fn dims(&self) -> Vec<usize> {
        match self.kind {
            Kind::Norm => vec![self.shape.1],
            Kind::Embedding | Kind::Inner | Kind::Output | Kind::Correction => {
                vec![self.shape.0, self.shape.1]
            }
        }
    }
}

/// Ranges of one layer.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub input_norm: Range<usize>,
    /// Queries, keys and values as one matrix.
    pub qkv: Range<usize>,
    pub query_norm: Range<usize>,
    pub key_norm: Range<usize>,
    pub o: Range<usize>,
    pub mlp_norm: Range<usize>,
    /// Gate and up as one matrix.
    pub gate_up: Range<usize>,
    pub down: Range<usize>,
}

/// All weights of a network, in the order of the flat vector.
#[derive(Debug, Clone)]
pub struct Layout {
    slots: Vec<Slot>,
    pub(super) embedding: Range<usize>,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: Range<usize>,
}

struct Builder {
    slots: Vec<Slot>,
}

impl Builder {
    fn slot(&mut self, name: String, shape: (usize, usize), kind: Kind) -> Range<usize> {
        let start = self.slots.last().map_or(0, |slot| slot.range.end);
        let range = start..start + shape.0 * shape.1;
        self.slots.push(Slot {
            name,
            shape,
            range: range.clone(),
            kind,
        });
        range
    }

    fn layer(&mut self, layer: usize, c: &Config) -> Layer {
        let (queries, keys) = (c.heads * c.head_dim, c.kv_heads * c.head_dim);
        let mut slot = |part: &str, shape, kind| {
            self.slot(format!("model.layers.{layer}.{part}.weight"), shape, kind)
        };
        let input_norm = slot("input_layernorm", (1, c.hidden), Kind::Norm);
        let q = slot("self_attn.q_proj", (queries, c.hidden), Kind::Inner);
        slot("self_attn.k_proj", (keys, c.hidden), Kind::Inner);
        let v = slot("self_attn.v_proj", (keys, c.hidden), Kind::Inner);
        let query_norm = slot("self_attn.q_norm", (1, c.head_dim), Kind::Norm);
        let key_norm = slot("self_attn.k_norm", (1, c.head_dim), Kind::Norm);
        let o = slot("self_attn.o_proj", (c.hidden, queries), Kind::Output);
        let mlp_norm = slot("post_attention_layernorm", (1, c.hidden), Kind::Norm);
        let gate = slot("mlp.gate_proj", (c.intermediate, c.hidden), Kind::Inner);
        let up = slot("mlp.up_proj", (c.intermediate, c.hidden), Kind::Inner);
        let down = slot("mlp.down_proj", (c.hidden, c.intermediate), Kind::Output);
        Layer {
            input_norm,
            qkv: q.start..v.end,
            query_norm,
            key_norm,
            o,
            mlp_norm,
            gate_up: gate.start..up.end,
            down,
        }
    }
}

impl Layout {
    pub(super) fn new(config: &Config) -> Self {
        let mut builder = Builder { slots: Vec::new() };
        let shape = (config.vocab, config.hidden);
        let embedding = builder.slot("model.embed_tokens.weight".into(), shape, Kind::Embedding);
        let layers = (0..config.layers)
            .map(|layer| builder.layer(layer, config))
            .collect();
        let norm = builder.slot("model.norm.weight".into(), (1, config.hidden), Kind::Norm);
        Self {
            slots: builder.slots,
            embedding,
            layers,
            norm,
        }
    }

    /// All weights.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Numbers in all.
    #[must_use]
    pub fn size(&self) -> usize {
        self.norm.end
    }
}

use super::*;
use crate::learn::ops::{Tally, cross_entropy};
use candle_core::{D, DType, Device, Tensor, Var};
use serde_json::json;
use std::collections::HashMap;

/// Odd widths, so that no loop gets by on whole vectors.
fn config() -> Config {
    let json = json!({
        "model_type": "qwen3", "hidden_size": 24, "intermediate_size": 41, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 10, "vocab_size": 33,
        "rms_norm_eps": 1e-6, "max_position_embeddings": 256, "tie_word_embeddings": true,
    });
    Config::from_hf(&json).expect("the config is sound")
}

/// Weights that are no special case: norms are not 1, and nothing is small.
fn weights(network: &Network) -> Vec<f32> {
    let mut weights = initial(network.layout(), 5);
    for slot in network.layout().slots() {
        for (i, at) in slot.range.clone().enumerate() {
            match slot.kind {
                Kind::Norm => weights[at] = 0.7 + 0.05 * (i % 11) as f32,
                Kind::Embedding => weights[at] *= 20.0,
                Kind::Inner | Kind::Output | Kind::Correction => {}
            }
        }
    }
    weights
}

/// One sequence over a block of queries long, a short one, and one of which nothing is learned.
fn sequences() -> Vec<(Vec<u32>, Vec<bool>)> {
    [(75, 3), (9, 2), (4, 100)]
        .into_iter()
        .map(|(length, masked)| {
            let tokens = (0..length as u32)
                .map(|i| (i * i * 7 + i + length as u32) % 33)
                .collect();
            let learned = (0..length).map(|i| i >= masked && i % 5 != 0).collect();
            (tokens, learned)
        })
        .collect()
}

fn packed() -> Packed {
    let mut packed = Packed::default();
    for (tokens, learned) in sequences() {
        packed.push(&tokens, &learned);
    }
    packed
}

fn loss_and_gradient(network: &Network, weights: &[f32], batch: &Packed) -> (Tally, Vec<f32>) {
    let mut gradient = vec![0.0; weights.len()];
    let weight = 1.0 / batch.targets().len() as f32;
    let mut tally = Tally::default();
    let mut row = |row: usize, logits: &mut [f32]| {
        cross_entropy(logits, batch.targets()[row], weight, &mut tally);
    };
    network.gradient(
        weights,
        batch,
        &mut row,
        &mut gradient,
        &mut Workspace::default(),
    );
    (tally, gradient)
}

/// The same network in composed tensor operations, whose gradients are an autograd's.
struct Reference<'a> {
    config: &'a Config,
    vars: HashMap<String, Var>,
}

impl<'a> Reference<'a> {
    fn new(network: &'a Network, weights: &[f32]) -> Self {
        let vars = network.layout().slots().iter().map(|slot| {
            let values: Vec<f64> = weights[slot.range.clone()]
                .iter()
                .map(|v| f64::from(*v))
                .collect();
            let tensor = Tensor::from_vec(values, slot.dims(), &Device::Cpu).expect("a tensor");
            (
                slot.name.clone(),
                Var::from_tensor(&tensor).expect("a variable"),
            )
        });
        Self {
            config: network.config(),
            vars: vars.collect(),
        }
    }

    fn var(&self, name: &str) -> &Tensor {
        self.vars[&format!("model.{name}.weight")].as_tensor()
    }

    fn norm(&self, x: &Tensor, name: &str) -> candle_core::Result<Tensor> {
        let mean = (x.sqr()?.mean_keepdim(D::Minus1)? + f64::from(self.config.rms_eps))?;
        x.broadcast_div(&mean.sqrt()?)?
            .broadcast_mul(self.var(name))
    }

    /// `[n, heads * width]` to `[heads, n, width]`, normed and rotated.
    fn rotated(&self, x: &Tensor, heads: usize, norm: &str) -> candle_core::Result<Tensor> {
        let (n, width) = (x.dim(0)?, self.config.head_dim);
        let x = self
            .norm(&x.reshape((n, heads, width))?, norm)?
            .transpose(0, 1)?;
        let frequencies = self.config.rope.frequencies(width, None);
        let angles: Vec<f64> = (0..n)
            .flat_map(|p| frequencies.iter().map(move |f| f64::from(p as f32 * f)))
            .collect();
        let angles = Tensor::from_vec(angles, (1, n, width / 2), &Device::Cpu)?;
        let (cos, sin) = (angles.cos()?, angles.sin()?);
        let (a, b) = (
            x.narrow(2, 0, width / 2)?,
            x.narrow(2, width / 2, width / 2)?,
        );
        let low = (a.broadcast_mul(&cos)? - b.broadcast_mul(&sin)?)?;
        let high = (b.broadcast_mul(&cos)? + a.broadcast_mul(&sin)?)?;
        Tensor::cat(&[low, high], 2)
    }

    fn layer(&self, layer: usize, x: &Tensor) -> candle_core::Result<Tensor> {
        let name = |part: &str| format!("layers.{layer}.{part}");
        let linear = |x: &Tensor, part: &str| x.matmul(&self.var(&name(part)).t()?);
        let (n, c) = (x.dim(0)?, self.config);
        let h = self.norm(x, &name("input_layernorm"))?;
        let q = self.rotated(
            &linear(&h, "self_attn.q_proj")?,
            c.heads,
            &name("self_attn.q_norm"),
        )?;
        let k = self.rotated(
            &linear(&h, "self_attn.k_proj")?,
            c.kv_heads,
            &name("self_attn.k_norm"),
        )?;
        let v = linear(&h, "self_attn.v_proj")?
            .reshape((n, c.kv_heads, c.head_dim))?
            .transpose(0, 1)?;
        let spread: Vec<u32> = (0..c.heads)
            .map(|h| (h / (c.heads / c.kv_heads)) as u32)
            .collect();
        let spread = Tensor::new(spread.as_slice(), &Device::Cpu)?;
        let (k, v) = (
            k.index_select(&spread, 0)?,
            v.contiguous()?.index_select(&spread, 0)?,
        );
        let mask: Vec<f64> = (0..n * n)
            .map(|i| if i % n > i / n { -1e30 } else { 0.0 })
            .collect();
        let mask = Tensor::from_vec(mask, (1, n, n), &Device::Cpu)?;
        let scores = (q.contiguous()?.matmul(&k.t()?.contiguous()?)? / (c.head_dim as f64).sqrt())?;
        let scores = scores.broadcast_add(&mask)?;
        let scores = scores
            .broadcast_sub(&scores.max_keepdim(2)?.detach())?
            .exp()?;
        let shares = scores.broadcast_div(&scores.sum_keepdim(2)?)?;
        let attended = shares
            .matmul(&v)?
            .transpose(0, 1)?
            .reshape((n, c.heads * c.head_dim))?;
        let x = (x + linear(&attended, "self_attn.o_proj")?)?;
        let h = self.norm(&x, &name("post_attention_layernorm"))?;
        let gated = (linear(&h, "mlp.gate_proj")?.silu()? * linear(&h, "mlp.up_proj")?)?;
        x + linear(&gated, "mlp.down_proj")?
    }

    fn logits(&self, tokens: &[u32]) -> candle_core::Result<Tensor> {
        let embedding = self.var("embed_tokens");
        let mut x = embedding.index_select(&Tensor::new(tokens, &Device::Cpu)?, 0)?;
        for layer in 0..self.config.layers {
            x = self.layer(layer, &x)?;
        }
        self.norm(&x, "norm")?.matmul(&embedding.t()?)
    }

    /// Mean loss over all learned tokens of all sequences.
    fn loss(&self, sequences: &[(Vec<u32>, Vec<bool>)]) -> candle_core::Result<Tensor> {
        let mut sum = Tensor::zeros((), DType::F64, &Device::Cpu)?;
        let mut count = 0;
        for (tokens, learned) in sequences {
            let logits = self.logits(tokens)?;
            let logs = logits.exp()?.sum_keepdim(1)?.log()?;
            let logits = logits.broadcast_sub(&logs)?;
            for (i, _) in learned.iter().enumerate().filter(|(i, l)| *i > 0 && **l) {
                sum = (sum - logits.get(i - 1)?.get(tokens[i] as usize)?)?;
                count += 1;
            }
        }
        sum / f64::from(count)
    }
}

#[test]
fn gradients_are_those_of_an_autograd_over_composed_operations() {
    let network = Network::new(config()).expect("a network");
    let weights = weights(&network);
    let (tally, gradient) = loss_and_gradient(&network, &weights, &packed());
    let reference = Reference::new(&network, &weights);
    let loss = reference.loss(&sequences()).expect("a loss");
    let expected = loss.to_scalar::<f64>().expect("one number");
    assert!(
        (tally.mean() - expected).abs() < 1e-5,
        "{} against {expected}",
        tally.mean()
    );
    let gradients = loss.backward().expect("gradients");
    for slot in network.layout().slots() {
        let expected = gradients
            .get(reference.vars[&slot.name].as_tensor())
            .expect("a gradient");
        let expected = expected
            .flatten_all()
            .and_then(|g| g.to_vec1::<f64>())
            .expect("numbers");
        let largest = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        assert!(largest > 1e-5, "{} gets no gradient", slot.name);
        for (ours, theirs) in gradient[slot.range.clone()].iter().zip(&expected) {
            let error = (f64::from(*ours) - theirs).abs();
            assert!(
                error < 2e-5 * largest.max(1.0),
                "{}: {ours} against {theirs}",
                slot.name
            );
        }
    }
}

#[test]
fn gradients_predict_how_the_loss_changes_along_each_weight() {
    let network = Network::new(config()).expect("a network");
    let weights = weights(&network);
    let batch = packed();
    let (_, gradient) = loss_and_gradient(&network, &weights, &batch);
    for slot in network.layout().slots() {
        let part = &gradient[slot.range.clone()];
        let length = part
            .iter()
            .map(|g| f64::from(*g).powi(2))
            .sum::<f64>()
            .sqrt();
        let at = |step: f64| {
            let mut moved = weights.clone();
            for (value, direction) in moved[slot.range.clone()].iter_mut().zip(part) {
                *value += (step * f64::from(*direction) / length) as f32;
            }
            loss_and_gradient(&network, &moved, &batch).0.mean()
        };
        let step = 1e-2;
        let slope = (at(step) - at(-step)) / (2.0 * step);
        assert!(
            (slope / length - 1.0).abs() < 0.02,
            "{}: slope {slope}, gradient {length}",
            slot.name
        );
    }
}

#[test]
fn packed_sequences_do_not_see_each_other() {
    let network = Network::new(config()).expect("a network");
    let weights = weights(&network);
    let mut together = Packed::default();
    let mut alone = Vec::new();
    for (tokens, _) in sequences() {
        together.push_all(&tokens);
        let mut batch = Packed::default();
        batch.push_all(&tokens);
        alone.extend_from_slice(network.logits(&weights, &batch, &mut Workspace::default()));
    }
    let mut workspace = Workspace::default();
    let logits = network.logits(&weights, &together, &mut workspace);
    for (a, b) in logits.iter().zip(&alone) {
        assert!((a - b).abs() < 1e-4, "{a} against {b}");
    }
    assert_eq!(logits.len(), alone.len());
}

#[test]
fn a_batch_in_which_nothing_is_learned_has_no_gradient() {
    let network = Network::new(config()).expect("a network");
    let mut batch = Packed::default();
    batch.push(&[1, 2, 3], &[true, false, false]);
    let (tally, gradient) = loss_and_gradient(&network, &weights(&network), &batch);
    assert_eq!(
        (tally.tokens, gradient.iter().all(|g| *g == 0.0)),
        (0, true)
    );
}

#[test]
fn networks_without_a_gradient_here_are_refused_by_name() {
    let change = |change: fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        Network::new(config).expect_err("it was accepted")
    };
    assert!(change(|c| c.arch = "llama".into()).contains("llama"));
    assert!(change(|c| c.tied = false).contains("tie_word_embeddings"));
    assert!(change(|c| c.context = 1 << 20).contains("context"));
}

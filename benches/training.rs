//! Tokens per second of a gradient of the small model, by number of replicas:
//! `cargo bench --bench training`.

// the macros below make public items
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use orgtop::engine::local::config::Config;
use orgtop::learn::network::{Learned, Network, Replicas, initial};
use orgtop::learn::ops::{Tally, cross_entropy};
use orgtop::learn::optimizer::{Optimizer, Rates};
use std::hint::black_box;

const VOCAB: usize = 480;
const SEQUENCES: usize = 16;
const LENGTH: usize = 193;

fn network() -> Network {
    let json = serde_json::json!({
        "model_type": "qwen3", "hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": VOCAB,
        "rms_norm_eps": 1e-6, "max_position_embeddings": 2048, "tie_word_embeddings": true,
    });
    Config::from_hf(&json)
        .and_then(Network::new)
        .expect("the small model's shape is sound")
}

fn training(criterion: &mut Criterion) {
    let network = network();
    let mut weights = initial(network.layout(), 1);
    let tokens: Vec<Vec<u32>> = (0..SEQUENCES)
        .map(|s| {
            (0..LENGTH)
                .map(|i| ((i * i * 7 + i + s * 31) % VOCAB) as u32)
                .collect()
        })
        .collect();
    let mask = [true; LENGTH];
    let batch: Vec<Learned<'_>> = tokens
        .iter()
        .map(|tokens| Learned {
            tokens,
            mask: &mask,
        })
        .collect();
    let mut group = criterion.benchmark_group("training");
    group.throughput(Throughput::Elements((SEQUENCES * (LENGTH - 1)) as u64));
    for count in [1, 2] {
        let mut replicas = Replicas::new(count, weights.len());
        group.bench_function(BenchmarkId::new("gradient", count), |bencher| {
            bencher.iter(|| {
                let objective = |shard: &_, row: usize, logits: &mut [f32], tally: &mut Tally| {
                    let shard: &orgtop::learn::network::Shard = shard;
                    cross_entropy(logits, shard.packed.targets()[row], 1e-3, tally);
                };
                black_box(replicas.gradient(&network, &weights, &batch, objective).1)
            });
        });
        let gradient = vec![1e-3; weights.len()];
        let slots = network.layout().slots();
        let mut optimizer = Optimizer::new(network.layout().size());
        let rates = Rates {
            matrices: 0.02,
            others: 3e-3,
        };
        group.bench_function(BenchmarkId::new("optimizer", count), |bencher| {
            bencher.iter(|| optimizer.step(slots, &mut weights, &gradient, rates, count));
        });
    }
    group.finish();
}

criterion_group!(benches, training);
criterion_main!(benches);

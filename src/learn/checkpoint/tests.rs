use super::*;
use crate::engine::local::checkpoint::{Checkpoint, read_json};
use crate::engine::local::config::Config;
use crate::engine::local::host::HostModel;
use crate::engine::local::load::Source;
use crate::engine::local::model::{Batch, Network as _, Segment};
use crate::engine::local::pages::{PageId, pages_for};
use crate::engine::local::safetensors::Shards;
use crate::engine::local::weights::Weights;
use crate::learn::network::{Network, Packed, Workspace, initial};
use candle_core::Device;
use serde_json::json;
use std::fs;

fn config() -> Config {
    let json = json!({
        "model_type": "qwen3", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3,
        "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 101,
        "rms_norm_eps": 1e-6, "max_position_embeddings": 256, "tie_word_embeddings": true,
        "rope_theta": 5000.0,
    });
    Config::from_hf(&json).expect("the config is sound")
}

fn engine(folder: &Path) -> HostModel {
    let found = Checkpoint::locate(folder).expect("the engine finds it");
    let Checkpoint::Folder { folder, weights } = found else {
        panic!("a folder was written");
    };
    let json = read_json(&folder.join("config.json")).expect("config.json reads");
    let config = Config::from_hf(&json).expect("the config is sound");
    let mut source = Source::Safetensors(Shards::open(&weights).expect("headers read"));
    let weights = Weights::load(&mut source, &config, &Device::Cpu).expect("weights load");
    HostModel::new(config, weights, 8)
}

#[test]
fn a_saved_model_gives_the_same_logits_in_the_engine() {
    let network = Network::new(config()).expect("a network");
    let mut weights = initial(network.layout(), 3);
    // a trained model is not small: tokens apart, norms not 1
    for (i, weight) in weights.iter_mut().enumerate() {
        *weight *= 1.0 + (i % 7) as f32 * 0.3;
    }
    let tokens: Vec<u32> = (0..150).map(|i| (i * i * 5 + i) % 101).collect();
    for precision in [Precision::F32, Precision::F16] {
        let folder = tempfile::tempdir().expect("a folder");
        save(folder.path(), &network, &weights, &json!({}), precision).expect("it is saved");
        let stored = read_weights(folder.path(), &network).expect("it reads");
        assert_eq!(stored == weights, precision == Precision::F32);
        let mut packed = Packed::default();
        packed.push_all(&tokens);
        let mut workspace = Workspace::default();
        let ours = network.logits(&stored, &packed, &mut workspace);
        let mut model = engine(folder.path());
        assert_eq!(model.config(), network.config());
        let batch = Batch {
            tokens: tokens.clone(),
            segments: vec![Segment {
                rows: 0..tokens.len(),
                start: 0,
                pages: (0..pages_for(tokens.len()) as u32).map(PageId).collect(),
            }],
            wanted: (0..tokens.len()).collect(),
        };
        let theirs = model.forward(&batch).expect("it computes");
        assert_eq!(ours.len(), theirs.len());
        let largest = theirs.iter().fold(0.0f32, |a, b| a.max(b.abs()));
        assert!(largest > 1.0, "logits so small show nothing");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert!((ours - theirs).abs() < 1e-4, "{ours} against {theirs}");
        }
    }
}

#[test]
fn models_of_another_shape_and_broken_ones_are_refused_by_name() {
    let network = Network::new(config()).expect("a network");
    let folder = tempfile::tempdir().expect("a folder");
    let mut weights = initial(network.layout(), 3);
    save(
        folder.path(),
        &network,
        &weights,
        &json!({}),
        Precision::F16,
    )
    .expect("it is saved");
    let refused = |change: fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        let other = Network::new(config).expect("a network");
        read_weights(folder.path(), &other)
            .expect_err("it fits not")
            .to_string()
    };
    assert!(refused(|c| c.vocab = 7).contains("embed_tokens"));
    assert!(refused(|c| c.layers = 4).contains("layers.3"));
    weights[10] = f32::NAN;
    save(
        folder.path(),
        &network,
        &weights,
        &json!({}),
        Precision::F16,
    )
    .expect("it is saved");
    let error = read_weights(folder.path(), &network)
        .expect_err("NaN")
        .to_string();
    assert!(error.contains("no number"), "{error}");
    fs::write(folder.path().join("model.safetensors"), b"{}").expect("it is written");
    assert!(read_weights(folder.path(), &network).is_err());
}

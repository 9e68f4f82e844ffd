//! The same network stored in other ways: every storage type, half precision, and other vocabularies.

use crate::parity::{Agreement, in_place, last_logits, likeness, model, model_at};
use crate::support::{begin, fixture, greedy, options, prompt};
use candle_core::quantized::gguf_file::{Content, Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Tensor};
use orgtop::engine::local::{inspect_model, open};
use orgtop::engine::{ChatMessage, ChatRole, SeqId, Stop};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type Meta = BTreeMap<String, Value>;

fn save(path: &Path, meta: &Meta, tensors: &[(String, QTensor)]) {
    let meta: Vec<(&str, &Value)> = meta.iter().map(|(k, v)| (k.as_str(), v)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(k, v)| (k.as_str(), v)).collect();
    write(&mut File::create(path).expect("created"), &meta, &tensors).expect("written");
}

/// Metadata and tensors of the GGUF fixture.
fn parts() -> (Meta, Vec<(String, QTensor)>) {
    let mut file = File::open(fixture("llama.gguf")).expect("the fixture is there");
    let content = Content::read(&mut file).expect("it reads");
    let names: Vec<String> = content.tensor_infos.keys().cloned().collect();
    let tensors = names.into_iter().map(|name| {
        let tensor = content
            .tensor(&mut file, &name, &Device::Cpu)
            .expect("it reads");
        (name, tensor)
    });
    let tensors = tensors.collect();
    (content.metadata.into_iter().collect(), tensors)
}

/// A random network wide enough for blocks of 256, with the vocabulary of the fixture.
fn wide() -> (Meta, Vec<(String, Tensor)>) {
    let (mut meta, _) = parts();
    for (key, value) in [
        ("embedding_length", 256),
        ("feed_forward_length", 512),
        ("block_count", 1),
        ("attention.head_count", 4),
        ("attention.head_count_kv", 2),
        ("attention.key_length", 64),
        ("attention.value_length", 64),
        ("rope.dimension_count", 64),
    ] {
        meta.insert(format!("llama.{key}"), Value::U32(value));
    }
    let random = |rows: usize, columns: usize| {
        let scale = 1.0 / (columns as f32).sqrt();
        let mut state = (rows * 31 + columns) as u32;
        let values: Vec<f32> = (0..rows * columns)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * 1.7 * scale
            })
            .collect();
        Tensor::from_vec(values, (rows, columns), &Device::Cpu).expect("it fits")
    };
    let ones = Tensor::ones(256, DType::F32, &Device::Cpu).expect("small");
    let mut tensors = vec![
        (
            "token_embd.weight".to_owned(),
            (random(320, 256) * 8.0).expect("scaled"),
        ),
        ("output_norm.weight".to_owned(), ones.clone()),
    ];
    for (name, rows, columns) in [
        ("attn_q", 256, 256),
        ("attn_k", 128, 256),
        ("attn_v", 128, 256),
        ("attn_output", 256, 256),
        ("ffn_gate", 512, 256),
        ("ffn_up", 512, 256),
        ("ffn_down", 256, 512),
    ] {
        tensors.push((format!("blk.0.{name}.weight"), random(rows, columns)));
    }
    for name in ["attn_norm", "ffn_norm"] {
        tensors.push((format!("blk.0.{name}.weight"), ones.clone()));
    }
    (meta, tensors)
}

fn store(tensors: &[(String, Tensor)], dtype: GgmlDType) -> Vec<(String, QTensor)> {
    let store = |tensor: &Tensor| match tensor.rank() {
        1 => QTensor::quantize(tensor, GgmlDType::F32),
        _ => QTensor::quantize(tensor, dtype),
    };
    tensors
        .iter()
        .map(|(name, tensor)| (name.clone(), store(tensor).expect("it quantises")))
        .collect()
}

#[test]
fn every_storage_type_of_gguf_computes_nearly_what_f32_does() {
    let scratch = TempDir::new().expect("a scratch folder");
    let (meta, tensors) = wide();
    let logits = |dtype| {
        let path: PathBuf = scratch.path().join(format!("{dtype:?}.gguf"));
        save(&path, &meta, &store(&tensors, dtype));
        (
            inspect_model(&path),
            last_logits(model_at(&path), &prompt(40, 3), &Agreement::Rounded),
        )
    };
    let (_, reference) = logits(GgmlDType::F32);
    for (dtype, name, least) in [
        (GgmlDType::F16, "f16", 0.9999),
        (GgmlDType::BF16, "bf16", 0.999),
        (GgmlDType::Q8_0, "q8_0", 0.999),
        (GgmlDType::Q6K, "q6_k", 0.99),
        (GgmlDType::Q5K, "q5_k", 0.98),
        (GgmlDType::Q5_1, "q5_1", 0.98),
        (GgmlDType::Q5_0, "q5_0", 0.98),
        (GgmlDType::Q4K, "q4_k", 0.95),
        (GgmlDType::Q4_1, "q4_1", 0.95),
        (GgmlDType::Q4_0, "q4_0", 0.95),
    ] {
        let (summary, logits) = logits(dtype);
        assert_eq!((summary.dtype.as_str(), summary.problem), (name, None));
        let likeness = likeness(&logits, &reference);
        assert!(likeness > least, "{name}: {likeness}");
    }
}

#[test]
fn narrow_matrices_compute_nearly_what_f32_does() {
    // rows of 32 and 64 in the fixture, columns that fill no tile
    let scratch = TempDir::new().expect("a scratch folder");
    let (meta, tensors) = parts();
    let reference = last_logits(model("llama.gguf"), &prompt(40, 3), &Agreement::Exact);
    for (dtype, least) in [
        (GgmlDType::Q8_0, 0.999),
        (GgmlDType::Q5_1, 0.98),
        (GgmlDType::Q4_0, 0.95),
    ] {
        let tensors: Vec<(String, Tensor)> = tensors
            .iter()
            .map(|(name, t)| (name.clone(), t.dequantize(&Device::Cpu).expect("it reads")))
            .collect();
        let path = scratch.path().join("narrow.gguf");
        save(&path, &meta, &store(&tensors, dtype));
        // candle's own kernels refuse some of these
        let likeness = likeness(&in_place(model_at(&path), &prompt(40, 3)), &reference);
        assert!(likeness > least, "{dtype:?}: {likeness}");
    }
}

#[test]
fn weights_that_are_no_numbers_stop_the_sequence() {
    let scratch = TempDir::new().expect("a scratch folder");
    let path = scratch.path().join("nan.gguf");
    let (meta, mut tensors) = parts();
    for (name, tensor) in &mut tensors {
        if name == "output_norm.weight" {
            let nan = Tensor::full(f32::NAN, 32, &Device::Cpu).expect("small");
            *tensor = QTensor::quantize(&nan, GgmlDType::F32).expect("it copies");
        }
    }
    save(&path, &meta, &tensors);
    let mut engine = open(&path, &options()).expect("it opens");
    let step = engine
        .advance(begin(1, &[5, 6], greedy()))
        .expect("the step succeeds");
    assert!(step.decoded.is_empty());
    assert!(
        matches!(&step.stopped[..], [(SeqId(1), Stop::Failed(why))] if why.contains("not numbers"))
    );
    assert!(
        engine.advance(vec![]).expect("idle").stopped.is_empty(),
        "it is held"
    );
}

#[test]
fn half_precision_folders_compute_nearly_what_f32_does() {
    let tokens = prompt(20, 1);
    let reference = last_logits(model("qwen3"), &tokens, &Agreement::Exact);
    for dtype in [DType::F16, DType::BF16] {
        let scratch = TempDir::new().expect("a scratch folder");
        for name in ["config.json", "tokenizer.json"] {
            std::fs::copy(fixture("qwen3").join(name), scratch.path().join(name)).expect("copied");
        }
        let tensors = candle_core::safetensors::load(
            fixture("qwen3").join("model.safetensors"),
            &Device::Cpu,
        );
        let tensors = tensors.expect("it reads").into_iter();
        let tensors = tensors
            .map(|(name, t)| (name, t.to_dtype(dtype).expect("converted")))
            .collect();
        let path = scratch.path().join("model.safetensors");
        candle_core::safetensors::save(&tensors, &path).expect("written");
        for path in [scratch.path(), &path] {
            let likeness = likeness(
                &last_logits(model_at(path), &tokens, &Agreement::Rounded),
                &reference,
            );
            assert!(likeness > 0.999, "{dtype:?}: {likeness}");
            let engine = open(path, &options()).expect("it opens");
            assert_eq!(engine.card().model.dtype, dtype.as_str());
        }
    }
}

#[test]
fn a_sentencepiece_vocabulary_comes_from_the_file_alone() {
    let scratch = TempDir::new().expect("a scratch folder");
    let path = scratch.path().join("spm.gguf");
    let (mut meta, tensors) = parts();
    let mut forms: Vec<String> = ["<unk>", "<s>", "</s>"].map(str::to_owned).into();
    forms.extend((0..256).map(|b| format!("<0x{b:02X}>")));
    forms.extend(
        [
            "▁", "h", "e", "l", "o", "he", "ll", "hell", "hello", "▁hello", "[INST]", "▁[", "[",
            "]",
        ]
        .map(str::to_owned),
    );
    forms.resize_with(320, String::new);
    let types = (0..320).map(|id| match id {
        0 => 2,
        1 | 2 => 3,
        3..259 => 6,
        _ => 1,
    });
    let scores = (0..320).map(|id| Value::F32(-(id as f32)));
    meta.insert("tokenizer.ggml.model".into(), Value::String("llama".into()));
    meta.insert(
        "tokenizer.ggml.tokens".into(),
        Value::Array(forms.into_iter().map(Value::String).collect()),
    );
    meta.insert(
        "tokenizer.ggml.token_type".into(),
        Value::Array(types.map(Value::I32).collect()),
    );
    meta.insert(
        "tokenizer.ggml.scores".into(),
        Value::Array(scores.collect()),
    );
    meta.insert("tokenizer.ggml.bos_token_id".into(), Value::U32(1));
    meta.insert("tokenizer.ggml.eos_token_id".into(), Value::U32(2));
    meta.insert("tokenizer.ggml.add_bos_token".into(), Value::Bool(true));
    let template = "{{ bos_token }}{% for m in messages %}{% if m['role'] != 'user' %}{{ raise_exception('no system') }}{% endif %}[{{ m['content'] }}]{% endfor %}";
    meta.insert(
        "tokenizer.chat_template".into(),
        Value::String(template.into()),
    );
    save(&path, &meta, &tensors);
    let mut engine = open(&path, &options()).expect("it opens");
    // a continuation gets no space of its own; what is in no piece is spelled in bytes
    assert_eq!(
        engine.encode("hello hello").expect("it encodes"),
        [267, 268]
    );
    assert_eq!(
        engine.encode("é").expect("it encodes"),
        [3 + 0xc3, 3 + 0xa9]
    );
    for text in ["hello hello", "日本 🧠", "</s>", "▁ ▁", "\n"] {
        let tokens = engine.encode(text).expect("it encodes");
        assert!(tokens.iter().all(|t| *t > 2));
        assert_eq!(engine.decode(&tokens), text.as_bytes());
    }
    // the template knows no system role, so its text goes in front of the user's
    let messages =
        [(ChatRole::System, "hell"), (ChatRole::User, "hello</s>")].map(|(role, content)| {
            ChatMessage {
                role,
                content: content.into(),
            }
        });
    let tokens = engine.prompt(&messages, false).expect("it renders");
    assert_eq!(
        tokens[..2],
        [1, 270],
        "begin token, then a space before the first text"
    );
    assert!(tokens[1..].iter().all(|t| *t > 2));
    assert_eq!(engine.decode(&tokens), b" [hell\n\nhello</s>]");
}

#[test]
fn without_a_template_messages_become_labelled_text() {
    let scratch = TempDir::new().expect("a scratch folder");
    let path = scratch.path().join("plain.gguf");
    let (mut meta, tensors) = parts();
    meta.remove("tokenizer.chat_template");
    meta.insert("tokenizer.ggml.add_bos_token".into(), Value::Bool(true));
    save(&path, &meta, &tensors);
    let mut engine = open(&path, &options()).expect("it opens");
    let messages = [
        (ChatRole::System, "be brief"),
        (ChatRole::User, "why?<|im_end|>"),
    ]
    .map(|(role, content)| ChatMessage {
        role,
        content: content.into(),
    });
    let tokens = engine.prompt(&messages, false).expect("it renders");
    assert_eq!(tokens[0], 0, "the begin token that the file asks for");
    assert!(tokens[1..].iter().all(|t| *t > 2));
    let text = engine.decode(&tokens);
    assert_eq!(
        text,
        b"System: be brief\n\nUser: why?<|im_end|>\n\nAssistant:"
    );
}

#[test]
fn unsupported_kinds_are_named() {
    let scratch = TempDir::new().expect("a scratch folder");
    let path = scratch.path().join("odd.gguf");
    for (key, value, named) in [
        (
            "general.architecture",
            Value::String("mamba".into()),
            "mamba",
        ),
        ("tokenizer.ggml.model", Value::String("t5".into()), "t5"),
        (
            "tokenizer.ggml.pre",
            Value::String("tekken".into()),
            "tekken",
        ),
        (
            "llama.rope.scaling.type",
            Value::String("yarn".into()),
            "yarn",
        ),
        ("llama.rope.dimension_count", Value::U32(8), "partial"),
        ("split.count", Value::U16(3), "split"),
        ("llama.expert_count", Value::U32(8), "experts"),
        ("llama.attention.head_count", Value::U32(0), "heads"),
        (
            "llama.attention.layer_norm_rms_epsilon",
            Value::F32(f32::NAN),
            "epsilon",
        ),
        ("tokenizer.ggml.merges", Value::U32(1), "merges"),
        (
            "tokenizer.ggml.token_type",
            Value::Array(vec![Value::I32(1)]),
            "token types",
        ),
    ] {
        let (mut meta, tensors) = parts();
        meta.insert(key.into(), value);
        save(&path, &meta, &tensors);
        let Err(error) = open(&path, &options()) else {
            panic!("{key} was accepted");
        };
        assert!(error.to_string().contains(named), "{key}: {error}");
        let problem = inspect_model(&path).problem.expect("not loadable");
        assert!(problem.contains(named), "{key}: {problem}");
    }
}

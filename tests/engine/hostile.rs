//! Damaged and hostile files: an error that names the file, never a panic, never a huge allocation.

use crate::support::{Driver, begin, fixture, greedy, options, prompt};
use orgtop::engine::local::{discover_in, inspect_model, open};
use orgtop::engine::{EngineError, SeqId};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder fixture's files in a scratch folder.
fn copy(model: &str) -> TempDir {
    let scratch = TempDir::new().expect("a scratch folder");
    for entry in fs::read_dir(fixture(model))
        .expect("the fixture is there")
        .flatten()
    {
        fs::copy(entry.path(), scratch.path().join(entry.file_name())).expect("the file copies");
    }
    scratch
}

fn error(path: &Path) -> String {
    match open(path, &options()) {
        Ok(_) => panic!("{} opened", path.display()),
        Err(error @ (EngineError::Model { .. } | EngineError::Template(_))) => error.to_string(),
        Err(other) => panic!("not an error about the model: {other}"),
    }
}

/// Open, and where that works decode a little. Whatever happens, it must not panic.
fn survive(path: &Path) {
    let _ = inspect_model(path);
    if let Ok(mut engine) = open(path, &options()) {
        let _ = engine.encode("the organizer joins");
        for ops in [begin(1, &[5, 6, 7], greedy()), vec![], vec![]] {
            let _ = engine.advance(ops);
        }
    }
}

fn scratch_file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let scratch = TempDir::new().expect("a scratch folder");
    let path = scratch.path().join(name);
    fs::write(&path, bytes).expect("the file is written");
    (scratch, path)
}

#[test]
fn a_missing_or_foreign_path_is_named() {
    assert!(error(Path::new("/no/such/model")).contains("/no/such/model"));
    let (_scratch, path) = scratch_file("notes.txt", b"hello");
    assert!(error(&path).contains("expected a folder"));
    let empty = TempDir::new().expect("a scratch folder");
    assert!(error(empty.path()).contains("neither"));
}

#[test]
fn missing_files_of_a_folder_are_named() {
    for name in ["config.json", "tokenizer.json"] {
        let folder = copy("qwen3");
        fs::remove_file(folder.path().join(name)).expect("it was there");
        assert!(error(folder.path()).contains(name));
    }
    let folder = copy("llama");
    fs::remove_file(folder.path().join("model-00002-of-00002.safetensors")).expect("it was there");
    assert!(error(folder.path()).contains("model-00002-of-00002"));
}

#[test]
fn an_index_cannot_lead_out_of_its_folder() {
    for name in ["../model.safetensors", "/etc/passwd", "a/b.safetensors", ""] {
        let folder = copy("llama");
        let index = serde_json::json!({"weight_map": {"x": name}}).to_string();
        fs::write(folder.path().join("model.safetensors.index.json"), index).expect("written");
        assert!(error(folder.path()).contains("plain file name"), "{name:?}");
    }
}

#[test]
fn a_config_that_does_not_fit_the_weights_names_the_tensor() {
    for (field, value, named) in [
        ("hidden_size", 16, "embed_tokens"),
        ("num_hidden_layers", 3, "model.layers.2"),
        ("intermediate_size", 65, "gate_proj"),
        ("head_dim", 32, "q_proj"),
        ("vocab_size", 1 << 21, "embed_tokens"),
    ] {
        let folder = copy("qwen3");
        let path = folder.path().join("config.json");
        let mut json: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).expect("read")).expect("json");
        json[field] = value.into();
        fs::write(&path, json.to_string()).expect("written");
        let error = error(folder.path());
        assert!(error.contains(named), "{field}: {error}");
    }
}

#[test]
fn broken_json_is_an_error() {
    for name in [
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
    ] {
        for content in [
            "",
            "{",
            "[]",
            "null",
            "\"x\"",
            "{\"model\": 3, \"model_type\": []}",
        ] {
            let folder = copy("qwen2");
            fs::write(folder.path().join(name), content).expect("written");
            survive(folder.path());
        }
    }
    let folder = copy("qwen2");
    fs::write(folder.path().join("config.json"), "{").expect("written");
    assert!(error(folder.path()).contains("not JSON"));
}

#[test]
fn a_safetensors_header_that_lies_is_an_error() {
    let header = |json: &str| {
        [
            &(json.len() as u64).to_le_bytes(),
            json.as_bytes(),
            &[0; 64],
        ]
        .concat()
    };
    let cases = [
        Vec::new(),
        vec![1, 2, 3],
        u64::MAX.to_le_bytes().to_vec(),
        [&(1u64 << 40).to_le_bytes()[..], b"{}"].concat(),
        header("not json"),
        header("[]"),
        header(r#"{"t": {"dtype": "F32", "shape": [16], "data_offsets": [0, 6400]}}"#),
        header(r#"{"t": {"dtype": "F32", "shape": [4], "data_offsets": [8, 4]}}"#),
        header(
            r#"{"t": {"dtype": "F32", "shape": [18446744073709551615, 4], "data_offsets": [0, 64]}}"#,
        ),
        header(
            r#"{"t": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}}"#,
        ),
        header(
            r#"{"t": {"dtype": "F32", "shape": [16], "data_offsets": [18446744073709551600, 18446744073709551615]}}"#,
        ),
        header(r#"{"t": {"dtype": "I64", "shape": [8], "data_offsets": [0, 64]}}"#),
        header(r#"{"t": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 64]}}"#),
    ];
    for bytes in cases {
        let folder = copy("qwen3");
        fs::write(folder.path().join("model.safetensors"), &bytes).expect("written");
        let error = error(folder.path());
        assert!(error.contains("model.safetensors"), "{error}");
    }
}

#[test]
fn a_safetensors_file_cut_anywhere_is_an_error() {
    let folder = copy("qwen3");
    let path = folder.path().join("model.safetensors");
    let whole = fs::read(&path).expect("read");
    for cut in (0..200)
        .map(|i| i * whole.len() / 200)
        .chain([1, 7, 8, 9, whole.len() - 1])
    {
        fs::write(&path, &whole[..cut]).expect("written");
        error(folder.path());
    }
}

#[test]
fn a_gguf_file_cut_anywhere_is_an_error() {
    let whole = fs::read(fixture("llama.gguf")).expect("read");
    let (_scratch, path) = scratch_file("cut.gguf", &whole);
    for cut in (0..300)
        .map(|i| i * whole.len() / 300)
        .chain([1, 4, 8, 23, 24, 25, whole.len() - 1])
    {
        fs::write(&path, &whole[..cut]).expect("written");
        error(&path);
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let whole = fs::read(fixture("llama.gguf")).expect("read");
    let (_scratch, path) = scratch_file("flipped.gguf", &whole);
    let mut at = 0;
    let mut random = 12345u64;
    // densely through the metadata and tensor table, then here and there in the numbers
    while at < whole.len() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut bytes = whole.clone();
        bytes[at] ^= ((random >> 33) as u8) | 1;
        fs::write(&path, &bytes).expect("written");
        survive(&path);
        at += if at < 1200 {
            3
        } else if at < 14_000 {
            61
        } else {
            9_973
        };
    }
}

#[test]
fn flipped_bytes_in_a_folder_never_panic() {
    for name in [
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "model.safetensors",
    ] {
        let folder = copy("qwen3");
        let path = folder.path().join(name);
        let whole = fs::read(&path).expect("read");
        let step = (whole.len().min(10_000) / 60).max(1);
        for at in (0..whole.len().min(10_000)).step_by(step) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 7);
            fs::write(&path, &bytes).expect("written");
            survive(folder.path());
        }
    }
}

#[test]
fn gguf_headers_that_lie_are_errors_without_large_allocations() {
    let head = |tensors: u64, meta: u64| -> Vec<u8> {
        [
            b"GGUF".as_slice(),
            &3u32.to_le_bytes(),
            &tensors.to_le_bytes(),
            &meta.to_le_bytes(),
        ]
        .concat()
    };
    let text = |s: &str| [&(s.len() as u64).to_le_bytes(), s.as_bytes()].concat();
    let word = |v: u32| v.to_le_bytes().to_vec();
    let long = |v: u64| v.to_le_bytes().to_vec();
    let tensor = |dims: &[u64], dtype: u32, offset: u64| -> Vec<u8> {
        let dims_bytes = dims.iter().flat_map(|d| d.to_le_bytes()).collect();
        [
            text("t"),
            word(dims.len() as u32),
            dims_bytes,
            word(dtype),
            long(offset),
            vec![0; 64],
        ]
        .concat()
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        (
            "another format",
            b"GGML0000000000000000000000000000".to_vec(),
        ),
        (
            "version 1",
            [b"GGUF".as_slice(), &1u32.to_le_bytes(), &[0; 32]].concat(),
        ),
        ("too many tensors", head(u64::MAX, 0)),
        ("too much metadata", head(0, u64::MAX / 2)),
        (
            "a long key",
            [head(0, 1), long(u64::MAX), vec![0; 64]].concat(),
        ),
        (
            "a long list",
            [
                head(0, 1),
                text("k"),
                word(9),
                word(4),
                long(1 << 60),
                vec![0; 64],
            ]
            .concat(),
        ),
        (
            "lists of lists",
            [
                head(0, 1),
                text("k"),
                word(9),
                word(9),
                long(1),
                vec![0; 64],
            ]
            .concat(),
        ),
        (
            "no such type",
            [head(0, 1), text("k"), word(99), vec![0; 64]].concat(),
        ),
        (
            "no alignment",
            [
                head(0, 1),
                text("general.alignment"),
                word(4),
                word(0),
                vec![0; 64],
            ]
            .concat(),
        ),
        (
            "overflowing shape",
            [head(1, 0), tensor(&[1 << 40, 1 << 40], 0, 0)].concat(),
        ),
        ("empty shape", [head(1, 0), tensor(&[0], 0, 0)].concat()),
        (
            "five dimensions",
            [head(1, 0), tensor(&[1; 5], 0, 0)].concat(),
        ),
        (
            "part of a block",
            [head(1, 0), tensor(&[33], 8, 0)].concat(),
        ),
        (
            "outside the file",
            [head(1, 0), tensor(&[1024], 0, 0)].concat(),
        ),
        (
            "overflowing offset",
            [head(1, 0), tensor(&[4], 0, u64::MAX - 3)].concat(),
        ),
        (
            "no such storage",
            [head(1, 0), tensor(&[4], 77, 0)].concat(),
        ),
        (
            "twice the same tensor",
            [
                head(2, 0),
                tensor(&[4], 0, 0)[..37].to_vec(),
                tensor(&[4], 0, 0),
            ]
            .concat(),
        ),
        ("nothing in it", [head(0, 0), vec![0; 64]].concat()),
    ];
    for (what, bytes) in cases {
        let (_scratch, path) = scratch_file("lie.gguf", &bytes);
        let error = error(&path);
        assert!(error.contains("lie.gguf"), "{what}: {error}");
        assert!(inspect_model(&path).problem.is_some(), "{what}");
    }
}

#[test]
fn a_template_that_never_ends_is_stopped() {
    let folder = copy("qwen3");
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
    fs::write(folder.path().join("chat_template.jinja"), endless).expect("written");
    let mut engine = open(folder.path(), &options()).expect("it opens");
    let message = orgtop::engine::ChatMessage {
        role: orgtop::engine::ChatRole::User,
        content: "x".into(),
    };
    assert!(matches!(
        engine.prompt(&[message], false),
        Err(EngineError::Template(_))
    ));
}

#[test]
fn headers_tell_what_a_model_is_without_loading_it() {
    for (name, arch) in [
        ("qwen3", "qwen3"),
        ("llama", "llama"),
        ("llama.gguf", "llama"),
    ] {
        let summary = inspect_model(&fixture(name));
        assert_eq!(
            (summary.arch.as_str(), summary.dtype.as_str()),
            (arch, "f32")
        );
        assert_eq!((summary.context, summary.problem), (512, None));
        assert!(summary.parameters > 30_000 && summary.bytes >= summary.parameters * 4);
    }
}

#[test]
fn models_in_the_hub_cache_are_found_by_name() {
    let hub = TempDir::new().expect("a scratch folder");
    let snapshot = hub.path().join("models--owner--tiny/snapshots/abc");
    fs::create_dir_all(&snapshot).expect("created");
    for entry in fs::read_dir(fixture("qwen3"))
        .expect("the fixture is there")
        .flatten()
    {
        fs::copy(entry.path(), snapshot.join(entry.file_name())).expect("copied");
    }
    let other = hub.path().join("models--owner--quantised/snapshots/def");
    fs::create_dir_all(&other).expect("created");
    fs::copy(fixture("llama.gguf"), other.join("model.gguf")).expect("copied");
    fs::create_dir_all(hub.path().join("datasets--owner--data/snapshots/x")).expect("created");
    let found: Vec<_> = discover_in(hub.path())
        .into_iter()
        .map(|m| (m.name, m.problem))
        .collect();
    assert_eq!(
        found,
        [
            ("owner/quantised/model.gguf".to_owned(), None),
            ("owner/tiny".to_owned(), None)
        ]
    );
}

#[test]
fn the_card_names_what_was_loaded() {
    let mut driver = Driver::open("llama.gguf", &options());
    driver.step(begin(1, &prompt(4, 1), greedy()));
    driver.until(SeqId(1), 1);
    let card = driver.engine.card();
    assert_eq!((card.kind.as_str(), card.device.as_str()), ("local", "cpu"));
    assert_eq!(
        (card.model.name.as_str(), card.model.context),
        ("llama.gguf", 512)
    );
    let file = fs::read(fixture("llama.gguf")).expect("read");
    use sha2::{Digest, Sha256};
    let hash: String = Sha256::digest(file)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(card.model.weights_sha256, hash);
    assert_eq!(card.model.tokenizer_sha256.len(), 64);
}

/// 8 TiB on a sparse file: no machine that runs this has so much memory.
#[cfg(target_os = "linux")]
#[test]
fn more_than_the_memory_is_refused_before_it_is_loaded() {
    const COLUMNS: u64 = 1 << 40;
    let folder = copy("qwen3");
    let path = folder.path().join("model.safetensors");
    let header = format!(
        r#"{{"x": {{"dtype": "F16", "shape": [4, {COLUMNS}], "data_offsets": [0, {}]}}}}"#,
        8 * COLUMNS
    );
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    let begins = bytes.len() as u64;
    fs::write(&path, bytes).expect("the file is written");
    let file = fs::File::options()
        .write(true)
        .open(&path)
        .expect("it opens");
    if file.set_len(begins + 8 * COLUMNS).is_err() {
        // a disk that has no such files
        return;
    }
    let text = error(folder.path());
    for part in ["8192.", "GiB", "available", "--overcommit"] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

//! The kernels for CUDA devices, acted out on a CPU: the same source, compiled as C++ (`cuda/act.cpp`).

use candle_core::Device;
use orgtop::engine::local::config::Config;
use orgtop::engine::local::cuda::made_up::{self, PAGES, attended, difference};
use orgtop::engine::local::cuda::table::Table;
use orgtop::engine::local::portable::PortableArena;
use orgtop::engine::local::rope::RopeLayout;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The kernels for a shape, as a program.
fn compile(config: &Config, folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(format!("act-{}-{}", config.heads, config.head_dim));
    let kernels = root.join("src/engine/local/cuda/attention.cu");
    let interleaved = u8::from(config.rope.layout == RopeLayout::Interleaved);
    let compiled = Command::new("g++")
        .args(["-std=c++17", "-O2", "-Wall", "-Wno-unknown-pragmas"])
        .arg(format!("-DKERNELS=\"{}\"", kernels.display()))
        .arg(format!("-DHEADS={}", config.heads))
        .arg(format!("-DKV_HEADS={}", config.kv_heads))
        .arg(format!("-DHEAD_DIM={}", config.head_dim))
        .arg(format!("-DINTERLEAVED={interleaved}"))
        .arg(format!("-DNORMED={}", u8::from(config.arch == "qwen3")))
        .arg(root.join("tests/engine/cuda/act.cpp"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(compiled.expect("g++ is there").success());
    program
}

/// A layer and its steps, as the program reads them.
fn input(config: &Config) -> Vec<u8> {
    let mut bytes = Vec::new();
    let steps = made_up::steps(config);
    let mut put = |words: &[u32]| bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
    let floats = |values: &[f32]| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
    put(&[PAGES as u32, steps.len() as u32, config.rms_eps.to_bits()]);
    put(&floats(&config.rope.frequencies(config.head_dim, None)));
    let none = vec![f32::NAN; config.head_dim];
    let (q, k) = made_up::norms(config).unwrap_or((none.clone(), none));
    put(&floats(&q));
    put(&floats(&k));
    for step in &steps {
        let table = Table::of(&step.batch, config);
        put(&[
            table.rows as u32,
            table.tiles as u32,
            table.words.len() as u32,
        ]);
        put(&table.words);
        let kv = config.kv_heads * config.head_dim;
        let heads = step.q.chunks_exact(config.heads * config.head_dim);
        for ((q, k), v) in heads
            .zip(step.k.chunks_exact(kv))
            .zip(step.v.chunks_exact(kv))
        {
            [q, k, v].iter().for_each(|part| put(&floats(part)));
        }
    }
    bytes
}

/// What the kernels give for the made-up layer.
fn acted_out(config: &Config, folder: &Path) -> Vec<f32> {
    let mut program = Command::new(compile(config, folder))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = program.stdin.take().expect("it is piped");
    let input = input(config);
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = program.wait_with_output().expect("the program ends");
    writer
        .join()
        .expect("no panic")
        .expect("it reads everything");
    assert!(output.status.success(), "its threads got stuck");
    let words = output.stdout.chunks_exact(4);
    words
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

#[test]
#[ignore = "needs g++: scripts/check-cuda-kernel"]
fn the_kernels_give_what_the_portable_way_gives() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    for (arch, layout, heads, kv_heads, head_dim) in [
        ("llama", RopeLayout::Halves, 4, 2, 16),
        // more queries a row than a tile takes
        ("llama", RopeLayout::Interleaved, 10, 1, 24),
        ("llama", RopeLayout::Halves, 9, 3, 64),
        ("qwen3", RopeLayout::Interleaved, 4, 4, 80),
        ("qwen3", RopeLayout::Halves, 8, 2, 128),
        ("llama", RopeLayout::Halves, 2, 1, 256),
    ] {
        let mut config = made_up::config(heads, kv_heads, head_dim);
        config.arch = arch.into();
        config.rope.layout = layout;
        let ours = acted_out(&config, scratch.path());
        let mut portable = PortableArena::new(&config, PAGES, &Device::Cpu).expect("small arena");
        let expected = attended(&mut portable, &config, &Device::Cpu).expect("it computes");
        let apart = difference(&ours, &expected);
        println!(
            "{arch} {layout:?}, {heads} heads on {kv_heads}, {head_dim} wide: at most {apart:e} apart"
        );
        assert!(apart < 2e-5, "they differ by {apart}");
    }
}

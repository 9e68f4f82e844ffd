//! Fixtures and a small driver around the engine contract.

use orgtop::engine::local::{AttentionPath, DeviceChoice, Options, open};
use orgtop::engine::{
    Decoded, Engine, Epoch, Priority, Sampling, SeqId, SeqOp, StepOutput, Stop, TokenId,
};
use std::collections::HashMap;
use std::path::PathBuf;

pub const MODELS: [&str; 4] = ["qwen3", "llama", "qwen2", "llama.gguf"];

pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/parity")
        .join(name)
}

/// The CPU; `ORGTOP_TEST_DEVICE` names another device (scripts/gpu-check).
pub fn options() -> Options {
    let device = match std::env::var("ORGTOP_TEST_DEVICE").as_deref() {
        Err(_) | Ok("cpu") => DeviceChoice::Cpu,
        Ok("cuda") => DeviceChoice::Cuda(0),
        Ok("metal") => DeviceChoice::Metal(0),
        Ok(other) => panic!("ORGTOP_TEST_DEVICE is `{other}`; expected cpu, cuda or metal"),
    };
    Options {
        device,
        prefill_rows: Some(16),
        ..Options::default()
    }
}

/// An engine with what it said, sequence by sequence.
pub struct Driver {
    pub engine: Box<dyn Engine>,
    pub decoded: HashMap<SeqId, Vec<Decoded>>,
    pub stopped: Vec<(SeqId, Stop)>,
    pub last: StepOutput,
    /// Most sequences that waited for room in one step.
    pub most_queued: usize,
}

impl Driver {
    pub fn open(model: &str, options: &Options) -> Self {
        Self {
            engine: open(&fixture(model), options).expect("the fixture opens"),
            decoded: HashMap::new(),
            stopped: Vec::new(),
            last: StepOutput::default(),
            most_queued: 0,
        }
    }

    pub fn step(&mut self, ops: Vec<SeqOp>) {
        self.last = self.engine.advance(ops).expect("the step succeeds");
        for decoded in &self.last.decoded {
            self.decoded
                .entry(decoded.seq)
                .or_default()
                .push(decoded.clone());
        }
        self.stopped.extend(self.last.stopped.iter().cloned());
        self.most_queued = self.most_queued.max(self.last.stats.queued);
    }

    pub fn tokens(&self, seq: SeqId) -> Vec<TokenId> {
        let decoded = self.decoded.get(&seq).into_iter().flatten();
        decoded.map(|d| d.token).collect()
    }

    /// Step until a sequence has decoded `count` tokens in all.
    pub fn until(&mut self, seq: SeqId, count: usize) {
        for _ in 0..2000 {
            if self.tokens(seq).len() >= count {
                return;
            }
            self.step(vec![]);
        }
        panic!(
            "{seq} decoded only {} of {count}; stopped: {:?}",
            self.tokens(seq).len(),
            self.stopped
        );
    }
}

pub fn greedy() -> Sampling {
    Sampling {
        temperature: 0.0,
        ..Sampling::default()
    }
}

pub fn warm() -> Sampling {
    Sampling {
        temperature: 1.0,
        top_p: None,
        seed: 11,
        ..Sampling::default()
    }
}

pub fn open_as(
    seq: u32,
    sampling: Sampling,
    priority: Priority,
    prefix: Option<(u32, usize)>,
) -> SeqOp {
    SeqOp::Open {
        seq: SeqId(seq),
        key: format!("key-{seq}"),
        sampling,
        priority,
        prefix: prefix.map(|(id, len)| (SeqId(id), len)),
    }
}

pub fn append(seq: u32, tokens: &[TokenId]) -> SeqOp {
    SeqOp::Append {
        seq: SeqId(seq),
        tokens: tokens.to_vec(),
        decoded: false,
    }
}

/// Operations that begin a worker on a prompt.
pub fn begin(seq: u32, prompt: &[TokenId], sampling: Sampling) -> Vec<SeqOp> {
    vec![
        open_as(seq, sampling, Priority::Worker, None),
        append(seq, prompt),
        SeqOp::Run(SeqId(seq)),
    ]
}

pub fn cut(seq: u32, len: usize, epoch: u32) -> SeqOp {
    SeqOp::Cut {
        seq: SeqId(seq),
        len,
        epoch: Epoch(epoch),
    }
}

/// A prompt of `len` tokens that differs with `salt`.
pub fn prompt(len: usize, salt: u32) -> Vec<TokenId> {
    (0..len as u32)
        .map(|i| 3 + (i.wrapping_mul(37).wrapping_add(salt.wrapping_mul(101)) ^ (i * i)) % 300)
        .collect()
}

/// What a sequence decodes when it is alone in a fresh engine. Both attention paths must agree.
pub fn alone(
    model: &str,
    seq: u32,
    prompt: &[TokenId],
    sampling: &Sampling,
    count: usize,
) -> Vec<TokenId> {
    let run = |attention: AttentionPath| {
        let mut driver = Driver::open(
            model,
            &Options {
                attention,
                ..options()
            },
        );
        driver.step(begin(seq, prompt, sampling.clone()));
        driver.until(SeqId(seq), count);
        driver.tokens(SeqId(seq))[..count].to_vec()
    };
    let (host, gathered) = (run(AttentionPath::ByDevice), run(AttentionPath::Gathered));
    assert_eq!(host, gathered, "the two attention paths decode differently");
    host
}

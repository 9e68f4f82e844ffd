//! Connecting to a fake server, and driving a sequence or a session on it.

use crate::fake::Fake;
use orgtop::engine::remote::{Caps, Remote, RemoteError, ServerOptions, connect};
use orgtop::engine::{Engine, Priority, Sampling, SeqId, SeqOp, Stop};
use std::time::{Duration, Instant};

pub const CAPS: Caps = Caps {
    organizer: 200,
    worker: 100,
};

/// Impatient, so that nothing takes long.
pub fn options(fake: &Fake) -> ServerOptions {
    ServerOptions {
        connect_s: 2,
        first_byte_s: 1,
        idle_s: 1,
        retries: 2,
        ..ServerOptions::at(&fake.url)
    }
}

pub fn engine(fake: &Fake) -> Remote {
    connect(&options(fake), CAPS).unwrap()
}

pub fn refusal(options: &ServerOptions) -> RemoteError {
    connect(options, CAPS).unwrap_err()
}

pub fn open(engine: &mut dyn Engine, seq: u32, text: &str) -> Vec<SeqOp> {
    let seq = SeqId(seq);
    let tokens = engine.encode(text).unwrap();
    vec![
        SeqOp::Open {
            seq,
            key: seq.to_string(),
            sampling: Sampling::default(),
            priority: Priority::Worker,
            prefix: None,
        },
        SeqOp::Append {
            seq,
            tokens,
            decoded: false,
        },
        SeqOp::Run(seq),
    ]
}

/// How a sequence ended, and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrote {
    pub text: String,
    pub tokens: usize,
    pub eos: bool,
    pub stop: Option<Stop>,
}

impl Wrote {
    pub fn lost(&self) -> String {
        match &self.stop {
            Some(Stop::Lost(why)) => why.clone(),
            other => panic!("not lost but {other:?} after `{}`", self.text),
        }
    }
}

/// Runs `ops` until the sequence ends, or has `enough` tokens.
pub fn write(engine: &mut dyn Engine, ops: Vec<SeqOp>, enough: usize) -> Wrote {
    let mut ops = ops;
    let (mut bytes, mut tokens, mut eos, mut stop) = (Vec::new(), 0, false, None);
    let until = Instant::now() + Duration::from_secs(20);
    while !eos && stop.is_none() && tokens < enough {
        assert!(Instant::now() < until, "nothing comes any more");
        let output = engine.advance(std::mem::take(&mut ops)).unwrap();
        for token in output.decoded {
            assert!(!eos);
            tokens += 1;
            eos |= token.eos;
            assert_eq!(engine.decode(&[token.token]), token.bytes);
            bytes.extend(token.bytes);
        }
        stop = output.stopped.into_iter().next().map(|(_, stop)| stop);
    }
    Wrote {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        tokens,
        eos,
        stop,
    }
}

/// One sequence from an empty context to its end.
pub fn say(fake: &Fake) -> Wrote {
    let mut engine = engine(fake);
    let ops = open(&mut engine, 0, "assistant\n");
    write(&mut engine, ops, usize::MAX)
}

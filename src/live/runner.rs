//! One thread while it runs: its sequence in the engine, its scanner, and what it still has to do.

use crate::engine::{Epoch, SeqId, SeqOp};
use crate::org::{Author, Seq, SpliceKind, Step, ThreadId};
use crate::protocol::{Finding, Found, Grammar, Position, Scanner};
use std::collections::VecDeque;

/// Tokens of a worker's text that stand in for a missing RETURN.
pub const TAIL_TOKENS: usize = 128;

/// Text that belongs into a thread which stands at a Join: it goes into the context afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferred {
    /// Why it is put in.
    pub kind: SpliceKind,
    /// What.
    pub text: String,
    /// The command.
    pub cause: Option<Seq>,
}

impl Deferred {
    /// The text of a Fork made by hand.
    #[must_use]
    pub fn fork(index: u16, query: &str, cause: Option<Seq>) -> Self {
        Self {
            kind: SpliceKind::Fork,
            text: format!("<FORK-{index}>{query}</FORK-{index}>"),
            cause,
        }
    }
}

/// Something a thread wrote, and who completed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrote {
    /// What.
    pub finding: Finding,
    /// Who.
    pub by: Author,
}

/// A blocked Fork.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blocked {
    /// Since when.
    pub since: Step,
    /// Who forked.
    pub parent: ThreadId,
    /// The worker to start.
    pub child: ThreadId,
    /// Its sub-query.
    pub query: String,
}

/// A running thread.
#[derive(Debug)]
pub struct Runner {
    /// Its sequence.
    pub seq: SeqId,
    /// Epoch of the tokens it takes.
    pub epoch: Epoch,
    /// Reads what it decodes.
    pub scanner: Scanner,
    /// Bytes of its text, decoded and spliced.
    pub text_len: u64,
    /// Tokens in its context: prompt, decoded, spliced.
    pub context: usize,
    /// Found but not yet acted on: it waits.
    pub pending: VecDeque<Wrote>,
    /// For after the wait.
    pub deferred: Vec<Deferred>,
    /// The engine was told to run it.
    running: bool,
    tail: VecDeque<Vec<u8>>,
}

impl Runner {
    /// A thread at its start.
    #[must_use]
    pub fn new(seq: SeqId, grammar: Grammar, context: usize) -> Self {
        Self {
            seq,
            epoch: Epoch::default(),
            scanner: Scanner::new(grammar),
            text_len: 0,
            context,
            pending: VecDeque::new(),
            deferred: Vec::new(),
            running: false,
            tail: VecDeque::new(),
        }
    }

    /// Goes on with a sequence that the engine holds still.
    pub fn take_up(&mut self, seq: SeqId, epoch: Epoch) {
        self.seq = seq;
        self.epoch = epoch;
    }

    /// Takes in a decoded token.
    pub fn decoded(&mut self, bytes: &[u8]) {
        self.read(bytes, &Author::Model);
        self.text_len += bytes.len() as u64;
        self.context += 1;
        self.remember(bytes);
    }

    fn remember(&mut self, token: &[u8]) {
        if self.tail.len() == TAIL_TOKENS {
            self.tail.pop_front();
        }
        self.tail.push_back(token.to_vec());
    }

    /// Takes in a recorded piece that the scanner has read already; `lens` are the byte lengths of its
    /// tokens if it was decoded.
    pub fn restored(&mut self, bytes: &[u8], lens: &[u32], tokens: usize) {
        let mut rest = bytes;
        for len in lens {
            let (token, more) = rest.split_at((*len as usize).min(rest.len()));
            self.remember(token);
            rest = more;
        }
        self.spliced(bytes, tokens);
    }

    fn read(&mut self, bytes: &[u8], by: &Author) {
        let mut findings = Vec::new();
        self.scanner.push(bytes, self.text_len, &mut findings);
        self.pending
            .extend(findings.into_iter().map(|finding| Wrote {
                finding,
                by: by.clone(),
            }));
    }

    /// Takes in `tokens` tokens that `by` wrote in the model's place.
    pub fn written(&mut self, bytes: &[u8], tokens: usize, by: &Author) {
        self.read(bytes, by);
        self.remember_words(bytes);
        self.spliced(bytes, tokens);
    }

    /// Written text stands among the last tokens word by word.
    pub fn remember_words(&mut self, bytes: &[u8]) {
        for word in bytes.split_inclusive(|b| b.is_ascii_whitespace()) {
            self.remember(word);
        }
    }

    /// Takes in a note of `tokens` tokens; after a denied answer the thread thinks on.
    pub fn noted(&mut self, bytes: &[u8], tokens: usize) {
        if self.scanner.position() == Position::Done {
            self.scanner.enter(Position::Free, self.text_len);
        }
        self.spliced(bytes, tokens);
    }

    /// Takes its RETURN out, if that is the next thing it does.
    pub fn next_return(&mut self) -> Option<Wrote> {
        let returns = matches!(self.pending.front()?.finding.found, Found::Return { .. });
        returns.then(|| self.pending.pop_front())?
    }

    /// Whether it stands right after a Join tag that has not been served.
    #[must_use]
    pub fn at_a_join(&self) -> bool {
        self.pending
            .iter()
            .any(|wrote| matches!(wrote.finding.found, Found::Join { .. }))
    }

    /// Takes in a splice of `tokens` tokens.
    pub fn spliced(&mut self, bytes: &[u8], tokens: usize) {
        self.text_len += bytes.len() as u64;
        self.context += tokens;
    }

    /// What stands in for a RETURN that never closed: its open text, else the last tokens.
    #[must_use]
    pub fn partial(&self) -> String {
        self.scanner.open_text().unwrap_or_else(|| {
            let bytes: Vec<u8> = self.tail.iter().flatten().copied().collect();
            String::from_utf8_lossy(&bytes).trim().to_owned()
        })
    }

    /// The engine stopped it by itself: it must be told again.
    pub fn stopped_by_engine(&mut self) {
        self.running = false;
    }

    /// The operation that makes the engine run it or not, if that changes anything.
    pub fn set_running(&mut self, run: bool) -> Option<SeqOp> {
        (self.running != run).then(|| {
            self.running = run;
            if run {
                SeqOp::Run(self.seq)
            } else {
                SeqOp::Hold(self.seq)
            }
        })
    }
}

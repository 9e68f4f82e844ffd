//! The contract between a running session and whatever decodes for it.
//!
//! An engine turns *sequences* (token lists) into further tokens. It knows nothing of organizers,
//! tags or sessions. The caller owns the step counter: each [`Engine::advance`] applies the given
//! operations, runs at most one decoding step, and returns everything that step produced. An engine
//! never runs ahead.
//!
//! Tokens are the truth. Whatever an engine caches (KV pages, server-side prefixes) can be dropped
//! and rebuilt from the tokens without changing what is decoded.

use super::veto::Veto;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Index into the vocabulary of the engine's model.
pub type TokenId = u32;

/// Names one sequence inside an engine. Chosen by the caller, unique for the life of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeqId(pub u32);

/// Counts how often a sequence was cut. A token that carries an older epoch than the caller's is late
/// and is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Epoch(pub u32);

/// How the next token is chosen from the logits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// 0 means greedy.
    pub temperature: f32,
    /// Keep only the k most likely tokens.
    pub top_k: Option<u32>,
    /// Keep the smallest set of tokens whose probability reaches this.
    pub top_p: Option<f32>,
    /// Drop tokens less likely than this share of the most likely one.
    pub min_p: Option<f32>,
    /// 1 means none; applied to tokens already decoded by this sequence.
    pub repetition_penalty: f32,
    /// Base seed; the draw at a position is `hash(seed, key, position)`.
    pub seed: u64,
    /// How many alternatives to report with each token (0: none).
    pub alternatives: u8,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.7,
            top_k: None,
            top_p: Some(0.95),
            min_p: None,
            repetition_penalty: 1.0,
            seed: 0,
            alternatives: 0,
        }
    }
}

/// Who goes first when memory is short. Among workers the one opened last is evicted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Never evicted.
    Organizer,
    /// May be evicted and re-prefilled.
    Worker,
    /// Held only so that others can share its prefix.
    Template,
}

/// One operation on a sequence, applied before the next step.
#[derive(Debug, Clone, PartialEq)]
pub enum SeqOp {
    /// Begin an empty sequence that does not run yet.
    Open {
        /// Its name.
        seq: SeqId,
        /// Hashed into every draw, and the name under which a script is looked up.
        key: String,
        /// How it samples.
        sampling: Sampling,
        /// Its rank when memory is short.
        priority: Priority,
        /// Start with the first `.1` tokens of sequence `.0` (its cached pages are shared).
        prefix: Option<(SeqId, usize)>,
    },
    /// Push tokens: a prompt, a splice, or (with `decoded`) tokens recorded earlier that count as
    /// decoded positions.
    Append {
        /// Which sequence.
        seq: SeqId,
        /// What to push.
        tokens: Vec<TokenId>,
        /// Whether they stand for decoded tokens.
        decoded: bool,
    },
    /// Keep the first `len` tokens (of everything: prompt, splices, decoded) and go to `epoch`.
    Cut {
        /// Which sequence.
        seq: SeqId,
        /// Tokens to keep.
        len: usize,
        /// Epoch of everything decoded from here on.
        epoch: Epoch,
    },
    /// Decode one token per step from now on (after whatever prefill is due).
    Run(SeqId),
    /// Stop decoding; keep the sequence.
    Hold(SeqId),
    /// Change how a sequence samples from the next token on.
    Sample(SeqId, Sampling),
    /// Forbid tokens from the next one on, in place of what was forbidden before. An engine that does not
    /// choose tokens itself leaves it aside.
    Forbid(SeqId, Option<Veto>),
    /// Forget the sequence; its memory returns at once.
    Close(SeqId),
}

impl SeqOp {
    /// The sequence it is about.
    pub fn seq_mut(&mut self) -> &mut SeqId {
        match self {
            Self::Open { seq, .. }
            | Self::Append { seq, .. }
            | Self::Cut { seq, .. }
            | Self::Run(seq)
            | Self::Hold(seq)
            | Self::Sample(seq, _)
            | Self::Forbid(seq, _)
            | Self::Close(seq) => seq,
        }
    }
}

/// One decoded token.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// Whose.
    pub seq: SeqId,
    /// The sequence's epoch when it was decoded.
    pub epoch: Epoch,
    /// The token.
    pub token: TokenId,
    /// Its exact bytes; may begin or end inside a UTF-8 character. Empty for control tokens.
    pub bytes: Vec<u8>,
    /// The model ended its turn with this token.
    pub eos: bool,
    /// Natural log of the probability it was drawn with, where the engine knows it.
    pub logprob: Option<f32>,
    /// Most likely tokens at this position, best first, where asked for and known.
    pub alternatives: Vec<(TokenId, f32)>,
    /// Tokens that were drawn before it and were forbidden, in order.
    pub vetoed: Vec<TokenId>,
}

/// Why a sequence cannot go on. It is held; the caller decides what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The text ended without an end token (a script ran out). Costs no step.
    Exhausted,
    /// Nobody serves this sequence (a script has no line for it). Costs no step.
    Absent,
    /// No room left in the model's context or in memory for this sequence alone.
    ContextFull,
    /// The engine failed on this sequence.
    Failed(String),
    /// The engine is out of reach for now (a server that died or fell silent). Nothing of the sequence is
    /// lost; running it again tries again.
    Lost(String),
}

/// What one step cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepStats {
    /// Prompt and splice tokens taken in by this step.
    pub prefilled: usize,
    /// Cache pages in use.
    pub pages_used: usize,
    /// Cache pages in all; 0 where the engine has none.
    pub pages_total: usize,
    /// Running sequences that found no room this step.
    pub queued: usize,
    /// Microseconds the engine worked.
    pub busy_us: u64,
}

/// Everything that one [`Engine::advance`] produced.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepOutput {
    /// At most one token per running sequence. Empty: no step happened (prefill, pacing, or idle).
    pub decoded: Vec<Decoded>,
    /// Sequences that stopped.
    pub stopped: Vec<(SeqId, Stop)>,
    /// What it cost.
    pub stats: StepStats,
}

/// Role of a chat message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// Instructions.
    System,
    /// The request.
    User,
}

/// One chat message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Whose.
    pub role: ChatRole,
    /// Plain text; control tokens written inside it are text, never control.
    pub content: String,
}

/// The model behind an engine, as written into a session's header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ModelCard {
    /// File or folder name, or the name a server gives.
    pub name: String,
    /// Architecture family (`llama`, `qwen2`, `qwen3`, `script`).
    pub arch: String,
    /// SHA-256 of the weight files in name order, hex.
    pub weights_sha256: String,
    /// SHA-256 of the tokenizer, hex.
    pub tokenizer_sha256: String,
    /// How weights are stored (`f32`, `q8_0`, …).
    pub dtype: String,
    /// Number of parameters, 0 if unknown.
    pub parameters: u64,
    /// Longest context in tokens; 0: unbounded.
    pub context: usize,
}

/// Bytes that a decoding step reads from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Weights, once a step; 0: unknown.
    pub weights: u64,
    /// Keys and values of one position of one sequence.
    pub position: u64,
}

/// What an engine is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct EngineCard {
    /// `local`, `scripted` or `remote`.
    pub kind: String,
    /// `cpu`, `cuda:0`, `metal:0`, a URL, …
    pub device: String,
    /// Threads it computes with.
    pub threads: usize,
    /// What a step reads from memory, where known; not part of a session.
    #[serde(skip)]
    pub footprint: Footprint,
    /// Why the CPU computes although this build can use a GPU; not part of a session.
    #[serde(skip)]
    pub why_cpu: Option<String>,
    /// How attention is computed, empty where that is not known; not part of a session.
    #[serde(skip)]
    pub attention: String,
    /// The model.
    pub model: ModelCard,
    /// What was found out about the server, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCard>,
}

/// What is known of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ServerCard {
    /// What kind it is.
    pub kind: super::remote::Kind,
    /// Its version, as it says.
    pub version: String,
    /// Longest context in tokens; 0: unknown.
    pub context: u32,
    /// Whether it is asked for probabilities.
    pub logprobs: bool,
    /// How prompts are written.
    pub template: super::remote::Template,
}

/// What can go wrong in an engine as a whole (one sequence failing is a [`Stop`]).
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A file could not be read or does not hold what it should.
    #[error("{path}: {message}")]
    Model {
        /// The file or folder.
        path: String,
        /// What is wrong and what was expected.
        message: String,
    },
    /// Text that the tokenizer cannot express.
    #[error("cannot encode text: {0}")]
    Encode(String),
    /// The chat template failed.
    #[error("chat template: {0}")]
    Template(String),
    /// The device or backend failed.
    #[error("engine failed: {0}")]
    Device(String),
    /// A server does not serve; what to do about it is said.
    #[error("{0}")]
    Server(String),
    /// The engine's thread is gone.
    #[error("the engine stopped: {0}")]
    Gone(String),
}

/// Decodes sequences, one lock-step at a time.
pub trait Engine {
    /// What this engine is.
    fn card(&self) -> &EngineCard;

    /// Encode plain text as it would continue a context: no begin token, and control tokens written
    /// in the text stay text.
    ///
    /// # Errors
    /// [`EngineError::Encode`] when the vocabulary lacks the needed bytes.
    fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError>;

    /// Render a prompt with the checkpoint's chat template (a plain one where it has none) up to the
    /// point where the model's turn begins, and encode it. `thinking` turns a checkpoint's thinking
    /// mode on where it has one.
    ///
    /// # Errors
    /// [`EngineError::Template`] or [`EngineError::Encode`].
    fn prompt(
        &mut self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError>;

    /// Exact bytes of tokens; control tokens give none.
    fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8>;

    /// Learn what tokens stood for in a recorded session, so that they mean the same here. An engine with a
    /// vocabulary of its own knows already.
    fn recall(&mut self, tokens: &[(TokenId, Vec<u8>)]) {
        let _ = tokens;
    }

    /// Apply `ops` in order, then run at most one step.
    ///
    /// Returns promptly (about 50 ms at most without work) so that the caller can serve commands.
    ///
    /// # Errors
    /// [`EngineError::Device`] when nothing can be decoded any more. Unknown sequences in `ops` are
    /// ignored.
    fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError>;
}

impl fmt::Display for SeqId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

//! The contract of an engine, kept by a server.

use super::answer::Chunk;
use super::client::Client;
use super::dialect::Ask;
use super::error::RemoteError;
use super::flow::{Bell, Flow};
use super::options::ServerOptions;
use super::probe::{Probe, probe};
use super::runtime::Runtime;
use super::sequence::{Next, Sequence};
use super::template::{Pattern, Template};
use super::vocabulary::{END, Vocabulary};
use crate::engine::contract::{
    ChatMessage, ChatRole, Decoded, Engine, EngineCard, EngineError, ModelCard, Priority, SeqId,
    SeqOp, ServerCard, StepOutput, Stop, TokenId,
};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one step waits for something to arrive.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long a step that has something waits for the other sequences: servers write for all at once.
const GATHER: Duration = Duration::from_millis(5);

/// What `arch` says in the card of a model behind a server.
const ARCH: &str = "served";

/// Tokens that threads may decode in all, for the cap that every request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// The organizer.
    pub organizer: u64,
    /// Each worker.
    pub worker: u64,
}

/// A connected server.
#[derive(Debug)]
pub struct Remote {
    card: EngineCard,
    client: Arc<Client>,
    probe: Arc<Probe>,
    vocabulary: Vocabulary,
    /// The server's own template, by roles and thinking mode.
    patterns: HashMap<(Vec<ChatRole>, bool), Pattern>,
    sequences: BTreeMap<SeqId, Sequence>,
    bell: Arc<Bell>,
    caps: Caps,
    patience: Duration,
    /// Dropped last: its tasks end with it.
    runtime: Runtime,
}

/// Connects to a server and finds out what it is.
///
/// # Errors
/// Nobody there, no inference server, another model, another key.
pub fn connect(options: &ServerOptions, caps: Caps) -> Result<Remote, RemoteError> {
    let mut client = Client::new(options)?;
    let url = client.url();
    let runtime = Runtime::start(&url)?;
    let broke_down = || RemoteError::Unreachable {
        url: url.clone(),
        why: "asking it broke down".into(),
    };
    let (asked, options) = (Client::new(options)?, options.clone());
    let found = runtime
        .wait_for(async move { probe(&asked, &options).await })
        .ok_or_else(broke_down)??;
    client.models.clone_from(&found.models);
    tracing::info!(url, model = found.model, kind = %found.kind, "server found");
    let card = EngineCard {
        kind: "remote".into(),
        device: url,
        threads: 0,
        model: ModelCard {
            name: found.model.clone(),
            arch: ARCH.into(),
            ..ModelCard::default()
        },
        server: Some(ServerCard {
            kind: found.kind,
            version: found.version.clone().unwrap_or_default(),
            context: found.context,
            logprobs: found.logprobs,
            template: found.template,
        }),
        ..EngineCard::default()
    };
    Ok(Remote {
        card,
        client: Arc::new(client),
        probe: Arc::new(found),
        vocabulary: Vocabulary::default(),
        patterns: HashMap::new(),
        sequences: BTreeMap::new(),
        bell: Arc::default(),
        caps,
        patience: PATIENCE,
        runtime,
    })
}

impl Remote {
    /// What was found out about the server.
    #[must_use]
    pub fn probe(&self) -> &Probe {
        &self.probe
    }

    /// Never waits within a step: for a server beside other engines.
    pub fn never_wait(&mut self) {
        self.patience = Duration::ZERO;
    }

    /// Asks for one continuation, outside of all sequences.
    #[must_use]
    pub fn ask(&self, ask: Ask) -> Flow {
        Flow::start(
            &self.runtime,
            Arc::clone(&self.client),
            Arc::clone(&self.probe),
            ask,
            Arc::clone(&self.bell),
        )
    }

    fn pattern(
        &mut self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<&Pattern, EngineError> {
        let roles: Vec<ChatRole> = messages.iter().map(|m| m.role).collect();
        match self.patterns.entry((roles, thinking)) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let (client, roles) = (Arc::clone(&self.client), unknown.key().0.clone());
                let pattern = self
                    .runtime
                    .wait_for(async move { Pattern::of(&client, &roles, thinking).await })
                    .ok_or_else(|| EngineError::Gone("asking the server broke down".into()))??;
                Ok(unknown.insert(pattern))
            }
        }
    }

    fn apply(&mut self, mut op: SeqOp) {
        let seq = *op.seq_mut();
        if let SeqOp::Open {
            key,
            sampling,
            priority,
            prefix,
            ..
        } = op
        {
            let context = prefix
                .and_then(|(from, len)| Some(self.sequences.get(&from)?.prefix(len)))
                .unwrap_or_default();
            let sequence = Sequence::new(key, sampling, priority, context);
            self.sequences.insert(seq, sequence);
            return;
        }
        let Some(sequence) = self.sequences.get_mut(&seq) else {
            return;
        };
        match op {
            SeqOp::Append {
                tokens, decoded, ..
            } => sequence.append(&tokens, decoded),
            SeqOp::Cut { len, epoch, .. } => sequence.cut(len, epoch),
            SeqOp::Run(_) => sequence.run(),
            SeqOp::Hold(_) => sequence.hold(),
            SeqOp::Sample(_, sampling) => sequence.sample(sampling),
            SeqOp::Close(_) => {
                self.sequences.remove(&seq);
            }
            // The server chooses its tokens itself.
            SeqOp::Forbid(..) | SeqOp::Open { .. } => {}
        }
    }

    /// Makes the requests that are due.
    fn ask_what_is_due(&mut self) {
        for sequence in self.sequences.values_mut() {
            let limit = match sequence.priority {
                Priority::Organizer => self.caps.organizer,
                Priority::Worker | Priority::Template => self.caps.worker,
            };
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            let Some(max_tokens) = sequence.due(limit) else {
                continue;
            };
            let ask = Ask {
                text: self.vocabulary.render(sequence.tokens()),
                seed: draw_seed(&sequence.key, sequence.sampling.seed, sequence.len()),
                sampling: sequence.sampling.clone(),
                max_tokens,
            };
            let flow = Flow::start(
                &self.runtime,
                Arc::clone(&self.client),
                Arc::clone(&self.probe),
                ask,
                Arc::clone(&self.bell),
            );
            sequence.follow(flow, max_tokens);
        }
    }

    /// Waits until every sequence that runs has something, or patience ends.
    fn gather(&mut self, began: Instant) {
        let mut until = began + self.patience;
        let mut first = true;
        loop {
            let heard = self.bell.count();
            let mut running = 0;
            let mut ready = 0;
            for sequence in self.sequences.values_mut().filter(|s| s.runs()) {
                running += 1;
                ready += usize::from(sequence.ready());
            }
            if ready > 0 && first {
                first = false;
                until = until.min(Instant::now() + GATHER);
            }
            if ready == running || Instant::now() >= until {
                return;
            }
            self.ask_what_is_due();
            self.bell.wait(heard, until);
        }
    }

    fn token(&mut self, seq: SeqId, chunk: Chunk) -> Option<Decoded> {
        let token = self.vocabulary.id_of(&chunk.bytes);
        let alternatives = chunk
            .alternatives
            .iter()
            .map(|(bytes, logprob)| (self.vocabulary.id_of(bytes), *logprob))
            .collect();
        let sequence = self.sequences.get_mut(&seq)?;
        sequence.decode(token);
        Some(Decoded {
            seq,
            epoch: sequence.epoch,
            token,
            bytes: chunk.bytes,
            eos: false,
            logprob: chunk.logprob,
            alternatives: if sequence.sampling.alternatives > 0 {
                alternatives
            } else {
                Vec::new()
            },
            vetoed: Vec::new(),
        })
    }

    fn take(&mut self) -> StepOutput {
        let mut output = StepOutput::default();
        let ready: Vec<SeqId> = self
            .sequences
            .iter_mut()
            .filter_map(|(id, s)| (s.runs() && s.ready()).then_some(*id))
            .collect();
        for id in ready {
            let Some((next, epoch)) = self
                .sequences
                .get_mut(&id)
                .and_then(|s| Some((s.take()?, s.epoch)))
            else {
                continue;
            };
            match next {
                Next::Chunk(chunk) => output.decoded.extend(self.token(id, chunk)),
                Next::Eos => {
                    if let Some(sequence) = self.sequences.get_mut(&id) {
                        sequence.decode(END);
                    }
                    output.decoded.push(Decoded {
                        seq: id,
                        epoch,
                        token: END,
                        bytes: Vec::new(),
                        eos: true,
                        logprob: None,
                        alternatives: Vec::new(),
                        vetoed: Vec::new(),
                    });
                }
                Next::Full => output.stopped.push((id, Stop::ContextFull)),
                Next::Lost(error) => output.stopped.push((id, Stop::Lost(error.to_string()))),
            }
        }
        output
    }
}

impl Engine for Remote {
    fn card(&self) -> &EngineCard {
        &self.card
    }

    fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError> {
        Ok(Vocabulary::text(text).collect())
    }

    fn prompt(
        &mut self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        let text = if self.probe.template == Template::Server {
            self.pattern(messages, thinking)?.fill(messages)
        } else {
            self.probe
                .template
                .write(messages, thinking, &self.probe.model)
        };
        Ok(Vocabulary::prompt(&text))
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8> {
        tokens
            .iter()
            .flat_map(|id| self.vocabulary.bytes(*id))
            .collect()
    }

    fn recall(&mut self, tokens: &[(TokenId, Vec<u8>)]) {
        for (id, bytes) in tokens {
            self.vocabulary.learn(*id, bytes);
        }
    }

    fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        let began = Instant::now();
        for op in ops {
            self.apply(op);
        }
        self.ask_what_is_due();
        self.gather(began);
        let mut output = self.take();
        output.stats.busy_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(output)
    }
}

/// A request's seed: what is drawn depends on the run's seed, the thread and the place only.
fn draw_seed(key: &str, seed: u64, place: usize) -> u64 {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update((place as u64).to_le_bytes());
    hash.update(key);
    let digest = hash.finalize();
    // Servers take 32 bits, some of them signed.
    u64::from(u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]) & 0x7fff_ffff)
}

//! The local engine: planner, model and sampler behind the [`Engine`] contract.

use super::choice::in_words;
use super::model::Network;
use super::planner::{Plan, Planner};
use super::text::Text;
use crate::engine::contract::{
    ChatMessage, Decoded, Engine, EngineCard, EngineError, SeqId, SeqOp, StepOutput, StepStats,
    Stop, TokenId,
};
use crate::engine::sampler::Choice;
use crate::engine::veto::sample_unless;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a call without operations and without work waits, so that a caller in a loop does not spin.
const REST: Duration = Duration::from_millis(5);

/// Logits below which waking other threads costs more than drawing from all of them here.
const WORTH_SHARING: usize = 1 << 17;

/// Decodes on this machine.
pub struct LocalEngine {
    card: EngineCard,
    network: Box<dyn Network>,
    planner: Planner,
    text: Text,
}

impl LocalEngine {
    /// Put the parts together.
    #[must_use]
    pub fn new(card: EngineCard, network: Box<dyn Network>, planner: Planner, text: Text) -> Self {
        Self {
            card,
            network,
            planner,
            text,
        }
    }
}

/// What one sequence draws; `None` where its logits are not numbers.
type Drawn = Option<(Choice, Vec<TokenId>)>;

/// Draw for every row of logits, one a sequence that draws.
fn draw(planner: &Planner, text: &Text, plan: &Plan, logits: &[f32]) -> Vec<(SeqId, Drawn)> {
    let vocabulary = text.vocabulary();
    let drawing = plan.shares.iter().filter(|share| share.draws);
    let sequences: Vec<_> = drawing.filter_map(|share| planner.get(share.seq)).collect();
    let width = logits.len() / sequences.len().max(1);
    let one = |at: usize| -> Drawn {
        let sequence = sequences[at];
        sample_unless(
            &logits[at * width..(at + 1) * width],
            &sequence.sampling,
            sequence.key,
            sequence.tokens.len(),
            sequence.decoded_tokens(),
            |token| {
                let veto = sequence.forbid.as_ref();
                veto.is_some_and(|veto| {
                    veto.0
                        .forbids(vocabulary.bytes(token), vocabulary.is_eos(token))
                })
            },
        )
    };
    let drawn: Vec<Drawn> = if logits.len() < WORTH_SHARING {
        (0..sequences.len()).map(one).collect()
    } else {
        let slots: Vec<Mutex<Drawn>> = sequences.iter().map(|_| Mutex::new(None)).collect();
        candle_core::utils::barrier_pool().execute_chunked(slots.len(), |range| {
            for at in range {
                *slots[at].lock().unwrap_or_else(PoisonError::into_inner) = one(at);
            }
        });
        let open = |slot: Mutex<Drawn>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        slots.into_iter().map(open).collect()
    };
    sequences.iter().map(|s| s.id).zip(drawn).collect()
}

impl LocalEngine {
    fn decoded(&mut self, drawn: Vec<(SeqId, Drawn)>, output: &mut StepOutput) {
        for (seq, drawn) in drawn {
            let Some((choice, vetoed)) = drawn else {
                self.planner.hold(seq);
                let why = Stop::Failed("the model's logits are not numbers".into());
                output.stopped.push((seq, why));
                continue;
            };
            let Some(sequence) = self.planner.get(seq) else {
                continue;
            };
            output.decoded.push(Decoded {
                seq,
                epoch: sequence.epoch,
                token: choice.token,
                bytes: self.text.vocabulary().bytes(choice.token).to_vec(),
                eos: self.text.vocabulary().is_eos(choice.token),
                logprob: Some(choice.logprob),
                alternatives: choice.alternatives,
                vetoed,
            });
            self.planner.decoded(seq, choice.token);
        }
    }
}

impl Engine for LocalEngine {
    fn card(&self) -> &EngineCard {
        &self.card
    }

    fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError> {
        self.text.encode(text)
    }

    fn prompt(
        &mut self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        self.text.prompt(messages, thinking)
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8> {
        tokens
            .iter()
            .flat_map(|t| self.text.vocabulary().bytes(*t))
            .copied()
            .collect()
    }

    fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        let begun = Instant::now();
        let idle = ops.is_empty();
        let mut output = StepOutput::default();
        output
            .stopped
            .extend(ops.into_iter().filter_map(|op| self.planner.apply(op)));
        let mut plan = self.planner.plan();
        output.stopped.append(&mut plan.stopped);
        if plan.shares.is_empty() {
            if idle && output.stopped.is_empty() {
                std::thread::sleep(REST);
            }
        } else {
            let logits = self
                .network
                .forward(&plan.batch)
                .map_err(|e| EngineError::Device(in_words(&e)))?;
            let drawn = draw(&self.planner, &self.text, &plan, logits);
            self.planner.computed(&plan);
            self.decoded(drawn, &mut output);
            output.stats.busy_us = begun.elapsed().as_micros() as u64;
        }
        output.stats = StepStats {
            prefilled: plan.prefilled,
            pages_used: self.planner.pool().used(),
            pages_total: self.planner.pool().total(),
            queued: plan.queued,
            busy_us: output.stats.busy_us,
        };
        Ok(output)
    }
}

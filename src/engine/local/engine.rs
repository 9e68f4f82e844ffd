//! The local engine: planner, model and sampler behind the [`Engine`] contract.

use super::model::{Arena, Model};
use super::planner::{Plan, Planner};
use super::text::Text;
use crate::engine::contract::{
    ChatMessage, Decoded, Engine, EngineCard, EngineError, SeqOp, StepOutput, StepStats, Stop,
    TokenId,
};
use crate::engine::veto::sample_unless;
use candle_core::Tensor;
use std::time::{Duration, Instant};

/// How long a call without operations and without work waits, so that a caller in a loop does not spin.
const REST: Duration = Duration::from_millis(5);

/// Decodes on this machine.
pub struct LocalEngine {
    card: EngineCard,
    model: Model,
    arena: Arena,
    planner: Planner,
    text: Text,
}

impl LocalEngine {
    /// Put the parts together.
    #[must_use]
    pub fn new(card: EngineCard, model: Model, arena: Arena, planner: Planner, text: Text) -> Self {
        Self {
            card,
            model,
            arena,
            planner,
            text,
        }
    }

    /// Logits of the rows of `plan` that draw, one after the other.
    fn compute(&mut self, plan: &Plan) -> Result<Vec<f32>, EngineError> {
        self.model
            .forward(&mut self.arena, &plan.batch)
            .and_then(|logits| {
                logits.map_or_else(|| Ok(Vec::new()), |l: Tensor| l.flatten_all()?.to_vec1())
            })
            .map_err(|e| EngineError::Device(e.to_string()))
    }

    fn draw(&mut self, plan: &Plan, logits: &[f32], output: &mut StepOutput) {
        let drawing = plan.shares.iter().filter(|share| share.draws);
        for (share, logits) in drawing.zip(logits.chunks_exact(self.model.config.vocab)) {
            let Some(sequence) = self.planner.get(share.seq) else {
                continue;
            };
            let position = sequence.tokens.len();
            let vocabulary = self.text.vocabulary();
            let choice = sample_unless(
                logits,
                &sequence.sampling,
                sequence.key,
                position,
                sequence.decoded_tokens(),
                |token| {
                    sequence.forbid.as_ref().is_some_and(|veto| {
                        veto.0
                            .forbids(vocabulary.bytes(token), vocabulary.is_eos(token))
                    })
                },
            );
            let Some((choice, vetoed)) = choice else {
                self.planner.hold(share.seq);
                let why = Stop::Failed("the model's logits are not numbers".into());
                output.stopped.push((share.seq, why));
                continue;
            };
            output.decoded.push(Decoded {
                seq: share.seq,
                epoch: sequence.epoch,
                token: choice.token,
                bytes: self.text.vocabulary().bytes(choice.token).to_vec(),
                eos: self.text.vocabulary().is_eos(choice.token),
                logprob: Some(choice.logprob),
                alternatives: choice.alternatives,
                vetoed,
            });
            self.planner.decoded(share.seq, choice.token);
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
            let logits = self.compute(&plan)?;
            self.planner.computed(&plan);
            self.draw(&plan, &logits, &mut output);
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

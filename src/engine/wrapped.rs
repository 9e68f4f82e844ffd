//! An engine with something done around its steps: counting, timing, stopping.

use super::contract::{ChatMessage, Engine, EngineCard, EngineError, SeqOp, StepOutput, TokenId};

/// An engine whose steps are taken by `step`, which is given the engine to take them with.
pub struct Wrapped<F> {
    engine: Box<dyn Engine>,
    step: F,
}

impl<F> Wrapped<F>
where
    F: FnMut(&mut dyn Engine, Vec<SeqOp>) -> Result<StepOutput, EngineError>,
{
    /// Put `step` around an engine.
    pub fn new(engine: Box<dyn Engine>, step: F) -> Self {
        Self { engine, step }
    }
}

impl<F> Engine for Wrapped<F>
where
    F: FnMut(&mut dyn Engine, Vec<SeqOp>) -> Result<StepOutput, EngineError>,
{
    fn card(&self) -> &EngineCard {
        self.engine.card()
    }

    fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError> {
        self.engine.encode(text)
    }

    fn prompt(
        &mut self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        self.engine.prompt(messages, thinking)
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8> {
        self.engine.decode(tokens)
    }

    fn recall(&mut self, tokens: &[(TokenId, Vec<u8>)]) {
        self.engine.recall(tokens);
    }

    fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        (self.step)(self.engine.as_mut(), ops)
    }
}

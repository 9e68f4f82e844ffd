//! Which engine a thread's sequence is at, and taking it to another.
//!
//! What one engine has decoded is text to another: the prompt is written anew by the other's template, and
//! the rest is encoded anew. What was recorded stays as it is.

use super::config::messages;
use super::engines::Desk;
use super::session::Session;
use super::steer::refused;
use crate::engine::{EngineError, Epoch, SeqId, SeqOp, TokenId};
use crate::org::{ErrorKind, Outcome, Seat, ThreadId};
use crate::protocol::Grammar;
use crate::record::{Origin, RestoredThread};

/// Tokens of a context, and whether they were decoded.
pub(super) type Context = Vec<(Vec<TokenId>, bool)>;

impl Session {
    /// The engine of whoever sits at `seat`.
    ///
    /// # Errors
    /// There is none, or it does not open.
    pub(super) fn desk_of(&mut self, seat: &Seat) -> Result<Desk, EngineError> {
        self.engines.desk(seat)
    }

    /// The engine of thread `id`: that of its seat, the session's own where that cannot be had.
    pub(super) fn desk(&mut self, id: ThreadId) -> Desk {
        let seat = match self.emitter.org.thread(id) {
            Some(thread) => thread.seat.clone(),
            None => self.seat_of(id),
        };
        self.desk_of(&seat).unwrap_or_default()
    }

    /// The context of a recorded thread for the engine at `desk`.
    ///
    /// # Errors
    /// The engine cannot express it.
    pub(super) fn context_for(
        &mut self,
        id: ThreadId,
        recorded: &RestoredThread,
        desk: Desk,
    ) -> Result<Context, EngineError> {
        let at_home = |ids: &[TokenId]| ids.iter().all(|token| desk.owns(*token));
        let prompt = if at_home(&recorded.prompt) {
            recorded.prompt.clone()
        } else {
            self.prompt_of(id, desk)?
        };
        let mut context = vec![(prompt, false)];
        let mut foreign = Vec::new();
        for piece in &recorded.pieces {
            if at_home(&piece.ids) {
                self.encode_foreign(&mut foreign, desk, &mut context)?;
                context.push((piece.ids.clone(), piece.origin == Origin::Decoded));
            } else {
                foreign.extend_from_slice(&piece.bytes);
            }
        }
        self.encode_foreign(&mut foreign, desk, &mut context)?;
        Ok(context)
    }

    fn encode_foreign(
        &mut self,
        bytes: &mut Vec<u8>,
        desk: Desk,
        context: &mut Context,
    ) -> Result<(), EngineError> {
        if !bytes.is_empty() {
            let text = String::from_utf8_lossy(&std::mem::take(bytes)).into_owned();
            context.push((self.engines.encode(desk, &text)?, false));
        }
        Ok(())
    }

    /// The prompt of a thread as the engine at `desk` writes it.
    fn prompt_of(&mut self, id: ThreadId, desk: Desk) -> Result<Vec<TokenId>, EngineError> {
        let system = if id.is_organizer() {
            self.header.prompts.organizer.clone()
        } else {
            self.worker_prompt(self.header.organizes(id)).to_owned()
        };
        let query = self
            .emitter
            .org
            .thread(id)
            .map_or_else(String::new, |t| t.query.clone());
        let thinking = self.header.thinking;
        self.engines
            .prompt(desk, &messages(&system, &query), thinking)
    }

    /// The context of a recorded thread for the engine it is at, where that did not decode all of it.
    pub(super) fn translated(
        &mut self,
        id: ThreadId,
        recorded: &RestoredThread,
    ) -> Option<Context> {
        let desk = self.desk(id);
        if recorded.ids().all(|token| desk.owns(token)) {
            return None;
        }
        match self.context_for(id, recorded, desk) {
            Ok(context) => Some(context),
            Err(why) => {
                self.error(id, ErrorKind::Engine, None, why.to_string());
                Some(Context::new())
            }
        }
    }

    /// Opens a sequence for thread `id` with a context that is not what was recorded.
    pub(super) fn open_with(&mut self, id: ThreadId, grammar: Grammar, context: &Context) {
        self.open(id, grammar, &[]);
        if let Some(seq) = self.runners.get(&id).map(|runner| runner.seq) {
            self.append_all(seq, context);
        }
    }

    fn append_all(&mut self, seq: SeqId, context: &Context) {
        let append = |(tokens, decoded): &(Vec<TokenId>, bool)| SeqOp::Append {
            seq,
            tokens: tokens.clone(),
            decoded: *decoded,
        };
        self.ops.extend(context.iter().map(append));
    }

    /// Whether a sequence can be cut back to what two contexts of its thread have in common: whether it holds
    /// the recorded tokens themselves.
    pub(super) fn holds_the_record(
        &mut self,
        id: ThreadId,
        seq: SeqId,
        contexts: [&RestoredThread; 2],
    ) -> bool {
        let desk = self.desk(id);
        let all = contexts.iter().flat_map(|c| c.ids());
        self.engines.desk_at(seq) == desk && all.into_iter().all(|token| desk.owns(token))
    }

    /// Takes the sequence of a thread to the engine of whoever is to sit there, if that is another.
    pub(super) fn move_to(&mut self, id: ThreadId, to: &Seat) -> Result<(), Outcome> {
        let from = self.desk(id);
        let desk = self.desk_of(to).map_err(|e| refused(e.to_string()))?;
        if from == desk {
            return Ok(());
        }
        self.emitter.flush();
        let history = self.emitter.history();
        let recorded = history
            .contexts(self.emitter.org.here())
            .remove(&id)
            .unwrap_or_default();
        let context = self
            .context_for(id, &recorded, desk)
            .map_err(|e| refused(e.to_string()))?;
        let seq = self.new_seq();
        let Some(runner) = self.runners.get_mut(&id) else {
            return Err(refused(format!("{id} is not running")));
        };
        self.ops.push(SeqOp::Close(runner.seq));
        self.by_seq.remove(&runner.seq);
        runner.take_up(seq, Epoch::default());
        runner.stopped_by_engine();
        runner.context = context.iter().map(|(ids, _)| ids.len()).sum();
        self.by_seq.insert(seq, id);
        self.engines.assign(seq, desk);
        self.begin_sequence(seq, id, None);
        self.append_all(seq, &context);
        Ok(())
    }
}

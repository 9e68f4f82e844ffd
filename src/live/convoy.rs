//! Many sessions over one engine, in lock-step: every common step is one step of each of them.
//!
//! This is how evaluation and reinforcement learning run whole sets of queries: ordinary sessions, without
//! a file or a screen, whose sequences decode in one batch. Each gets what it would get alone, because a
//! draw depends on its session's seed, its thread and its position only. Pauses, pace and commands do not
//! exist here.

use super::config::RunConfig;
use super::mailbox::Mailbox;
use super::session::{Audience, Finished, Session};
use crate::engine::{
    ChatMessage, Engine, EngineCard, EngineError, SeqId, SeqOp, StepOutput, TokenId,
};
use crate::org::Event;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// What is kept of each session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Its final state.
    State,
    /// Its final state and everything that happened.
    Events,
}

/// A session at its end.
#[derive(Debug)]
pub struct Arrival {
    /// Its place among those that set out, from 0.
    pub number: usize,
    /// How it left off.
    pub finished: Finished,
    /// What happened, if that was to be kept. Token events of a thread are merged where nothing lies between.
    pub events: Vec<Event>,
}

/// Runs a session for each config, at most `width` at once, and hands each over when it ends. The caller may
/// break off: the others are then dropped.
///
/// # Errors
/// When a prompt cannot be made. An engine that fails ends the sessions instead, as it would end one alone.
pub fn travel_together(
    engine: Box<dyn Engine>,
    width: usize,
    keep: Keep,
    configs: impl IntoIterator<Item = RunConfig>,
    mut arrived: impl FnMut(Arrival) -> ControlFlow<()>,
) -> Result<(), EngineError> {
    let hub = Rc::new(RefCell::new(Hub::new(engine)));
    let mut waiting = configs.into_iter().enumerate();
    let mut aboard: Vec<Traveller> = Vec::new();
    // nobody sends: a closed channel would be taken for a screen that went away
    let (_nobody, commands) = channel();
    loop {
        while aboard.len() < width.max(1) {
            let Some((number, config)) = waiting.next() else {
                break;
            };
            aboard.push(Traveller::set_out(&hub, number, &config, keep)?);
        }
        if aboard.is_empty() {
            return Ok(());
        }
        let mut ops = Vec::new();
        let mut still = Vec::with_capacity(aboard.len());
        for mut traveller in aboard {
            if let Some(own) = traveller.session.before_step(&commands) {
                ops.extend(hub.borrow_mut().translate(traveller.number, own));
                still.push(traveller);
            } else if arrived(traveller.arrive()).is_break() {
                return Ok(());
            }
        }
        aboard = still;
        let mut shares = hub.borrow_mut().step(ops);
        for traveller in &mut aboard {
            let share = match &mut shares {
                Ok(shares) => Ok(shares.remove(&traveller.number).unwrap_or_default()),
                Err(why) => Err(EngineError::Device(why.clone())),
            };
            traveller.session.after_step(share);
        }
    }
}

struct Traveller {
    number: usize,
    session: Session,
    mailbox: Option<Arc<Mailbox>>,
}

impl Traveller {
    fn set_out(
        hub: &Rc<RefCell<Hub>>,
        number: usize,
        config: &RunConfig,
        keep: Keep,
    ) -> Result<Self, EngineError> {
        let desk = Desk {
            card: hub.borrow().engine.card().clone(),
            hub: Rc::clone(hub),
            number,
        };
        let header = config.header(number.to_string(), String::new(), &desk.card);
        let mailbox = (keep == Keep::Events).then(Arc::<Mailbox>::default);
        let session = Session::begin(
            Box::new(desk) as Box<dyn Engine>,
            header,
            config,
            None,
            mailbox.clone(),
            Audience::Nobody,
        )?;
        Ok(Self {
            number,
            session,
            mailbox,
        })
    }

    fn arrive(self) -> Arrival {
        let finished = self.session.close();
        Arrival {
            number: self.number,
            finished,
            events: self.mailbox.map(|m| m.take().events).unwrap_or_default(),
        }
    }
}

/// The engine, and whose sequences are whose.
struct Hub {
    engine: Box<dyn Engine>,
    /// By session and its own name for the sequence.
    inside: HashMap<(usize, SeqId), SeqId>,
    outside: HashMap<SeqId, (usize, SeqId)>,
    next: u32,
    /// From sessions that ended: for the next step.
    late: Vec<SeqOp>,
}

impl Hub {
    fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            inside: HashMap::new(),
            outside: HashMap::new(),
            next: 0,
            late: Vec::new(),
        }
    }

    fn translate(&mut self, number: usize, ops: Vec<SeqOp>) -> Vec<SeqOp> {
        ops.into_iter()
            .filter_map(|op| self.translate_one(number, op))
            .collect()
    }

    /// The same operation on the engine's name for the sequence; nothing for one that is not open.
    fn translate_one(&mut self, number: usize, mut op: SeqOp) -> Option<SeqOp> {
        if let SeqOp::Open { seq, prefix, .. } = &mut op {
            let name = SeqId(self.next);
            self.next += 1;
            self.inside.insert((number, *seq), name);
            self.outside.insert(name, (number, *seq));
            *seq = name;
            *prefix = prefix
                .and_then(|(seq, len)| self.inside.get(&(number, seq)).map(|name| (*name, len)));
            return Some(op);
        }
        let closes = matches!(op, SeqOp::Close(_));
        let seq = op.seq_mut();
        let own = (number, *seq);
        *seq = *self.inside.get(&own)?;
        if closes {
            self.outside.remove(seq);
            self.inside.remove(&own);
        }
        Some(op)
    }

    /// One step; what each session gets of it.
    fn step(&mut self, ops: Vec<SeqOp>) -> Result<HashMap<usize, StepOutput>, String> {
        let mut all = std::mem::take(&mut self.late);
        all.extend(ops);
        let output = self.engine.advance(all).map_err(|e| e.to_string())?;
        let mut shares: HashMap<usize, StepOutput> = HashMap::new();
        for mut token in output.decoded {
            if let Some((number, seq)) = self.outside.get(&token.seq) {
                token.seq = *seq;
                shares.entry(*number).or_default().decoded.push(token);
            }
        }
        for (seq, stop) in output.stopped {
            if let Some((number, seq)) = self.outside.get(&seq) {
                shares
                    .entry(*number)
                    .or_default()
                    .stopped
                    .push((*seq, stop));
            }
        }
        Ok(shares)
    }
}

/// A session's view of the common engine.
struct Desk {
    card: EngineCard,
    hub: Rc<RefCell<Hub>>,
    number: usize,
}

impl Engine for Desk {
    fn card(&self) -> &EngineCard {
        &self.card
    }

    fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError> {
        self.hub.borrow_mut().engine.encode(text)
    }

    fn prompt(
        &mut self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        self.hub.borrow_mut().engine.prompt(messages, thinking)
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8> {
        self.hub.borrow_mut().engine.decode(tokens)
    }

    fn recall(&mut self, tokens: &[(TokenId, Vec<u8>)]) {
        self.hub.borrow_mut().engine.recall(tokens);
    }

    /// Only a session that ended comes here, to give its memory back; that happens in the next common step.
    fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        let mut hub = self.hub.borrow_mut();
        let ops = hub.translate(self.number, ops);
        hub.late.extend(ops);
        Ok(StepOutput::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::embedded;
    use crate::engine::local::Options;
    use crate::org::{Body, RunEnd};
    use crate::task::Task;
    use crate::task::sets::Set;

    fn configs(tasks: &[Task]) -> Vec<RunConfig> {
        let with = |(seed, task): (usize, &Task)| {
            let mut config = RunConfig {
                query: task.query(),
                ..RunConfig::default()
            };
            config.sampling.temperature = 1.0;
            config.sampling.top_p = None;
            config.sampling.seed = seed as u64;
            config
        };
        tasks.iter().enumerate().map(with).collect()
    }

    fn engine() -> Box<dyn Engine> {
        embedded::open(&Options::default()).unwrap()
    }

    fn answers(width: usize, tasks: &[Task]) -> Vec<(Option<String>, u64)> {
        let mut out = vec![(None, 0); tasks.len()];
        travel_together(engine(), width, Keep::Events, configs(tasks), |arrival| {
            let org = arrival.finished.organization;
            assert_eq!(org.end, Some(RunEnd::Answered));
            let decoded = |e: &Event| match &e.body {
                Body::Tokens { ids, .. } => ids.len() as u64,
                _ => 0,
            };
            let metrics = org.metrics();
            let kept: u64 = arrival.events.iter().map(decoded).sum();
            assert_eq!(kept, metrics.decoded);
            out[arrival.number] = (org.answer, metrics.latency);
            ControlFlow::Continue(())
        })
        .unwrap();
        out
    }

    #[test]
    fn each_session_gets_what_it_would_get_alone() {
        let tasks = &Set::CountdownDev.tasks()[..4];
        let together = answers(3, tasks);
        assert!(together.iter().all(|(answer, _)| answer.is_some()));
        assert_eq!(together, answers(1, tasks));
    }

    #[test]
    fn the_caller_may_break_off() {
        let mut seen = 0;
        let configs = configs(&Set::CountdownDev.tasks()[..6]);
        travel_together(engine(), 2, Keep::State, configs, |arrival| {
            seen += 1;
            assert!(arrival.events.is_empty());
            ControlFlow::Break(())
        })
        .unwrap();
        assert_eq!(seen, 1);
    }
}

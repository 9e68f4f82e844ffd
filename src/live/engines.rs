//! The engines of one session: its own, and those beside it that hold a seat `server:NAME`.
//!
//! Every sequence is decoded by one of them. Each has token ids of its own; here an id also says whose it is,
//! so that what one has decoded is never taken for a token of another. An engine beside the session's own is
//! opened when a seat first needs it.

use crate::engine::{
    ChatMessage, Decoded, Engine, EngineCard, EngineError, SeqId, SeqOp, StepOutput, TokenId,
};
use crate::org::Seat;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ids of the engine at desk n begin at n times this.
const IDS: TokenId = 1 << 24;

/// How long to look for something at several engines before a step without tokens is handed back.
const PATIENCE: Duration = Duration::from_millis(20);

/// Between two looks.
const NAP: Duration = Duration::from_millis(2);

/// Builds an engine beside the session's own. One that waits for something inside a step keeps the others
/// from decoding, so it should not.
pub type OpenBeside = Arc<dyn Fn() -> Result<Box<dyn Engine>, EngineError> + Send + Sync>;

/// Engines that can be opened, by name.
pub type ServerSet = BTreeMap<String, OpenBeside>;

/// Which engine: 0 is the session's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Desk(usize);

impl Desk {
    /// The session's own engine.
    pub const OWN: Self = Self(0);

    /// Whether a token is one of the engine's here.
    #[must_use]
    pub fn owns(self, id: TokenId) -> bool {
        (id / IDS) as usize == self.0
    }

    fn outside(self, id: TokenId) -> TokenId {
        id % IDS + TokenId::try_from(self.0).unwrap_or_default() * IDS
    }
}

/// See the module.
pub struct Engines {
    own: Box<dyn Engine>,
    beside: Vec<(String, Box<dyn Engine>)>,
    set: ServerSet,
    whose: HashMap<SeqId, Desk>,
    running: BTreeSet<SeqId>,
}

impl From<Box<dyn Engine>> for Engines {
    fn from(own: Box<dyn Engine>) -> Self {
        Self::new(own, ServerSet::new())
    }
}

impl Engines {
    /// The session's own engine, and those that can be opened beside it.
    #[must_use]
    pub fn new(own: Box<dyn Engine>, set: ServerSet) -> Self {
        Self {
            own,
            beside: Vec::new(),
            set,
            whose: HashMap::new(),
            running: BTreeSet::new(),
        }
    }

    /// The session's own engine.
    pub fn card(&self) -> &EngineCard {
        self.own.card()
    }

    /// Names of those beside it.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.set.keys()
    }

    /// Whose a seat is, opening the engine where that has not been done. People and tools sit at the
    /// session's own.
    ///
    /// # Errors
    /// Nobody of that name, or it does not open.
    pub fn desk(&mut self, seat: &Seat) -> Result<Desk, EngineError> {
        let Seat::Server(name) = seat else {
            return Ok(Desk::OWN);
        };
        if let Some(i) = self.beside.iter().position(|(known, _)| known == name) {
            return Ok(Desk(i + 1));
        }
        let open = self.set.get(name).ok_or_else(|| {
            EngineError::Server(format!(
                "there is no server `{name}`; servers are named in the config file as [servers.{name}]"
            ))
        })?;
        self.beside.push((name.clone(), open()?));
        Ok(Desk(self.beside.len()))
    }

    /// Opens whatever these seats need, so that what is wrong with it is told before anything is done.
    ///
    /// # Errors
    /// The first that does not open.
    pub fn open_for<'a>(
        &mut self,
        seats: impl Iterator<Item = &'a Seat>,
    ) -> Result<(), EngineError> {
        for seat in seats {
            self.desk(seat)?;
        }
        Ok(())
    }

    fn at(&mut self, desk: Desk) -> &mut dyn Engine {
        match desk.0.checked_sub(1).and_then(|i| self.beside.get_mut(i)) {
            Some((_, engine)) => &mut **engine,
            None => &mut *self.own,
        }
    }

    /// How many tokens a context has room for; 0: no bound.
    pub fn context(&mut self, desk: Desk) -> usize {
        self.at(desk).card().model.context
    }

    /// As [`Engine::encode`].
    ///
    /// # Errors
    /// As there.
    pub fn encode(&mut self, desk: Desk, text: &str) -> Result<Vec<TokenId>, EngineError> {
        let ids = self.at(desk).encode(text)?;
        Ok(ids.into_iter().map(|id| desk.outside(id)).collect())
    }

    /// As [`Engine::prompt`].
    ///
    /// # Errors
    /// As there.
    pub fn prompt(
        &mut self,
        desk: Desk,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        let ids = self.at(desk).prompt(messages, thinking)?;
        Ok(ids.into_iter().map(|id| desk.outside(id)).collect())
    }

    /// As [`Engine::decode`], of anybody's tokens.
    pub fn decode(&mut self, ids: &[TokenId]) -> Vec<u8> {
        ids.chunk_by(|a, b| a / IDS == b / IDS)
            .flat_map(|run| {
                let desk = Desk(run.first().map_or(0, |id| (id / IDS) as usize));
                let inside: Vec<TokenId> = run.iter().map(|id| id % IDS).collect();
                self.at(desk).decode(&inside)
            })
            .collect()
    }

    /// As [`Engine::recall`], each engine its own.
    pub fn recall(&mut self, tokens: &[(TokenId, Vec<u8>)]) {
        for desk in (0..=self.beside.len()).map(Desk) {
            let own: Vec<(TokenId, Vec<u8>)> = tokens
                .iter()
                .filter(|(id, _)| desk.owns(*id))
                .map(|(id, bytes)| (id % IDS, bytes.clone()))
                .collect();
            if !own.is_empty() {
                self.at(desk).recall(&own);
            }
        }
    }

    /// Says which engine will decode a sequence that is about to be opened.
    pub fn assign(&mut self, seq: SeqId, desk: Desk) {
        if desk != Desk::OWN {
            self.whose.insert(seq, desk);
        }
    }

    /// Which engine decodes a sequence.
    #[must_use]
    pub fn desk_at(&self, seq: SeqId) -> Desk {
        self.whose.get(&seq).copied().unwrap_or_default()
    }

    /// As [`Engine::advance`]: every engine makes at most one step.
    ///
    /// # Errors
    /// As there, from any of them.
    pub fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        let mut shares: Vec<Vec<SeqOp>> = vec![Vec::new(); self.beside.len() + 1];
        for op in ops {
            let (desk, op) = self.inside(op);
            if let Some(share) = shares.get_mut(desk.0) {
                share.push(op);
            }
        }
        if let [own] = &mut shares[..] {
            return self.own.advance(std::mem::take(own));
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let output = self.step(&mut shares)?;
            let news = !output.decoded.is_empty() || !output.stopped.is_empty();
            if news || self.running.is_empty() || Instant::now() >= until {
                return Ok(output);
            }
            std::thread::sleep(NAP);
        }
    }

    /// One step of every engine that has something to do.
    fn step(&mut self, shares: &mut [Vec<SeqOp>]) -> Result<StepOutput, EngineError> {
        let mut whole = StepOutput::default();
        for (i, share) in shares.iter_mut().enumerate() {
            let desk = Desk(i);
            let ops = std::mem::take(share);
            if ops.is_empty() && !self.running.iter().any(|seq| self.desk_at(*seq) == desk) {
                continue;
            }
            let output = self.at(desk).advance(ops)?;
            whole
                .decoded
                .extend(output.decoded.into_iter().map(|t| outside(desk, t)));
            for (seq, _) in &output.stopped {
                self.running.remove(seq);
            }
            whole.stopped.extend(output.stopped);
            if desk == Desk::OWN {
                whole.stats = output.stats;
            }
        }
        Ok(whole)
    }

    /// Whose an operation is, and how that engine understands it.
    fn inside(&mut self, mut op: SeqOp) -> (Desk, SeqOp) {
        let seq = *op.seq_mut();
        let desk = self.desk_at(seq);
        let op = match op {
            SeqOp::Append {
                seq,
                tokens,
                decoded,
            } => SeqOp::Append {
                seq,
                tokens: tokens.into_iter().map(|id| id % IDS).collect(),
                decoded,
            },
            other => other,
        };
        match &op {
            SeqOp::Run(_) => {
                self.running.insert(seq);
            }
            SeqOp::Hold(_) => {
                self.running.remove(&seq);
            }
            SeqOp::Close(_) => {
                self.running.remove(&seq);
                self.whose.remove(&seq);
            }
            _ => {}
        }
        (desk, op)
    }
}

fn outside(desk: Desk, token: Decoded) -> Decoded {
    Decoded {
        token: desk.outside(token.token),
        alternatives: token
            .alternatives
            .into_iter()
            .map(|(id, p)| (desk.outside(id), p))
            .collect(),
        vetoed: token
            .vetoed
            .into_iter()
            .map(|id| desk.outside(id))
            .collect(),
        ..token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Priority, Sampling, Script, Scripted};

    fn scripted(word: &str) -> Box<dyn Engine> {
        let line = format!("{{\"thread\":\"1\",\"tokens\":[\"{word}\"],\"repeat\":true}}");
        Box::new(Scripted::new(Script::parse(&line, "t").unwrap(), word))
    }

    fn engines() -> Engines {
        let big: OpenBeside = Arc::new(|| Ok(scripted("big")));
        Engines::new(scripted("own"), ServerSet::from([("big".into(), big)]))
    }

    fn open(seq: u32) -> Vec<SeqOp> {
        let seq = SeqId(seq);
        let open = SeqOp::Open {
            seq,
            key: "1".into(),
            sampling: Sampling::default(),
            priority: Priority::Worker,
            prefix: None,
        };
        vec![open, SeqOp::Run(seq)]
    }

    #[test]
    fn each_sequence_is_decoded_where_it_sits_and_ids_say_whose_they_are() {
        let mut engines = engines();
        let big = engines.desk(&Seat::Server("big".into())).unwrap();
        engines.assign(SeqId(2), big);
        let ops = [open(1), open(2)].concat();
        let output = engines.advance(ops).unwrap();
        let texts: Vec<_> = output.decoded.iter().map(|t| t.bytes.clone()).collect();
        assert_eq!(texts, [b"own".to_vec(), b"big".to_vec()]);
        let ids: Vec<TokenId> = output.decoded.iter().map(|t| t.token).collect();
        assert!(Desk::OWN.owns(ids[0]) && big.owns(ids[1]));
        assert_eq!(engines.decode(&ids), b"ownbig");
    }

    #[test]
    fn what_ran_before_another_was_opened_runs_on() {
        let mut engines = engines();
        assert_eq!(engines.advance(open(1)).unwrap().decoded.len(), 1);
        let big = engines.desk(&Seat::Server("big".into())).unwrap();
        engines.assign(SeqId(2), big);
        assert_eq!(engines.advance(open(2)).unwrap().decoded.len(), 2);
    }

    #[test]
    fn a_name_that_is_none_is_told() {
        let error = engines().desk(&Seat::Server("none".into())).unwrap_err();
        assert!(error.to_string().contains("[servers.none]"), "{error}");
    }

    #[test]
    fn people_and_tools_sit_at_the_sessions_own() {
        let mut engines = engines();
        for seat in [Seat::Model, Seat::Human, Seat::Tool("wc".into())] {
            assert_eq!(engines.desk(&seat).unwrap(), Desk::OWN);
        }
    }
}

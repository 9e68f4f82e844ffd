//! A small organization told as events, as a session would post them: every event comes through
//! [`Story`], which keeps numbers, steps and time consistent.

use orgtop::engine::{EngineCard, ModelCard, Sampling};
use orgtop::org::{
    ActionKind, Author, Body, BranchId, Command, Event, Organization, Outcome, Role, RunEnd, Seat,
    Seq, SpliceKind, Step, TextBytes, ThreadEnd, ThreadId, WaitOn,
};
use orgtop::record::{FORMAT, Header, Limits, Prompts, VERSION};
use std::collections::BTreeMap;

/// Microseconds one step takes in every story.
pub const STEP_US: u64 = 12_500;

pub fn worker(index: u16) -> ThreadId {
    ThreadId::worker(index).unwrap()
}

pub const ORGANIZER: ThreadId = ThreadId::ORGANIZER;

/// A token's id: its length, and its number where it has one.
fn token_id(text: &str) -> u32 {
    let number = text.bytes().filter(u8::is_ascii_digit);
    let number = number.fold(0, |n, digit| n * 10 + u32::from(digit - b'0'));
    u32::try_from(text.len()).unwrap() + 40 + 100 * number
}

pub struct Story {
    pub events: Vec<Event>,
    pub header: Header,
    pub organization: Organization,
    step: u64,
    us: u64,
    texts: BTreeMap<ThreadId, Vec<u8>>,
}

impl Story {
    pub fn new(query: &str, capacity: u32) -> Self {
        let header = Header {
            parent: None,
            format: FORMAT.to_owned(),
            version: VERSION,
            id: "calm-otter".to_owned(),
            created: "2026-01-01T00:00:00Z".to_owned(),
            app: "0.1.0".to_owned(),
            engine: EngineCard {
                kind: "local".to_owned(),
                device: "cpu".to_owned(),
                threads: 2,
                model: ModelCard {
                    name: "organizer-1M".to_owned(),
                    ..ModelCard::default()
                },
                ..EngineCard::default()
            },
            prompts: Prompts {
                organizer: "You organize. Fork sub-queries, join them, then answer.".to_owned(),
                worker: "You serve one sub-query and return its result.".to_owned(),
                sub_organizer: String::new(),
            },
            query: query.to_owned(),
            policy: orgtop::record::Policy::Asyncthink,
            k: 0,
            merge: orgtop::record::Merge::Model,
            capacity,
            pool: orgtop::record::PoolPolicy::Wait,
            strict: false,
            thinking: false,
            guard: false,
            sampling: Sampling::default(),
            limits: Limits::default(),
            task: None,
            seats: Default::default(),
            workers: Default::default(),
            roster: Vec::new(),
            ask: Vec::new(),
            plan: false,
            tau: 0.5,
        };
        let mut story = Self {
            events: Vec::new(),
            organization: Organization::new(capacity, 0.5),
            header,
            step: 0,
            us: 0,
            texts: BTreeMap::new(),
        };
        story.begin(ORGANIZER, Role::Organizer, query);
        story
    }

    pub fn push(
        &mut self,
        thread: Option<ThreadId>,
        by: Author,
        cause: Option<Seq>,
        body: Body,
    ) -> Seq {
        let seq = Seq(self.events.len() as u64);
        let event = Event {
            seq,
            us: self.us,
            step: Step(self.step),
            branch: BranchId(0),
            thread,
            by,
            cause,
            body,
        };
        self.organization.apply(&event);
        self.events.push(event);
        seq
    }

    pub fn say(&mut self, thread: ThreadId, body: Body) {
        self.push(Some(thread), Author::Model, None, body);
    }

    fn begin(&mut self, id: ThreadId, role: Role, query: &str) {
        self.say(
            id,
            Body::Thread {
                role,
                seat: Seat::Model,
                query: query.to_owned(),
                prompt: (100..140).collect(),
            },
        );
    }

    /// One step in which each of these threads decodes one token.
    pub fn step(&mut self, tokens: &[(ThreadId, &str)]) {
        self.step += 1;
        self.us += STEP_US;
        for (id, text) in tokens {
            self.texts
                .entry(*id)
                .or_default()
                .extend_from_slice(text.as_bytes());
            self.say(
                *id,
                Body::Tokens {
                    ids: vec![token_id(text)],
                    bytes: TextBytes(text.as_bytes().to_vec()),
                    lens: vec![u32::try_from(text.len()).unwrap()],
                    logprobs: vec![-0.105],
                    top: vec![vec![(41, -0.105), (77, -2.8), (91, -4.1)]],
                },
            );
        }
    }

    /// The guard refuses what a thread drew; what it decodes next stands in its place.
    pub fn refuse(&mut self, id: ThreadId, texts: &[&str]) {
        let body = Body::Veto {
            ids: texts.iter().map(|text| token_id(text)).collect(),
            bytes: TextBytes(texts.concat().into_bytes()),
        };
        self.push(Some(id), Author::Guard, None, body);
    }

    /// Time passes by `steps` steps.
    pub fn pass(&mut self, steps: u64) {
        self.step += steps;
        self.us += steps * STEP_US;
    }

    /// `steps` steps in which these threads decode their words over and over.
    pub fn steps(&mut self, steps: usize, threads: &[(ThreadId, &[&str])]) {
        for i in 0..steps {
            let tokens: Vec<(ThreadId, &str)> = threads
                .iter()
                .map(|(id, words)| (*id, words[i % words.len()]))
                .collect();
            self.step(&tokens);
        }
    }

    fn len(&self, id: ThreadId) -> u64 {
        self.texts.get(&id).map_or(0, |t| t.len() as u64)
    }

    fn tokens_of(&self, id: ThreadId) -> u64 {
        self.organization.thread(id).unwrap().tokens
    }

    /// The organizer writes a Fork in three steps while `others` decode; the worker begins.
    pub fn fork(&mut self, index: u16, query: &str, others: &[(ThreadId, &[&str])]) {
        let from = self.len(ORGANIZER);
        let parts = [
            format!("<FORK-{index}>"),
            query.to_owned(),
            format!("</FORK-{index}>\n"),
        ];
        for (i, part) in parts.iter().enumerate() {
            let mut tokens: Vec<(ThreadId, &str)> = vec![(ORGANIZER, part.as_str())];
            tokens.extend(
                others
                    .iter()
                    .map(|(id, words)| (*id, words[i % words.len()])),
            );
            self.step(&tokens);
        }
        let to = self.len(ORGANIZER);
        let at = self.tokens_of(ORGANIZER);
        self.say(
            ORGANIZER,
            Body::Action {
                action: ActionKind::Fork,
                span: (from, to),
                at,
                child: Some(worker(index)),
                text: query.to_owned(),
                anchor: None,
            },
        );
        self.begin(worker(index), Role::Worker, query);
    }

    /// The organizer asks for a result; it waits if the worker still runs.
    pub fn join(&mut self, index: u16, others: &[(ThreadId, &[&str])]) {
        let from = self.len(ORGANIZER);
        let tag = format!("<JOIN-{index}>");
        let mut tokens: Vec<(ThreadId, &str)> = vec![(ORGANIZER, tag.as_str())];
        tokens.extend(others.iter().map(|(id, words)| (*id, words[0])));
        self.step(&tokens);
        let to = self.len(ORGANIZER);
        let at = self.tokens_of(ORGANIZER);
        self.say(
            ORGANIZER,
            Body::Action {
                action: ActionKind::Join,
                span: (from, to),
                at,
                child: Some(worker(index)),
                text: String::new(),
                anchor: None,
            },
        );
        if self.organization.thread(worker(index)).unwrap().ended() {
            self.splice(index);
        } else {
            self.say(
                ORGANIZER,
                Body::Wait {
                    on: WaitOn::Join(worker(index)),
                },
            );
        }
    }

    fn splice(&mut self, index: u16) {
        let (text, end) = {
            let thread = self.organization.thread(worker(index)).unwrap();
            (thread.result.clone().unwrap_or_default(), thread.end())
        };
        let text = format!(" {text} </JOIN-{index}>");
        self.texts
            .entry(ORGANIZER)
            .or_default()
            .extend_from_slice(text.as_bytes());
        self.push(
            Some(ORGANIZER),
            Author::System,
            None,
            Body::Splice {
                splice: SpliceKind::Result,
                ids: vec![1, 2, 3],
                bytes: TextBytes(text.into_bytes()),
                of: Some(worker(index)),
                result: end,
                shortened: false,
            },
        );
    }

    /// The worker returns `result` in one step while `others` decode; a waiting organizer goes on.
    pub fn returns(&mut self, index: u16, result: &str, others: &[(ThreadId, &[&str])]) {
        let id = worker(index);
        let from = self.len(id);
        let text = format!("<RETURN>{result}</RETURN>");
        let mut tokens: Vec<(ThreadId, &str)> = vec![(id, text.as_str())];
        tokens.extend(others.iter().map(|(id, words)| (*id, words[0])));
        self.step(&tokens);
        let to = self.len(id);
        let at = self.tokens_of(id);
        self.say(
            id,
            Body::Action {
                action: ActionKind::Return,
                span: (from, to),
                at,
                child: None,
                text: result.to_owned(),
                anchor: None,
            },
        );
        self.end(index, ThreadEnd::Returned);
    }

    pub fn end(&mut self, index: u16, end: ThreadEnd) {
        let id = worker(index);
        self.say(id, Body::End { end });
        let waiting = self
            .organization
            .waiting()
            .any(|(_, on)| on == WaitOn::Join(id));
        if waiting {
            self.splice(index);
            self.say(ORGANIZER, Body::Resume);
        }
    }

    /// A command and its effect.
    pub fn command(&mut self, command: Command, outcome: Outcome) {
        let seq = self.push(None, Author::Human, None, Body::Command { command });
        self.push(None, Author::System, Some(seq), Body::Effect { outcome });
    }

    /// The organizer answers and the run ends.
    pub fn answer(&mut self, answer: &str) {
        let from = self.len(ORGANIZER);
        let text = format!("<ANSWER>{answer}</ANSWER>");
        self.step(&[(ORGANIZER, text.as_str())]);
        let to = self.len(ORGANIZER);
        let at = self.tokens_of(ORGANIZER);
        self.say(
            ORGANIZER,
            Body::Action {
                action: ActionKind::Answer,
                span: (from, to),
                at,
                child: None,
                text: answer.to_owned(),
                anchor: None,
            },
        );
        self.say(
            ORGANIZER,
            Body::End {
                end: ThreadEnd::Answered,
            },
        );
        let running: Vec<ThreadId> = self
            .organization
            .threads()
            .filter(|t| !t.ended())
            .map(|t| t.id)
            .collect();
        for id in running {
            self.say(
                id,
                Body::End {
                    end: ThreadEnd::Abandoned,
                },
            );
        }
        let metrics = self.organization.metrics();
        self.push(
            None,
            Author::System,
            None,
            Body::RunEnd {
                end: RunEnd::Answered,
                answer: Some(answer.to_owned()),
                metrics,
            },
        );
    }
}

const THINK: &[&str] = &[
    "I ", "look ", "for ", "a ", "way ", "to ", "30; ", "first ", "tens: ",
];
const SUMS: &[&str] = &["10", "+6", "=16", " keep", " 5", " 3", "; "];
const DIFFERENCES: &[&str] = &["10", "-5", "=5", " keep", " 6", " 3", "; "];
const PRODUCTS: &[&str] = &["6", "*3", "=18", " keep", " 10", " 5", "; "];

/// Three workers decode at once.
pub fn three_workers() -> Story {
    let mut story = Story::new("countdown 10 6 5 3 → 30", 4);
    story.steps(14, &[(ORGANIZER, THINK)]);
    story.fork(1, "first 10 6, left 5 3, make 30", &[]);
    story.steps(8, &[(ORGANIZER, THINK), (worker(1), SUMS)]);
    story.fork(2, "first 10 5, left 6 3, make 30", &[(worker(1), SUMS)]);
    story.fork(
        3,
        "first 6 3, left 10 5, make 30",
        &[(worker(1), SUMS), (worker(2), DIFFERENCES)],
    );
    story.steps(
        24,
        &[
            (ORGANIZER, THINK),
            (worker(1), SUMS),
            (worker(2), DIFFERENCES),
            (worker(3), PRODUCTS),
        ],
    );
    story
}

/// Worker 1 has returned and was joined; the organizer waits for worker 2.
pub fn waiting() -> Story {
    let mut story = three_workers();
    story.returns(
        1,
        "10+6=16, no way to 30",
        &[(worker(2), DIFFERENCES), (worker(3), PRODUCTS)],
    );
    story.join(1, &[(worker(2), DIFFERENCES), (worker(3), PRODUCTS)]);
    story.steps(
        6,
        &[
            (ORGANIZER, THINK),
            (worker(2), DIFFERENCES),
            (worker(3), PRODUCTS),
        ],
    );
    story.join(2, &[(worker(2), DIFFERENCES), (worker(3), PRODUCTS)]);
    story.steps(20, &[(worker(2), DIFFERENCES), (worker(3), PRODUCTS)]);
    story
}

/// Worker 3 was killed by a person.
pub fn killed() -> Story {
    let mut story = waiting();
    story.command(Command::Kill { thread: worker(3) }, Outcome::Done);
    story.end(3, ThreadEnd::Killed);
    story.steps(9, &[(worker(2), DIFFERENCES)]);
    story
}

/// Everything is over.
pub fn answered() -> Story {
    let mut story = killed();
    story.returns(2, "(10-5)*6=30", &[]);
    story.steps(5, &[(ORGANIZER, THINK)]);
    story.answer("(10-5)*6 = 30");
    story
}

/// `n` workers decode at once; some have ended.
pub fn many(n: u16) -> Story {
    let mut story = Story::new("try everything at once", u32::from(n) + 1);
    let mut others: Vec<(ThreadId, &[&str])> = Vec::new();
    for i in 1..=n {
        story.fork(i, &format!("part {i}"), &others);
        others.push((worker(i), [SUMS, DIFFERENCES, PRODUCTS][usize::from(i) % 3]));
    }
    story.steps(12, &others);
    for i in (1..=n).filter(|i| i % 5 == 0) {
        others.retain(|(id, _)| *id != worker(i));
        story.returns(i, "done", &others);
    }
    story.steps(6, &others);
    story
}

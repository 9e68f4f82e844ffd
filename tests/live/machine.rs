//! Any commands in any order in any state: nothing panics, no token is lost or doubled, slots and sequences
//! are accounted for, the file folds to the same state on every line of history.

use crate::harness::config;
use orgtop::engine::{
    ChatMessage, Engine, EngineCard, EngineError, Script, Scripted, SeqId, SeqOp, StepOutput,
    TokenId,
};
use orgtop::live::{At, Audience, Order, Plan, ProtocolRescan, RunConfig, Start, launch};
use orgtop::org::{
    AskKind, BranchId, BreakpointState, Command, Organization, Outcome, Seat, Step, Switch,
    ThreadId, Turn,
};
use orgtop::record::{History, Limits, Origin, RestoredThread, SessionFile, restore, verify};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What each thread's line of the script says; the n-th line of an index serves its n-th bearer.
const THREADS: [&str; 4] = ["organizer", "1", "2", "3"];

/// Workers of workers, where there are such.
const BELOW: [&str; 3] = ["1.1", "1.2", "2.1"];

/// Threads of the script at this depth.
fn threads(depth: u8) -> impl Iterator<Item = &'static str> {
    let below = BELOW.into_iter().filter(move |_| depth > 1);
    THREADS.into_iter().chain(below)
}

/// What a worker says after its first words.
fn working(thread: &str, depth: u8) -> Vec<String> {
    let numbered =
        |word: &str, n: usize| -> Vec<String> { (0..n).map(|i| format!(" {word}{i}")).collect() };
    let mut tokens = Vec::new();
    match thread {
        "1" if depth > 1 => {
            tokens.extend(["<FORK-1>", "part", "</FORK-1>"].map(String::from));
            tokens.extend(numbered("w", 2));
            tokens.push("<FORK-2>other</FORK-2>".into());
            tokens.extend(numbered("v", 4));
            tokens.extend(["<JO", "IN-1>", " w", "<JOIN-2>", " w"].map(String::from));
        }
        "2" if depth > 1 => {
            tokens.push("<FORK-1>part</FORK-1>".into());
            tokens.extend(numbered("x", 2));
            tokens.extend(["<JOIN-1>so", " x"].map(String::from));
        }
        "1" => tokens.extend(numbered("w", 9)),
        "2" => tokens.extend(numbered("x", 4)),
        "1.2" => tokens.extend(numbered("z", 2)),
        _ => tokens.extend(numbered("y", 12)),
    }
    tokens
}

fn tokens_of(thread: &str, depth: u8) -> Vec<String> {
    let numbered = |word: &str, n: usize| (0..n).map(move |i| format!(" {word}{i}")).collect();
    let mut tokens: Vec<String> = numbered("a", 3);
    match thread {
        "organizer" => {
            tokens.push("<FORK-1>first</FORK-1>".into());
            tokens.extend(["<FORK-2>", "sec", "ond", "</FORK-2>"].map(String::from));
            tokens.extend(numbered("b", 4));
            tokens.push("<FORK-3>third</FORK-3>".into());
            tokens.extend(["<JOIN-1>", " c", "<JO", "IN-2>"].map(String::from));
            tokens.extend(numbered("d", 5));
            tokens.extend(["<JOIN-3>", "<ANSWER>", "42", "</ANSWER>"].map(String::from));
        }
        _ => tokens.extend(working(thread, depth)),
    }
    if thread != "organizer" {
        tokens.extend(["<RETURN>", "r", "</RETURN>"].map(String::from));
    }
    tokens
}

fn script(depth: u8) -> Script {
    let line = |thread: &str| {
        serde_json::json!({"thread": thread, "tokens": tokens_of(thread, depth)}).to_string()
    };
    let lines: Vec<String> = threads(depth).map(line).collect();
    Script::parse(&lines.join("\n"), "script").unwrap()
}

/// The scripted engine, watched: which sequences are open, and what is asked of it that makes no sense.
struct Watched {
    inner: Scripted,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    open: BTreeMap<SeqId, usize>,
    most: usize,
    wrong: Vec<String>,
}

impl Seen {
    fn op(&mut self, op: &SeqOp) {
        let known = |seq: &SeqId, open: &BTreeMap<SeqId, usize>| open.contains_key(seq);
        let sense = match op {
            SeqOp::Open { seq, prefix, .. } => {
                let fresh = !known(seq, &self.open);
                self.open.insert(*seq, prefix.map_or(0, |(_, len)| len));
                fresh
            }
            SeqOp::Append { seq, tokens, .. } => match self.open.get_mut(seq) {
                Some(len) => {
                    *len += tokens.len();
                    true
                }
                None => false,
            },
            SeqOp::Cut { seq, len, .. } => match self.open.get_mut(seq) {
                Some(has) => {
                    let fits = *len <= *has;
                    *has = *len;
                    fits
                }
                None => false,
            },
            SeqOp::Close(seq) => self.open.remove(seq).is_some(),
            SeqOp::Run(seq) => known(seq, &self.open),
            // A worker that ends in the step in which it is held is closed first.
            SeqOp::Hold(_) | SeqOp::Sample(..) | SeqOp::Forbid(..) => true,
        };
        if !sense {
            self.wrong.push(format!("{op:?}"));
        }
        self.most = self.most.max(self.open.len());
    }
}

impl Engine for Watched {
    fn card(&self) -> &EngineCard {
        self.inner.card()
    }

    fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError> {
        self.inner.encode(text)
    }

    fn prompt(
        &mut self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        self.inner.prompt(messages, thinking)
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8> {
        self.inner.decode(tokens)
    }

    fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        let mut seen = self.seen.lock().unwrap();
        for op in &ops {
            seen.op(op);
        }
        let output = self.inner.advance(ops)?;
        for token in &output.decoded {
            if let Some(len) = seen.open.get_mut(&token.seq) {
                *len += 1;
            }
        }
        Ok(output)
    }
}

fn below() -> impl Strategy<Value = ThreadId> {
    prop::sample::select(BELOW.to_vec()).prop_map(|id| id.parse().unwrap())
}

fn thread(depth: u8) -> BoxedStrategy<ThreadId> {
    prop_oneof![Just(ThreadId::ORGANIZER), worker(depth)].boxed()
}

fn worker(depth: u8) -> BoxedStrategy<ThreadId> {
    let top = (1u16..6).prop_map(|i| ThreadId::worker(i).unwrap());
    if depth > 1 {
        prop_oneof![top, below()].boxed()
    } else {
        top.boxed()
    }
}

fn command(depth: u8) -> impl Strategy<Value = Command> {
    let worker = || worker(depth);
    let thread = || thread(depth);
    let text = prop_oneof![
        Just(" mine"),
        Just(""),
        Just("<FORK-4>by hand</FORK-4>"),
        Just("<JOIN-1>"),
        Just("<RETURN>short</RETURN>"),
        Just("<ANSWER>so</ANSWER>"),
        Just("<FORK-5>half"),
        Just("</FORK-2></RETURN>é<"),
    ]
    .prop_map(str::to_owned);
    prop_oneof![
        2 => proptest::option::of(thread()).prop_map(|thread| Command::Pause { thread }),
        4 => proptest::option::of(thread()).prop_map(|thread| Command::Resume { thread }),
        1 => Just(Command::Step),
        1 => Just(Command::Next),
        3 => proptest::option::of(thread()).prop_map(|thread| Command::Fork {
            query: "extra".into(), seat: None, thread,
        }),
        1 => worker().prop_map(|thread| Command::Retry { thread }),
        2 => worker().prop_map(|thread| Command::Join { thread }),
        1 => Just(Command::Answer),
        2 => worker().prop_map(|thread| Command::Kill { thread }),
        2 => worker().prop_map(|thread| Command::WrapUp { thread }),
        1 => Just(Command::Mark { name: "here".into() }),
        1 => Just(Command::Abort),
        4 => (thread(), 0u64..20, text)
            .prop_map(|(thread, token, text)| Command::Edit { thread, token, text }),
        3 => (0u64..40).prop_map(|step| Command::Branch {
            thread: None, token: None, step: Some(Step(step)), of: None,
        }),
        2 => (thread(), 0u64..16).prop_map(|(thread, token)| Command::Branch {
            thread: Some(thread), token: Some(token), step: None, of: None,
        }),
        2 => (0u32..5).prop_map(|of| Command::Branch {
            thread: None, token: None, step: None, of: Some(BranchId(of)),
        }),
        4 => Just(Command::Undo),
        3 => Just(Command::Redo),
    ]
}

/// Commands of people who write, decide, plan and watch, among all the others.
fn with_people(depth: u8) -> impl Strategy<Value = Command> {
    let text = || {
        prop_oneof![
            Just("so"),
            Just(""),
            Just("<FORK-4>by hand</FORK-4>"),
            Just("<FORK-4>half"),
            Just("</FORK-4>"),
            Just("<JOIN-1>"),
            Just("<RETURN>short</RETURN>"),
            Just("<ANSWER>so</ANSWER>"),
        ]
        .prop_map(str::to_owned)
    };
    let seat = || {
        prop_oneof![
            Just(Seat::Human),
            Just(Seat::Model),
            Just(Seat::Tool("no".into()))
        ]
    };
    let number = || 0u32..4;
    let maybe_seat = move || proptest::option::of(seat());
    let people = prop_oneof![
        5 => (thread(depth), seat()).prop_map(|(thread, to)| Command::Seat { thread, to }),
        3 => Just(Command::Seat { thread: ThreadId::ORGANIZER, to: Seat::Human }),
        4 => (thread(depth), text()).prop_map(|(thread, text)| Command::Text { thread, text }),
        4 => (thread(depth), text()).prop_map(|(thread, text)| Command::Submit { thread, text }),
        3 => (proptest::option::of(number()), proptest::option::of(text()))
            .prop_map(|(ask, text)| Command::Approve { ask, text }),
        2 => (proptest::option::of(number()), text())
            .prop_map(|(ask, reason)| Command::Deny { ask, reason }),
        2 => (text(), maybe_seat()).prop_map(|(query, seat)| Command::PlanAdd { query, seat }),
        1 => (number(), proptest::option::of(text()), maybe_seat())
            .prop_map(|(draft, query, seat)| Command::PlanEdit { draft, query, seat }),
        1 => number().prop_map(|draft| Command::PlanDrop { draft }),
        1 => (number(), number()).prop_map(|(draft, to)| Command::PlanMove { draft, to }),
        2 => Just(Command::PlanRelease),
        1 => prop_oneof![Just(Switch::On), Just(Switch::Off)]
            .prop_map(|guard| Command::Set { guard }),
        2 => prop_oneof![Just("fork"), Just("join:1"), Just("text:a"), Just("step:9")].prop_map(
            |on| Command::Break { on: on.parse().unwrap(), set: BreakpointState::On }
        ),
        1 => Just(Command::Break {
            on: "fork".parse().unwrap(),
            set: BreakpointState::Deleted,
        }),
        1 => Just(Command::Speed { tokens_per_s: 0 }),
    ];
    prop_oneof![3 => people, 2 => command(depth)]
}

/// What is asked of a person beforehand.
fn settings(depth: u8) -> impl Strategy<Value = RunConfig> {
    let ask = prop_oneof![
        Just(vec![]),
        Just(vec![AskKind::Fork]),
        Just(vec![AskKind::Fork, AskKind::Answer, AskKind::Tool]),
    ];
    (ask, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(move |(ask, plan, guard, human)| {
        let organizer = human.then_some((ThreadId::ORGANIZER, Seat::Human));
        RunConfig {
            ask,
            plan,
            guard,
            seats: organizer.into_iter().collect(),
            ..plain(depth)
        }
    })
}

fn plain(depth: u8) -> RunConfig {
    RunConfig {
        capacity: Some(3),
        limits: Limits {
            depth,
            ..Limits::default()
        },
        ..config()
    }
}

fn orders<C: Strategy<Value = Command>>(command: C) -> impl Strategy<Value = Vec<Order>> {
    let at = prop_oneof![
        6 => (0u64..40).prop_map(|step| At::Step { step }),
        1 => Just(At::Event { event: "answer".into() }),
        1 => Just(At::Event { event: "fork:2".into() }),
        1 => Just(At::Event { event: "error:NoAnswer".into() }),
    ];
    let order = (at, any::<bool>(), command).prop_map(|(at, together, command)| Order {
        at: Some(at),
        together,
        line: None,
        command,
    });
    prop::collection::vec(order, 0..24)
}

/// The own tokens of a thread.
fn decoded(context: &RestoredThread) -> Vec<u32> {
    let own = |p: &&orgtop::record::TextPiece| p.origin == Origin::Decoded;
    context
        .pieces
        .iter()
        .filter(own)
        .flat_map(|p| p.ids.clone())
        .collect()
}

/// What the script has for a thread.
fn scripted(id: ThreadId, depth: u8) -> Vec<u8> {
    let id = id.to_string();
    threads(depth)
        .find(|name| *name == id)
        .map(|name| tokens_of(name, depth).concat().into_bytes())
        .unwrap_or_default()
}

fn shape(org: &Organization) -> Vec<String> {
    org.threads()
        .map(|t| {
            format!(
                "{} {:?} {} {} {:?} {:?} {} {}",
                t.id, t.status, t.tokens, t.text_bytes, t.ops, t.result, t.joined, t.paused
            )
        })
        .collect()
}

fn check(orders: Vec<Order>, config: RunConfig) -> Result<(), TestCaseError> {
    let depth = config.limits.depth;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let seen = Arc::new(Mutex::new(Seen::default()));
    let watched = Arc::clone(&seen);
    let handle = launch(Plan {
        open: Box::new(move || {
            Ok(Box::new(Watched {
                inner: Scripted::new(script(depth), "script"),
                seen: watched,
            }))
        }),
        start: Start::Fresh {
            config,
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: Some(path.clone()),
        orders: orders.into(),
        audience: Audience::Nobody,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    let finished = handle.wait().unwrap();
    let org = &finished.organization;

    // Every command has its effect.
    for record in &org.commands {
        prop_assert!(
            record.outcome.is_some(),
            "{:?} came to nothing",
            record.command
        );
        if let Some(Outcome::Refused { why }) = &record.outcome {
            prop_assert!(!why.is_empty());
        }
    }

    // Sequences: nothing senseless was asked, and all memory came back.
    {
        let seen = seen.lock().unwrap();
        prop_assert_eq!(&seen.wrong, &Vec::<String>::new());
        prop_assert_eq!(seen.open.len(), 0, "sequences that were never closed");
        // Organizer, two workers, a template a level; and one that begins while another one ends.
        prop_assert!(
            seen.most <= 4 + usize::from(depth),
            "{} sequences at once",
            seen.most
        );
    }

    // The file agrees with itself, on every line, and gives the state that was lived.
    let verified = verify(&path, &ProtocolRescan).unwrap();
    prop_assert_eq!(&verified.disagreements, &vec![]);
    let restored = restore(&path).unwrap();
    prop_assert_eq!(shape(&restored.organization), shape(org));
    prop_assert_eq!(restored.organization.branches(), org.branches());

    // No more workers than slots, ever.
    let file = SessionFile::open(&path).unwrap();
    let mut fold = Organization::new(file.header().capacity, file.header().tau);
    let mut history = History::default();
    for recorded in file.events() {
        let event = recorded.unwrap().event;
        fold.apply(&event);
        history.push(event);
        prop_assert!(
            fold.active_workers() <= 2,
            "{} workers at once",
            fold.active_workers()
        );
    }

    // On every line each thread decoded exactly what its script says, from the start, once.
    let mut engine = Scripted::new(script(depth), "script");
    for record in org.branches() {
        let tip = history.tip(record.id).unwrap();
        for (id, context) in history.contexts(tip) {
            let ids = decoded(&context);
            let bytes = engine.decode(&ids);
            let wanted = scripted(id, depth);
            prop_assert!(
                wanted.starts_with(&bytes),
                "{id} on branch {}: {}",
                record.id,
                String::from_utf8_lossy(&bytes)
            );
        }
        // An undo is the state that was there before.
        if let (Some(Turn::Undo), Some(from)) = (record.turn, record.from) {
            let before = history.state(from, file.header());
            let first = history.at_step(record.id, from.step).unwrap();
            let back = history.contexts(first);
            for (id, context) in history.contexts(from) {
                prop_assert_eq!(decoded(&context), decoded(&back[&id]));
                prop_assert!(before.thread(id).is_some());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn any_commands_in_any_order_leave_everything_accounted_for(orders in orders(command(1))) {
        check(orders, plain(1))?;
    }

    #[test]
    fn so_they_do_where_workers_have_workers(orders in orders(command(2))) {
        check(orders, plain(2))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn so_they_do_where_people_write_decide_and_plan(
        orders in orders(with_people(1)), config in settings(1)
    ) {
        check(orders, config)?;
    }
}

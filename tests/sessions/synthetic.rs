//! Makes valid sessions of any size: workers in lock-step that fork, decode, return and are joined.

use orgtop::engine::{EngineCard, Sampling};
use orgtop::org::{
    ActionKind, Author, Body, BranchId, Event, Organization, Role, RunEnd, Seat, Seq, SpliceKind,
    Step, TextBytes, ThreadEnd, ThreadId, WaitOn,
};
use orgtop::record::{Coalescer, Encoder, FORMAT, Header, VERSION};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Whether keyframes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyframes {
    /// As the recorder asks for them.
    AsDue,
    /// After every so many tokens of a worker.
    Every(u64),
    /// None.
    None,
}

/// What to make.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Workers, all at once.
    pub workers: u16,
    /// Tokens each of them decodes, at least 3.
    pub tokens: u64,
    /// Microseconds a step takes.
    pub step_us: u64,
    /// Whether keyframes are written.
    pub keyframes: Keyframes,
}

impl Spec {
    /// Two workers with a few tokens each.
    pub fn small() -> Self {
        Self {
            workers: 2,
            tokens: 12,
            step_us: 20_000,
            keyframes: Keyframes::Every(5),
        }
    }
}

/// A header for a session called `id`.
pub fn header(id: &str, capacity: u32) -> Header {
    Header {
        parent: None,
        format: FORMAT.into(),
        version: VERSION,
        id: id.into(),
        created: "2026-01-31T09:15:02Z".into(),
        app: "0.1.0".into(),
        engine: EngineCard::default(),
        prompts: Default::default(),
        query: "make 30 of 10 6 5 3".into(),
        policy: Default::default(),
        k: 0,
        merge: orgtop::record::Merge::Model,
        capacity,
        pool: Default::default(),
        strict: false,
        thinking: false,
        guard: false,
        sampling: Sampling::default(),
        limits: Default::default(),
        task: None,
        seats: Default::default(),
        workers: Default::default(),
        roster: Vec::new(),
        ask: Vec::new(),
        plan: false,
        tau: 0.5,
    }
}

const WORDS: [&str; 8] = [
    " ten", " minus", " five", " 🧠", " so", " 25", " keep\n", " \"6\"",
];

/// Writes events through the same coalescing and encoding as a recorded run.
pub struct Maker<W: Write> {
    out: W,
    coalescer: Coalescer,
    encoder: Encoder,
    state: Organization,
    bytes: BTreeMap<ThreadId, u64>,
    tokens: BTreeMap<ThreadId, u64>,
    ready: Vec<Event>,
    line: Vec<u8>,
    step: u64,
    step_us: u64,
    /// Every event written, where asked for.
    pub kept: Option<Vec<Event>>,
}

impl<W: Write> Maker<W> {
    pub fn new(mut out: W, header: &Header, step_us: u64) -> Self {
        let mut line = Vec::new();
        let encoder = Encoder::begin(header, &mut line);
        out.write_all(&line).unwrap();
        Self {
            out,
            coalescer: Coalescer::default(),
            encoder,
            state: Organization::new(header.capacity, header.tau),
            bytes: BTreeMap::new(),
            tokens: BTreeMap::new(),
            ready: Vec::new(),
            line: Vec::new(),
            step: 0,
            step_us,
            kept: None,
        }
    }

    fn event(&self, thread: Option<ThreadId>, by: Author, body: Body) -> Event {
        Event {
            seq: Seq(0),
            us: self.step * self.step_us,
            step: Step(self.step),
            branch: BranchId(0),
            thread,
            by,
            cause: None,
            body,
        }
    }

    pub fn push(&mut self, thread: ThreadId, by: Author, body: Body) {
        let event = self.event(Some(thread), by, body);
        self.coalescer.push(event, &mut self.ready);
        self.write();
    }

    fn write(&mut self) {
        for event in self.ready.drain(..) {
            self.state.apply(&event);
            self.kept
                .as_mut()
                .iter_mut()
                .for_each(|k| k.push(event.clone()));
            self.line.clear();
            self.encoder.encode(event, &mut self.line);
            self.out.write_all(&self.line).unwrap();
        }
    }

    pub fn keyframe(&mut self) {
        self.coalescer.flush(&mut self.ready);
        self.write();
        let body = Body::Keyframe {
            state: Box::new(self.state.clone()),
            texts: BTreeMap::new(),
            prev_keyframe: None,
        };
        let event = self.event(None, Author::System, body);
        self.coalescer.push(event, &mut self.ready);
        self.write();
    }

    pub fn next_step(&mut self) {
        self.step += 1;
    }

    pub fn token(&mut self, thread: ThreadId, text: &str) {
        *self.bytes.entry(thread).or_default() += text.len() as u64;
        let n = self.tokens.entry(thread).or_default();
        *n += 1;
        let body = Body::Tokens {
            ids: vec![u32::try_from(*n % 50_000).unwrap()],
            bytes: TextBytes(text.as_bytes().to_vec()),
            lens: vec![u32::try_from(text.len()).unwrap()],
            logprobs: vec![-0.25],
            top: vec![],
        };
        self.push(thread, Author::Model, body);
    }

    pub fn begin(&mut self, thread: ThreadId, role: Role, query: &str) {
        let body = Body::Thread {
            role,
            seat: Seat::Model,
            query: query.into(),
            prompt: vec![1, 2, 3],
        };
        self.push(thread, Author::System, body);
    }

    pub fn splice(&mut self, thread: ThreadId, kind: SpliceKind, text: &str, of: ThreadId) {
        *self.bytes.entry(thread).or_default() += text.len() as u64;
        let body = Body::Splice {
            splice: kind,
            ids: vec![9, 9],
            bytes: TextBytes(text.as_bytes().to_vec()),
            of: Some(of),
            result: Some(ThreadEnd::Returned),
            shortened: false,
        };
        self.push(thread, Author::System, body);
    }

    /// An action that ends with the last token; its text is `len` bytes from tag to tag.
    pub fn action(
        &mut self,
        thread: ThreadId,
        action: ActionKind,
        len: usize,
        child: Option<ThreadId>,
        text: &str,
    ) {
        let end = self.bytes[&thread];
        let body = Body::Action {
            action,
            span: (end - len as u64, end),
            at: self.tokens[&thread],
            child,
            text: text.into(),
            anchor: None,
        };
        self.push(thread, Author::Model, body);
    }

    /// A token a step, with the action that the last one completes.
    fn say(
        &mut self,
        thread: ThreadId,
        tokens: &[&str],
        action: ActionKind,
        child: Option<ThreadId>,
        text: &str,
    ) {
        for token in tokens {
            self.next_step();
            self.token(thread, token);
        }
        let len = tokens.concat().len();
        self.action(thread, action, len, child, text);
    }

    pub fn finish(mut self, end: RunEnd) -> (W, Organization, Option<Vec<Event>>) {
        let body = Body::RunEnd {
            end,
            answer: self
                .state
                .thread(ThreadId::ORGANIZER)
                .and_then(|t| t.result.clone()),
            metrics: self.state.metrics(),
        };
        let event = self.event(None, Author::System, body);
        self.coalescer.push(event, &mut self.ready);
        self.write();
        self.out.flush().unwrap();
        (self.out, self.state, self.kept)
    }
}

fn id(index: u16) -> ThreadId {
    ThreadId::worker(index).unwrap()
}

/// Makes a whole session.
pub fn make<W: Write>(out: W, name: &str, spec: Spec) -> Maker<W> {
    let header = header(name, u32::from(spec.workers) + 1);
    let mut maker = Maker::new(out, &header, spec.step_us);
    play(&mut maker, spec);
    maker
}

/// Everything up to the organizer's answer.
pub fn play<W: Write>(maker: &mut Maker<W>, spec: Spec) {
    let organizer = ThreadId::ORGANIZER;
    maker.begin(organizer, Role::Organizer, "make 30 of 10 6 5 3");
    for i in 1..=spec.workers {
        let (open, close) = (format!("<FORK-{i}>"), format!("</FORK-{i}>"));
        let query = format!("start with {i}");
        maker.say(
            organizer,
            &[&open, &query, &close],
            ActionKind::Fork,
            Some(id(i)),
            &query,
        );
        maker.begin(id(i), Role::Worker, &query);
    }
    for n in 1..=spec.tokens {
        maker.next_step();
        for i in 1..=spec.workers {
            let left = spec.tokens - n;
            let word = WORDS[(n as usize * 3 + usize::from(i)) % WORDS.len()];
            maker.token(
                id(i),
                match left {
                    2 => "<RETURN>",
                    1 => "done",
                    0 => "</RETURN>",
                    _ => word,
                },
            );
        }
        let due = match spec.keyframes {
            Keyframes::AsDue => {
                // The rule of the recorder, by bytes.
                maker.encoder.since_keyframe() >= maker.encoder.keyframe_every()
            }
            Keyframes::Every(every) => n % every == 0,
            Keyframes::None => false,
        };
        if due {
            maker.keyframe();
        }
    }
    for i in 1..=spec.workers {
        let len = "<RETURN>done</RETURN>".len();
        maker.action(id(i), ActionKind::Return, len, None, "done");
        let end = ThreadEnd::Returned;
        maker.push(id(i), Author::System, Body::End { end });
    }
    for i in 1..=spec.workers {
        let join = format!("<JOIN-{i}>");
        maker.say(organizer, &[&join], ActionKind::Join, Some(id(i)), "");
        let on = WaitOn::Join(id(i));
        maker.push(organizer, Author::System, Body::Wait { on });
        let result = format!("done</JOIN-{i}>");
        maker.splice(organizer, SpliceKind::Result, &result, id(i));
        maker.push(organizer, Author::System, Body::Resume);
    }
    maker.say(
        organizer,
        &["<ANSWER>", "30", "</ANSWER>"],
        ActionKind::Answer,
        None,
        "30",
    );
    let end = ThreadEnd::Answered;
    maker.push(organizer, Author::System, Body::End { end });
}

/// A finished session in memory, with its events.
pub fn session(spec: Spec) -> (Vec<u8>, Vec<Event>) {
    let header = header("made", u32::from(spec.workers) + 1);
    let mut maker = Maker::new(Vec::new(), &header, spec.step_us);
    maker.kept = Some(Vec::new());
    play(&mut maker, spec);
    let (bytes, _, events) = maker.finish(RunEnd::Answered);
    (bytes, events.unwrap())
}

/// A finished session in a file; gives its last state.
pub fn file(path: &Path, spec: Spec) -> Organization {
    let out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path).unwrap());
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    make(out, &name, spec).finish(RunEnd::Answered).1
}

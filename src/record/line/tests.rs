use super::*;
use crate::org::{
    ActionKind, Anchor, AskKind, Breakpoint, BreakpointState, Command, Draft, ErrorKind, Fate,
    Metrics, Op, OpKind, Organization, Outcome, PlanChange, Role, RunEnd, Seat, SpliceKind, Switch,
    TextMark, ThreadEnd, Verdict, WaitOn,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn round_trip(event: &Event, prev: Option<u64>) -> Line {
    let mut line = Vec::new();
    encode(event, prev, &mut line);
    assert_eq!(line.pop(), Some(b'\n'));
    assert!(!line.contains(&b'\n'), "one event is one line");
    parse(&line).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&line)))
}

fn event(body: Body) -> Event {
    Event {
        seq: Seq(7),
        us: 1_000,
        step: Step(3),
        branch: BranchId(0),
        thread: None,
        by: Author::Human,
        cause: None,
        body,
    }
}

fn thread_id() -> impl Strategy<Value = ThreadId> {
    vec((1u16..=9999, 1u16..5), 0..=4).prop_map(|path| {
        path.into_iter()
            .fold(ThreadId::ORGANIZER, |id, (index, bearer)| {
                id.child(index, bearer).unwrap()
            })
    })
}

fn author() -> impl Strategy<Value = Author> {
    prop_oneof![
        Just(Author::Model),
        Just(Author::Human),
        Just(Author::System),
        Just(Author::Guard),
        ".*".prop_map(Author::Tool),
    ]
}

fn seat() -> impl Strategy<Value = Seat> {
    prop_oneof![
        Just(Seat::Model),
        Just(Seat::Human),
        ".*".prop_map(Seat::Server),
        ".*".prop_map(Seat::Tool),
    ]
}

fn text() -> impl Strategy<Value = TextBytes> {
    prop_oneof![
        ".*".prop_map(|t| TextBytes(t.into_bytes())),
        vec(any::<u8>(), 0..20).prop_map(TextBytes),
    ]
}

fn logprob() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<f32>().prop_filter("finite", |x| x.is_finite()),
        Just(f32::NEG_INFINITY),
    ]
}

/// Tokens whose lengths cover the bytes.
fn tokens() -> impl Strategy<Value = Body> {
    (
        vec((any::<u32>(), vec(any::<u8>(), 0..6), logprob()), 0..6),
        any::<bool>(),
        vec(vec((any::<u32>(), logprob()), 0..3), 0..6),
    )
        .prop_map(|(tokens, with_logprobs, top)| Body::Tokens {
            ids: tokens.iter().map(|t| t.0).collect(),
            bytes: TextBytes(tokens.iter().flat_map(|t| t.1.clone()).collect()),
            lens: tokens
                .iter()
                .map(|t| u32::try_from(t.1.len()).unwrap())
                .collect(),
            logprobs: tokens
                .iter()
                .filter(|_| with_logprobs)
                .map(|t| t.2)
                .collect(),
            top,
        })
}

fn wait_on() -> impl Strategy<Value = WaitOn> {
    prop_oneof![
        thread_id().prop_map(WaitOn::Join),
        thread_id().prop_map(WaitOn::Slot)
    ]
}

fn thread_end() -> impl Strategy<Value = ThreadEnd> {
    prop::sample::select(vec![
        ThreadEnd::Answered,
        ThreadEnd::Returned,
        ThreadEnd::Limit,
        ThreadEnd::Eos,
        ThreadEnd::Killed,
        ThreadEnd::Failed,
        ThreadEnd::Abandoned,
    ])
}

fn named_seat() -> impl Strategy<Value = Seat> {
    prop_oneof![
        Just(Seat::Model),
        Just(Seat::Human),
        "[a-z]{1,8}".prop_map(Seat::Tool)
    ]
}

/// What people write, decide and plan.
fn written_command() -> impl Strategy<Value = Command> {
    let number = any::<u32>;
    prop_oneof![
        (thread_id(), named_seat()).prop_map(|(thread, to)| Command::Seat { thread, to }),
        (thread_id(), ".*").prop_map(|(thread, text)| Command::Text { thread, text }),
        (thread_id(), ".*").prop_map(|(thread, text)| Command::Submit { thread, text }),
        thread_id().prop_map(|thread| Command::Retry { thread }),
        (option::of(number()), option::of(".*"))
            .prop_map(|(ask, text)| Command::Approve { ask, text }),
        (option::of(number()), ".*").prop_map(|(ask, reason)| Command::Deny { ask, reason }),
        (".*", option::of(named_seat())).prop_map(|(query, seat)| Command::PlanAdd { query, seat }),
        (number(), option::of(".*"), option::of(named_seat()))
            .prop_map(|(draft, query, seat)| Command::PlanEdit { draft, query, seat }),
        number().prop_map(|draft| Command::PlanDrop { draft }),
        (number(), number()).prop_map(|(draft, to)| Command::PlanMove { draft, to }),
        Just(Command::PlanRelease),
    ]
}

fn ask() -> impl Strategy<Value = Body> {
    (
        any::<u32>(),
        prop::sample::select(vec![
            AskKind::Fork,
            AskKind::Answer,
            AskKind::Tool,
            AskKind::Plan,
        ]),
        option::of(1..=9999_u16),
        ".*",
        option::of(span()),
    )
        .prop_map(|(number, ask, index, text, span)| Body::Ask {
            number,
            ask,
            index,
            text,
            span,
        })
}

fn decided() -> impl Strategy<Value = Body> {
    let verdicts = vec![Verdict::Approved, Verdict::Denied, Verdict::Lapsed];
    (
        any::<u32>(),
        prop::sample::select(verdicts),
        option::of(".*"),
    )
        .prop_map(|(number, verdict, text)| Body::Decided {
            number,
            verdict,
            text,
        })
}

fn plan() -> impl Strategy<Value = Body> {
    let draft = (
        any::<u32>(),
        ".*",
        named_seat(),
        1..=9999_u16,
        option::of(span()),
        any::<bool>(),
    )
        .prop_map(|(draft, query, seat, index, span, edited)| {
            PlanChange::Draft(Draft {
                draft,
                query,
                seat,
                index,
                span,
                edited,
                fate: Fate::Stands,
            })
        });
    prop_oneof![
        draft,
        Just(PlanChange::Release),
        Just(PlanChange::Clear),
        any::<u32>().prop_map(|draft| PlanChange::Refused { draft })
    ]
    .prop_map(|change| Body::Plan { change })
}

fn breakpoint() -> impl Strategy<Value = Breakpoint> {
    prop_oneof![
        Just(Breakpoint::Fork(None)),
        thread_id()
            .prop_filter("a worker", |id| !id.is_organizer())
            .prop_map(|id| Breakpoint::Return(Some(id))),
        any::<u64>().prop_map(|n| Breakpoint::Step(Step(n))),
        (option::of(thread_id()), any::<u64>())
            .prop_map(|(thread, over)| Breakpoint::Tokens { thread, over }),
        (option::of(thread_id()), "[a-z: ]*[a-z]").prop_map(|(thread, pattern)| {
            let pattern = pattern.trim_start_matches([':', ' ']).to_owned();
            Breakpoint::Text { thread, pattern }
        }),
    ]
}

fn breakpoint_state() -> impl Strategy<Value = BreakpointState> {
    prop::sample::select(vec![
        BreakpointState::On,
        BreakpointState::Off,
        BreakpointState::Deleted,
    ])
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        option::of(thread_id()).prop_map(|thread| Command::Pause { thread }),
        option::of(thread_id()).prop_map(|thread| Command::Resume { thread }),
        Just(Command::Step),
        Just(Command::Next),
        (".*", option::of(named_seat()), option::of(thread_id())).prop_map(
            |(query, seat, thread)| Command::Fork {
                query,
                seat,
                thread
            }
        ),
        written_command(),
        thread_id().prop_map(|thread| Command::Join { thread }),
        Just(Command::Answer),
        thread_id().prop_map(|thread| Command::Kill { thread }),
        thread_id().prop_map(|thread| Command::WrapUp { thread }),
        Just(Command::Abort),
        Just(Command::Interrupt),
        Just(Command::Continue),
        ".*".prop_map(|name| Command::Mark { name }),
        any::<u32>().prop_map(|tokens_per_s| Command::Speed { tokens_per_s }),
        prop::sample::select(vec![Switch::On, Switch::Off])
            .prop_map(|guard| Command::Set { guard }),
        (breakpoint(), breakpoint_state()).prop_map(|(on, set)| Command::Break { on, set }),
    ]
}

fn metrics() -> impl Strategy<Value = Metrics> {
    let float = || any::<f64>().prop_filter("finite", |x| x.is_finite());
    (
        (any::<u64>(), float(), float(), float()),
        (any::<u64>(), float(), any::<u64>(), float()),
        (any::<u64>(), float(), option::of(any::<u64>())),
    )
        .prop_map(|(a, b, c)| Metrics {
            latency: a.0,
            latency_without_people: c.2,
            eta: a.1,
            eta_over_c: a.2,
            r_eta: a.3,
            work: b.0,
            speedup: b.1,
            lived_steps: b.2,
            wall_ms: b.3,
            decoded: c.0,
            tok_per_s: c.1,
        })
}

fn span() -> impl Strategy<Value = (u64, u64)> {
    (0..=MAX_COUNT, 0..=MAX_COUNT)
}

fn action() -> impl Strategy<Value = Body> {
    (
        prop::sample::select(vec![
            ActionKind::Fork,
            ActionKind::Join,
            ActionKind::Return,
            ActionKind::Answer,
        ]),
        span(),
        0..=MAX_COUNT,
        option::of(thread_id()),
        ".*",
        option::of((thread_id(), 0..=MAX_COUNT, 0..=MAX_COUNT)),
    )
        .prop_map(|(action, span, at, child, text, anchor)| Body::Action {
            action,
            span,
            at,
            child,
            text,
            anchor: anchor.map(|(thread, tokens, steps)| Anchor {
                thread,
                tokens,
                steps,
            }),
        })
}

fn splice() -> impl Strategy<Value = Body> {
    (
        prop::sample::select(vec![
            SpliceKind::Result,
            SpliceKind::Fork,
            SpliceKind::Join,
            SpliceKind::Answer,
            SpliceKind::WrapUp,
            SpliceKind::Text,
            SpliceKind::Note,
        ]),
        vec(any::<u32>(), 0..6),
        text(),
        option::of(thread_id()),
        option::of(thread_end()),
        any::<bool>(),
    )
        .prop_map(|(splice, ids, bytes, of, result, shortened)| Body::Splice {
            splice,
            ids,
            bytes,
            of,
            result,
            shortened,
        })
}

fn error() -> impl Strategy<Value = Body> {
    let kinds = vec![
        ErrorKind::DuplicateIndex,
        ErrorKind::PoolOverflow,
        ErrorKind::JoinUnknown,
        ErrorKind::JoinTwice,
        ErrorKind::EmptyQuery,
        ErrorKind::UnclosedFork,
        ErrorKind::NoAnswer,
        ErrorKind::TokenLimit,
        ErrorKind::NoSuchSeat,
        ErrorKind::Engine,
    ];
    (prop::sample::select(kinds), option::of(span()), ".*").prop_map(|(error, span, message)| {
        Body::Error {
            error,
            span,
            message,
        }
    })
}

fn run_end() -> impl Strategy<Value = Body> {
    let kinds = vec![
        RunEnd::Answered,
        RunEnd::NoAnswer,
        RunEnd::TokenLimit,
        RunEnd::Aborted,
        RunEnd::Interrupted,
        RunEnd::Failed,
    ];
    (prop::sample::select(kinds), option::of(".*"), metrics()).prop_map(|(end, answer, metrics)| {
        Body::RunEnd {
            end,
            answer,
            metrics,
        }
    })
}

fn keyframe() -> impl Strategy<Value = Body> {
    (
        vec((thread_id(), ".*", 0u64..1000), 0..4),
        option::of(0..MAX_NUMBER),
    )
        .prop_map(|(threads, prev_keyframe)| {
            let mut state = Organization::new(4, 0.5);
            let mut texts = BTreeMap::new();
            for (id, query, bytes) in threads {
                let mut begin = event(Body::Thread {
                    role: Role::Worker,
                    seat: Seat::Model,
                    query,
                    prompt: vec![1, 2, 3],
                });
                begin.thread = Some(id);
                state.apply(&begin);
                let mark = TextMark {
                    bytes,
                    hash: "ab".repeat(32),
                    last: bytes,
                };
                texts.insert(id, mark);
            }
            Body::Keyframe {
                state: Box::new(state),
                texts,
                prev_keyframe,
            }
        })
}

fn body() -> impl Strategy<Value = Body> {
    let outcome = prop_oneof![
        Just(Outcome::Done),
        Just(Outcome::Unfired),
        ".*".prop_map(|why| Outcome::Queued { why }),
        ".*".prop_map(|why| Outcome::Refused { why }),
    ];
    let thread = (
        prop::sample::select(vec![Role::Organizer, Role::Worker]),
        seat(),
        ".*",
        vec(any::<u32>(), 0..5),
    );
    prop_oneof![
        thread.prop_map(|(role, seat, query, prompt)| Body::Thread {
            role,
            seat,
            query,
            prompt
        }),
        tokens(),
        action(),
        (vec(any::<u32>(), 1..4), vec(any::<u8>(), 0..9)).prop_map(|(ids, bytes)| Body::Veto {
            ids,
            bytes: TextBytes(bytes)
        }),
        wait_on().prop_map(|on| Body::Wait { on }),
        Just(Body::Resume),
        splice(),
        command().prop_map(|command| Body::Command { command }),
        outcome.prop_map(|outcome| Body::Effect { outcome }),
        error(),
        ask(),
        decided(),
        plan(),
        thread_end().prop_map(|end| Body::End { end }),
        run_end(),
        ".*".prop_map(|name| Body::Mark { name }),
        keyframe(),
        Just(Body::Unknown),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    (
        (0..=MAX_NUMBER, 0..=MAX_NUMBER, 0..=MAX_COUNT, any::<u32>()),
        option::of(thread_id()),
        author(),
        option::of(0..=MAX_NUMBER),
        body(),
    )
        .prop_map(|(place, thread, by, cause, body)| Event {
            seq: Seq(place.0),
            us: place.1,
            step: Step(place.2),
            branch: BranchId(place.3),
            thread: thread.filter(|_| !matches!(body, Body::Command { .. })),
            by,
            cause: cause.map(Seq),
            body,
        })
}

fn same(a: &Event, b: &Event) -> bool {
    match (&a.body, &b.body) {
        // The state's revision is bookkeeping of the running program.
        (
            Body::Keyframe {
                state: x,
                texts: t,
                prev_keyframe: p,
            },
            Body::Keyframe {
                state: y,
                texts: u,
                prev_keyframe: q,
            },
        ) => x.same_as(y) && t == u && p == q && a.seq == b.seq && a.us == b.us,
        _ => a == b,
    }
}

proptest! {
    #[test]
    fn any_event_reads_as_it_was_written(event in any_event(), prev in option::of(0..MAX_NUMBER)) {
        let has_text = matches!(event.body, Body::Tokens { .. } | Body::Splice { .. });
        let prev = prev.filter(|_| has_text);
        let line = round_trip(&event, prev);
        prop_assert!(same(&line.event, &event), "{:?}\n{:?}", line.event, event);
        prop_assert_eq!(line.prev, prev);
    }

    #[test]
    fn bytes_that_are_no_event_are_refused_without_a_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = kind_of(&bytes);
        prop_assert!(parse(&bytes).is_err());
    }

    #[test]
    fn damaged_lines_never_panic(event in any_event(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut line = Vec::new();
        encode(&event, None, &mut line);
        line.pop();
        let at = at.index(line.len());
        line[at] = byte;
        let mut state = Organization::new(3, 0.5);
        if let Ok(line) = parse(&line) {
            state.apply(&line.event);
            let _ = state.metrics();
        }
        let cut = &line[..at];
        prop_assert!(parse(cut).is_err(), "a cut line is no event");
    }
}

#[test]
fn every_command_reads_as_it_was_written() {
    let worker = ThreadId::worker(2);
    let id = worker.unwrap();
    let all = [
        Command::Pause { thread: None },
        Command::Pause { thread: worker },
        Command::Resume { thread: None },
        Command::Resume { thread: worker },
        Command::Step,
        Command::Next,
        Command::Fork {
            query: "find \"x\"".into(),
            seat: None,
            thread: worker,
        },
        Command::Join { thread: id },
        Command::Answer,
        Command::Kill { thread: id },
        Command::WrapUp { thread: id },
        Command::Abort,
        Command::Interrupt,
        Command::Continue,
        Command::Mark { name: "m".into() },
        Command::Speed { tokens_per_s: 9 },
        Command::Seat {
            thread: id,
            to: Seat::Tool("wc".into()),
        },
        Command::Text {
            thread: id,
            text: "t".into(),
        },
        Command::Submit {
            thread: id,
            text: String::new(),
        },
        Command::Retry { thread: id },
        Command::Approve {
            ask: Some(2),
            text: None,
        },
        Command::Deny {
            ask: None,
            reason: "no".into(),
        },
        Command::PlanAdd {
            query: "q".into(),
            seat: Some(Seat::Human),
        },
        Command::PlanEdit {
            draft: 1,
            query: Some("q".into()),
            seat: None,
        },
        Command::PlanDrop { draft: 1 },
        Command::PlanMove { draft: 2, to: 1 },
        Command::PlanRelease,
    ];
    for command in all {
        let event = event(Body::Command { command });
        assert_eq!(round_trip(&event, None).event, event);
    }
}

#[test]
fn a_command_line_carries_the_thread_of_the_command_only() {
    let command = Command::Kill {
        thread: ThreadId::worker(2).unwrap(),
    };
    let mut event = event(Body::Command { command });
    event.thread = ThreadId::worker(5);
    let read = round_trip(&event, None).event;
    assert_eq!(read.thread, None);
    assert_eq!(read.body, event.body);
}

#[test]
fn kinds_and_fields_of_newer_versions_are_skipped() {
    let unknown = br#"{"seq":1,"us":2,"step":3,"kind":"weather","sky":"blue","by":"model"}"#;
    assert_eq!(parse(unknown).unwrap().event.body, Body::Unknown);
    let wider = br#"{"seq":1,"us":2,"step":3,"kind":"mark","name":"m","colour":7,"by":"human"}"#;
    assert_eq!(
        parse(wider).unwrap().event.body,
        Body::Mark { name: "m".into() }
    );
    let command =
        br#"{"seq":1,"us":2,"step":3,"kind":"command","do":"step","speed":"slow","by":"human"}"#;
    assert_eq!(
        parse(command).unwrap().event.body,
        Body::Command {
            command: Command::Step
        }
    );
}

#[test]
fn fields_may_stand_in_any_order() {
    let line = br#"{"ids":[5],"text":"x","lens":[1],"prev":9,"by":"model","thread":"1","step":3,"us":2,"seq":1,"kind":"tokens"}"#;
    let line = parse(line).unwrap();
    assert_eq!(line.prev, Some(9));
    assert_eq!(line.event.thread, ThreadId::worker(1));
}

#[test]
fn a_bad_body_names_its_event() {
    let line = br#"{"seq":12,"us":2,"step":3,"kind":"end","end":"tired","by":"model"}"#;
    let message = parse(line).unwrap_err().to_string();
    assert!(
        message.starts_with("`end` event 12 not understood"),
        "{message}"
    );
}

#[test]
fn lengths_must_cover_the_text() {
    let line = br#"{"seq":1,"us":2,"step":3,"kind":"tokens","ids":[5],"text":"xy","lens":[1],"by":"model"}"#;
    assert!(matches!(parse(line), Err(LineError::Body { .. })));
}

#[test]
fn numbers_out_of_reach_are_refused() {
    for line in [
        r#"{"seq":18446744073709551615,"us":2,"step":3,"kind":"resume"}"#,
        r#"{"seq":1,"us":2,"step":18446744073709551615,"kind":"resume"}"#,
        r#"{"seq":1,"us":2,"step":3,"kind":"action","action":"join","span":[0,1],"at":18446744073709551615}"#,
    ] {
        assert!(
            matches!(parse(line.as_bytes()), Err(LineError::Range(_))),
            "{line}"
        );
    }
    let mut state = Organization::new(2, 0.5);
    let mut fork = event(Body::Thread {
        role: Role::Organizer,
        seat: Seat::Model,
        query: String::new(),
        prompt: vec![],
    });
    fork.thread = Some(ThreadId::ORGANIZER);
    state.apply(&fork);
    let text = serde_json::to_string(&state).unwrap();
    let hostile = text.replace("\"tokens\":0", "\"tokens\":18446744073709551615");
    let line = format!(r#"{{"seq":1,"us":2,"step":3,"kind":"keyframe","state":{hostile}}}"#);
    assert!(matches!(parse(line.as_bytes()), Err(LineError::Range(_))));
}

#[test]
fn a_state_with_forks_and_joins_survives_a_keyframe() {
    let mut state = Organization::new(3, 0.25);
    let child = ThreadId::worker(1).unwrap();
    let bodies = [
        (
            ThreadId::ORGANIZER,
            Body::Thread {
                role: Role::Organizer,
                seat: Seat::Model,
                query: "q".into(),
                prompt: vec![1],
            },
        ),
        (
            ThreadId::ORGANIZER,
            Body::Action {
                action: ActionKind::Fork,
                span: (0, 5),
                at: 3,
                child: Some(child),
                text: "sub".into(),
                anchor: None,
            },
        ),
        (
            child,
            Body::Thread {
                role: Role::Worker,
                seat: Seat::Human,
                query: "sub".into(),
                prompt: vec![2],
            },
        ),
        (
            ThreadId::ORGANIZER,
            Body::Wait {
                on: WaitOn::Join(child),
            },
        ),
    ];
    for (id, body) in bodies {
        let mut e = event(body);
        e.thread = Some(id);
        state.apply(&e);
    }
    let read = round_trip(
        &event(Body::Keyframe {
            state: Box::new(state.clone()),
            texts: BTreeMap::new(),
            prev_keyframe: None,
        }),
        None,
    );
    let Body::Keyframe { state: read, .. } = read.event.body else {
        panic!("a keyframe")
    };
    assert!(read.same_as(&state));
    assert_eq!(
        read.thread(ThreadId::ORGANIZER).unwrap().ops,
        [Op {
            at: 3,
            kind: OpKind::Fork {
                child,
                anchor: None
            }
        }]
    );
}

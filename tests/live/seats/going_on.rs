//! Interrupted and gone on with, undone, or told anything in any state: nothing is lost or doubled.

use super::*;

#[test]
fn a_session_with_people_and_tools_in_it_goes_on_where_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut tokens = vec![
        "<FORK-1>q</FORK-1>",
        "<FORK-2>t</FORK-2>",
        "<FORK-3>p</FORK-3>",
    ];
    tokens.extend(words(12));
    tokens.extend([
        "<JOIN-1>",
        "<JOIN-2>",
        "<JOIN-3>",
        " so",
        "<ANSWER>x</ANSWER>",
    ]);
    let script = [line("organizer", &tokens), worker("1", 9)];
    let config = || RunConfig {
        ask: vec![AskKind::Answer],
        ..seats(&[("2", "tool:cat"), ("3", "human")])
    };
    let first = r#"{"at": {"step": 4}, "do": "seat", "thread": "organizer", "to": "human"}
        {"do": "text", "thread": "organizer", "text": " I say"}
        {"do": "seat", "thread": "organizer", "to": "model"}
        {"at": {"step": 5}, "do": "text", "thread": "3", "text": "hm <RETURN>half"}"#;
    let second = r#"{"at": {"event": "join:3"}, "do": "submit", "thread": "3", "text": " whole"}
        {"at": {"event": "ask:answer"}, "do": "approve"}"#;
    let straight = play(&script, config(), &format!("{first}\n{second}"));
    assert_eq!(straight.org().end, Some(RunEnd::Answered));
    for step in 5..19 {
        let file = folder.path().join(format!("{step}.jsonl"));
        let stop = format!("{first}\n{{\"at\": {{\"step\": {step}}}, \"do\": \"interrupt\"}}");
        go(&script, fresh(config()), &file, &stop);
        let on = go(&script, Start::Resumed(file.clone()), &file, second);
        assert_eq!(on.org().end, Some(RunEnd::Answered), "step {step}");
        for id in ["organizer", "1", "3"] {
            assert_eq!(on.text(id), straight.text(id), "{id}, step {step}");
        }
        assert_eq!(on.text("2"), "<RETURN>t</RETURN>");
    }
}

#[test]
fn a_board_and_a_request_survive_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    go(
        &two_forks(),
        fresh(planned()),
        &file,
        r#"{"at": {"event": "ask:plan"}, "do": "plan_add", "query": "mine"}
           {"do": "interrupt"}"#,
    );
    let on = go(
        &two_forks(),
        Start::Resumed(file.clone()),
        &file,
        r#"{"do": "plan_release"}"#,
    );
    assert_eq!(on.org().end, Some(RunEnd::Answered));
    assert_eq!(on.org().threads().len(), 4);
    assert!(
        on.text("organizer")
            .ends_with("<JOIN-2>r</JOIN-2><FORK-3>mine</FORK-3> so<ANSWER>x</ANSWER>")
    );
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 24,
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    })]

    #[test]
    fn no_token_is_lost_or_doubled_through_seat_changes(
        changes in proptest::collection::vec((1u64..30, 0usize..3, "[a-z< ]{0,6}", 0u64..4), 0..12),
    ) {
        let names = ["organizer", "1", "2"];
        let mut tokens = vec!["<FORK-1>q</FORK-1>", "<FORK-2>q</FORK-2>"];
        tokens.extend(words(8));
        tokens.extend(["<JOIN-1>", "<JOIN-2>", " so", "<ANSWER>x</ANSWER>"]);
        let script = [line("organizer", &tokens), worker("1", 20), worker("2", 14)];
        let straight = play(&script, config(), "");
        let mut orders = Vec::new();
        let mut due: Vec<_> = changes.iter().collect();
        due.sort_by_key(|(step, ..)| *step);
        for (step, who, text, longer) in due {
            let id = names[*who];
            orders.push(format!(
                "{{\"at\": {{\"step\": {step}}}, \"do\": \"seat\", \"thread\": \"{id}\", \"to\": \"human\"}}\n\
                 {{\"do\": \"text\", \"thread\": \"{id}\", \"text\": \"{text}\"}}\n\
                 {{\"at\": {{\"step\": {}}}, \"do\": \"seat\", \"thread\": \"{id}\", \"to\": \"model\"}}",
                step + longer
            ));
        }
        // Whoever still holds a seat when nothing decodes gives it back.
        for id in names {
            orders.push(format!(
                "{{\"at\": {{\"step\": 34}}, \"do\": \"seat\", \"thread\": \"{id}\", \"to\": \"model\"}}"
            ));
        }
        let r = play(&script, config(), &orders.join("\n"));
        for id in names {
            let (got, want) = (r.ids(id), straight.ids(id));
            proptest::prop_assert!(want.starts_with(&got), "{id}: {got:?}");
            if !r.finished.stuck {
                proptest::prop_assert_eq!(got, want);
            }
        }
        let last: BTreeMap<_, _> = r.events.iter().filter_map(|e| match &e.body {
            Body::Splice { splice: SpliceKind::Text, bytes, .. } => Some((e.seq, bytes.0.len())),
            _ => None,
        }).collect();
        let written: usize = last.values().sum();
        let done = r.org().commands.iter().filter(|c| c.command.name() == "text"
            && c.outcome == Some(orgtop::org::Outcome::Done));
        let asked: usize = done.map(|c| match &c.command {
            orgtop::org::Command::Text { text, .. } => text.len(),
            _ => 0,
        }).sum();
        proptest::prop_assert_eq!(written, asked);
    }
}

/// The model inside the binary on one instance, at temperature 1.
fn embedded_run(orders: &str) -> Run {
    use orgtop::engine::{EngineThread, Sampling, embedded, local::Options};
    let task = orgtop::task::Task::parse("countdown 12 6 5 4 = 14", 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let open = || {
        let engine = EngineThread::spawn("engine", || embedded::open(&Options::default()))?;
        Ok(Box::new(engine) as Box<dyn Engine>)
    };
    let start = fresh(RunConfig {
        query: task.query(),
        task: Some(task.to_string()),
        sampling: Sampling {
            temperature: 1.0,
            top_p: None,
            seed: 7,
            ..Sampling::default()
        },
        ..config()
    });
    go_with(Box::new(open), start, &file, orders)
}

#[test]
fn pausing_and_taking_seats_25_times_changes_no_token_of_the_embedded_model() {
    let straight = embedded_run("");
    let ids: Vec<String> = straight.org().threads().map(|t| t.id.to_string()).collect();
    let place = |i: u64| format!("{{\"at\": {{\"step\": {}}}, ", 3 + 2 * i);
    let paused: String = (0..25)
        .map(|i| format!("{}\"do\": \"pause\"}}\n{{\"do\": \"resume\"}}\n", place(i)))
        .collect();
    let seat =
        |to: &str| format!("\"do\": \"seat\", \"thread\": \"organizer\", \"to\": \"{to}\"}}\n");
    let taken: String = (0..25)
        .map(|i| format!("{}{}{{{}", place(i), seat("human"), seat("model")))
        .collect();
    for orders in [paused, taken] {
        let r = embedded_run(&orders);
        assert_eq!(r.outcomes().len(), 50);
        assert!(r.outcomes().iter().all(|o| o.ends_with("Done")));
        for id in &ids {
            assert_eq!(r.ids(id), straight.ids(id), "{id}");
        }
        assert_eq!(r.org().metrics().latency, straight.org().metrics().latency);
    }
}

#[test]
fn undo_takes_a_seat_back_with_everything_that_was_written_in_it() {
    let mut tokens = vec!["<FORK-1>q</FORK-1>"];
    tokens.extend(words(6));
    tokens.extend(["<JOIN-1>", "<ANSWER>x</ANSWER>"]);
    let r = play(
        &[line("organizer", &tokens), worker("1", 12)],
        config(),
        r#"{"at": {"step": 4}, "do": "seat", "thread": "organizer", "to": "human"}
           {"do": "text", "thread": "organizer", "text": "<FORK-2>mine</FORK-2>"}
           {"do": "undo"}
           {"do": "undo"}"#,
    );
    assert!(
        r.outcomes().iter().all(|o| o.ends_with("Done")),
        "{:?}",
        r.outcomes()
    );
    let organizer = r.org().thread("organizer".parse().unwrap()).unwrap();
    assert_eq!(
        (organizer.seat.clone(), organizer.writing.len()),
        (Seat::Model, 0)
    );
    assert!(r.org().thread("2".parse().unwrap()).is_none());
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    assert_eq!(r.org().metrics().latency_without_people, None);
}

fn any_command() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let thread = || proptest::sample::select(vec!["organizer", "1", "2", "1~2", "3", "9"]);
    let seat = || proptest::sample::select(vec!["model", "human", "tool:cat", "tool:none"]);
    let text = || {
        proptest::sample::select(vec![
            "",
            " hm",
            "<FORK-3>by hand</FORK-3>",
            "<FORK-4>",
            "</FORK-4>",
            "<JOIN-1>",
            "<JOIN-7>",
            "<RETURN>",
            "</RETURN>",
            "<ANSWER>",
        ])
    };
    prop_oneof![
        3 => (thread(), seat()).prop_map(|(t, s)| format!(r#""do": "seat", "thread": "{t}", "to": "{s}""#)),
        3 => (thread(), text()).prop_map(|(t, x)| format!(r#""do": "text", "thread": "{t}", "text": "{x}""#)),
        2 => (thread(), text()).prop_map(|(t, x)| format!(r#""do": "submit", "thread": "{t}", "text": "{x}""#)),
        2 => thread().prop_map(|t| format!(r#""do": "retry", "thread": "{t}""#)),
        2 => thread().prop_map(|t| format!(r#""do": "kill", "thread": "{t}""#)),
        1 => thread().prop_map(|t| format!(r#""do": "wrap_up", "thread": "{t}""#)),
        1 => thread().prop_map(|t| format!(r#""do": "join", "thread": "{t}""#)),
        2 => (text(), seat()).prop_map(|(q, s)| format!(r#""do": "fork", "query": "{q}", "seat": "{s}""#)),
        1 => Just(r#""do": "pause""#.to_owned()),
        1 => Just(r#""do": "resume""#.to_owned()),
        1 => Just(r#""do": "step""#.to_owned()),
        1 => Just(r#""do": "answer""#.to_owned()),
        1 => Just(r#""do": "undo""#.to_owned()),
        1 => Just(r#""do": "redo""#.to_owned()),
        3 => Just(r#""do": "approve""#.to_owned()),
        1 => text().prop_map(|x| format!(r#""do": "approve", "text": "{x}""#)),
        2 => Just(r#""do": "deny", "reason": "no""#.to_owned()),
        1 => text().prop_map(|q| format!(r#""do": "plan_add", "query": "{q}""#)),
        1 => (1u32..5, text()).prop_map(|(d, q)| format!(r#""do": "plan_edit", "draft": {d}, "query": "{q}""#)),
        1 => (1u32..5).prop_map(|d| format!(r#""do": "plan_drop", "draft": {d}"#)),
        1 => (1u32..5, 0u32..5).prop_map(|(d, t)| format!(r#""do": "plan_move", "draft": {d}, "to": {t}"#)),
        2 => Just(r#""do": "plan_release""#.to_owned()),
    ]
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 200,
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    })]

    /// No panic, no command without an effect, a file that agrees with itself and folds to the same state, no
    /// more workers than slots.
    #[test]
    fn every_command_in_every_state_has_an_effect_or_is_refused(
        commands in proptest::collection::vec((0u64..24, any_command()), 1..24),
        capacity in 1u32..5,
        plan in proptest::prelude::any::<bool>(),
        ask in proptest::sample::subsequence(vec![AskKind::Fork, AskKind::Answer, AskKind::Tool], 0..=3),
        human in proptest::prelude::any::<bool>(),
    ) {
        let mut tokens = vec!["<FORK-", "1>q</FORK-1>", "<FORK-2>q</FORK-2> w<JOIN-2>"];
        tokens.extend(words(4));
        tokens.extend(["<JOIN-1>", " so", "<ANSWER>", "x", "</ANSWER>", " w", " w"]);
        let mut script = vec![line("organizer", &tokens)];
        script.extend(["1", "2", "3", "1"].map(|id| worker(id, 8)));
        let orders: Vec<String> = commands
            .iter()
            .map(|(step, command)| format!("{{\"at\": {{\"step\": {step}}}, {command}}}"))
            .collect();
        let config = RunConfig {
            capacity: Some(capacity),
            plan,
            ask,
            ..seats(if human { &[("2", "human")] } else { &[("2", "tool:cat")] })
        };
        let r = play(&script, config, &orders.join("\n"));
        for command in &r.org().commands {
            proptest::prop_assert!(command.outcome.is_some(), "{command:?}");
        }
        proptest::prop_assert!(r.org().active_workers() < capacity.max(1) as usize);
        proptest::prop_assert!(r.org().end.is_some());
    }
}

//! Going back: what a branch restores, what it forgets, and what stays in the file.

use crate::harness::{Run, config, line, run, words};
use crate::protocol::worker;
use orgtop::org::{Body, BranchId, Event, Organization, RunEnd, ThreadId, Turn};

/// `w`×5, a Fork, `w`×9, a Join, `w`×3, the answer; worker 1 decodes 20 tokens and returns.
fn script() -> Vec<String> {
    let mut organizer: Vec<String> = (0..5).map(|i| format!(" a{i}")).collect();
    organizer.push("<FORK-1>q</FORK-1>".into());
    organizer.extend((0..9).map(|i| format!(" b{i}")));
    organizer.push("<JOIN-1>".into());
    organizer.extend((0..3).map(|i| format!(" c{i}")));
    organizer.push("<ANSWER>x</ANSWER>".into());
    let organizer: Vec<&str> = organizer.iter().map(String::as_str).collect();
    vec![line("organizer", &organizer), worker("1", 20)]
}

fn steered(orders: &str) -> Run {
    run(&script(), config(), orders)
}

/// The text of a thread on the present line.
fn present_text(run: &Run, id: &str) -> String {
    let id: ThreadId = id.parse().unwrap();
    let mut history = orgtop::record::History::default();
    let mut next = 0;
    for mut event in run.events.clone() {
        // The mailbox merges; numbers only have to rise.
        next = event.seq.0.max(next);
        event.seq.0 = next;
        history.push(event);
    }
    let tip = history.tip(history.present()).unwrap();
    history.contexts(tip)[&id]
        .pieces
        .iter()
        .map(|piece| String::from_utf8_lossy(&piece.bytes).into_owned())
        .collect()
}

fn turns(run: &Run) -> Vec<&Event> {
    let is_turn = |e: &&Event| matches!(e.body, Body::Branch { .. });
    run.events.iter().filter(is_turn).collect()
}

fn shape(org: &Organization) -> Vec<String> {
    org.threads()
        .map(|t| {
            format!(
                "{} {:?} {} {} {:?} {:?} {}",
                t.id, t.status, t.tokens, t.text_bytes, t.ops, t.result, t.joined
            )
        })
        .collect()
}

#[test]
fn a_branch_without_change_is_the_same_run_again() {
    let straight = steered("");
    for step in 0..=30 {
        let r = steered(&format!(
            r#"{{"at": {{"step": 30}}, "do": "branch", "step": {step}}}"#
        ));
        assert_eq!(r.org().end, Some(RunEnd::Answered), "step {step}");
        assert_eq!(turns(&r).len(), 1);
        for id in ["organizer", "1"] {
            assert_eq!(present_text(&r, id), straight.text(id), "{id}, step {step}");
        }
        assert_eq!(shape(r.org()), shape(straight.org()), "step {step}");
        assert_eq!(r.org().metrics().latency, straight.org().metrics().latency);
        assert_eq!(r.org().metrics().work, straight.org().metrics().work);
    }
}

#[test]
fn an_edit_keeps_what_is_before_it_and_replaces_what_is_after() {
    let r = steered(
        r#"{"at": {"step": 12}, "do": "edit", "thread": "organizer", "token": 8, "text": " mine"}"#,
    );
    let text = present_text(&r, "organizer");
    // Position in a script is tokens decoded, so it goes on where it was.
    assert!(
        text.starts_with(" a0 a1 a2 a3 a4<FORK-1>q</FORK-1> b0 b1 mine b2 b3"),
        "{text}"
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    let records = r.org().branches();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].left.as_ref().unwrap().step.0, 12);
    assert_eq!(records[1].turn, Some(Turn::Edit));
    assert_eq!(records[1].token, Some(8));
    assert_eq!(r.org().branch(), BranchId(1));
}

#[test]
fn an_edit_before_a_fork_takes_the_worker_back_too() {
    let r = steered(
        r#"{"at": {"step": 12}, "do": "edit", "thread": "organizer", "token": 3, "text": "<FORK-1>other</FORK-1>"}"#,
    );
    let worker = r.org().thread("1".parse().unwrap()).unwrap();
    assert_eq!(worker.query, "other");
    assert_eq!(r.errors(), ["DuplicateIndex"]);
    assert_eq!(worker.end(), Some(orgtop::org::ThreadEnd::Returned));
}

#[test]
fn a_worker_that_has_returned_can_be_edited_and_lives_again() {
    let r = steered(
        r#"{"at": {"event": "answer"}, "do": "edit", "thread": "1", "token": 4, "text": "<RETURN>short</RETURN>"}"#,
    );
    assert_eq!(r.org().end, Some(RunEnd::Answered));
    assert!(present_text(&r, "organizer").contains("<JOIN-1>short</JOIN-1>"));
    assert_eq!(r.org().metrics().latency, 20);
}

#[test]
fn undo_goes_before_the_last_command_and_redo_to_what_it_left() {
    let orders = r#"
        {"at": {"step": 8}, "do": "fork", "query": "extra"}
        {"at": {"step": 10}, "do": "kill", "thread": "1"}
        {"at": {"step": 12}, "do": "pause"}
        {"do": "undo"}
        {"do": "undo"}
        {"do": "redo"}
        {"do": "redo"}
        {"do": "redo"}
        {"do": "resume"}"#;
    let mut script = script();
    script.push(worker("2", 4));
    let r = run(&script, config(), orders);
    let steps: Vec<u64> = turns(&r).iter().map(|e| e.step.0).collect();
    assert_eq!(steps, [10, 8, 10, 12]);
    let ends: Vec<String> = r.outcomes();
    assert_eq!(
        ends[3..7],
        ["undo Done", "undo Done", "redo Done", "redo Done"]
    );
    assert!(ends[7].contains("nothing was undone"), "{}", ends[7]);
    assert_eq!(r.end_of("1"), "Some(Killed)");
    assert_eq!(r.end_of("2"), "Some(Returned)");
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn an_edit_is_undone_like_anything_else() {
    let straight = steered("");
    let r = steered(
        r#"{"at": {"step": 12}, "do": "edit", "thread": "organizer", "token": 8, "text": " mine"}
           {"at": {"step": 12}, "do": "undo"}"#,
    );
    assert_eq!(present_text(&r, "organizer"), straight.text("organizer"));
    assert_eq!(shape(r.org()), shape(straight.org()));
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let straight = steered("");
    let orders = r#"
        {"at": {"step": 3}, "do": "undo"}
        {"do": "redo"}
        {"do": "edit", "thread": "7", "token": 0, "text": "x"}
        {"do": "edit", "thread": "organizer", "token": 4, "text": "x"}
        {"do": "edit", "thread": "organizer", "token": 3, "text": ""}
        {"do": "branch", "step": 4}
        {"do": "branch", "of": 1}
        {"do": "branch", "thread": "organizer"}
        {"do": "branch", "thread": "1", "token": 1}"#;
    let r = steered(orders);
    assert!(
        r.outcomes().iter().all(|o| o.contains("Refused")),
        "{:?}",
        r.outcomes()
    );
    assert!(turns(&r).is_empty());
    assert_eq!(shape(r.org()), shape(straight.org()));
}

#[test]
fn a_branch_from_the_end_of_a_run_says_where_it_can_go_instead() {
    let r = steered(r#"{"at": {"event": "answer"}, "do": "branch"}"#);
    let outcomes = r.outcomes();
    assert!(outcomes[0].contains("give a step"), "{}", outcomes[0]);
    assert!(turns(&r).is_empty());
    // The end of a line that was left can still be looked at.
    let r = steered(
        r#"{"at": {"event": "answer"}, "do": "branch", "step": 4}
           {"do": "branch", "of": 0}"#,
    );
    assert_eq!(turns(&r).len(), 2);
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

#[test]
fn a_queued_wish_is_left_behind_with_its_line() {
    let mut organizer = words(3);
    organizer.extend(["<FORK-1>", "q", "q", "q", "</FORK-1>"]);
    organizer.extend(words(3));
    organizer.push("<ANSWER>x</ANSWER>");
    let r = run(
        &[
            line("organizer", &organizer),
            worker("1", 3),
            worker("2", 3),
        ],
        config(),
        r#"{"at": {"step": 5}, "do": "fork", "query": "extra"}
           {"do": "branch", "step": 2}"#,
    );
    let outcomes = r.outcomes();
    assert!(outcomes[0].contains("its line was left"), "{}", outcomes[0]);
    assert!(r.org().thread("2".parse().unwrap()).is_none());
    assert_eq!(r.org().end, Some(RunEnd::Answered));
}

mod recorded {
    use super::{script, shape};
    use crate::harness::config;
    use crate::protocol::worker;

    use orgtop::live::{Finished, ProtocolRescan, Start};
    use orgtop::org::{Body, Organization, RunEnd, Seq, Step};
    use orgtop::record::{
        Events, History, Player, SessionFile, Target, TextFrom, TextLimit, restore, verify,
    };
    use std::path::Path;

    const ORDERS: &str = r#"
        {"at": {"step": 8}, "do": "fork", "query": "extra"}
        {"at": {"step": 14}, "do": "edit", "thread": "organizer", "token": 9, "text": " mine <FORK-3>more</FORK-3>"}
        {"at": {"step": 17}, "do": "kill", "thread": "1"}
        {"at": {"step": 19}, "do": "undo"}
        {"do": "undo"}
        {"do": "redo"}
        {"at": {"event": "answer"}, "do": "branch", "thread": "3", "token": 2}"#;

    fn play(start: Start, file: &Path, orders: &str) -> Finished {
        let mut lines = script();
        lines.extend([worker("2", 12), worker("3", 6)]);
        crate::resuming::play(&lines, start, Some(file), orders)
    }

    fn fresh() -> Start {
        Start::Fresh {
            config: config(),
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        }
    }

    fn events(file: &SessionFile) -> Events {
        file.events()
    }

    #[test]
    fn a_file_with_branches_agrees_with_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let finished = play(fresh(), &path, ORDERS);
        assert_eq!(finished.organization.end, Some(RunEnd::Answered));
        assert_eq!(finished.organization.branches().len(), 6);
        let verified = verify(&path, &ProtocolRescan).unwrap();
        assert_eq!(verified.disagreements, []);
        assert_eq!(verified.branches, 5);
        let restored = restore(&path).unwrap();
        assert_eq!(shape(&restored.organization), shape(&finished.organization));
    }

    #[test]
    fn a_branch_that_claims_another_state_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        play(fresh(), &path, ORDERS);
        let text = std::fs::read_to_string(&path).unwrap();
        let at = text.find("\"kind\":\"branch\"").unwrap();
        let (head, tail) = text.split_at(at);
        std::fs::write(
            &path,
            head.to_owned() + &tail.replacen("\"tokens\":9", "\"tokens\":8", 1),
        )
        .unwrap();
        let verified = verify(&path, &ProtocolRescan).unwrap();
        assert!(!verified.disagreements.is_empty());
    }

    #[test]
    fn a_player_is_anywhere_what_reading_from_the_start_gives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        play(fresh(), &path, ORDERS);
        let file = SessionFile::open(&path).unwrap();
        let mut player = Player::open(&path).unwrap();
        let mut fold = Organization::new(file.header().capacity, file.header().tau);
        let mut history = History::default();
        let mut folds = Vec::new();
        for recorded in events(&file) {
            let event = recorded.unwrap().event;
            fold.apply(&event);
            history.push(event.clone());
            let here = history.tip(history.present()).unwrap();
            folds.push((event.seq, fold.clone(), history.contexts(here)));
        }
        for (seq, fold, contexts) in folds.iter().rev().chain(&folds) {
            player.seek(Target::Seq(*seq)).unwrap();
            assert!(player.organization().same_as(fold), "at {seq}");
            for (id, context) in contexts {
                let limit = TextLimit {
                    bytes: usize::MAX,
                    records: usize::MAX,
                };
                let text = player.text(*id, TextFrom::Here, limit).unwrap();
                let read: Vec<u8> = text.pieces.iter().flat_map(|p| p.bytes.clone()).collect();
                let told: Vec<u8> = context
                    .pieces
                    .iter()
                    .flat_map(|p| p.bytes.clone())
                    .collect();
                assert_eq!(read, told, "{id} at {seq}");
            }
        }
        // Steps are those of the line that is stood on.
        let last = history.present();
        player.seek(Target::End).unwrap();
        for step in (1..=20).rev() {
            player.seek(Target::End).unwrap();
            player.seek(Target::Step(Step(step))).unwrap();
            let place = history.at_step(last, Step(step)).unwrap();
            let state = history.state(place, file.header());
            assert_eq!(shape(player.organization()), shape(&state), "step {step}");
            assert!(player.organization().now.step <= Step(step));
        }
    }

    #[test]
    fn a_file_with_branches_goes_on_from_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole.jsonl");
        let orders = r#"
            {"at": {"step": 8}, "do": "fork", "query": "extra"}
            {"at": {"step": 14}, "do": "edit", "thread": "organizer", "token": 9, "text": " mine <FORK-3>more</FORK-3>"}"#;
        let straight = play(fresh(), &whole, orders);
        let text = std::fs::read_to_string(&whole).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let turn = lines
            .iter()
            .position(|l| l.contains("\"kind\":\"branch\""))
            .unwrap();
        let effect = turn
            + 1
            + lines[turn..]
                .iter()
                .position(|l| l.contains("\"kind\":\"effect\""))
                .unwrap();
        for cut in effect..lines.len() {
            let path = folder.path().join(format!("cut-{cut}.jsonl"));
            std::fs::write(&path, lines[..cut].join("\n") + "\n").unwrap();
            if lines[..cut].iter().any(|l| l.contains("run_end")) {
                continue;
            }
            let finished = play(Start::Resumed(path.clone()), &path, "");
            assert_eq!(
                finished.organization.end,
                Some(RunEnd::Answered),
                "cut at {cut}"
            );
            assert_eq!(
                shape(&finished.organization),
                shape(&straight.organization),
                "cut at {cut}"
            );
            assert_eq!(
                verify(&path, &ProtocolRescan).unwrap().disagreements,
                [],
                "cut at {cut}"
            );
            let back = play(
                Start::Resumed(folder.path().join(format!("cut-{cut}.jsonl"))),
                &path,
                r#"{"do": "undo"}"#,
            );
            assert!(
                back.organization
                    .commands
                    .iter()
                    .any(|c| c.command.name() == "undo")
            );
        }
    }

    #[test]
    fn every_event_after_a_turn_belongs_to_its_branch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        play(fresh(), &path, ORDERS);
        let file = SessionFile::open(&path).unwrap();
        let mut branch = 0;
        let mut next = Seq(0);
        for recorded in events(&file) {
            let event = recorded.unwrap().event;
            if matches!(event.body, Body::Branch { .. }) {
                branch += 1;
            }
            assert_eq!(event.branch.0, branch);
            assert_eq!(event.seq, next);
            next = event.seq.next();
        }
        assert_eq!(branch, 5);
    }
}

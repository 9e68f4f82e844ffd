//! Going back on the screen: what the keys ask for, and what the screen shows of a session that went back.

use crate::screen::{Screen, look};
use crate::story;
use orgtop::engine::{Script, Scripted};
use orgtop::live::{Audience, Batch, Phase, Plan, RunConfig, Start, launch, parse_orders};
use orgtop::org::{Body, BranchId, Command, ThreadId};
use orgtop::record::SessionFile;
use orgtop::tui::compared::{Compared, LineRef};
use orgtop::tui::model::Feed;
use orgtop::tui::popup::Popup;
use orgtop::tui::update::{Effect, Input};

const ORDERS: &str = r#"
    {"at": {"event": "answer"}, "do": "edit", "thread": "1", "token": 4, "text": "<RETURN>short</RETURN>"}
    {"at": {"branch": 1, "step": 12}, "do": "undo"}"#;

/// A recorded session that went back twice, and everything it posted.
fn session() -> (tempfile::TempDir, std::path::PathBuf, Batch) {
    let mut organizer = vec![" think"; 6];
    organizer.extend(["<FORK-1>multiply</FORK-1>", " and", " wait", "<JOIN-1>"]);
    organizer.extend([" so", " then", "<ANSWER>42</ANSWER>"]);
    let mut worker = vec![" work"; 20];
    worker.push("<RETURN>long</RETURN>");
    let line = |thread: &str, tokens: &[&str]| {
        serde_json::json!({"thread": thread, "tokens": tokens}).to_string()
    };
    let text = [line("organizer", &organizer), line("1", &worker)].join("\n");
    let script = Script::parse(&text, "script").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let handle = launch(Plan {
        open: Box::new(move || Ok(Box::new(Scripted::new(script, "script")))),
        start: Start::Fresh {
            config: RunConfig {
                query: "what is 6 by 7".into(),
                ..RunConfig::default()
            },
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: Some(path.clone()),
        orders: parse_orders(ORDERS, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    let mailbox = std::sync::Arc::clone(&handle.mailbox);
    handle.wait().unwrap();
    (folder, path, mailbox.take())
}

fn shown(width: u16, height: u16) -> (tempfile::TempDir, std::path::PathBuf, Screen) {
    let (folder, path, mut batch) = session();
    // Times are not those of this machine.
    for (i, event) in batch.events.iter_mut().enumerate() {
        event.us = i as u64 * 1000;
        if let Body::RunEnd { metrics, .. } = &mut event.body {
            metrics.tok_per_s = 100.0;
        }
    }
    batch.report.phase = Phase::Over;
    let mut screen = Screen::new(width, height, look("terminal", false), Feed::Live);
    screen.input(Input::Batch(batch));
    screen.draw();
    (folder, path, screen)
}

fn branch(thread: Option<u16>, token: Option<u64>, of: Option<u32>) -> Effect {
    Effect::Send(Command::Branch {
        thread: thread.and_then(ThreadId::worker),
        token,
        step: None,
        of: of.map(BranchId),
    })
}

#[test]
fn the_screen_shows_the_present_line_and_nothing_of_the_others() {
    let (_folder, _, mut screen) = shown(120, 36);
    let text = screen.text();
    assert!(text.contains("work work work"), "{text}");
    assert!(!text.contains("short"), "{text}");
    assert_eq!(screen.model.organization.branches().len(), 3);
}

#[test]
fn the_tree_lists_every_branch_and_leads_to_each() {
    let (_folder, _, mut screen) = shown(80, 24);
    assert_eq!(screen.keys("d"), []);
    insta::assert_snapshot!("branches_80x24", screen.picture());
    assert_eq!(screen.keys("k enter"), [branch(None, None, Some(1))]);
    let line = |branch| LineRef {
        file: None,
        branch: Some(BranchId(branch)),
    };
    assert_eq!(
        screen.keys("d up up space down d"),
        [Effect::Compare(line(0), line(1))]
    );
}

#[test]
fn two_branches_stand_side_by_side() {
    let (_folder, path, mut screen) = shown(80, 24);
    let line = |branch| LineRef {
        file: None,
        branch: Some(BranchId(branch)),
    };
    let open = || SessionFile::open(&path).map_err(|e| e.to_string());
    let compared = Compared::read(&line(0), &line(1), open).unwrap();
    assert_eq!(compared.comparison.latency_grew(), -19);
    screen.input(Input::Compared(Ok(Box::new(compared))));
    insta::assert_snapshot!("compare_80x24", screen.picture());
    screen.keys("esc");
    assert!(screen.model.popups.is_empty());
    let missing = Compared::read(&line(0), &line(9), open).unwrap_err();
    assert_eq!(missing, "there is no branch 9; the last one is 2");
}

#[test]
fn undo_and_redo_ask_only_for_what_there_is() {
    let (_folder, _, mut screen) = shown(120, 36);
    assert_eq!(screen.keys("U"), [Effect::Send(Command::Redo)]);
    assert_eq!(screen.keys("u"), []);
    assert_eq!(
        screen.model.notice.as_ref().unwrap().text,
        "there is nothing to undo"
    );
}

#[test]
fn a_branch_begins_at_the_cursor_or_here() {
    let mut screen = Screen::live(120, 36, &story::three_workers());
    assert_eq!(screen.keys("b"), [branch(None, None, None)]);
    screen.keys("2");
    screen.model.timeline.cursor = Some(50);
    let tokens = screen.model.ideal.schedule.lanes[&ThreadId::worker(2).unwrap()]
        .decoding()
        .map(|(from, to)| to.min(51).saturating_sub(from))
        .sum();
    assert_eq!(screen.keys("b"), [branch(Some(2), Some(tokens), None)]);
    screen.model.timeline.cursor = Some(0);
    assert_eq!(screen.keys("b"), []);
}

#[test]
fn an_edit_sends_what_changed_and_explains_what_cannot_be() {
    let (_folder, _, mut screen) = shown(80, 24);
    screen.keys("1 e");
    assert!(matches!(screen.model.popups.last(), Some(Popup::Edit)));
    insta::assert_snapshot!("edit_80x24", screen.picture());
    assert_eq!(screen.keys("ctrl-s"), []);
    assert!(screen.text().contains("Nothing is changed yet."));
    let effects = screen.keys("space m o r e ctrl-s");
    assert_eq!(
        effects,
        [Effect::Send(Command::Edit {
            thread: ThreadId::worker(1).unwrap(),
            token: 21,
            text: " more".into(),
        })]
    );
    assert!(screen.model.popups.is_empty());
}

#[test]
fn a_recording_is_taken_over_not_steered() {
    let (_folder, path, _) = shown(80, 24);
    let player = orgtop::record::Player::open(&path).unwrap();
    let replay = orgtop::tui::replay::Replay::new(player);
    let mut screen = Screen::new(
        80,
        24,
        look("terminal", false),
        Feed::Replay(replay.playback()),
    );
    assert_eq!(screen.keys("enter"), [Effect::TakeOver]);
    screen.keys("u");
    assert!(screen.model.notice.is_none());
}

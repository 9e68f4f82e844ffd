//! Workers of workers on screen.

use crate::screen::Screen;
use crate::story::{STEP_US, Story};
use orgtop::engine::{Script, Scripted};
use orgtop::live::{Audience, Plan, RunConfig, Start, ToolSet, launch, parse_orders};
use orgtop::org::{Command, Organization, ThreadId};
use orgtop::record::Limits;
use orgtop::tui::update::Effect;

fn line(thread: &str, text: &str) -> String {
    serde_json::json!({"thread": thread, "text": text}).to_string()
}

/// A run of the scripted engine at depth 2, stopped after `step`, told with a steady clock.
fn story(step: u64) -> Story {
    let think = " so it goes on".repeat(6);
    let script = [
        line(
            "organizer",
            &format!(
                "I split it.<FORK-1>first half</FORK-1><FORK-2>second half</FORK-2>{think}{think} <JOIN-1> <JOIN-2> \
             <ANSWER>both</ANSWER>"
            ),
        ),
        line(
            "1",
            &format!(
                "Two parts.<FORK-1>left</FORK-1> <FORK-2>right</FORK-2>{think} <JOIN-1> <JOIN-2> <RETURN>halved</RETURN>"
            ),
        ),
        line("1.1", &format!("left{think}{think} <RETURN>l</RETURN>")),
        line("1.2", &format!("right{think} <RETURN>r</RETURN>")),
        line(
            "2",
            &format!("I do it alone{think}{think} <RETURN>whole</RETURN>"),
        ),
    ];
    let script = Script::parse(&script.join("\n"), "script").unwrap();
    let config = RunConfig {
        query: "add the halves".into(),
        capacity: Some(6),
        limits: Limits {
            depth: 2,
            ..Limits::default()
        },
        ..RunConfig::default()
    };
    let orders = format!("{{\"at\": {{\"step\": {step}}}, \"do\": \"pause\"}}");
    let handle = launch(Plan {
        open: Box::new(move || Ok(Box::new(Scripted::new(script, "script")))),
        start: Start::Fresh {
            config,
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: None,
        orders: parse_orders(&orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    let mailbox = std::sync::Arc::clone(&handle.mailbox);
    let finished = handle.wait().unwrap();
    let mut story = Story::new("add the halves", 6);
    story.header.limits = finished.header.limits;
    story.header.prompts = finished.header.prompts;
    story.events = mailbox.take().events;
    // What follows the pause is the end of an unattended run.
    let pause = story
        .events
        .iter()
        .position(|e| matches!(&e.body, orgtop::org::Body::Command { .. }))
        .unwrap();
    story.events.truncate(pause);
    story.organization = Organization::new(6, 0.5);
    for event in &mut story.events {
        event.us = event.step.0 * STEP_US;
        story.organization.apply(event);
    }
    story
}

fn id(text: &str) -> ThreadId {
    text.parse().unwrap()
}

#[test]
fn workers_of_workers_hang_below_them() {
    for (width, height) in [(80, 24), (120, 36)] {
        let mut screen = Screen::live(width, height, &story(46));
        screen.draw();
        screen.keys("' 1 . 2 enter");
        assert_eq!(screen.model.selected, id("1.2"));
        insta::assert_snapshot!(format!("nested_{width}x{height}"), screen.picture());
    }
}

#[test]
fn a_fork_by_hand_is_for_the_selected_worker_if_it_may() {
    let mut screen = Screen::live(120, 36, &story(46));
    screen.draw();
    let fork = |thread| {
        [Effect::Send(Command::Fork {
            query: "q".into(),
            seat: None,
            thread,
        })]
    };
    screen.keys("1 f");
    assert!(screen.text().contains("for a new worker of 1"));
    let words: Vec<String> = screen
        .text()
        .split(|c: char| c.is_whitespace() || c == '│')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    assert!(words.join(" ").contains("goes into 1's text"), "{words:?}");
    assert_eq!(screen.keys("q ctrl-s"), fork(Some(id("1"))));
    // 1.1 stands at the limit of depth.
    screen.keys("' 1 . 1 enter");
    assert_eq!(screen.keys("f q ctrl-s"), fork(None));
}

#[test]
fn any_worker_can_be_chosen_to_be_joined() {
    let mut screen = Screen::live(120, 36, &story(46));
    screen.draw();
    screen.keys("' 1 . 2 enter");
    let joins = screen.keys("J enter");
    assert_eq!(joins, [Effect::Send(Command::Join { thread: id("1.2") })]);
}

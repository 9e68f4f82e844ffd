//! A session agrees with itself, and a changed one does not.

use crate::scratch;
use crate::synthetic::{Spec, session};
use orgtop::org::{ActionKind, Role, ThreadId};
use orgtop::record::{
    About, Found, Header, Origin, Rescan, TextPiece, ThreadRescan, Verified, verify,
};

/// Finds whole tags by plain search over everything decoded so far: enough for made sessions.
struct Search;

struct SearchThread {
    text: String,
    found: usize,
}

impl Rescan for Search {
    fn thread(&self, _: &Header, _: ThreadId, _: Role) -> Box<dyn ThreadRescan> {
        Box::new(SearchThread {
            text: String::new(),
            found: 0,
        })
    }
}

impl ThreadRescan for SearchThread {
    fn piece(&mut self, piece: &TextPiece) -> Vec<Found> {
        let text = String::from_utf8_lossy(&piece.bytes);
        match piece.origin {
            Origin::Decoded => self.text.push_str(&text),
            // Same length, no tags.
            Origin::Spliced { .. } => self.text.push_str(&" ".repeat(text.len())),
        }
        let tag = regex::Regex::new(
            r"(?s)<FORK-(\d+)>.*?</FORK-\d+>|<JOIN-\d+>|<RETURN>.*?</RETURN>|<ANSWER>.*?</ANSWER>",
        )
        .unwrap();
        let all: Vec<Found> = tag
            .find_iter(&self.text)
            .map(|m| Found {
                span: (m.start() as u64, m.end() as u64),
                action: match &m.as_str()[..3] {
                    "<FO" => ActionKind::Fork,
                    "<JO" => ActionKind::Join,
                    "<RE" => ActionKind::Return,
                    _ => ActionKind::Answer,
                },
            })
            .collect();
        let new = all[self.found..].to_vec();
        self.found = all.len();
        new
    }
}

fn verified(text: &str) -> Verified {
    let (_folder, path) = scratch("session.jsonl");
    std::fs::write(&path, text).unwrap();
    verify(&path, &Search).unwrap()
}

fn made() -> String {
    String::from_utf8(session(Spec::small()).0).unwrap()
}

#[test]
fn a_recorded_session_agrees_with_itself() {
    let verified = verified(&made());
    assert_eq!(verified.disagreements, []);
    assert!(verified.report.is_clean());
    assert!(verified.keyframes >= 2);
    assert_eq!(verified.actions, 2 + 2 + 2 + 1);
    assert!(verified.metrics.latency > 0);
}

fn about(text: &str) -> Vec<About> {
    let verified = verified(text);
    for d in &verified.disagreements {
        assert!(d.to_string().starts_with(&format!("line {}: ", d.line)));
    }
    verified
        .disagreements
        .into_iter()
        .map(|d| d.about)
        .collect()
}

#[test]
fn a_changed_character_is_found() {
    let text = made();
    assert!(text.contains(" minus"));
    let changed = about(&text.replacen(" minus", " Minus", 1));
    assert!(
        matches!(changed.as_slice(), [About::Text { .. }]),
        "{changed:?}"
    );
}

#[test]
fn a_removed_action_is_found_in_the_text_and_an_added_one_is_not() {
    let text = made();
    let answer = text
        .lines()
        .find(|l| l.contains("\"action\":\"answer\""))
        .unwrap();
    let without = text.replacen(answer, "", 1);
    let found = about(&without);
    assert!(
        found.iter().any(
            |a| matches!(a, About::NotRecorded { found, .. } if found.action == ActionKind::Answer)
        ),
        "{found:?}"
    );
    let moved = text.replacen(
        "\"action\":\"answer\",\"span\":[",
        "\"action\":\"answer\",\"span\":[1",
        1,
    );
    assert!(
        about(&moved)
            .iter()
            .any(|a| matches!(a, About::NotInText { .. }))
    );
}

#[test]
fn a_better_metric_is_found() {
    let text = made();
    let at = text.find("\"T\":").unwrap();
    let mut changed = text.clone();
    changed.insert(at + 4, '1');
    assert!(matches!(
        about(&changed).as_slice(),
        [About::Metric { name: "T", .. }]
    ));
}

#[test]
fn a_changed_keyframe_is_found_once() {
    let text = made();
    let keyframe = text
        .lines()
        .find(|l| l.contains("\"kind\":\"keyframe\""))
        .unwrap();
    let changed = keyframe.replacen("\"prompt_tokens\":3", "\"prompt_tokens\":4", 1);
    assert_ne!(changed, keyframe);
    assert_eq!(about(&text.replacen(keyframe, &changed, 1)), [About::State]);
}

#[test]
fn a_lost_event_is_found_at_the_next_keyframe_only() {
    let text = made();
    let begin = text
        .lines()
        .find(|l| l.contains("\"kind\":\"thread\"") && l.contains("\"thread\":\"2\""))
        .unwrap();
    let found = about(&text.replacen(begin, "", 1));
    assert_eq!(
        found.iter().filter(|a| **a == About::State).count(),
        1,
        "{found:?}"
    );
}

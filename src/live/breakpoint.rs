//! Watching for the places at which a person wants the run to stop.
//!
//! [`Watch`] sees every event before it is folded and notes which breakpoints it meets; the session heeds
//! them at the next step boundary: it marks the place and pauses. Text is matched as it comes, over the
//! borders of tokens; a match is met once, however much longer it grows.

use super::session::Session;
use crate::org::{
    ActionKind, Author, Body, Breakpoint, BreakpointRecord, Command, Event, Organization, Seq,
    Step, ThreadId,
};
use crate::protocol::Position;
use regex::bytes::Regex;
use std::collections::BTreeMap;

/// Bytes of a thread's text in which a match can begin before the newest token.
const REACH: usize = 1024;

/// A breakpoint that was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Which.
    pub on: Breakpoint,
    /// The command that set it.
    pub set_by: Seq,
    /// Whose doing.
    pub thread: Option<ThreadId>,
}

#[derive(Debug)]
struct Rule {
    record: BreakpointRecord,
    pattern: Option<Regex>,
    /// Where the match that was met last begins, by thread.
    met: BTreeMap<ThreadId, usize>,
}

/// The end of a thread's text.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    /// Bytes of the text before it.
    base: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Watch {
    rules: Vec<Rule>,
    tails: BTreeMap<ThreadId, Tail>,
    hits: Vec<Hit>,
    seen: Step,
    answering: bool,
}

impl Watch {
    /// Watches for the breakpoints that are on in `list`, from `step` on.
    pub fn set(&mut self, list: &[BreakpointRecord], step: Step) {
        let active = || list.iter().filter(|b| b.active);
        if self.rules.iter().map(|r| &r.record).eq(active()) {
            return;
        }
        self.seen = step;
        let mut before = std::mem::take(&mut self.rules);
        self.rules = active()
            .map(|record| {
                if let Some(i) = before.iter().position(|r| r.record == *record) {
                    return before.swap_remove(i);
                }
                let pattern = match &record.on {
                    // It was compiled when it was read.
                    Breakpoint::Text { pattern, .. } => Breakpoint::compile(pattern).ok(),
                    _ => None,
                };
                Rule {
                    record: record.clone(),
                    pattern,
                    met: BTreeMap::new(),
                }
            })
            .collect();
        if !self.rules.iter().any(|r| r.pattern.is_some()) {
            self.tails.clear();
        }
    }

    /// The run goes on from elsewhere: texts begin anew.
    pub fn move_to(&mut self, step: Step) {
        self.seen = step;
        self.tails.clear();
        self.hits.clear();
        self.answering = false;
        for rule in &mut self.rules {
            rule.met.clear();
        }
    }

    /// Takes note of an event that `org` has not folded yet.
    pub fn note(&mut self, event: &Event, org: &Organization) {
        if self.rules.is_empty() {
            return;
        }
        let hits = &mut self.hits;
        for rule in &self.rules {
            if let Some(thread) = meets(&rule.record.on, event, org, self.seen) {
                hits.push(Hit {
                    on: rule.record.on.clone(),
                    set_by: rule.record.seq,
                    thread,
                });
            }
        }
        if let (Body::Tokens { bytes, .. } | Body::Splice { bytes, .. }, Some(id)) =
            (&event.body, event.thread)
        {
            self.read(id, &bytes.0);
        }
        if matches!(event.body, Body::Tokens { .. }) {
            self.seen = self.seen.max(event.last_step());
        }
    }

    fn read(&mut self, id: ThreadId, bytes: &[u8]) {
        if !self.rules.iter().any(|r| r.pattern.is_some()) {
            return;
        }
        let tail = self.tails.entry(id).or_default();
        let old = tail.bytes.len();
        tail.bytes.extend_from_slice(bytes);
        for rule in &mut self.rules {
            let (Some(pattern), Breakpoint::Text { thread, .. }) = (&rule.pattern, &rule.record.on)
            else {
                continue;
            };
            if thread.is_some_and(|wanted| wanted != id) {
                continue;
            }
            let mut from = usize::from(tail.base > 0);
            while let Some(found) = pattern.find_at(&tail.bytes, from.min(tail.bytes.len())) {
                let begins = tail.base + found.start();
                let grown = rule.met.get(&id).is_some_and(|met| begins <= *met);
                if found.end() > old && !found.is_empty() && !grown {
                    rule.met.insert(id, begins);
                    self.hits.push(Hit {
                        on: rule.record.on.clone(),
                        set_by: rule.record.seq,
                        thread: Some(id),
                    });
                    break;
                }
                from = found.end().max(found.start() + 1);
                if from > tail.bytes.len() {
                    break;
                }
            }
        }
        // One byte more, so that the beginning of a line is known.
        let surplus = tail.bytes.len().saturating_sub(REACH + 1);
        tail.bytes.drain(..surplus);
        tail.base += surplus;
    }

    /// Says whether the organizer stands inside its answer.
    fn organizer_answers(&mut self, answers: bool) {
        if answers && !self.answering {
            let rule = self
                .rules
                .iter()
                .find(|r| r.record.on == Breakpoint::Answer);
            self.hits.extend(rule.map(|rule| Hit {
                on: Breakpoint::Answer,
                set_by: rule.record.seq,
                thread: Some(ThreadId::ORGANIZER),
            }));
        }
        self.answering = answers;
    }

    /// Takes what was met since the last time, each breakpoint once.
    fn take(&mut self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        for hit in self.hits.drain(..) {
            if !hits.iter().any(|h| h.on == hit.on) {
                hits.push(hit);
            }
        }
        hits
    }
}

/// Whether an event meets a breakpoint, and whose doing it is. Text is not looked at.
fn meets(
    on: &Breakpoint,
    event: &Event,
    org: &Organization,
    seen: Step,
) -> Option<Option<ThreadId>> {
    let met = match (on, &event.body) {
        (Breakpoint::Fork(wanted), Body::Action { action, child, .. }) => {
            *action == ActionKind::Fork && serves(*wanted, *child)
        }
        (Breakpoint::Join(wanted), Body::Action { action, child, .. }) => {
            *action == ActionKind::Join && serves(*wanted, *child)
        }
        (Breakpoint::Return(wanted), Body::Action { action, .. }) => {
            *action == ActionKind::Return && serves(*wanted, event.thread)
        }
        (Breakpoint::Error(wanted), Body::Error { error, .. }) => {
            wanted.is_none_or(|kind| kind == *error)
        }
        (Breakpoint::Step(step), Body::Tokens { .. }) => {
            return (seen < *step && event.last_step() >= *step).then_some(None);
        }
        (Breakpoint::Tokens { thread, over }, Body::Tokens { ids, .. }) => {
            let id = event.thread?;
            let whose = match thread {
                Some(wanted) => *wanted == id,
                None => !id.is_organizer(),
            };
            let before = org.thread(id).map_or(0, |t| t.tokens);
            whose && before <= *over && before + ids.len() as u64 > *over
        }
        _ => false,
    };
    met.then_some(event.thread)
}

/// Whether `id` is the wanted worker, or a later bearer of its index.
fn serves(wanted: Option<ThreadId>, id: Option<ThreadId>) -> bool {
    let Some(wanted) = wanted else { return true };
    id.is_some_and(|id| {
        id == wanted
            || (wanted.bearer() == 1
                && wanted.index() == id.index()
                && wanted.parent() == id.parent())
    })
}

impl Session {
    /// Stops at the breakpoints that were met since the last step boundary.
    pub(super) fn heed_breakpoints(&mut self) {
        let answers = self
            .runners
            .get(&ThreadId::ORGANIZER)
            .is_some_and(|r| matches!(r.scanner.position(), Position::InAnswer | Position::Done));
        self.emitter.watch.organizer_answers(answers);
        let hits = self.emitter.watch.take();
        if hits.is_empty() {
            return;
        }
        for hit in hits {
            let name = match hit.thread {
                Some(thread) => format!("breakpoint {}, {thread}", hit.on),
                None => format!("breakpoint {}", hit.on),
            };
            let (by, cause) = (Author::System, Some(hit.set_by));
            self.emitter
                .emit(by, hit.thread, cause, Body::Mark { name });
        }
        self.stepping = None;
        if !self.over() && !self.emitter.org.paused {
            self.command(Command::Pause { thread: None }, Author::System);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{BranchId, TextBytes};

    fn watch(specs: &[&str]) -> Watch {
        let list: Vec<BreakpointRecord> = specs
            .iter()
            .map(|spec| BreakpointRecord {
                on: spec.parse().unwrap(),
                active: true,
                seq: Seq(0),
            })
            .collect();
        let mut watch = Watch::default();
        watch.set(&list, Step(0));
        watch
    }

    fn text(watch: &mut Watch, step: u64, text: &str) -> Vec<String> {
        let event = Event {
            seq: Seq(step),
            us: 0,
            step: Step(step),
            branch: BranchId(0),
            thread: ThreadId::worker(1),
            by: Author::Model,
            cause: None,
            body: Body::Tokens {
                ids: vec![1],
                bytes: TextBytes(text.as_bytes().to_vec()),
                lens: vec![u32::try_from(text.len()).unwrap()],
                logprobs: vec![],
                top: vec![],
            },
        };
        watch.note(&event, &Organization::new(4, 0.5));
        watch.take().iter().map(|h| h.on.to_string()).collect()
    }

    #[test]
    fn a_match_over_the_border_of_tokens_is_met_once_while_it_grows() {
        let mut w = watch(&["text:wr[a-z]+"]);
        let met: Vec<usize> = ["it is w", "ro", "ng", ", wrong", "!"]
            .iter()
            .zip(1..)
            .map(|(t, step)| text(&mut w, step, t).len())
            .collect();
        assert_eq!(met, [0, 1, 0, 1, 0]);
    }

    #[test]
    fn lines_begin_where_they_begin_however_long_the_text() {
        let mut w = watch(&["text:^stop"]);
        for step in 1..2000 {
            assert!(text(&mut w, step, "no stop ").is_empty());
        }
        assert!(text(&mut w, 2000, "\nsto").is_empty());
        assert_eq!(text(&mut w, 2001, "p"), ["text:^stop"]);
    }

    #[test]
    fn a_step_is_met_once_by_whoever_decodes_first() {
        let mut w = watch(&["step:3"]);
        let met: Vec<usize> = [1, 2, 3, 3, 4]
            .iter()
            .map(|step| text(&mut w, *step, "x").len())
            .collect();
        assert_eq!(met, [0, 0, 1, 0, 0]);
    }

    #[test]
    fn an_expression_that_matches_nothing_at_all_stops_nothing() {
        let mut w = watch(&["text:x*"]);
        assert!(text(&mut w, 1, "abc").is_empty());
        assert_eq!(text(&mut w, 2, "x").len(), 1);
    }
}

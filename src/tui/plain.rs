//! The line log: what happens, one line at a time, for pipes, dumb terminals and screen readers.
//!
//! No escape codes, no cursor movement, nothing ever rewritten. Text is printed at its line ends, when
//! it gets long, and before anything else of the same thread; a thread's name leads every line. It
//! holds at most one unfinished line per running thread.

mod words;

pub use words::run_end_words;

use super::sign::end_word;
use super::text::{Sanitizer, safe_line};
use crate::org::{
    ActionKind, Body, Event, Outcome, PlanChange, SpliceKind, ThreadId, Verdict, WaitOn,
};
use std::collections::BTreeMap;
use std::io::{self, Write};
use words::command_words;

/// Characters after which a line is broken at the next space, and after which it is broken anywhere.
const LONG: usize = 100;
const LONGEST: usize = 240;

#[derive(Default)]
struct Line {
    sanitizer: Sanitizer,
    text: String,
}

/// Turns events into lines.
#[derive(Default)]
pub struct PlainLog {
    lines: BTreeMap<ThreadId, Line>,
    commands: BTreeMap<u64, &'static str>,
}

impl PlainLog {
    /// Prints what `event` completes.
    ///
    /// # Errors
    /// Whatever writing to `out` gives.
    pub fn event(&mut self, event: &Event, out: &mut impl Write) -> io::Result<()> {
        let thread = event.thread.unwrap_or(ThreadId::ORGANIZER);
        match &event.body {
            Body::Tokens { bytes, .. } => self.text(thread, &bytes.0, out),
            Body::Keyframe { .. } | Body::Unknown => Ok(()),
            body => {
                if event.thread.is_some() {
                    self.flush(thread, out)?;
                } else {
                    self.finish(out)?;
                }
                self.say(event, thread, body, out)
            }
        }
    }

    /// Prints all unfinished lines.
    ///
    /// # Errors
    /// Whatever writing to `out` gives.
    pub fn finish(&mut self, out: &mut impl Write) -> io::Result<()> {
        let threads: Vec<ThreadId> = self.lines.keys().copied().collect();
        for thread in threads {
            self.flush(thread, out)?;
        }
        out.flush()
    }

    fn text(&mut self, thread: ThreadId, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        let line = self.lines.entry(thread).or_default();
        line.sanitizer.push(bytes, &mut line.text);
        while let Some((head, rest)) = cut(&line.text) {
            if !head.trim().is_empty() {
                writeln!(out, "[{thread}] {}", head.trim_end())?;
            }
            line.text.drain(..rest);
        }
        Ok(())
    }

    fn flush(&mut self, thread: ThreadId, out: &mut impl Write) -> io::Result<()> {
        if let Some(mut line) = self.lines.remove(&thread) {
            line.sanitizer.finish(&mut line.text);
            for text in line.text.lines().filter(|l| !l.trim().is_empty()) {
                writeln!(out, "[{thread}] {}", text.trim_end())?;
            }
        }
        Ok(())
    }

    fn say(
        &mut self,
        event: &Event,
        thread: ThreadId,
        body: &Body,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let step = event.step;
        match body {
            Body::Thread { query, seat, .. } => {
                let by = if seat.is_model() {
                    String::new()
                } else {
                    format!(" ({seat})")
                };
                let query = safe_line(query);
                writeln!(out, "[{thread}] step {step}: begins{by}: {query}")
            }
            Body::Action {
                action,
                child,
                text,
                ..
            } => {
                let child = child.map(|c| c.to_string()).unwrap_or_default();
                let text = safe_line(text);
                match action {
                    ActionKind::Fork => {
                        writeln!(out, "[{thread}] step {step}: forks {child}: {text}")
                    }
                    ActionKind::Join => writeln!(out, "[{thread}] step {step}: joins {child}"),
                    ActionKind::Return => writeln!(out, "[{thread}] step {step}: returns: {text}"),
                    ActionKind::Answer => writeln!(out, "[{thread}] step {step}: answers: {text}"),
                }
            }
            Body::Veto { ids, bytes } => {
                let text = String::from_utf8_lossy(&bytes.0);
                let (count, text) = (ids.len(), safe_line(text.trim()));
                writeln!(
                    out,
                    "[{thread}] step {step}: the guard refused {count} tokens: {text}"
                )
            }
            Body::Wait { on } => match on {
                WaitOn::Join(child) => writeln!(out, "[{thread}] step {step}: waits for {child}"),
                WaitOn::Slot(child) => {
                    writeln!(out, "[{thread}] step {step}: waits for a slot for {child}")
                }
            },
            Body::Resume => writeln!(out, "[{thread}] step {step}: goes on"),
            Body::Splice {
                splice, bytes, of, ..
            } => {
                let text = String::from_utf8_lossy(&bytes.0);
                let text = safe_line(text.trim());
                match (splice, of) {
                    (SpliceKind::Result, Some(of)) => {
                        writeln!(out, "[{thread}] step {step}: result of {of}: {text}")
                    }
                    _ => writeln!(
                        out,
                        "[{thread}] step {step}: put in by {}: {text}",
                        event.by
                    ),
                }
            }
            Body::Command { command } => {
                self.commands.insert(event.seq.0, command.name());
                let words = command_words(command);
                writeln!(out, "step {step}: asked: {}", safe_line(&words))
            }
            Body::Effect { outcome } => {
                let name = match (event.cause, outcome) {
                    (Some(cause), Outcome::Queued { .. }) => self.commands.get(&cause.0).copied(),
                    (Some(cause), _) => self.commands.remove(&cause.0),
                    (None, _) => None,
                }
                .unwrap_or("command");
                match outcome {
                    Outcome::Done => writeln!(out, "step {step}: {name}: done"),
                    Outcome::Unfired => writeln!(out, "step {step}: {name}: never came due"),
                    Outcome::Queued { why } => {
                        writeln!(out, "step {step}: {name}: queued: {}", safe_line(why))
                    }
                    Outcome::Refused { why } => {
                        writeln!(out, "step {step}: {name}: refused: {}", safe_line(why))
                    }
                }
            }
            Body::Error { error, message, .. } => writeln!(
                out,
                "[{thread}] step {step}: error {error:?}: {}",
                safe_line(message)
            ),
            Body::End { end } => writeln!(out, "[{thread}] step {step}: {}", end_word(*end)),
            Body::RunEnd {
                end,
                answer,
                metrics,
            } => {
                writeln!(
                    out,
                    "step {step}: the run is over: {}; T {}, work {}, eta {:.2}, {:.1} tok/s",
                    run_end_words(*end),
                    metrics.latency,
                    metrics.work,
                    metrics.eta,
                    metrics.tok_per_s
                )?;
                match answer {
                    Some(answer) => writeln!(out, "answer: {}", safe_line(answer.trim())),
                    None => Ok(()),
                }
            }
            Body::Branch { from, turn, .. } => writeln!(
                out,
                "branch {} ({}): goes on from step {} of branch {}",
                event.branch,
                turn.word(),
                from.step,
                from.branch
            ),
            Body::Ask {
                number, ask, text, ..
            } => writeln!(
                out,
                "[{thread}] step {step}: request {number}: {} waits for approval: {}",
                ask.name(),
                safe_line(text)
            ),
            Body::Decided {
                number, verdict, ..
            } => {
                let verdict = match verdict {
                    Verdict::Approved => "approved",
                    Verdict::Denied => "denied",
                    Verdict::Lapsed => "lapsed",
                };
                writeln!(out, "step {step}: request {number}: {verdict}")
            }
            Body::Plan { change } => match change {
                PlanChange::Draft(draft) => writeln!(
                    out,
                    "step {step}: draft {}: {}",
                    draft.draft,
                    safe_line(&draft.query)
                ),
                PlanChange::Release => writeln!(out, "step {step}: the plan is released"),
                PlanChange::Clear => writeln!(out, "step {step}: the plan is dropped"),
                PlanChange::Refused { draft } => {
                    writeln!(out, "step {step}: draft {draft} cannot be forked")
                }
            },
            Body::Mark { name } => writeln!(out, "step {step}: mark: {}", safe_line(name)),
            Body::Tokens { .. } | Body::Keyframe { .. } | Body::Unknown => Ok(()),
        }
    }
}

/// The next line of `text` and the byte after it, if one is complete or too long.
fn cut(text: &str) -> Option<(&str, usize)> {
    if let Some(end) = text.find('\n') {
        let mut cut = end;
        if end > LONGEST {
            cut = boundary(text, LONGEST);
            return Some((&text[..cut], cut));
        }
        return Some((&text[..cut], end + 1));
    }
    if text.len() <= LONG {
        return None;
    }
    let from = boundary(text, LONG);
    if let Some(space) = text[from..].find(' ') {
        let end = from + space;
        return (end <= LONGEST).then(|| (&text[..end], end + 1));
    }
    (text.len() > LONGEST).then(|| {
        let end = boundary(text, LONGEST);
        (&text[..end], end)
    })
}

fn boundary(text: &str, near: usize) -> usize {
    (near.min(text.len())..=text.len())
        .find(|i| text.is_char_boundary(*i))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{Author, BranchId, Seq, Step, TextBytes, ThreadEnd};

    fn event(thread: Option<u16>, body: Body) -> Event {
        Event {
            seq: Seq(0),
            us: 0,
            step: Step(3),
            branch: BranchId(0),
            thread: thread.map(|t| ThreadId::worker(t).unwrap_or(ThreadId::ORGANIZER)),
            by: Author::Model,
            cause: None,
            body,
        }
    }

    fn tokens(thread: u16, text: &[u8]) -> Event {
        event(
            Some(thread),
            Body::Tokens {
                ids: vec![1],
                bytes: TextBytes(text.to_vec()),
                lens: vec![u32::try_from(text.len()).unwrap()],
                logprobs: vec![],
                top: vec![],
            },
        )
    }

    fn log(events: &[Event]) -> String {
        let mut out = Vec::new();
        let mut plain = PlainLog::default();
        for event in events {
            plain.event(event, &mut out).unwrap();
        }
        plain.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_of_threads_that_decode_at_once_stays_in_whole_lines() {
        let text = log(&[
            tokens(1, b"one "),
            tokens(2, b"two "),
            tokens(1, b"more\n"),
            tokens(2, b"rest"),
            event(
                Some(2),
                Body::End {
                    end: ThreadEnd::Killed,
                },
            ),
        ]);
        assert_eq!(text, "[1] one more\n[2] two rest\n[2] step 3: killed\n");
    }

    #[test]
    fn nothing_that_could_drive_a_terminal_gets_out() {
        let hostile = b"a\x1b]52;c;aGk=\x07b\x9b2J\xe2\x80\xaec\rd\n";
        for split in 0..hostile.len() {
            let text = log(&[tokens(1, &hostile[..split]), tokens(1, &hostile[split..])]);
            assert!(
                text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains('\u{202e}'),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_line_without_end_is_cut_and_nothing_is_lost() {
        let long = "x".repeat(2000);
        let text = log(&[tokens(1, long.as_bytes())]);
        assert!(text.lines().all(|l| l.len() <= LONGEST + 4));
        assert_eq!(text.matches('x').count(), 2000);
    }
}

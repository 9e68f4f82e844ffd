//! Does a session agree with itself? Folds it again, hashes its text again, scans that text for actions
//! again, computes its metrics again, and compares with what was recorded.
//!
//! How text is scanned is the protocol's business: it comes in as a [`Rescan`].

use super::damage::Report;
use super::error::OpenError;
use super::header::Header;
use super::history::{History, stands};
use super::reader::{Recorded, SessionFile};
use super::text::{TextPiece, Texts};
use crate::org::{
    ActionKind, Body, Draft, ErrorKind, Metrics, Organization, Place, PlanChange, Role, Seq,
    TextMark, TextStand, ThreadEnd, ThreadId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Scans text for actions.
pub trait Rescan {
    /// A scanner for the text of one thread.
    fn thread(&self, header: &Header, id: ThreadId, role: Role) -> Box<dyn ThreadRescan>;
}

/// Scans the text of one thread, piece by piece.
pub trait ThreadRescan {
    /// The actions that are complete with `piece`, splices included in the pieces but not in what is
    /// scanned.
    fn piece(&mut self, piece: &TextPiece) -> Vec<Found>;
}

/// An action as it stands in the text, whether or not it could take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Bytes `[from, to)` of the thread's text, tag to tag.
    pub span: (u64, u64),
    /// Which.
    pub action: ActionKind,
}

/// One thing on which a session disagrees with itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Disagreement {
    /// The line of the record, the header being line 1.
    pub line: u64,
    /// Its event.
    pub seq: Seq,
    /// On what.
    pub about: About,
}

/// What a disagreement is about.
#[derive(Debug, Clone, PartialEq)]
pub enum About {
    /// The state in a keyframe or branch is not the fold of the events before it.
    State,
    /// The text of a thread is not what a keyframe says.
    Text {
        /// Whose.
        thread: ThreadId,
        /// What the keyframe says.
        recorded: Option<TextMark>,
        /// What the records give.
        computed: Option<TextMark>,
    },
    /// An action or error that is not in the text.
    NotInText {
        /// Whose.
        thread: ThreadId,
        /// Where it should be.
        span: (u64, u64),
    },
    /// An action in the text of which nothing is recorded.
    NotRecorded {
        /// Whose.
        thread: ThreadId,
        /// The action.
        found: Found,
    },
    /// A measure.
    Metric {
        /// Which.
        name: &'static str,
        /// What the file says.
        recorded: f64,
        /// What the events give.
        computed: f64,
    },
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: event {}: ", self.line, self.seq)?;
        match &self.about {
            About::State => f.write_str("the state in it is not what the events before it give"),
            About::Text {
                thread,
                recorded,
                computed,
            } => {
                let bytes = |mark: &Option<TextMark>| mark.as_ref().map_or(0, |m| m.bytes);
                let (recorded, computed) = (bytes(recorded), bytes(computed));
                write!(f, "the text of {thread} differs from its keyframe: ")?;
                if recorded == computed {
                    f.write_str("same length, another hash")
                } else {
                    write!(f, "{recorded} bytes recorded, {computed} found")
                }
            }
            About::NotInText { thread, span } => write!(
                f,
                "recorded at bytes {}..{} of {thread}, where the text holds no such action",
                span.0, span.1
            ),
            About::NotRecorded { thread, found } => write!(
                f,
                "{:?} at bytes {}..{} of {thread} is in the text, but nothing is recorded of it",
                found.action, found.span.0, found.span.1
            ),
            About::Metric {
                name,
                recorded,
                computed,
            } => write!(
                f,
                "{name} is {recorded} in the file, {computed} by its events"
            ),
        }
    }
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verified {
    /// In file order; empty: the session agrees with itself.
    pub disagreements: Vec<Disagreement>,
    /// What is wrong with the file.
    pub report: Report,
    /// Keyframes compared.
    pub keyframes: u64,
    /// Branches compared.
    pub branches: u64,
    /// Actions and errors compared.
    pub actions: u64,
    /// Measures computed from all events.
    pub metrics: Metrics,
}

/// Verifies the session at `path`.
///
/// # Errors
/// [`OpenError`] when the file does not open or cannot be read any more.
pub fn verify(path: &Path, rescan: &dyn Rescan) -> Result<Verified, OpenError> {
    let file = SessionFile::open(path)?;
    let mut check = Check {
        header: file.header(),
        rescan,
        state: Organization::new(file.header().capacity, file.header().tau),
        told: None,
        texts: Texts::default(),
        history: file.has_branches().unwrap_or(false).then(History::default),
        spoiled: BTreeSet::new(),
        scans: BTreeMap::new(),
        verified: Verified::default(),
    };
    let mut events = file.events();
    for recorded in &mut events {
        check.event(recorded.map_err(|source| OpenError::Io {
            path: path.to_owned(),
            source,
        })?);
    }
    check.leftovers();
    let mut verified = check.verified;
    verified.metrics = check.state.metrics();
    verified.report = events.report().clone();
    verified.disagreements.sort_by_key(|d| d.line);
    Ok(verified)
}

struct Scanned {
    found: Found,
    line: u64,
    seq: Seq,
    recorded: bool,
}

struct ThreadScan {
    scan: Box<dyn ThreadRescan>,
    bytes: u64,
    found: Vec<Scanned>,
}

struct Check<'a> {
    header: &'a Header,
    rescan: &'a dyn Rescan,
    state: Organization,
    /// The fold on from the last keyframe that disagreed: what follows from it is said once.
    told: Option<Organization>,
    texts: Texts,
    /// What branches go back to, where there are any.
    history: Option<History>,
    /// Threads whose text is known to differ: said once.
    spoiled: BTreeSet<ThreadId>,
    scans: BTreeMap<ThreadId, ThreadScan>,
    verified: Verified,
}

impl Check<'_> {
    fn disagree(&mut self, line: u64, seq: Seq, about: About) {
        self.verified
            .disagreements
            .push(Disagreement { line, seq, about });
    }

    fn event(&mut self, recorded: Recorded) {
        let (event, line) = (&recorded.event, recorded.line);
        match (&event.body, event.thread) {
            (Body::Keyframe { state, texts, .. }, _) => {
                self.verified.keyframes += 1;
                let agrees = |fold: &Organization| fold.same_as(state);
                if agrees(&self.state) {
                    self.told = None;
                } else if !self.told.as_ref().is_some_and(agrees) {
                    self.disagree(line, event.seq, About::State);
                    self.told = Some((**state).clone());
                }
                self.compare_texts(texts, line, event.seq);
            }
            (
                Body::Branch {
                    from, state, texts, ..
                },
                _,
            ) => self.turn(&recorded, *from, state, texts),
            (Body::Thread { role, .. }, Some(id)) => {
                self.spoiled.remove(&id);
                self.close(id);
                let scan = ThreadScan {
                    scan: self.rescan.thread(self.header, id, *role),
                    bytes: 0,
                    found: Vec::new(),
                };
                self.scans.insert(id, scan);
            }
            (Body::Action { action, span, .. }, Some(id)) if event.in_text() => {
                self.verified.actions += 1;
                let known = self.mark(id, |f| f.span == *span && f.action == *action);
                if !known {
                    let about = About::NotInText {
                        thread: id,
                        span: *span,
                    };
                    self.disagree(line, event.seq, about);
                }
            }
            (
                Body::Error {
                    error,
                    span: Some(span),
                    ..
                },
                Some(id),
            ) => {
                self.verified.actions += 1;
                if !self.mark(id, |f| f.span == *span) && names_an_action(*error) {
                    let about = About::NotInText {
                        thread: id,
                        span: *span,
                    };
                    self.disagree(line, event.seq, about);
                }
            }
            // What waited for a person's word, or stood on the board, was read in the text too.
            (
                Body::Ask {
                    span: Some(span), ..
                }
                | Body::Plan {
                    change:
                        PlanChange::Draft(Draft {
                            span: Some(span), ..
                        }),
                },
                Some(id),
            ) => {
                self.verified.actions += 1;
                if !self.mark(id, |f| f.span == *span) {
                    let about = About::NotInText {
                        thread: id,
                        span: *span,
                    };
                    self.disagree(line, event.seq, about);
                }
            }
            (Body::RunEnd { metrics, .. }, _) => {
                let computed = self.state.metrics();
                self.compare_metrics(metrics, &computed, &recorded);
            }
            _ => {}
        }
        if let Some(history) = &mut self.history {
            history.push(recorded.event.clone());
        }
        self.state.apply(&recorded.event);
        if let Some(told) = &mut self.told {
            told.apply(&recorded.event);
        }
        self.texts.apply(&recorded.event, recorded.offset);
        self.scan_text(recorded);
    }

    /// The organization goes to `from`: what is claimed to be there must be there, and scanning goes on
    /// from there. What was not acted on when a line was left stays so.
    fn turn(
        &mut self,
        recorded: &Recorded,
        from: Place,
        state: &Organization,
        texts: &BTreeMap<ThreadId, TextStand>,
    ) {
        let (line, seq) = (recorded.line, recorded.event.seq);
        let Some(history) = &self.history else { return };
        let contexts = history.contexts(from);
        let there = history.state(from, self.header).as_branch_state();
        let found = stands(&contexts);
        self.verified.branches += 1;
        if !there.same_as(state) {
            self.disagree(line, seq, About::State);
        }
        let ids: BTreeSet<ThreadId> = found.keys().chain(texts.keys()).copied().collect();
        for thread in ids {
            let (a, b) = (texts.get(&thread), found.get(&thread));
            if a != b {
                let mark = |stand: Option<&TextStand>| {
                    stand.map(|stand| TextMark {
                        bytes: stand.bytes,
                        hash: stand.hash.clone(),
                        last: 0,
                    })
                };
                let about = About::Text {
                    thread,
                    recorded: mark(a),
                    computed: mark(b),
                };
                self.disagree(line, seq, about);
            }
        }
        self.spoiled.clear();
        self.scans.clear();
        for (id, context) in contexts {
            let Some(thread) = there.thread(id) else {
                continue;
            };
            let mut scan = ThreadScan {
                scan: self.rescan.thread(self.header, id, thread.role),
                bytes: 0,
                found: Vec::new(),
            };
            for piece in &context.pieces {
                scan.bytes += piece.bytes.len() as u64;
                let found = scan.scan.piece(piece);
                scan.found.extend(found.into_iter().map(|found| Scanned {
                    found,
                    line,
                    seq,
                    recorded: false,
                }));
            }
            let acted = usize::try_from(thread.acted).unwrap_or(usize::MAX);
            scan.found
                .iter_mut()
                .take(acted)
                .for_each(|scanned| scanned.recorded = true);
            self.scans.insert(id, scan);
        }
    }

    fn scan_text(&mut self, recorded: Recorded) {
        let (line, seq) = (recorded.line, recorded.event.seq);
        let Some(thread) = recorded.event.thread.and_then(|id| self.scans.get_mut(&id)) else {
            return;
        };
        if let Some(piece) = TextPiece::of(recorded.event, thread.bytes) {
            thread.bytes += piece.bytes.len() as u64;
            let found = thread.scan.piece(&piece);
            thread.found.extend(found.into_iter().map(|found| Scanned {
                found,
                line,
                seq,
                recorded: false,
            }));
        }
    }

    /// Marks what fits as recorded; whether there is any.
    fn mark(&mut self, id: ThreadId, fits: impl Fn(&Found) -> bool) -> bool {
        let Some(thread) = self.scans.get_mut(&id) else {
            return false;
        };
        let mut known = false;
        for scanned in thread.found.iter_mut().filter(|s| fits(&s.found)) {
            scanned.recorded = true;
            known = true;
        }
        known
    }

    fn compare_texts(&mut self, recorded: &BTreeMap<ThreadId, TextMark>, line: u64, seq: Seq) {
        let computed = self.texts.marks();
        let ids: BTreeSet<ThreadId> = recorded.keys().chain(computed.keys()).copied().collect();
        for thread in ids {
            let (a, b) = (recorded.get(&thread), computed.get(&thread));
            if a != b && self.spoiled.insert(thread) {
                let about = About::Text {
                    thread,
                    recorded: a.cloned(),
                    computed: b.cloned(),
                };
                self.disagree(line, seq, about);
            }
        }
    }

    fn compare_metrics(&mut self, recorded: &Metrics, computed: &Metrics, at: &Recorded) {
        // The clock runs on between the last event and the moment of measuring.
        let latest = at.event.us as f64 / 1000.0;
        let wall = recorded
            .wall_ms
            .clamp(computed.wall_ms.min(latest), latest.max(computed.wall_ms));
        let rate = if wall > 0.0 {
            computed.decoded as f64 * 1000.0 / wall
        } else {
            0.0
        };
        let all = [
            ("T", recorded.latency as f64, computed.latency as f64),
            (
                "T without you",
                without_people(recorded),
                without_people(computed),
            ),
            ("eta", recorded.eta, computed.eta),
            ("eta/c", recorded.eta_over_c, computed.eta_over_c),
            ("R_eta", recorded.r_eta, computed.r_eta),
            ("work", recorded.work as f64, computed.work as f64),
            ("speedup", recorded.speedup, computed.speedup),
            (
                "lived steps",
                recorded.lived_steps as f64,
                computed.lived_steps as f64,
            ),
            ("decoded", recorded.decoded as f64, computed.decoded as f64),
            ("wall ms", recorded.wall_ms, wall),
            ("tokens/s", recorded.tok_per_s, rate),
        ];
        for (name, recorded, computed) in all {
            if (recorded - computed).abs() > 1e-9 * recorded.abs().max(computed.abs()).max(1.0) {
                let about = About::Metric {
                    name,
                    recorded,
                    computed,
                };
                self.disagree(at.line, at.event.seq, about);
            }
        }
    }

    /// Ends the scan of a thread: what was found must be recorded.
    fn close(&mut self, id: ThreadId) {
        let Some(thread) = self.scans.remove(&id) else {
            return;
        };
        for scanned in thread.found.into_iter().filter(|s| !s.recorded) {
            let about = About::NotRecorded {
                thread: id,
                found: scanned.found,
            };
            self.disagree(scanned.line, scanned.seq, about);
        }
    }

    fn leftovers(&mut self) {
        let ids: Vec<ThreadId> = self.scans.keys().copied().collect();
        for id in ids {
            // A thread that has not come to its own end may stand before what it wrote last.
            let own_end = |end| matches!(end, ThreadEnd::Answered | ThreadEnd::Returned);
            let stands = self
                .state
                .thread(id)
                .is_some_and(|t| !t.end().is_some_and(own_end));
            if let Some(scan) = self.scans.get_mut(&id).filter(|_| stands) {
                while scan.found.last().is_some_and(|last| !last.recorded) {
                    scan.found.pop();
                }
            }
            self.close(id);
        }
    }
}

/// Below 0 where no person wrote.
fn without_people(metrics: &Metrics) -> f64 {
    metrics.latency_without_people.map_or(-1.0, |t| t as f64)
}

/// Whether such an error is about one whole action in the text.
fn names_an_action(error: ErrorKind) -> bool {
    match error {
        ErrorKind::DuplicateIndex
        | ErrorKind::PoolOverflow
        | ErrorKind::JoinUnknown
        | ErrorKind::JoinTwice
        | ErrorKind::EmptyQuery => true,
        ErrorKind::UnclosedFork
        | ErrorKind::NoAnswer
        | ErrorKind::TokenLimit
        | ErrorKind::Engine
        | ErrorKind::Tool
        | ErrorKind::NoSuchSeat => false,
    }
}

//! Does a session agree with itself? Folds it again, hashes its text again, scans that text for actions
//! again, computes its metrics again, and compares with what was recorded.
//!
//! How text is scanned is the protocol's business: it comes in as a [`Rescan`].

mod disagreement;
mod measures;
mod scan;

pub use disagreement::{About, Disagreement};
pub use scan::{Found, Rescan, ThreadRescan};

use super::damage::Report;
use super::error::OpenError;
use super::header::Header;
use super::history::{History, stands};
use super::reader::{Recorded, SessionFile};
use super::text::{TextPiece, Texts};
use crate::org::{
    Body, Draft, Metrics, Organization, Place, PlanChange, Seq, TextMark, TextStand, ThreadEnd,
    ThreadId,
};
use scan::{ThreadScan, names_an_action};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
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
                let scan = ThreadScan::new(self.rescan.thread(self.header, id, *role));
                self.scans.insert(id, scan);
            }
            (Body::Action { action, span, .. }, Some(id)) if event.in_text() => {
                let known = self.mark(id, |f| f.span == *span && f.action == *action);
                self.unless_known(known, id, *span, &recorded);
            }
            (
                Body::Error {
                    error,
                    span: Some(span),
                    ..
                },
                Some(id),
            ) => {
                let known = self.mark(id, |f| f.span == *span) || !names_an_action(*error);
                self.unless_known(known, id, *span, &recorded);
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
                let known = self.mark(id, |f| f.span == *span);
                self.unless_known(known, id, *span, &recorded);
            }
            (Body::RunEnd { metrics, .. }, _) => {
                let computed = self.state.metrics();
                for about in measures::disagreeing(metrics, &computed, event.us) {
                    self.disagree(line, event.seq, about);
                }
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
            let mut scan = ThreadScan::new(self.rescan.thread(self.header, id, thread.role));
            for piece in &context.pieces {
                scan.piece(piece, line, seq);
            }
            scan.mark_first(usize::try_from(thread.acted).unwrap_or(usize::MAX));
            self.scans.insert(id, scan);
        }
    }

    fn scan_text(&mut self, recorded: Recorded) {
        let (line, seq) = (recorded.line, recorded.event.seq);
        let Some(thread) = recorded.event.thread.and_then(|id| self.scans.get_mut(&id)) else {
            return;
        };
        if let Some(piece) = TextPiece::of(recorded.event, thread.bytes()) {
            thread.piece(&piece, line, seq);
        }
    }

    /// Compares an action or error: marks what fits in the text of `id` as recorded; whether there is any.
    fn mark(&mut self, id: ThreadId, fits: impl Fn(&Found) -> bool) -> bool {
        self.verified.actions += 1;
        self.scans.get_mut(&id).is_some_and(|scan| scan.mark(fits))
    }

    /// Says that what is recorded is not in the text, unless it is.
    fn unless_known(&mut self, known: bool, thread: ThreadId, span: (u64, u64), at: &Recorded) {
        if !known {
            self.disagree(at.line, at.event.seq, About::NotInText { thread, span });
        }
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
    /// Ends the scan of a thread: what was found must be recorded.
    fn close(&mut self, id: ThreadId) {
        let Some(thread) = self.scans.remove(&id) else {
            return;
        };
        for scanned in thread.unrecorded() {
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
                scan.forget_last();
            }
            self.close(id);
        }
    }
}

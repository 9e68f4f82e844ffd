//! The board: until it is released, Forks stand there as drafts and the organizer stops at whatever it
//! does next.

use super::approval::changed_note;
use super::runner::{Deferred, Wrote};
use super::session::Session;
use super::steer::{fits_in_fork, refused};
use crate::org::rules::next_index;
use crate::org::{
    AskKind, Author, Body, Draft, Fate, Outcome, PlanChange, Seat, Seq, ThreadId, Verdict,
};
use crate::protocol::Found;

impl Session {
    /// Whether Forks go to the board.
    pub(super) fn planning(&self) -> bool {
        self.header.plan && !self.emitter.org.plan.released
    }

    /// Gives the finding back unless it became a draft, or has to wait for the plan.
    pub(super) fn unless_planned(&mut self, id: ThreadId, wrote: Wrote) -> Option<Wrote> {
        if !id.is_organizer() || !self.planning() {
            return Some(wrote);
        }
        match &wrote.finding.found {
            Found::Fork { index, query } if self.can_be_drafted(*index, query) => {
                let draft = Draft {
                    draft: self.next_draft(),
                    query: query.clone(),
                    seat: Seat::Model,
                    index: *index,
                    span: Some((wrote.finding.from, wrote.finding.to)),
                    edited: false,
                    fate: Fate::Stands,
                };
                self.change_plan(PlanChange::Draft(draft), wrote.by, None);
                None
            }
            // Wrong Forks are errors, as without a plan; with nothing planned there is nothing to wait for.
            Found::Fork { .. } => Some(wrote),
            _ if self.emitter.org.plan.standing().next().is_none() => Some(wrote),
            _ => {
                if let Some(runner) = self.runners.get_mut(&id) {
                    runner.pending.push_front(wrote);
                }
                self.ask(id, AskKind::Plan, None, String::new(), None);
                None
            }
        }
    }

    fn can_be_drafted(&self, index: u16, query: &str) -> bool {
        let org = &self.emitter.org;
        !query.is_empty()
            && org.newest_bearer(ThreadId::ORGANIZER, index).is_none()
            && org.plan.drafts.iter().all(|d| d.index != index)
    }

    fn next_draft(&self) -> u32 {
        u32::try_from(self.emitter.org.plan.drafts.len() + 1).unwrap_or(u32::MAX)
    }

    fn change_plan(&mut self, change: PlanChange, by: Author, cause: Option<Seq>) {
        let organizer = Some(ThreadId::ORGANIZER);
        self.emitter
            .emit(by, organizer, cause, Body::Plan { change });
    }

    /// Puts a sub-query on the board by hand.
    pub(super) fn add_draft(&mut self, query: &str, seat: Option<&Seat>, cause: Seq) -> Outcome {
        if let Err(refusal) = self.board_is_open() {
            return refusal;
        }
        let query = query.trim();
        if query.is_empty() {
            return refused("the sub-query is empty");
        }
        if let Some(refusal) = seat.and_then(|seat| self.seat_refusal(seat)) {
            return refusal;
        }
        let Some(index) = next_index(&self.emitter.org, ThreadId::ORGANIZER) else {
            return refused("no index is left");
        };
        if let Err(refusal) = fits_in_fork(query, index) {
            return refusal;
        }
        let draft = Draft {
            draft: self.next_draft(),
            query: query.to_owned(),
            seat: seat.cloned().unwrap_or_default(),
            index,
            span: None,
            edited: false,
            fate: Fate::Stands,
        };
        self.change_plan(PlanChange::Draft(draft), Author::Human, Some(cause));
        Outcome::Done
    }

    fn board_is_open(&self) -> Result<(), Outcome> {
        if self.planning() {
            Ok(())
        } else if self.header.plan {
            Err(refused("the plan was released already"))
        } else {
            Err(refused("this run has no plan: start it with --plan"))
        }
    }

    /// Whether draft `number` stands on an open board.
    pub(super) fn check_draft(&self, number: u32) -> Outcome {
        if let Err(refusal) = self.board_is_open() {
            return refusal;
        }
        match self.emitter.org.plan.draft(number) {
            Some(_) => Outcome::Done,
            None => refused(format!("there is no draft {number} on the board")),
        }
    }

    /// Whether draft `number` can be changed so; the effect changes it.
    pub(super) fn check_edit(
        &self,
        number: u32,
        query: Option<&str>,
        seat: Option<&Seat>,
    ) -> Outcome {
        let standing = self.check_draft(number);
        if standing != Outcome::Done {
            return standing;
        }
        if query.is_none() && seat.is_none() {
            return refused("nothing to change: expected a query or a seat");
        }
        if query.is_some_and(|query| query.trim().is_empty()) {
            return refused("the sub-query is empty");
        }
        let index = self.emitter.org.plan.draft(number).map_or(0, |d| d.index);
        if let Some(Err(refusal)) = query.map(|query| fits_in_fork(query, index)) {
            return refusal;
        }
        seat.and_then(|seat| self.seat_refusal(seat))
            .unwrap_or(Outcome::Done)
    }

    /// From now on Forks take effect, those on the board first.
    pub(super) fn release_plan(&mut self, cause: Seq) -> Outcome {
        if let Err(refusal) = self.board_is_open() {
            return refusal;
        }
        self.change_plan(PlanChange::Release, Author::Human, Some(cause));
        self.settle_plan_ask(Verdict::Approved, cause);
        let dropped: Vec<u16> = self
            .emitter
            .org
            .plan
            .drafts
            .iter()
            .filter(|d| d.fate == Fate::Dropped && d.span.is_some())
            .map(|d| d.index)
            .collect();
        for index in dropped {
            let text = format!(" [sub-query {index} dropped] ");
            self.note(ThreadId::ORGANIZER, text, cause);
        }
        self.follow_up();
        Outcome::Done
    }

    /// Takes everything off the board and lets the organizer go on.
    pub(super) fn drop_plan(&mut self, why: &str, cause: Seq) -> Outcome {
        self.settle_plan_ask(Verdict::Denied, cause);
        self.change_plan(PlanChange::Clear, Author::Human, Some(cause));
        let text = format!(" [plan denied{why}] ");
        self.note(ThreadId::ORGANIZER, text, cause);
        self.follow_up();
        Outcome::Done
    }

    fn settle_plan_ask(&mut self, verdict: Verdict, cause: Seq) {
        let number = self
            .emitter
            .org
            .open_asks()
            .find(|a| a.kind == AskKind::Plan)
            .map(|a| a.number);
        if let Some(number) = number {
            let body = Body::Decided {
                number,
                verdict,
                text: None,
            };
            let organizer = Some(ThreadId::ORGANIZER);
            self.emitter
                .emit(Author::Human, organizer, Some(cause), body);
        }
    }

    /// Forks the next draft of a released board; false if there is none.
    pub(super) fn fork_next_draft(&mut self) -> bool {
        let org = &self.emitter.org;
        if !org.plan.released {
            return false;
        }
        let Some(draft) = org.plan.standing().next().cloned() else {
            return false;
        };
        let organizer = ThreadId::ORGANIZER;
        // The command that released it.
        let cause = org
            .commands
            .iter()
            .rev()
            .find(|c| {
                matches!(
                    c.command,
                    crate::org::Command::PlanRelease | crate::org::Command::Approve { .. }
                )
            })
            .map(|c| c.seq);
        let author = if draft.span.is_some() {
            Author::Model
        } else {
            Author::Human
        };
        if let Some((kind, why)) = self.cannot_fork(organizer, draft.index, &draft.query) {
            let change = PlanChange::Refused { draft: draft.draft };
            self.change_plan(change, Author::System, cause);
            self.refuse_fork(organizer, kind, why);
            return true;
        }
        if let Some(child) = organizer.child(draft.index, 1)
            && draft.seat != Seat::Model
        {
            self.address(child, Some(&draft.seat));
        }
        let span = match draft.span {
            Some(span) => {
                if let (true, Some(cause)) = (draft.edited, cause) {
                    self.note(organizer, changed_note(draft.index, &draft.query), cause);
                }
                span
            }
            None => {
                let at = self.runners.get(&organizer).map_or(0, |r| r.text_len);
                let late = Deferred::fork(draft.index, &draft.query, cause);
                self.splice_or_defer(organizer, late);
                (at, at)
            }
        };
        if self.over() {
            return false;
        }
        self.fork(organizer, draft.index, draft.query, span, (author, cause));
        true
    }
}

//! The board: sub-queries that stand as drafts until the plan is released.

use super::command::Command;
use super::ids::ThreadId;
use super::seat::Seat;
use serde::{Deserialize, Serialize};

/// A sub-query on the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// How commands name it, 1, 2, …; it keeps its number wherever it is moved.
    pub draft: u32,
    /// The sub-query.
    pub query: String,
    /// Who will serve it.
    #[serde(default, skip_serializing_if = "Seat::is_model")]
    pub seat: Seat,
    /// Its sub-query index.
    pub index: u16,
    /// Where the organizer's text holds its Fork; `None` for one that a command put on the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(u64, u64)>,
    /// Whether the sub-query is another than the organizer wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// What became of it.
    #[serde(default)]
    pub fate: Fate,
}

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It stands on the board.
    #[default]
    Stands,
    /// It was taken off.
    Dropped,
    /// It became a worker, or waits for a slot.
    Forked,
}

/// A change of the board that no command names by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum PlanChange {
    /// A new draft, last in order.
    Draft(Draft),
    /// From here on Forks take effect; those on the board first.
    Release,
    /// Everything was taken off.
    Clear,
    /// A released draft could not be forked.
    Refused {
        /// Which.
        draft: u32,
    },
}

/// The board.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanBoard {
    /// Drafts in the order in which they will be forked.
    pub drafts: Vec<Draft>,
    /// Whether it was released.
    #[serde(default)]
    pub released: bool,
}

impl PlanBoard {
    /// Whether nothing was ever planned.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.drafts.is_empty() && !self.released
    }

    /// Drafts that stand, in order.
    pub fn standing(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter().filter(|d| d.fate == Fate::Stands)
    }

    /// The draft called `number`, if it stands.
    #[must_use]
    pub fn draft(&self, number: u32) -> Option<&Draft> {
        self.standing().find(|d| d.draft == number)
    }

    /// Folds a recorded change.
    pub fn change(&mut self, change: &PlanChange) {
        match change {
            PlanChange::Draft(draft) => self.drafts.push(draft.clone()),
            PlanChange::Release => self.released = true,
            PlanChange::Clear => self
                .drafts
                .iter_mut()
                .filter(|d| d.fate == Fate::Stands)
                .for_each(|d| d.fate = Fate::Dropped),
            PlanChange::Refused { draft } => self.drop_draft(*draft),
        }
    }

    /// Folds a command that took effect.
    pub fn command(&mut self, command: &Command) {
        match command {
            Command::PlanEdit { draft, query, seat } => {
                if let Some(own) = self.drafts.iter_mut().find(|d| d.draft == *draft) {
                    if let Some(query) = query {
                        own.edited |= own.query != query.trim();
                        query.trim().clone_into(&mut own.query);
                    }
                    if let Some(seat) = seat {
                        own.seat = seat.clone();
                    }
                }
            }
            Command::PlanDrop { draft } => self.drop_draft(*draft),
            Command::PlanMove { draft, to } => self.shift(*draft, *to),
            _ => {}
        }
    }

    /// A worker was forked: its draft is done.
    pub fn forked(&mut self, child: ThreadId) {
        if !self.released || child.depth() != 1 {
            return;
        }
        let own = self
            .drafts
            .iter_mut()
            .find(|d| d.fate == Fate::Stands && Some(d.index) == child.index());
        if let Some(own) = own {
            own.fate = Fate::Forked;
        }
    }

    fn drop_draft(&mut self, draft: u32) {
        if let Some(own) = self.drafts.iter_mut().find(|d| d.draft == draft) {
            own.fate = Fate::Dropped;
        }
    }

    /// Puts a draft at place `to` (1-based) among those that stand.
    fn shift(&mut self, draft: u32, to: u32) {
        let Some(from) = self.drafts.iter().position(|d| d.draft == draft) else {
            return;
        };
        let own = self.drafts.remove(from);
        let wanted = usize::try_from(to.max(1) - 1).unwrap_or(usize::MAX);
        let place = self
            .drafts
            .iter()
            .enumerate()
            .filter(|(_, d)| d.fate == Fate::Stands)
            .map(|(i, _)| i)
            .nth(wanted)
            .unwrap_or(self.drafts.len());
        self.drafts.insert(place, own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(n: u32) -> PlanBoard {
        let mut board = PlanBoard::default();
        for draft in 1..=n {
            board.change(&PlanChange::Draft(Draft {
                draft,
                query: format!("q{draft}"),
                seat: Seat::Model,
                index: u16::try_from(draft).unwrap(),
                span: None,
                edited: false,
                fate: Fate::Stands,
            }));
        }
        board
    }

    fn order(board: &PlanBoard) -> Vec<u32> {
        board.standing().map(|d| d.draft).collect()
    }

    #[test]
    fn a_draft_moves_to_its_place_among_those_that_stand() {
        let mut board = board(4);
        board.command(&Command::PlanDrop { draft: 2 });
        board.command(&Command::PlanMove { draft: 4, to: 1 });
        assert_eq!(order(&board), [4, 1, 3]);
        board.command(&Command::PlanMove { draft: 4, to: 2 });
        assert_eq!(order(&board), [1, 4, 3]);
        board.command(&Command::PlanMove { draft: 1, to: 99 });
        assert_eq!(order(&board), [4, 3, 1]);
    }

    #[test]
    fn only_a_changed_sub_query_counts_as_edited() {
        let mut board = board(1);
        let edit = |query: &str| Command::PlanEdit {
            draft: 1,
            query: Some(query.into()),
            seat: None,
        };
        board.command(&edit(" q1 "));
        assert!(!board.drafts[0].edited);
        board.command(&edit("other"));
        assert!(board.drafts[0].edited);
    }
}

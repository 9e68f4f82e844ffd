//! Sudoku 4×4: rows, columns and the four boxes hold 1 to 4.
//!
//! An instance is written as its sixteen cells, row by row, with `.` (or `0`, `_`) for an open one:
//! `sudoku 1... ..2. .3.. ...4`.

use super::checked::{Checked, Found, Wrong};
use super::rng::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Cells of a grid.
pub const CELLS: usize = 16;
/// Fewest clues that can make a solution unique.
pub const FEWEST_CLUES: usize = 4;

type Cells = [u8; CELLS];

/// One instance; its solution is unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sudoku {
    /// 0 for an open cell.
    cells: Cells,
}

/// Why a spec is no instance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSudoku {
    /// Not sixteen cells.
    #[error("{0} cells: expected 16, row by row, like `sudoku 1... ..2. .3.. ...4`")]
    Count(usize),
    /// Something that is no cell.
    #[error("{0:?} is no cell: expected 1 to 4, or `.` for an open one")]
    Cell(char),
    /// Nothing is open.
    #[error("nothing is open in this grid")]
    Trivial,
    /// No grid fits the clues.
    #[error("no grid fits these clues")]
    Unsolvable,
    /// Several grids fit the clues.
    #[error("more than one grid fits these clues; give more of them")]
    Ambiguous,
    /// A number of clues that cannot be had.
    #[error("cannot make a grid with {0} clues: expected {FEWEST_CLUES} to 15")]
    Clues(usize),
}

impl Sudoku {
    /// From its cells, row by row.
    ///
    /// # Errors
    /// [`BadSudoku`] that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, BadSudoku> {
        let mut cells = Vec::new();
        for c in text.chars() {
            match c {
                '1'..='4' => cells.push(c as u8 - b'0'),
                '.' | '0' | '_' => cells.push(0),
                '|' | '/' | ',' | '-' | '+' => {}
                c if c.is_whitespace() => {}
                other => return Err(BadSudoku::Cell(other)),
            }
        }
        let cells: Cells = cells
            .try_into()
            .map_err(|cells: Vec<u8>| BadSudoku::Count(cells.len()))?;
        if !cells.contains(&0) {
            return Err(BadSudoku::Trivial);
        }
        match solutions(&cells, 2).len() {
            0 => Err(BadSudoku::Unsolvable),
            1 => Ok(Self { cells }),
            _ => Err(BadSudoku::Ambiguous),
        }
    }

    /// A random instance with this many clues.
    ///
    /// # Errors
    /// [`BadSudoku::Clues`] where there is none.
    pub fn random(clues: usize, rng: &mut Rng) -> Result<Self, BadSudoku> {
        if !(FEWEST_CLUES..CELLS).contains(&clues) {
            return Err(BadSudoku::Clues(clues));
        }
        // few clues need luck: start over with another grid until as many can be taken away
        loop {
            let mut cells = random_grid(rng);
            let mut order: Vec<usize> = (0..CELLS).collect();
            rng.shuffle(&mut order);
            let mut left = CELLS;
            for at in order {
                if left == clues {
                    break;
                }
                let digit = std::mem::take(&mut cells[at]);
                if solutions(&cells, 2).len() == 1 {
                    left -= 1;
                } else {
                    cells[at] = digit;
                }
            }
            if left == clues {
                return Ok(Self { cells });
            }
        }
    }

    /// The unique solution, row by row.
    #[must_use]
    pub fn solution(&self) -> Option<String> {
        solutions(&self.cells, 1).first().map(rows)
    }

    /// How many cells are given.
    #[must_use]
    pub fn clues(&self) -> usize {
        self.cells.iter().filter(|c| **c != 0).count()
    }

    /// The task for a model.
    #[must_use]
    pub fn query(&self) -> String {
        format!(
            "{self}\n\nFill in the open cells (.) of this 4×4 sudoku so that each row, each column and each of \
             the four 2×2 boxes holds 1, 2, 3 and 4. Give the whole grid as four lines of four digits."
        )
    }

    /// Verifies an answer: the last four lines with four digits each, or sixteen digits in one piece.
    #[must_use]
    pub fn check(&self, answer: &str) -> Checked {
        let found = last_grid(answer).map(|(text, cells)| {
            let why = self.judge(&cells).err();
            Found {
                text,
                correct: why.is_none(),
                distinct: why.is_none(),
                why,
            }
        });
        Checked::new(found.into_iter().collect(), 1)
    }

    fn judge(&self, cells: &Cells) -> Result<(), Wrong> {
        if self
            .cells
            .iter()
            .zip(cells)
            .any(|(given, cell)| *given != 0 && given != cell)
        {
            return Err(Wrong::Given);
        }
        if (0..CELLS).any(|at| !fits(cells, at, cells[at])) {
            return Err(Wrong::Repeats);
        }
        Ok(())
    }
}

impl fmt::Display for Sudoku {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sudoku {}", rows(&self.cells))
    }
}

impl From<Sudoku> for String {
    fn from(sudoku: Sudoku) -> Self {
        rows(&sudoku.cells)
    }
}

impl TryFrom<String> for Sudoku {
    type Error = BadSudoku;

    fn try_from(text: String) -> Result<Self, BadSudoku> {
        Self::parse(&text)
    }
}

fn rows(cells: &Cells) -> String {
    let digit = |c: &u8| if *c == 0 { '.' } else { char::from(b'0' + c) };
    cells
        .chunks(4)
        .map(|row| row.iter().map(digit).collect::<String>())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether no other cell of the row, column or box of `at` holds `digit`.
fn fits(cells: &Cells, at: usize, digit: u8) -> bool {
    let (row, column) = (at / 4, at % 4);
    (0..CELLS)
        .filter(|other| *other != at && cells[*other] == digit)
        .all(|other| {
            let (r, c) = (other / 4, other % 4);
            r != row && c != column && (r / 2, c / 2) != (row / 2, column / 2)
        })
}

/// At most `most` grids that fit.
fn solutions(cells: &Cells, most: usize) -> Vec<Cells> {
    let clash = (0..CELLS).any(|at| cells[at] != 0 && !fits(cells, at, cells[at]));
    let mut out = Vec::new();
    if !clash {
        fill(&mut cells.clone(), 0, most, &mut out);
    }
    out
}

/// As deep as there are cells.
fn fill(cells: &mut Cells, from: usize, most: usize, out: &mut Vec<Cells>) {
    let Some(at) = (from..CELLS).find(|at| cells[*at] == 0) else {
        out.push(*cells);
        return;
    };
    for digit in 1..=4 {
        if out.len() < most && fits(cells, at, digit) {
            cells[at] = digit;
            fill(cells, at + 1, most, out);
            cells[at] = 0;
        }
    }
}

fn random_grid(rng: &mut Rng) -> Cells {
    let all = solutions(&[0; CELLS], usize::MAX);
    rng.choose(&all).copied().unwrap_or([0; CELLS])
}

/// The last grid in a text, as written and as cells.
fn last_grid(answer: &str) -> Option<(String, Cells)> {
    let mut lines: Vec<(&str, Vec<u8>)> = Vec::new();
    let mut last = None;
    for line in answer.lines() {
        let digits: Option<Vec<u8>> = line
            .chars()
            .filter(|c| !c.is_whitespace() && !"|,*`$[]()&\\".contains(*c))
            .map(|c| matches!(c, '1'..='4').then(|| c as u8 - b'0'))
            .collect();
        match digits {
            Some(digits) if digits.len() == 4 => {
                lines.push((line, digits));
                if let [.., a, b, c, d] = lines.as_slice() {
                    let cells: Vec<u8> = [a, b, c, d]
                        .iter()
                        .flat_map(|l| l.1.iter().copied())
                        .collect();
                    let text: Vec<&str> = [a, b, c, d].iter().map(|l| l.0.trim()).collect();
                    last = Cells::try_from(cells)
                        .ok()
                        .map(|cells| (text.join("\n"), cells));
                }
            }
            Some(digits) if digits.len() == CELLS => {
                last = Cells::try_from(digits)
                    .ok()
                    .map(|cells| (line.trim().to_owned(), cells));
                lines.clear();
            }
            // a line that draws a box does not interrupt a grid
            Some(digits) if digits.is_empty() => {}
            _ if line.chars().all(|c| "+-|─│┼═ ".contains(c)) => {}
            _ => lines.clear(),
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Sudoku {
        Sudoku::parse("1... ..2. .3.. ...4").expect("an instance")
    }

    #[test]
    fn there_are_288_grids() {
        assert_eq!(solutions(&[0; CELLS], usize::MAX).len(), 288);
    }

    #[test]
    fn bad_specs_say_what_is_wrong() {
        let error = |text: &str| Sudoku::parse(text).expect_err(text);
        assert_eq!(error("1..."), BadSudoku::Count(4));
        assert_eq!(error("1..5 .... .... ...."), BadSudoku::Cell('5'));
        assert_eq!(error("11.. .... .... ...."), BadSudoku::Unsolvable);
        assert_eq!(error(".... .... .... ...."), BadSudoku::Ambiguous);
        assert_eq!(
            error(&task().solution().expect("a solution")),
            BadSudoku::Trivial
        );
        assert_eq!(
            Sudoku::random(3, &mut Rng::new(&[1])),
            Err(BadSudoku::Clues(3))
        );
        assert_eq!(
            Sudoku::random(16, &mut Rng::new(&[1])),
            Err(BadSudoku::Clues(16))
        );
    }

    #[test]
    fn random_instances_have_the_clues_asked_for_and_one_solution() {
        for clues in FEWEST_CLUES..CELLS {
            let sudoku =
                Sudoku::random(clues, &mut Rng::new(&[clues as u64])).expect("an instance");
            assert_eq!(sudoku.clues(), clues);
            assert_eq!(solutions(&sudoku.cells, 9).len(), 1);
            assert_eq!(Sudoku::parse(&rows(&sudoku.cells)), Ok(sudoku));
        }
    }

    #[test]
    fn the_solution_passes_however_it_is_laid_out() {
        let solution = task().solution().expect("a solution");
        let lines = solution.replace(' ', "\n");
        let boxed: String = solution
            .split(' ')
            .enumerate()
            .map(|(i, r)| {
                format!(
                    "{}| {} {} | {} {} |\n",
                    if i == 2 { "+---+---+\n" } else { "" },
                    &r[0..1],
                    &r[1..2],
                    &r[2..3],
                    &r[3..4]
                )
            })
            .collect();
        for answer in [
            solution.clone(),
            lines.clone(),
            boxed,
            format!("First 1234\nThe grid is\n\n```\n{lines}\n```\nas asked."),
        ] {
            assert!(task().check(&answer).solved(), "{answer}");
        }
    }

    #[test]
    fn other_grids_and_other_texts_fail() {
        let solution = task().solution().expect("a solution");
        let grids = solutions(&[0; CELLS], usize::MAX);
        let other = grids
            .iter()
            .map(rows)
            .find(|g| *g != solution)
            .expect("another");
        assert_eq!(task().check(&other).n_correct, 0);
        assert_eq!(
            task().check("1111 1111 1111 1111").found[0].why,
            Some(Wrong::Given)
        );
        for answer in ["", "1234", "1234\n1234\n1234", "12345678", "١٢٣٤"] {
            assert!(task().check(answer).found.is_empty(), "{answer}");
        }
    }

    #[test]
    fn the_last_grid_counts() {
        let solution = task().solution().expect("a solution").replace(' ', "\n");
        let wrong = "1234\n1234\n1234\n1234";
        assert!(task().check(&format!("{wrong}\nno:\n{solution}")).solved());
        assert!(!task().check(&format!("{solution}\nno:\n{wrong}")).solved());
    }
}

//! The verifiers against an independent implementation (see `tests/fixtures/make_tasks.py`).

use orgtop::task::countdown::expression::parse_text;
use orgtop::task::{Countdown, Sudoku};
use serde_json::Value;

fn rows(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
}

/// Signs in front of numbers are refused here and read there.
fn has_leading_sign(answer: &str) -> bool {
    let mut before = '(';
    answer.chars().filter(|c| !c.is_whitespace()).any(|c| {
        let leading = "+-".contains(c) && "(+-*/".contains(before);
        before = c;
        leading
    })
}

#[test]
fn countdown_answers_are_judged_alike() {
    let (mut right, mut wrong) = (0, 0);
    for row in rows(include_str!("../fixtures/tasks/countdown.jsonl")) {
        let numbers: Vec<u64> = row["numbers"]
            .as_array()
            .expect("numbers")
            .iter()
            .filter_map(Value::as_u64)
            .collect();
        let target = row["target"].as_u64().expect("a target");
        let answer = row["answer"].as_str().expect("an answer");
        let expected = row["right"] == true && !has_leading_sign(answer);
        let Ok(task) = Countdown::new(numbers, target, 1) else {
            // their generator truncates fractions, so that some of its targets cannot be made
            assert!(!expected, "{row}");
            continue;
        };
        let checked = task.check(answer);
        assert_eq!(checked.solved(), expected, "{row} {checked:?}");
        assert!(!expected || parse_text(answer).is_some(), "{row}");
        if expected { right += 1 } else { wrong += 1 }
    }
    assert!(right > 150 && wrong > 100, "{right} right, {wrong} wrong");
}

#[test]
fn grids_are_judged_and_solved_alike() {
    let (mut right, mut wrong) = (0, 0);
    for row in rows(include_str!("../fixtures/tasks/sudoku.jsonl")) {
        let task =
            Sudoku::parse(row["puzzle"].as_str().expect("a puzzle")).expect("a unique solution");
        let answer = row["answer"].as_str().expect("an answer");
        let expected = row["right"] == true;
        assert_eq!(task.check(answer).solved(), expected, "{row}");
        if expected {
            let digits: String = answer.chars().filter(char::is_ascii_digit).collect();
            assert_eq!(task.solution().map(|s| s.replace(' ', "")), Some(digits));
            right += 1;
        } else {
            wrong += 1;
        }
    }
    assert!(right > 30 && wrong > 30, "{right} right, {wrong} wrong");
}

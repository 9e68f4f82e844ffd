//! The frontier as a picture.

use crate::eval::{Frontier, Line, Point};
use crate::learn::curves::labelled::{Labelled, LabelledChart, Mark, Shape};

/// Accuracy against `T`: sizes as labelled points, budgets as thin lines.
pub fn draw(frontier: &Frontier, task: &str) -> String {
    let label = |line: &Line, point: &Point| match line.name {
        "asyncthink" => format!("c={}", point.size),
        "parallel" => format!("k={}", point.size),
        other => other.to_owned(),
    };
    let mark = |point: &Point, label: String| Mark {
        at: (point.latency, point.all),
        label,
    };
    let sizes = frontier
        .sizes
        .iter()
        .enumerate()
        .map(|(colour, line)| Labelled {
            name: line.name.to_owned(),
            colour,
            shape: Shape::Points,
            marks: line
                .points
                .iter()
                .map(|p| mark(p, label(line, p)))
                .collect(),
        });
    let budgets = frontier
        .budgets
        .iter()
        .enumerate()
        .map(|(colour, line)| Labelled {
            name: String::new(),
            colour,
            shape: Shape::Thin,
            marks: line.points.iter().map(|p| mark(p, String::new())).collect(),
        });
    LabelledChart {
        title: &format!("{task}: all solutions found, against latency"),
        x: "T: mean tokens on the critical path (thin: cut off at a limit)",
        y: "share with all solutions",
        series: budgets.chain(sizes).collect(),
    }
    .svg()
}

//! Prepared queries for real checkpoints: case studies of the AsyncThink paper and tasks of its kind.

use super::{Exit, output};
use serde_json::json;

/// One prepared query.
pub struct Preset {
    /// What it is called.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Its task, where the answer can be verified.
    pub task: Option<&'static str>,
    /// The question, where there is no task.
    pub query: &'static str,
}

/// All of them.
static PRESETS: [Preset; 5] = [
    Preset {
        name: "countdown-888",
        about: "four ways to 888: split the search, count what is missing, fork again",
        task: Some("countdown 37 24 12 8 5 3 = 888"),
        query: "",
    },
    Preset {
        name: "tetrahedron",
        about: "the angle between two faces, derived independently and compared",
        task: None,
        query: "What is the cosine of the angle between two faces of a regular tetrahedron? Have it derived in \
                independent ways (coordinates, trigonometry in a face, normal vectors), compare the results, and \
                give the cosine and the angle in degrees to two decimals.",
    },
    Preset {
        name: "vertex-cover",
        about: "a minimum vertex cover: bounds from below and above at the same time",
        task: None,
        query: "An undirected graph has the vertices a to h and the edges a-b, a-c, b-d, c-d, c-e, d-f, e-f, e-g, \
                f-h, g-h, b-g. Find a smallest set of vertices that touches every edge, and show that no smaller \
                set does.",
    },
    Preset {
        name: "four-genes",
        about: "a cross over four genes: one worker a gene, then multiply",
        task: None,
        query: "Two plants of the genotype AaBbCcDd are crossed. The four genes assort independently; A, B and C \
                are dominant over a, b and c, and D is incompletely dominant, so that Dd looks different from DD \
                and dd. What share of the offspring shows A and B dominant, c recessive, and the look of Dd?",
    },
    Preset {
        name: "sudoku",
        about: "a 4x4 sudoku with one solution, as in the paper's transfer test",
        task: Some("sudoku 6"),
        query: "",
    },
];

/// The preset of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Prints them.
///
/// # Errors
/// Standard output is gone.
pub fn list(as_json: bool) -> anyhow::Result<Exit> {
    if as_json {
        let rows: Vec<_> = PRESETS
            .iter()
            .map(|p| json!({"name": p.name, "about": p.about, "task": p.task, "query": p.query}))
            .collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    for preset in &PRESETS {
        output::line(&format!("{:14} {}", preset.name, preset.about))?;
        output::line(&format!(
            "{:14}   {}",
            "",
            preset.task.unwrap_or(preset.query)
        ))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;

    #[test]
    fn names_are_unique_and_tasks_can_be_solved() {
        for preset in &PRESETS {
            assert!(std::ptr::eq(find(preset.name).unwrap(), preset));
            match preset.task {
                Some(spec) => {
                    let task = Task::parse(spec, 1).unwrap();
                    let solutions = task.solutions(task.required());
                    assert_eq!(solutions.len(), task.required(), "{spec}");
                }
                None => assert!(preset.query.ends_with(['.', '?'])),
            }
        }
    }
}

//! `orgtop verify-answer`

use super::args::VerifyAnswerArgs;
use super::{Exit, Usage, output};
use crate::task::{DEFAULT_LAMBDA, Format, Reward, Task};
use anyhow::Context;
use std::io::Read;

/// Longest answer read.
const LONGEST: u64 = 4 << 20;

/// Prints the verdict on an answer from standard input. An answer alone says nothing of format or concurrency.
///
/// # Errors
/// A task that cannot be read; an answer that is no text.
pub fn run(args: &VerifyAnswerArgs) -> anyhow::Result<Exit> {
    let task = Task::parse(&args.task, 0).map_err(|e| Usage(format!("--task: {e}")))?;
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(LONGEST)
        .read_to_end(&mut bytes)
        .context("cannot read the answer from standard input")?;
    let checked = task.check(&String::from_utf8_lossy(&bytes));
    let solved = checked.solved();
    let reward = Reward::new(&checked, Format::Valid, 0.0, DEFAULT_LAMBDA);
    output::json(&task.report(checked, reward))?;
    Ok(if solved { Exit::Done } else { Exit::Failed })
}

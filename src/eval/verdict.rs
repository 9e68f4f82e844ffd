//! What the answer of one session is worth, for its screen and for scripts.

use crate::org::Organization;
use crate::record::Header;
use crate::task::{DEFAULT_LAMBDA, Format, Report, Reward, Task};

/// Verifies the answer of a session that has a task; `None` for a session without one, or with one that this
/// version cannot read.
#[must_use]
pub fn verdict(header: &Header, org: &Organization) -> Option<Report> {
    let task = Task::parse(header.task.as_deref()?, 0).ok()?;
    let checked = task.check(org.answer.as_deref().unwrap_or_default());
    let format = if org.kept_format() {
        Format::Valid
    } else {
        Format::Broken
    };
    let r_eta = org
        .recorded_metrics
        .map_or_else(|| org.metrics().r_eta, |metrics| metrics.r_eta);
    let reward = Reward::new(&checked, format, r_eta, DEFAULT_LAMBDA);
    Some(task.report(checked, reward))
}

//! What is kept of a session.

use super::run::Run;
use crate::org::{ErrorKind, Organization, RunEnd};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Outcomes by run.
pub type Outcomes = BTreeMap<Run, Outcome>;

/// A session at its end. Its answer is judged when it is counted, not here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// It answered, and kept every rule until then.
    pub valid: bool,
    /// The answer, whole or partial.
    pub answer: Option<String>,
    /// What went wrong, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorKind>,
    /// Critical-path latency.
    #[serde(rename = "T")]
    pub latency: u64,
    /// Mean number of active workers.
    pub eta: f64,
    /// Forks that took effect.
    pub forks: u64,
    /// Tokens decoded by all threads.
    pub decoded: u64,
}

impl Outcome {
    /// What became of an organization; an error where the engine broke down, which says nothing of the policy.
    ///
    /// # Errors
    /// What the engine said.
    pub fn of(organization: &Organization) -> Result<Self, String> {
        let errors = &organization.errors;
        let end = organization.end;
        if let Some(broken) = errors.iter().rfind(|e| e.kind == ErrorKind::Engine)
            && matches!(end, Some(RunEnd::Failed | RunEnd::Interrupted))
        {
            return Err(broken.message.clone());
        }
        let metrics = organization.metrics();
        Ok(Self {
            valid: organization.kept_format(),
            answer: organization.answer.clone(),
            errors: errors.iter().map(|e| e.kind).collect(),
            latency: metrics.latency,
            eta: metrics.eta,
            forks: organization.threads().len().saturating_sub(1) as u64,
            decoded: metrics.decoded,
        })
    }

    /// The answer if it counts: nothing that a broken run wrote does.
    #[must_use]
    pub fn counted_answer(&self) -> &str {
        match &self.answer {
            Some(answer) if self.valid => answer,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{ErrorRecord, Step, ThreadId};

    #[test]
    fn a_tool_that_failed_breaks_no_rule_and_a_second_join_does() {
        for (kind, valid) in [
            (ErrorKind::Tool, true),
            (ErrorKind::Engine, true),
            (ErrorKind::JoinTwice, false),
        ] {
            let mut org = Organization::new(2, 0.5);
            org.end = Some(RunEnd::Answered);
            org.errors.push(ErrorRecord {
                kind,
                thread: ThreadId::ORGANIZER,
                step: Step(1),
                message: String::new(),
            });
            assert_eq!(Outcome::of(&org).unwrap().valid, valid, "{kind:?}");
        }
    }
}

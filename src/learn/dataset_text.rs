//! Threads from files as examples for any checkpoint: prompts by its chat template, text by its vocabulary.

use super::dataset::{Example, Role};
use super::dataset_file::{Span, Trace};
use super::sft::Examples;
use crate::engine::local::Text;
use crate::engine::{ChatMessage, ChatRole};
use crate::protocol::prompt;
use crate::task::rng::Rng;

/// Examples drawn from a list of threads, again and again; which one an index draws depends on the seed alone.
#[derive(Debug)]
pub struct TextExamples {
    examples: Vec<Example>,
    order: Order,
    /// Threads that were longer than the context.
    pub too_long: usize,
}

/// Which example an index gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The one at that place, beginning again at the end.
    AsListed,
    /// Any, by this seed.
    Drawn(u64),
}

impl TextExamples {
    /// Encodes the threads; those longer than `context` tokens are left out and counted.
    ///
    /// # Errors
    /// A sentence: a prompt or text that the checkpoint cannot express, or nothing left to learn from.
    pub fn new(
        traces: &[Trace],
        text: &Text,
        context: usize,
        order: Order,
    ) -> Result<Self, String> {
        let mut examples = Vec::with_capacity(traces.len());
        let mut too_long = 0;
        for trace in traces {
            let example = example(trace, text).map_err(|e| format!("{:?}: {e}", trace.query))?;
            if example.tokens.len() > context {
                too_long += 1;
            } else {
                examples.push(example);
            }
        }
        if examples.is_empty() {
            return Err(format!(
                "no thread fits: {too_long} are longer than the context of {context} tokens"
            ));
        }
        Ok(Self {
            examples,
            order,
            too_long,
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.examples.len()
    }
}

impl Examples for TextExamples {
    fn example(&self, index: u64) -> Example {
        let count = self.examples.len();
        let at = match self.order {
            Order::AsListed => (index % count as u64) as usize,
            Order::Drawn(seed) => Rng::new(&[seed, index]).below(count),
        };
        self.examples[at].clone()
    }
}

fn example(trace: &Trace, text: &Text) -> Result<Example, String> {
    let system = match trace.role {
        Role::Organizer => prompt::organizer(trace.workers),
        Role::Worker => prompt::WORKER.to_owned(),
        Role::Sequential => prompt::SEQUENTIAL.to_owned(),
    };
    let message = |role, content: &str| ChatMessage {
        role,
        content: content.to_owned(),
    };
    let messages = [
        message(ChatRole::System, &system),
        message(ChatRole::User, &trace.query),
    ];
    let mut tokens = text.prompt(&messages, false).map_err(|e| e.to_string())?;
    let mut loss_mask = vec![false; tokens.len()];
    for span in &trace.text {
        let (own, words) = match span {
            Span::Own(words) => (true, words),
            Span::Given(words) => (false, words),
        };
        tokens.extend(text.encode(words).map_err(|e| e.to_string())?);
        loss_mask.resize(tokens.len(), own);
    }
    if let Some(end) = text.vocabulary().end_of_turn() {
        tokens.push(end);
        loss_mask.push(true);
    }
    Ok(Example {
        tokens,
        loss_mask,
        role: trace.role,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::embedded;
    use crate::engine::local::folder_text;
    use crate::learn::dataset::{Dataset, Spec};
    use crate::task::Split;

    /// The small model's own words, read back through its folder: the same tokens as the teacher wrote.
    #[test]
    fn a_checkpoint_reads_what_its_teacher_wrote() {
        let folder = tempfile::tempdir().unwrap();
        embedded::write_to(folder.path()).unwrap();
        let (config, text) = folder_text(folder.path()).unwrap();
        let spec = Spec {
            noise: 0.0,
            ..Spec::organization(Split::Dev)
        };
        let originals: Vec<Example> = Dataset::new(spec, 3).take(60).collect();
        let traces: Vec<Trace> = originals.iter().filter_map(Trace::from_example).collect();
        let read = TextExamples::new(&traces, &text, config.context, Order::AsListed).unwrap();
        assert_eq!((read.count(), read.too_long), (60, 0));
        for (index, original) in originals.iter().enumerate() {
            assert_eq!(&read.example(index as u64), original);
        }
    }

    #[test]
    fn threads_that_do_not_fit_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        embedded::write_to(folder.path()).unwrap();
        let (_, text) = folder_text(folder.path()).unwrap();
        let examples: Vec<Example> = Dataset::new(Spec::organization(Split::Dev), 3)
            .take(40)
            .collect();
        let traces: Vec<Trace> = examples.iter().filter_map(Trace::from_example).collect();
        let some = TextExamples::new(&traces, &text, 120, Order::Drawn(1)).unwrap();
        assert!(some.too_long > 0 && some.too_long + some.count() == traces.len());
        assert!(TextExamples::new(&traces, &text, 5, Order::AsListed).is_err());
    }
}

//! Threads of runs as threads to learn from: what a model wrote when it organized, kept where it did well.

use super::dataset::Role;
use super::dataset_file::{Span, Trace};
use crate::org::{Body, Event, Role as Seated, ThreadId};
use std::collections::BTreeMap;

/// All threads of a run, the organizer's first. `workers` is the capacity minus one; 0 makes the organizer a lone
/// thread. Threads whose text is no UTF-8 are left out.
#[must_use]
pub fn threads(events: &[Event], workers: u32) -> Vec<Trace> {
    let mut growing: BTreeMap<ThreadId, Growing> = BTreeMap::new();
    for event in events {
        let Some(id) = event.thread else { continue };
        match &event.body {
            Body::Thread { role, query, .. } => {
                let role = match role {
                    Seated::Worker => Role::Worker,
                    Seated::Organizer if workers == 0 => Role::Sequential,
                    Seated::Organizer => Role::Organizer,
                };
                let begun = Growing {
                    role,
                    query: query.clone(),
                    spans: Vec::new(),
                };
                growing.insert(id, begun);
            }
            Body::Tokens { bytes, .. } => grow(&mut growing, id, true, &bytes.0),
            Body::Splice { bytes, .. } => grow(&mut growing, id, false, &bytes.0),
            _ => {}
        }
    }
    growing
        .into_values()
        .filter_map(|g| g.finish(workers))
        .collect()
}

struct Growing {
    role: Role,
    query: String,
    /// Own text or given, in turn.
    spans: Vec<(bool, Vec<u8>)>,
}

fn grow(growing: &mut BTreeMap<ThreadId, Growing>, id: ThreadId, own: bool, bytes: &[u8]) {
    let Some(thread) = growing.get_mut(&id) else {
        return;
    };
    match thread.spans.last_mut() {
        Some((last, text)) if *last == own => text.extend(bytes),
        _ => thread.spans.push((own, bytes.to_vec())),
    }
}

impl Growing {
    fn finish(self, workers: u32) -> Option<Trace> {
        let text = self.spans.into_iter().map(|(own, bytes)| {
            let text = String::from_utf8(bytes).ok()?;
            Some(if own {
                Span::Own(text)
            } else {
                Span::Given(text)
            })
        });
        Some(Trace {
            role: self.role,
            workers: if self.role == Role::Organizer {
                workers
            } else {
                0
            },
            query: self.query,
            text: text.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::embedded;
    use crate::engine::local::Options;
    use crate::live::{Keep, RunConfig, travel_together};
    use crate::task::Task;
    use std::ops::ControlFlow;

    #[test]
    fn what_the_embedded_model_wrote_is_what_the_protocol_accepts() {
        let task = Task::parse("countdown 12 6 5 4 = 14", 0).unwrap();
        let mut config = RunConfig {
            query: task.query(),
            ..RunConfig::default()
        };
        config.sampling.temperature = 0.0;
        let engine = embedded::open(&Options::default()).unwrap();
        let mut traces = Vec::new();
        travel_together(engine, 1, Keep::Events, [config], |arrival| {
            traces = threads(&arrival.events, 3);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(traces[0].role, Role::Organizer);
        assert_eq!(traces[0].query, task.query());
        assert!(traces.len() > 3);
        assert!(matches!(&traces[0].text[1], Span::Given(text) if text.ends_with("</JOIN-1>")));
        for trace in &traces {
            assert_eq!(trace.judge(), Ok(()), "{trace:?}");
        }
    }
}

//! Many sessions over several engines, each engine on a thread of its own.
//!
//! Many small steps at once keep more cores busy than one, and engines that share a computation would wait for
//! each other at every product. Which sessions share an engine depends on the number of engines alone; what
//! comes of a session does not depend on it.

use super::config::RunConfig;
use super::convoy::{Arrival, Keep, travel_together};
use super::launch::OpenEngine;
use crate::engine::EngineError;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

/// Runs a session for each config, at most `width` at once and engine. On its engine's thread `make` makes
/// something of each that ends; `arrived` takes that here, with the session's place among the configs, and may
/// break off: the others are then dropped.
///
/// # Errors
/// The first of an engine that does not open, a prompt that cannot be made, and what `make` says. The other
/// engines stop at their next session then, which is still handed over.
pub fn travel_side_by_side<T: Send, E: Send + From<EngineError>>(
    engines: Vec<OpenEngine>,
    width: usize,
    keep: Keep,
    configs: &[RunConfig],
    make: impl Fn(Arrival) -> Result<T, E> + Sync,
    mut arrived: impl FnMut(usize, T) -> ControlFlow<()>,
) -> Result<(), E> {
    let (count, make, stop) = (engines.len(), &make, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (to, from) = channel();
        for (first, open) in engines.into_iter().enumerate() {
            let to = to.clone();
            scope.spawn(move || {
                let own = configs.iter().skip(first).step_by(count).cloned();
                let mut failed = None;
                let hand_over = |arrival: Arrival| {
                    let number = first + arrival.number * count;
                    let heard = match make(Arrival { number, ..arrival }) {
                        // nobody listens any more where it was broken off
                        Ok(one) => to.send(Ok((number, one))).is_ok(),
                        Err(why) => {
                            failed = Some(why);
                            false
                        }
                    };
                    if heard && !stop.load(Ordering::Relaxed) {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                };
                let end = open()
                    .and_then(|engine| travel_together(engine, width, keep, own, hand_over))
                    .map_err(E::from);
                if let Err(why) = end.and_then(|()| failed.map_or(Ok(()), Err)) {
                    stop.store(true, Ordering::Relaxed);
                    let _ = to.send(Err(why));
                }
            });
        }
        drop(to);
        let mut end = Ok(());
        for message in from {
            match message {
                Ok((number, one)) => {
                    if arrived(number, one).is_break() {
                        stop.store(true, Ordering::Relaxed);
                        break;
                    }
                }
                Err(why) => end = end.and(Err(why)),
            }
        }
        end
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, Script, Scripted};

    fn engine(script: &str) -> OpenEngine {
        let script = Script::parse(script, "test").unwrap();
        Box::new(|| Ok(Box::new(Scripted::new(script, "test")) as Box<dyn Engine>))
    }

    const ANSWERS: &str = r#"{"thread": "organizer", "tokens": ["<ANSWER>", "x", "</ANSWER>"]}"#;

    fn configs(count: u32) -> Vec<RunConfig> {
        let config = |n: u32| RunConfig {
            query: n.to_string(),
            ..RunConfig::default()
        };
        (0..count).map(config).collect()
    }

    fn query(arrival: Arrival) -> Result<String, EngineError> {
        Ok(arrival.finished.header.query)
    }

    #[test]
    fn every_session_arrives_once_and_at_its_place() {
        let engines = vec![engine(ANSWERS), engine(ANSWERS), engine(ANSWERS)];
        let mut all = vec![0; 10];
        let take = |place: usize, query: String| {
            assert_eq!(query, place.to_string());
            all[place] += 1;
            ControlFlow::Continue(())
        };
        travel_side_by_side(engines, 2, Keep::State, &configs(10), query, take).unwrap();
        assert_eq!(all, [1; 10]);
    }

    #[test]
    fn who_breaks_off_hears_of_nothing_more() {
        let mut heard = 0;
        let take = |_, _| {
            heard += 1;
            ControlFlow::Break(())
        };
        let engines = vec![engine(ANSWERS), engine(ANSWERS)];
        travel_side_by_side(engines, 1, Keep::State, &configs(40), query, take).unwrap();
        assert_eq!(heard, 1);
    }

    #[test]
    fn an_engine_that_does_not_open_ends_it() {
        let shut: OpenEngine = Box::new(|| Err(EngineError::Gone("shut".into())));
        let take = |_, _| ControlFlow::Continue(());
        let engines = vec![engine(ANSWERS), shut];
        let end = travel_side_by_side(engines, 1, Keep::State, &configs(4), query, take);
        assert!(end.unwrap_err().to_string().contains("shut"));
    }
}

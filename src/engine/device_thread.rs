//! An engine on a thread of its own, seen from outside as an engine.
//!
//! The thread owns the engine, which therefore needs not be [`Send`]: it is built there by a factory. Calls
//! are passed over a channel and answered over another; each blocks until it is answered. A panic inside the
//! engine ends the thread and turns every call into [`EngineError::Gone`].

use super::contract::{ChatMessage, Engine, EngineCard, EngineError, SeqOp, StepOutput, TokenId};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// A handle to an engine that runs on its own thread. Dropping it ends the thread after the call in hand.
#[derive(Debug)]
pub struct EngineThread {
    card: EngineCard,
    calls: Option<Sender<Call>>,
    thread: Option<JoinHandle<()>>,
    gone: Option<String>,
}

/// One call and where its answer goes.
#[derive(Debug)]
enum Call {
    Encode(String, SyncSender<Answer<Vec<TokenId>>>),
    Prompt(Vec<ChatMessage>, bool, SyncSender<Answer<Vec<TokenId>>>),
    Decode(Vec<TokenId>, SyncSender<Answer<Vec<u8>>>),
    Recall(Vec<(TokenId, Vec<u8>)>, SyncSender<Answer<()>>),
    Advance(Vec<SeqOp>, SyncSender<Answer<StepOutput>>),
}

type Answer<T> = Result<T, EngineError>;

impl EngineThread {
    /// Start a thread called `name`, build an engine on it and wait until it is ready.
    ///
    /// # Errors
    /// What the factory returns; [`EngineError::Gone`] where it panics or no thread can be started.
    pub fn spawn(
        name: &str,
        factory: impl FnOnce() -> Result<Box<dyn Engine>, EngineError> + Send + 'static,
    ) -> Result<Self, EngineError> {
        let (calls, inbox) = channel();
        let (ready, card) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || match guarded(factory) {
                Ok(engine) => {
                    if ready.send(Ok(engine.card().clone())).is_ok() {
                        serve(engine, &inbox);
                    }
                }
                Err(error) => {
                    // nobody waits any more: then nobody needs to know
                    let _ = ready.send(Err(error));
                }
            })
            .map_err(|e| EngineError::Gone(format!("no thread for it: {e}")))?;
        let card = card.recv().unwrap_or_else(|_| {
            Err(EngineError::Gone(
                "its thread ended while it was built".into(),
            ))
        })?;
        Ok(Self {
            card,
            calls: Some(calls),
            thread: Some(thread),
            gone: None,
        })
    }

    fn call<T>(&mut self, call: impl FnOnce(SyncSender<Answer<T>>) -> Call) -> Answer<T> {
        if let Some(why) = &self.gone {
            return Err(EngineError::Gone(why.clone()));
        }
        let (reply, answer) = sync_channel(1);
        let sent = self
            .calls
            .as_ref()
            .is_some_and(|calls| calls.send(call(reply)).is_ok());
        let answer = match answer.recv() {
            Ok(answer) if sent => answer,
            _ => Err(EngineError::Gone("its thread ended".into())),
        };
        if let Err(EngineError::Gone(why)) = &answer {
            self.gone = Some(why.clone());
        }
        answer
    }
}

impl Engine for EngineThread {
    fn card(&self) -> &EngineCard {
        &self.card
    }

    fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError> {
        self.call(|reply| Call::Encode(text.to_owned(), reply))
    }

    fn prompt(
        &mut self,
        messages: &[ChatMessage],
        thinking: bool,
    ) -> Result<Vec<TokenId>, EngineError> {
        self.call(|reply| Call::Prompt(messages.to_vec(), thinking, reply))
    }

    /// Nothing where the engine is gone; the next call that can say so does.
    fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8> {
        self.call(|reply| Call::Decode(tokens.to_vec(), reply))
            .unwrap_or_default()
    }

    /// Where the engine is gone, the next call that can say so does.
    fn recall(&mut self, tokens: &[(TokenId, Vec<u8>)]) {
        let _ = self.call(|reply| Call::Recall(tokens.to_vec(), reply));
    }

    fn advance(&mut self, ops: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
        self.call(|reply| Call::Advance(ops, reply))
    }
}

impl Drop for EngineThread {
    fn drop(&mut self) {
        // closing the channel is what ends the loop
        self.calls = None;
        if let Some(thread) = self.thread.take() {
            // its panics were caught and reported as answers
            let _ = thread.join();
        }
    }
}

fn serve(mut engine: Box<dyn Engine>, inbox: &Receiver<Call>) {
    for call in inbox {
        let alive = match call {
            Call::Encode(text, reply) => answer(&reply, || engine.encode(&text)),
            Call::Prompt(messages, thinking, reply) => {
                answer(&reply, || engine.prompt(&messages, thinking))
            }
            Call::Decode(tokens, reply) => answer(&reply, || Ok(engine.decode(&tokens))),
            Call::Recall(tokens, reply) => answer(&reply, || {
                engine.recall(&tokens);
                Ok(())
            }),
            Call::Advance(ops, reply) => answer(&reply, || engine.advance(ops)),
        };
        if !alive {
            return;
        }
    }
}

/// Answer a call; whether the engine survived it.
fn answer<T>(reply: &SyncSender<Answer<T>>, work: impl FnOnce() -> Answer<T>) -> bool {
    let result = guarded(work);
    let alive = !matches!(result, Err(EngineError::Gone(_)));
    // a caller that went away does not need its answer
    let _ = reply.send(result);
    alive
}

/// A panic becomes an error. The engine is not used again after one, so that no half-done state is seen.
fn guarded<T>(work: impl FnOnce() -> Answer<T>) -> Answer<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(EngineError::Gone(message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!(
        "it panicked: {}",
        text.unwrap_or_else(|| "without a message".into())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    /// Echoes; not `Send`; panics at the word "boom".
    struct Echo {
        card: Rc<EngineCard>,
    }

    impl Engine for Echo {
        fn card(&self) -> &EngineCard {
            &self.card
        }
        fn encode(&mut self, text: &str) -> Result<Vec<TokenId>, EngineError> {
            assert!(text != "boom", "boom was said");
            Ok(text.bytes().map(TokenId::from).collect())
        }
        fn prompt(
            &mut self,
            messages: &[ChatMessage],
            _: bool,
        ) -> Result<Vec<TokenId>, EngineError> {
            self.encode(&messages[0].content)
        }
        fn decode(&mut self, tokens: &[TokenId]) -> Vec<u8> {
            tokens.iter().map(|t| *t as u8).collect()
        }
        fn advance(&mut self, _: Vec<SeqOp>) -> Result<StepOutput, EngineError> {
            Err(EngineError::Device("no device".into()))
        }
    }

    fn echo() -> EngineThread {
        EngineThread::spawn("echo", || {
            let card = Rc::new(EngineCard {
                kind: "echo".into(),
                ..EngineCard::default()
            });
            Ok(Box::new(Echo { card }))
        })
        .expect("the factory succeeds")
    }

    #[test]
    fn calls_are_passed_through_and_the_handle_may_move_between_threads() {
        let mut engine: Box<dyn Engine + Send> = Box::new(echo());
        assert_eq!(engine.card().kind, "echo");
        let back = std::thread::spawn(move || {
            let tokens = engine.encode("hi").expect("echo encodes");
            engine.decode(&tokens)
        });
        assert_eq!(back.join().expect("no panic"), b"hi");
    }

    #[test]
    fn a_failed_step_is_an_error_and_the_engine_lives_on() {
        let mut engine = echo();
        assert!(matches!(
            engine.advance(vec![]),
            Err(EngineError::Device(_))
        ));
        assert!(engine.encode("on").is_ok());
    }

    #[test]
    fn a_panic_in_the_engine_is_gone_for_this_and_every_later_call() {
        let mut engine = echo();
        let first = engine.encode("boom");
        assert!(
            matches!(&first, Err(EngineError::Gone(why)) if why.contains("boom was said")),
            "{first:?}"
        );
        let later = engine.advance(vec![]);
        assert!(
            matches!(&later, Err(EngineError::Gone(why)) if why.contains("boom was said")),
            "{later:?}"
        );
        assert!(engine.decode(&[1]).is_empty());
    }

    #[test]
    fn a_factory_that_fails_or_panics_is_reported() {
        let failed = EngineThread::spawn("f", || Err(EngineError::Device("cold".into())));
        assert!(matches!(failed, Err(EngineError::Device(_))));
        let panicked = EngineThread::spawn("p", || panic!("bad file"));
        assert!(matches!(panicked, Err(EngineError::Gone(why)) if why.contains("bad file")));
    }
}

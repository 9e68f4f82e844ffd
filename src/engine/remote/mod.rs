//! Decoding by another program over HTTP: vLLM, SGLang, llama.cpp's server, Ollama.
//!
//! | room | what it holds |
//! |---|---|
//! | `options` | which server, and how patiently; its key |
//! | `error` | what can go wrong, in words that say what to do |
//! | `address` | the URL as it is meant |
//! | `runtime` | the thread on which everything asynchronous runs |
//! | `client` | one HTTP client: asking, retrying, judging answers |
//! | `probe` | what kind of server it is, its models, what they can do |
//! | `dialect`, `answer` | requests and answers, as each kind of server wants and gives them |
//! | `lines`, `messages` | bytes to lines, with a bound; lines to messages |
//! | `flow` | one request's text as it arrives, with back-pressure |
//! | `template` | messages to a prompt |
//! | `vocabulary` | text to token ids and back |
//! | `sequence` | one context and the request that continues it |
//! | `engine` | the contract |
//!
//! Every sequence is continued as raw text. No stop strings are sent: whoever drives the engine holds or
//! closes a sequence, and its request is dropped. A sequence that was appended to or cut goes on with a new
//! request for its whole text; the server's prefix cache absorbs that.
//!
//! Servers rarely give token ids, so ids are made here: a byte of a prompt is its own id, a piece of text
//! that arrived has one by its hash. Whoever restores a session teaches them to the new connection with
//! [`crate::engine::Engine::recall`].

mod address;
mod answer;
mod client;
mod dialect;
mod engine;
mod error;
mod flow;
mod lines;
mod messages;
mod options;
mod probe;
mod runtime;
mod sequence;
mod template;
mod vocabulary;

pub use answer::{Chunk, Finish};
pub use dialect::Ask;
pub use engine::{Caps, Remote, connect};
pub use error::RemoteError;
pub use flow::{Flow, Item};
pub use options::{DEFAULT_KEY_ENV, ServerOptions};
pub use probe::{Kind, Probe};
pub use template::Template;

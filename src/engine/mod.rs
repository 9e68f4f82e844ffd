//! Sequences in, tokens out: the contract, and the engines that keep it.
//!
//! This floor knows nothing of the protocol, the organization or the screen.

pub mod contract;
pub mod device_thread;
pub mod embedded;
pub mod local;
pub mod remote;
pub mod sampler;
mod scripted;
pub mod veto;
pub mod wrapped;

pub use contract::{
    ChatMessage, ChatRole, Decoded, Engine, EngineCard, EngineError, Epoch, Footprint, ModelCard,
    Priority, Sampling, SeqId, SeqOp, ServerCard, StepOutput, StepStats, Stop, TokenId,
};
pub use device_thread::EngineThread;
pub use scripted::{Script, ScriptError, Scripted};
pub use veto::{Forbids, Veto};
pub use wrapped::Wrapped;

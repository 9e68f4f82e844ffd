//! Session files: write, open, recover, play.

mod append;
mod coalesce;
mod damage;
mod encoder;
mod error;
mod header;
mod line;
mod lines;
mod reader;
mod sink;
mod source;
mod text;
mod writer;

pub use append::Appending;
pub use coalesce::Coalescer;
pub use damage::{Damage, DamageKind, Report};
pub use encoder::Encoder;
pub use error::{OpenError, RecordError};
pub use header::{FORMAT, Header, Limits, Policy, PoolPolicy, Prompts, VERSION, Version};
pub use line::{Line, LineError, encode, kind_of, parse, place_of};
pub use reader::{Events, Recorded, SessionFile};
pub use text::{Origin, TextPiece, Texts, split_tokens, text_in};
pub use writer::{Health, Recorder, RecorderStatus};

//! Session files: write, open, recover, play.

mod append;
mod coalesce;
mod damage;
mod encoder;
mod error;
mod header;
mod line;
mod lines;
mod player;
mod reader;
mod recover;
mod restore;
mod sink;
mod source;
pub mod store;
mod text;
mod verify;
mod writer;

pub use append::Appending;
pub use coalesce::Coalescer;
pub use damage::{Damage, DamageKind, Report};
pub use encoder::Encoder;
pub use error::{OpenError, RecordError};
pub use header::{FORMAT, Header, Limits, Policy, PoolPolicy, Prompts, VERSION, Version};
pub use line::{Line, LineError, encode, kind_of, parse, place_of};
pub use player::{
    Direction, Extent, Landmark, MAX_BATCH, Older, Player, Position, Target, Text, TextFrom,
    TextLimit, Until,
};
pub use reader::{Events, Recorded, SessionFile};
pub use recover::{HeaderFate, Recovered, recover, recovered_path};
pub use restore::{Restored, RestoredThread, restore};
pub use text::{Origin, TextPiece, Texts, split_tokens, text_in};
pub use verify::{About, Disagreement, Found, Rescan, ThreadRescan, Verified, verify};
pub use writer::{Health, Recorder, RecorderStatus};

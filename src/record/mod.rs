//! Session files: write, open, recover, play.
//!
//! A session is a header line and one line an event, nothing else; everything shown is a fold over
//! them. Here is what knows that file:
//!
//! | who | what |
//! |---|---|
//! | [`line`](mod@line) | one event ⇄ one line |
//! | [`Coalescer`] | events of single steps → events worth a line, numbered |
//! | [`Encoder`] | events → lines with links and hashes; pure |
//! | [`Recorder`] | a thread that writes them, whatever the disk does |
//! | [`SessionFile`] | opening, and reading from first to last |
//! | [`Player`] | any place at once, and on from there |
//! | [`restore()`], [`recover()`], [`verify()`] | contexts to resume from; a readable copy; does it agree with itself |
//! | [`History`], [`LineOf`] | every line of a session that went back; one of them, whole |
//! | [`Comparison`] | two lines side by side |
//! | [`store`] | the folder: names, list, pruning |
//!
//! Not here: what events mean (`org`), who makes them (`live`), and how text is scanned (`protocol`,
//! which comes to [`verify()`] as a [`Rescan`]).

mod append;
mod coalesce;
mod compare;
mod damage;
mod encoder;
mod error;
mod escape;
mod header;
mod history;
pub mod line;
mod line_of;
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
pub use compare::{Comparison, Divergence, ThreadPair, TokenAt};
pub use damage::{Damage, DamageKind, Report};
pub use encoder::Encoder;
pub use error::{OpenError, RecordError};
pub use header::{
    FORMAT, Header, Limits, Merge, Parent, Policy, PoolPolicy, Prompts, VERSION, Version,
};
pub use history::{History, stands};
pub use line_of::{LineOf, LineOfError, history};
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

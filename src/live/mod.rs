//! One running session: organization, engine, seats, recorder, commands.

mod mailbox;

pub use mailbox::{Batch, Mailbox, Phase, Report};

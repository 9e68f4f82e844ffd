//! One running session: organization, engine, recorder, commands.
//!
//! | room | what it holds |
//! |---|---|
//! | `config` | what a run is asked to be |
//! | `session` | the loop: commands between steps, one step, again |
//! | `begin`, `restore` | a fresh session; one that goes on |
//! | `launch` | a session on its own thread |
//! | `convoy` | many sessions over one engine |
//! | `side_by_side` | many sessions over several engines |
//! | `settle` | from one step's tokens to events |
//! | `deed` | what takes effect by the protocol: Forks, Joins, the answer |
//! | `ending` | how a run ends |
//! | `splice` | text nobody decodes; starting workers |
//! | `subtree` | workers of workers: ends that take others along |
//! | `steer` | what commands do |
//! | `wish` | what is wanted of a thread at the next possible moment |
//! | `engines`, `desk` | the session's own engine and those beside it; which thread is at which |
//! | `lost` | a server that is out of reach for now |
//! | `guard` | which tokens are forbidden |
//! | `breakpoint` | watching for places to stop at |
//! | `travel` | going back: edit, branch, undo |
//! | `take_over` | a new session from a place of a recorded one |
//! | `seat`, `retry` | who writes a thread; a worker once more |
//! | `tool` | programs in a worker's seat |
//! | `approval` | what waits for a person's word |
//! | `plan` | the board of drafts |
//! | `orders` | commands from a file |
//! | `happened` | what places in files are waited for by |
//! | `emitter` | stamping and handing on events |
//! | `mailbox` | to the screen, without waiting for it |

mod approval;
mod begin;
mod breakpoint;
mod config;
mod convoy;
mod deed;
mod desk;
mod emitter;
mod ending;
mod engines;
mod guard;
mod happened;
mod launch;
mod lost;
mod mailbox;
mod orders;
mod plan;
mod rescan;
mod restore;
mod retry;
mod runner;
mod seat;
mod session;
mod settle;
mod side_by_side;
mod splice;
mod steer;
mod subtree;
mod take_over;
mod tool;
mod travel;
mod wish;

pub use config::RunConfig;
pub use convoy::{Arrival, Keep, travel_together};
pub use engines::{Engines, OpenBeside, ServerSet};
pub use happened::Happened;
pub use launch::{Handle, LiveError, OpenEngine, Plan, Start, launch};
pub use mailbox::{Batch, Mailbox, Phase, Report};
pub use orders::{At, Order, OrderError, parse as parse_orders};
pub use rescan::ProtocolRescan;
pub use session::{Audience, Finished, Ordered, Session};
pub use side_by_side::travel_side_by_side;
pub use take_over::Departure;
pub use tool::{Program, Tool, ToolSet};

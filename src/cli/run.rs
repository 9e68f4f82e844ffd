//! `orgtop run`

use super::args::{OutputArgs, PeopleArgs, RunArgs};
use super::asked::Asked;
use super::roster::Roster;
use super::screen::Shown;
use super::settings::{ConfigFile, RunOptions, ScreenOptions};
use super::{Exit, Usage, headless, presets};
use crate::live::{Audience, Order, Plan, launch, parse_orders};
use crate::org::{BreakpointState, Command, Seat, ThreadId};
use crate::record::store;
use crate::small_file::{self, Pipes};
use crate::tui::app::Accepts;
use crate::tui::demo::{Demo, Manner};
use crate::tui::keymap::Keymap;
use anyhow::Context;
use std::collections::VecDeque;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;

/// Tokens a second and thread without a verb.
const SPEED: u32 = 40;

/// Runs an organization, and then whatever is asked for from its screen.
///
/// # Errors
/// Wrong usage, unreadable files, a model that does not load.
pub fn run(args: RunArgs, config: &ConfigFile, screen: &ScreenOptions) -> anyhow::Result<Exit> {
    if args.preset.as_deref() == Some("list") {
        return presets::list(args.output.json);
    }
    Asked::new(args, config)?.run(config, screen)
}

/// What stands before a session on its screen.
pub struct Front {
    /// What is being loaded.
    pub loading: String,
    /// Whether a query can be run next.
    pub accepts: Accepts,
    /// What is played.
    pub demo: Option<Demo>,
}

/// Runs a plan in the way that was asked for.
///
/// # Errors
/// Whatever kept the session from starting, or the terminal.
pub fn show(
    plan: Plan,
    output: &OutputArgs,
    screen: &ScreenOptions,
    front: Front,
) -> anyhow::Result<Shown> {
    if output.headless {
        headless::run(plan, output).map(Shown::Left)
    } else {
        let mut options = super::screen::options(screen, front.loading)?;
        options.accepts = front.accepts;
        if let Some(demo) = &front.demo
            && demo.manner() == Manner::Tour
        {
            // It names keys, and presses them.
            options.keymap = Keymap::default();
        }
        options.demo = front.demo;
        let file = plan.file.clone();
        super::screen::live(launch(plan), file, screen, options)
    }
}

/// Whether somebody can answer while the run stands still.
#[must_use]
pub fn audience(output: &OutputArgs, screen: &ScreenOptions) -> Audience {
    if output.headless || !super::screen::has_keys(screen) {
        Audience::Nobody
    } else {
        Audience::Person
    }
}

/// `orgtop` alone: the small model on a random countdown task, slow enough to be read.
///
/// # Errors
/// As [`run`].
pub fn alone(
    demo: Option<PathBuf>,
    config: &ConfigFile,
    screen: &ScreenOptions,
) -> anyhow::Result<Exit> {
    let slow = RunOptions {
        speed: Some(SPEED),
        temperature: Some(0.0),
        ..RunOptions::default()
    };
    let args = RunArgs {
        query: None,
        preset: None,
        task: Some("countdown".into()),
        options: RunOptions {
            model: None,
            server: None,
            ..config.run.clone()
        }
        .or(slow),
        script: None,
        people: PeopleArgs::default(),
        output: OutputArgs {
            demo,
            ..OutputArgs::on_screen()
        },
        record: None,
        no_record: false,
    };
    let plain = ConfigFile {
        run: RunOptions::default(),
        ..config.clone()
    };
    run(args, &plain, screen)
}

/// Seats that nobody can take are wrong before anything is loaded.
pub(super) fn check_seats(people: &PeopleArgs, roster: &Roster) -> anyhow::Result<()> {
    let seats = people
        .seat
        .iter()
        .map(|(thread, seat)| (Some(*thread), seat));
    for (thread, seat) in seats.chain(people.workers.iter().map(|seat| (None, seat))) {
        let why = match seat {
            Seat::Tool(name) if thread.is_some_and(ThreadId::is_organizer) => {
                format!("tool `{name}` cannot organize: it can only serve a sub-query")
            }
            Seat::Tool(name) if !roster.tools.contains_key(name) => {
                format!("there is no tool `{name}`: name it in the config file as [tools.{name}]")
            }
            Seat::Server(name) if !roster.servers.contains_key(name) => {
                format!(
                    "there is no server `{name}`: name it in the config file as [servers.{name}]"
                )
            }
            _ => continue,
        };
        let flag = match thread {
            Some(thread) => format!("--seat {thread}={seat}"),
            None => format!("--workers {seat}"),
        };
        return Err(Usage(format!("{flag}: {why}")).into());
    }
    Ok(())
}

pub(super) fn read_query(argument: Option<String>) -> anyhow::Result<String> {
    let text = match argument {
        Some(text) if text != "-" => text,
        given => {
            if given.is_none() && std::io::stdin().is_terminal() {
                return Err(
                    Usage("no query: give it as an argument or on standard input".into()).into(),
                );
            }
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .take(small_file::LONGEST + 1)
                .read_to_end(&mut bytes)
                .context("cannot read the query from standard input")?;
            if bytes.len() as u64 > small_file::LONGEST {
                return Err(
                    Usage("the query on standard input is longer than 4 MiB".into()).into(),
                );
            }
            String::from_utf8(bytes)
                .map_err(|_| Usage("the query on standard input is not UTF-8 text".into()))?
        }
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(Usage("the query is empty".into()).into());
    }
    Ok(text.to_owned())
}

/// What is ordered before the run begins: breakpoints, then the commands file.
///
/// # Errors
/// Unreadable, or a line that is no order.
pub fn read_orders(output: &OutputArgs) -> anyhow::Result<VecDeque<Order>> {
    let breakpoints = output.breakpoints.iter().map(|on| Order {
        at: None,
        together: false,
        line: None,
        command: Command::Break {
            on: on.clone(),
            set: BreakpointState::On,
        },
    });
    let mut orders: VecDeque<Order> = breakpoints.collect();
    let Some(path) = output.commands.as_deref() else {
        return Ok(orders);
    };
    let text = small_file::read(path, Pipes::Read, small_file::LONGEST)
        .with_context(|| format!("{}: cannot read the commands", path.display()))?;
    orders.extend(parse_orders(&text, &path.display().to_string())?);
    Ok(orders)
}

/// Where a new session called `id` is recorded, if it is.
///
/// # Errors
/// There is no folder for it.
pub fn where_to_record(
    given: Option<PathBuf>,
    no_record: bool,
    config: &ConfigFile,
    id: &str,
) -> anyhow::Result<Option<PathBuf>> {
    if given.is_some() {
        return Ok(given);
    }
    if no_record || config.sessions.record == Some(false) {
        return Ok(None);
    }
    let folder = super::sessions::folder(None, config)?;
    Ok(Some(store::path_of(&folder, id)))
}

/// A seed nobody chose; it is recorded.
pub(super) fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Small enough to be typed again.
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
        % 1_000_000_007
}

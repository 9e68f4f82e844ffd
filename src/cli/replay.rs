//! `orgtop replay`

use super::args::{OutputArgs, ReplayArgs};
use super::asked::Asked;
use super::run::{self, Front, where_to_record};
use super::server;
use super::settings::{ConfigFile, ScreenOptions};
use super::{Exit, Usage, demo, output, screen};
use crate::live::{Audience, Departure, Plan, Start};
use crate::org::{Place, Step};
use crate::record::store::{self, Entry};
use crate::record::{Player, SessionFile, Target, history};
use crate::tui::app;
use crate::tui::demo::{Demo, Manner};
use crate::tui::picker::{Choice, Item, pick};
use crate::tui::plain::PlainLog;
use crate::tui::replay::Replay;
use crate::tui::run::run_replay;
use crate::tui::terminal::Screen;
use crate::tui::terminal::signals::end_by;
use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;

/// Sessions that ship in the binary: name and content.
const SHIPPED: [(&str, &[u8]); 10] = [
    (
        "countdown.jsonl",
        include_bytes!("../../sessions/countdown.jsonl"),
    ),
    ("hard.jsonl", include_bytes!("../../sessions/hard.jsonl")),
    (
        "branch.jsonl",
        include_bytes!("../../sessions/branch.jsonl"),
    ),
    (
        "sequential.jsonl",
        include_bytes!("../../sessions/sequential.jsonl"),
    ),
    (
        "copies.jsonl",
        include_bytes!("../../sessions/copies.jsonl"),
    ),
    (
        "format-error.jsonl",
        include_bytes!("../../sessions/format-error.jsonl"),
    ),
    (
        "parallel.jsonl",
        include_bytes!("../../sessions/parallel.jsonl"),
    ),
    (
        "human-worker.jsonl",
        include_bytes!("../../sessions/human-worker.jsonl"),
    ),
    (
        "human-organizer.jsonl",
        include_bytes!("../../sessions/human-organizer.jsonl"),
    ),
    ("retry.jsonl", include_bytes!("../../sessions/retry.jsonl")),
];

/// Replays a file, or one that the person picks.
///
/// # Errors
/// The file does not open; the terminal is gone.
pub fn run(
    args: &ReplayArgs,
    config: &ConfigFile,
    options: &ScreenOptions,
) -> anyhow::Result<Exit> {
    let target = args.at.as_deref().map(target).transpose()?;
    let demo = args
        .demo
        .as_deref()
        .map(demo::read_for_replay)
        .transpose()?;
    let demo = demo
        .map(|script| demo::begin(script, Manner::Demo, &mut VecDeque::new()))
        .transpose()?;
    let file = match &args.file {
        Some(path) => SessionFile::open(path)?,
        None => match choose(config, options)? {
            Some(file) => file,
            None => return Ok(Exit::Done),
        },
    };
    match show(file.clone(), options, args.speed, target, demo)? {
        Some(place) => take_over(&file, place, args, config, options),
        None => Ok(Exit::Done),
    }
}

fn target(text: &str) -> Result<Target, Usage> {
    match text {
        "start" => Ok(Target::Start),
        "end" => Ok(Target::End),
        number => number
            .parse()
            .map(|n| Target::Step(Step(n)))
            .map_err(|_| Usage(format!("--at {text}: expected a step, `start` or `end`"))),
    }
}

fn show(
    file: SessionFile,
    options: &ScreenOptions,
    speed: Option<f32>,
    at: Option<Target>,
    demo: Option<Demo>,
) -> anyhow::Result<Option<Place>> {
    if !screen::has_keys(options) {
        return lines(&file);
    }
    if let Some(message) = file.read_only() {
        output::say(&format!("orgtop: {message}"));
    }
    let name = file.path().display().to_string();
    let mut player = Player::of(file)?;
    if let Some(at) = at {
        // A step is one of the line that the session ends on.
        player.seek(Target::End)?;
        player.seek(at)?;
    }
    let replay = Replay::new(player).at_speed(speed.unwrap_or(1.0));
    let mut options = screen::options(options, name)?;
    options.demo = demo;
    match run_replay(replay, options)? {
        app::Exit::Signal(ending) => end_by(ending),
        app::Exit::TakeOver(place) => return Ok(Some(place)),
        app::Exit::Done | app::Exit::Again(_) | app::Exit::Forced => {}
    }
    Ok(None)
}

/// Goes on live from `place`, in a new session.
fn take_over(
    file: &SessionFile,
    place: Place,
    args: &ReplayArgs,
    config: &ConfigFile,
    options: &ScreenOptions,
) -> anyhow::Result<Exit> {
    let header = file.header();
    let source = args.with.source(header, config)?;
    let asked = Asked::after(header, &source, args.with.script.clone(), None, config);
    let open = args.with.open(&source, header, config)?;
    let history = history(file)?;
    let place = history.settled(place);
    let now = jiff::Zoned::now();
    let id = store::new_id(&now);
    let record = where_to_record(None, false, config, &id)?;
    let departure = Departure {
        header: header.clone(),
        history,
        place,
    };
    let header = departure.header(id, now.timestamp().to_string());
    let plan = Plan {
        open,
        start: Start::From {
            departure: Box::new(departure),
            header: Box::new(header),
        },
        file: record,
        orders: VecDeque::new(),
        audience: Audience::Person,
        tools: config.tools.clone(),
        servers: server::beside(config, &config.run),
    };
    let output = OutputArgs::on_screen();
    let front = Front {
        loading: source.to_string(),
        accepts: asked.accepts(),
        demo: None,
    };
    let shown = run::show(plan, &output, options, front)?;
    asked.conclude(shown, config, options)
}

/// Without a screen the whole session is printed at once.
fn lines(file: &SessionFile) -> anyhow::Result<Option<Place>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut log = PlainLog::default();
    let mut events = file.events();
    for recorded in events.by_ref() {
        let event = recorded?.event;
        if let Err(e) = log.event(&event, &mut out) {
            output::taken(Err(e))?;
            return Ok(None);
        }
    }
    output::taken(log.finish(&mut out).and_then(|()| out.flush()))?;
    for line in events.report().to_string().lines() {
        output::say(&format!("orgtop: {line}"));
    }
    Ok(None)
}

/// Where a session of the list comes from.
enum Origin {
    Recorded(PathBuf),
    Shipped(usize),
}

/// Lets the person pick among recorded and shipped sessions.
fn choose(config: &ConfigFile, options: &ScreenOptions) -> anyhow::Result<Option<SessionFile>> {
    if !screen::has_keys(options) {
        return Err(
            Usage("no session: give a file (`orgtop sessions list` shows them)".into()).into(),
        );
    }
    let folder = super::sessions::folder(None, config)?;
    let entries = store::list(&folder).unwrap_or_default();
    let (mut items, mut origins): (Vec<Item>, Vec<Origin>) = entries
        .iter()
        .map(|entry: &Entry| (Item::of(entry), Origin::Recorded(entry.path.clone())))
        .unzip();
    for (i, (name, bytes)) in SHIPPED.iter().enumerate() {
        let file = SessionFile::in_memory(name, bytes.to_vec())?;
        items.push(Item::shipped(file.header()));
        origins.push(Origin::Shipped(i));
    }
    let look = screen::options(options, String::new())?.look;
    let picked = {
        let mut terminal = Screen::enter(crate::tui::terminal::Modes::default())?;
        pick(items, &look, &mut terminal)?
    };
    let item = match picked {
        Choice::Item(item) => Some(item),
        Choice::Nothing => None,
        Choice::Signal(ending) => {
            end_by(ending);
            None
        }
    };
    Ok(match item.and_then(|i| origins.into_iter().nth(i)) {
        None => None,
        Some(Origin::Recorded(path)) => Some(SessionFile::open(&path)?),
        Some(Origin::Shipped(i)) => {
            let (name, bytes) = SHIPPED[i];
            Some(SessionFile::in_memory(name, bytes.to_vec())?)
        }
    })
}

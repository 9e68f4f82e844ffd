//! Starting a session on its own thread, so that a screen can be drawn before the model is loaded.

use super::config::RunConfig;
use super::engines::{Engines, ServerSet};
use super::mailbox::{Mailbox, Phase};
use super::orders::Order;
use super::session::{Audience, Finished, Session};
use super::take_over::Departure;
use super::tool::ToolSet;
use crate::engine::{Engine, EngineError};
use crate::org::{Command, Organization, Seat};
use crate::record::{Header, OpenError, Recorder, restore};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a handle that is dropped waits for its session to be saved.
const SAVING: Duration = Duration::from_secs(2);

/// Builds the engine on the session's thread.
pub type OpenEngine = Box<dyn FnOnce() -> Result<Box<dyn Engine>, EngineError> + Send>;

/// What to run.
#[expect(clippy::large_enum_variant, reason = "one is made for a session")]
pub enum Start {
    /// A new session.
    Fresh {
        /// What is asked.
        config: RunConfig,
        /// Its name.
        id: String,
        /// RFC 3339.
        created: String,
    },
    /// An interrupted one, from its recorded tokens; recorded in the same file.
    Resumed(PathBuf),
    /// A new session that goes on from a place of a recorded one.
    From {
        /// The place.
        departure: Box<Departure>,
        /// Its header, as [`Departure::header`] makes it.
        header: Box<Header>,
    },
}

/// Everything a session needs to start.
pub struct Plan {
    /// Builds the engine.
    pub open: OpenEngine,
    /// What to run.
    pub start: Start,
    /// Where to record a fresh session.
    pub file: Option<PathBuf>,
    /// Commands that come due by themselves.
    pub orders: VecDeque<Order>,
    /// Who watches.
    pub audience: Audience,
    /// Programs that can take a worker's seat.
    pub tools: ToolSet,
    /// Engines beside the session's own that can take a seat.
    pub servers: ServerSet,
}

/// Why a session did not start or did not finish.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The session file.
    #[error(transparent)]
    Record(#[from] crate::record::RecordError),
    /// The session file to go on with.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A bug: its thread panicked. What was recorded until then is in the file.
    #[error("the session broke down: {0}")]
    Panic(String),
}

/// A session on its own thread.
///
/// Dropping it (an error, a panic on the way) interrupts the run and gives it a moment to be saved.
pub struct Handle {
    /// Takes commands.
    pub commands: Sender<Command>,
    /// Where its events arrive.
    pub mailbox: Arc<Mailbox>,
    /// Taken when somebody has waited for it or left it behind.
    thread: Option<JoinHandle<Result<Finished, LiveError>>>,
}

impl Handle {
    /// Whether the session's thread is done.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Goes away without waiting: the session ends with the process.
    pub fn leave_behind(mut self) {
        self.thread = None;
    }

    /// Waits for the end. Without an audience of a person the run must end by itself or be interrupted.
    ///
    /// # Errors
    /// Whatever kept the session from starting, or broke it.
    pub fn wait(mut self) -> Result<Finished, LiveError> {
        self.thread
            .take()
            .expect("only this and `leave_behind` take the thread, and each consumes the handle")
            .join()
            .unwrap_or_else(|panic| Err(LiveError::Panic(panic_text(&*panic))))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let Some(thread) = &self.thread else { return };
        // Fails only where the session is over already.
        let _ = self.commands.send(Command::Interrupt);
        let deadline = Instant::now() + SAVING;
        while !thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown cause".into())
}

/// Starts a session. Errors while starting show in the mailbox's report and in [`Handle::wait`].
#[must_use]
pub fn launch(plan: Plan) -> Handle {
    let (sender, receiver) = channel();
    let mailbox = Arc::new(Mailbox::default());
    let posted = Arc::clone(&mailbox);
    let thread = std::thread::Builder::new()
        .name("session".into())
        .spawn(move || {
            let result = run(plan, &receiver, &posted);
            if let Err(error) = &result {
                posted.report(|report| report.phase = Phase::Failed(error.to_string()));
            }
            result
        })
        .expect("the system can start one more thread");
    Handle {
        commands: sender,
        mailbox,
        thread: Some(thread),
    }
}

/// The seats of threads that go on.
fn seats_in(org: &Organization) -> impl Iterator<Item = &Seat> {
    org.threads().filter(|t| !t.ended()).map(|t| &t.seat)
}

fn run(
    plan: Plan,
    commands: &Receiver<Command>,
    mailbox: &Arc<Mailbox>,
) -> Result<Finished, LiveError> {
    let mut engines = Engines::new((plan.open)()?, plan.servers);
    let card = engines.card();
    tracing::info!(
        model = card.model.name,
        device = card.device,
        threads = card.threads,
        "engine ready"
    );
    let posted = Some(Arc::clone(mailbox));
    mailbox.report(|report| report.file.clone_from(&plan.file));
    let mut session = match plan.start {
        Start::Fresh {
            config,
            id,
            created,
        } => {
            tracing::info!(id, file = ?plan.file, "session begins");
            let header = config.header(id, created, engines.card());
            engines.open_for(header.seats.values())?;
            let recorder = plan
                .file
                .map(|file| Recorder::create(&file, &header))
                .transpose()?;
            Session::begin(engines, header, &config, recorder, posted, plan.audience)?
        }
        Start::From { departure, header } => {
            tracing::info!(id = header.id, file = ?plan.file, "session goes on from another");
            let state = departure.history.state(departure.place, &header);
            engines.open_for(seats_in(&state))?;
            let recorder = plan
                .file
                .map(|file| Recorder::create(&file, &header))
                .transpose()?;
            Session::take_over(
                engines,
                *header,
                &departure,
                recorder,
                posted,
                plan.audience,
            )
        }
        Start::Resumed(file) => {
            tracing::info!(?file, "session goes on");
            // Appending first: it locks the file and sets a torn end aside.
            let recorder = Recorder::append_to(&file)?.recorder;
            let restored = restore(&file)?;
            engines.open_for(seats_in(&restored.organization))?;
            Session::restore(engines, restored, Some(recorder), posted, plan.audience)
        }
    };
    session.set_orders(plan.orders);
    session.set_tools(plan.tools);
    let finished = session.run(commands);
    let org = &finished.organization;
    tracing::info!(end = ?org.end, step = org.now.step.0, threads = org.threads().len(), "session over");
    if let Some(error) = &finished.record_error {
        tracing::error!("recording: {error}");
    }
    Ok(finished)
}

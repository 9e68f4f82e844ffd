//! Programs in a worker's seat: the sub-query on standard input, the result on standard output.
//!
//! Time, output and memory are bounded; a program runs in a process group of its own and is killed
//! together with everything it started. Each runs on a thread of its own; the session looks between two
//! steps whether it is done, and never waits for it.

mod process;

use super::session::Session;
use crate::org::{AskKind, Author, ErrorKind, Seat, Status, ThreadEnd, ThreadId, Verdict};
use crate::protocol::Tag;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A program as the config file names it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawTool")]
pub struct Tool {
    /// What is run.
    pub program: Program,
    /// How long it may run.
    pub timeout: Duration,
    /// How many bytes it may write.
    pub output: usize,
    /// How much memory each of its processes may map, in MiB.
    pub memory_mib: u64,
}

/// What a tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A program and its arguments, as they are.
    Command(Vec<String>),
    /// A line for the shell.
    Shell(String),
}

/// Tools by name.
pub type ToolSet = BTreeMap<String, Tool>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTool {
    command: Option<Vec<String>>,
    shell: Option<String>,
    #[serde(default = "seconds")]
    timeout_s: u64,
    #[serde(default = "kib")]
    output_kib: usize,
    #[serde(default = "mib")]
    memory_mib: u64,
}

fn seconds() -> u64 {
    30
}

fn kib() -> usize {
    64
}

fn mib() -> u64 {
    1024
}

impl TryFrom<RawTool> for Tool {
    type Error = &'static str;

    fn try_from(raw: RawTool) -> Result<Self, Self::Error> {
        let program = match (raw.command, raw.shell) {
            (Some(argv), None) if argv.first().is_some_and(|name| !name.is_empty()) => {
                Program::Command(argv)
            }
            (None, Some(line)) if !line.trim().is_empty() => Program::Shell(line),
            _ => {
                return Err(
                    "a tool has either command = [\"program\", \"argument\", ...] or shell = \"...\"",
                );
            }
        };
        if raw.timeout_s == 0 || raw.output_kib == 0 || raw.memory_mib == 0 {
            return Err("timeout_s, output_kib and memory_mib must be 1 or more");
        }
        Ok(Self {
            program,
            timeout: Duration::from_secs(raw.timeout_s),
            output: raw.output_kib.saturating_mul(1024),
            memory_mib: raw.memory_mib,
        })
    }
}

/// What a program wrote, or why it failed.
type Ran = Result<String, String>;

struct Done {
    thread: ThreadId,
    job: u64,
    ran: Ran,
}

struct Job {
    number: u64,
    stop: Arc<AtomicBool>,
}

/// The tools of one session.
pub(super) struct Tools {
    set: ToolSet,
    running: BTreeMap<ThreadId, Job>,
    jobs: u64,
    sender: Sender<Done>,
    done: Receiver<Done>,
}

impl Default for Tools {
    fn default() -> Self {
        Self::new(ToolSet::new())
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        self.stop_all();
    }
}

impl Tools {
    pub fn new(set: ToolSet) -> Self {
        let (sender, done) = channel();
        Self {
            set,
            running: BTreeMap::new(),
            jobs: 0,
            sender,
            done,
        }
    }

    /// Whether there is a tool called `name`.
    pub fn knows(&self, name: &str) -> bool {
        self.set.contains_key(name)
    }

    /// Whether any program runs.
    pub fn busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Kills what runs for `thread`; what it still says is not heard.
    pub fn stop(&mut self, thread: ThreadId) {
        if let Some(job) = self.running.remove(&thread) {
            job.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Kills everything.
    pub fn stop_all(&mut self) {
        for (_, job) in std::mem::take(&mut self.running) {
            job.stop.store(true, Ordering::Relaxed);
        }
    }

    fn start(&mut self, thread: ThreadId, name: &str, query: String) {
        self.jobs += 1;
        let (number, stop) = (self.jobs, Arc::new(AtomicBool::new(false)));
        let sender = self.sender.clone();
        let tool = self.set.get(name).cloned();
        let asked = Arc::clone(&stop);
        let unknown = format!("there is no tool `{name}` in the config file");
        let work = move || {
            let ran = match tool {
                Some(tool) => process::run(&tool, query, &asked),
                None => Err(unknown),
            };
            // Nobody listens any more where the session is over.
            let _ = sender.send(Done {
                thread,
                job: number,
                ran,
            });
        };
        let spawned = std::thread::Builder::new()
            .name(format!("tool {name}"))
            .spawn(work);
        if let Err(error) = spawned {
            // The session itself holds the other end.
            let _ = self.sender.send(Done {
                thread,
                job: number,
                ran: Err(format!("no thread for it: {error}")),
            });
        }
        self.running.insert(thread, Job { number, stop });
    }

    /// The next result of a program that was not stopped.
    fn next_done(&mut self) -> Option<(ThreadId, Ran)> {
        loop {
            let done = self.done.try_recv().ok()?;
            let current = self.running.get(&done.thread).map(|job| job.number);
            if current == Some(done.job) {
                self.running.remove(&done.thread);
                return Some((done.thread, done.ran));
            }
        }
    }
}

impl Session {
    /// Takes in the results of tools, and runs those whose turn has come.
    pub(super) fn serve_tools(&mut self) {
        while let Some((id, ran)) = self.tools.next_done() {
            self.tool_is_done(id, ran);
            if self.over() {
                return;
            }
        }
        let due: Vec<(ThreadId, String, String)> = self
            .emitter
            .org
            .threads()
            .filter(|t| t.status == Status::Running && !self.tools.running.contains_key(&t.id))
            .filter_map(|t| match &t.seat {
                Seat::Tool(name) => Some((t.id, name.clone(), t.query.clone())),
                _ => None,
            })
            .collect();
        for (id, name, query) in due {
            self.run_tool(id, &name, query);
        }
    }

    /// Runs a tool, or asks first where that is wanted.
    fn run_tool(&mut self, id: ThreadId, name: &str, query: String) {
        let asks = &self.emitter.org.asks;
        let asked = asks
            .iter()
            .rev()
            .find(|a| a.thread == id && a.kind == AskKind::Tool)
            .map(|a| (a.verdict, a.text.clone()));
        match asked {
            Some((None, _)) => {}
            Some((Some(Verdict::Approved), query)) => self.tools.start(id, name, query),
            _ if self.header.ask.contains(&AskKind::Tool) => {
                self.ask(id, AskKind::Tool, None, query, None);
            }
            _ => self.tools.start(id, name, query),
        }
    }

    fn tool_is_done(&mut self, id: ThreadId, ran: Ran) {
        let Some(Seat::Tool(name)) = self.emitter.org.thread(id).map(|t| t.seat.clone()) else {
            return;
        };
        let (open, close) = (Tag::ReturnOpen.to_string(), Tag::ReturnClose.to_string());
        match ran {
            Ok(text) => {
                // Its own closing tag would cut the result short.
                let text = text.trim().replace(&close, "</RETURN >");
                self.write(id, &format!("{open}{text}{close}"), Author::Tool(name));
            }
            Err(why) => {
                self.error(id, ErrorKind::Tool, None, format!("tool `{name}`: {why}"));
                // What it says is no action.
                let why = why.replace('<', "< ");
                self.write(id, &format!("tool `{name}`: {why}"), Author::Tool(name));
                self.end_worker(id, ThreadEnd::Failed, None);
                self.follow_up();
            }
        }
    }
}

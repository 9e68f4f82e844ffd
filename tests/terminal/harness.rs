//! A program under a real pseudo terminal, and what a person would see there.

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a program is started.
pub struct Start {
    command: CommandBuilder,
    columns: u16,
    rows: u16,
}

impl Start {
    fn new(program: impl Into<PathBuf>) -> Self {
        let mut command = CommandBuilder::new(program.into());
        command.env_clear();
        for (name, value) in [
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("RUST_BACKTRACE", "0"),
        ] {
            command.env(name, value);
        }
        Self {
            command,
            columns: 80,
            rows: 24,
        }
    }

    pub fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.command.args(args);
        self
    }

    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        self.columns = columns;
        self.rows = rows;
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn spawn(self) -> Session {
        let size = PtySize {
            rows: self.rows,
            cols: self.columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pty = native_pty_system()
            .openpty(size)
            .expect("a pseudo terminal");
        let reader = pty.master.try_clone_reader().expect("its output");
        let writer = pty.master.take_writer().expect("its input");
        let before = termios_of(&*pty.master);
        let child = pty.slave.spawn_command(self.command).expect("the program");
        let seen = Arc::new(Mutex::new(Seen {
            parser: vt100::Parser::new(self.rows, self.columns, 0),
            log: Vec::new(),
            closed: false,
            hang_up: false,
        }));
        let shared = Arc::clone(&seen);
        thread::spawn(move || watch(reader, &shared));
        Session {
            child,
            master: Some(pty.master),
            writer: Some(writer),
            seen,
            before,
        }
    }
}

struct Seen {
    parser: vt100::Parser,
    log: Vec<u8>,
    closed: bool,
    hang_up: bool,
}

fn watch(mut reader: Box<dyn Read + Send>, seen: &Mutex<Seen>) {
    let mut bytes = [0; 4096];
    while let Ok(n @ 1..) = reader.read(&mut bytes) {
        let mut seen = seen.lock().expect("the screen");
        seen.parser.process(&bytes[..n]);
        seen.log.extend_from_slice(&bytes[..n]);
        if seen.hang_up {
            break;
        }
    }
    drop(reader);
    seen.lock().expect("the screen").closed = true;
}

fn termios_of(master: &(dyn MasterPty + Send)) -> String {
    format!("{:?}", master.get_termios())
}

/// A running program.
pub struct Session {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    seen: Arc<Mutex<Seen>>,
    before: String,
}

impl Session {
    /// orgtop with these arguments, to be adjusted before it is spawned.
    ///
    /// `ORGTOP_BIN` names another build of it, for measurements.
    pub fn start(args: &[&str]) -> Start {
        let program = std::env::var_os("ORGTOP_BIN").map_or_else(
            || PathBuf::from(env!("CARGO_BIN_EXE_orgtop")),
            PathBuf::from,
        );
        Start::new(program).args(args.iter().copied())
    }

    /// orgtop with these arguments in a terminal of 80 by 24.
    pub fn spawn(args: &[&str]) -> Self {
        Self::start(args).spawn()
    }

    /// Any other program.
    pub fn program(path: impl Into<PathBuf>) -> Start {
        Start::new(path)
    }

    /// A shell with job control and the prompt `$ `.
    pub fn shell() -> Self {
        let session = Start::new("/bin/sh").args(["-i"]).env("PS1", "$ ").spawn();
        session.wait_for("$ ");
        session
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("the screen")
    }

    /// What stands on the screen.
    pub fn screen(&self) -> String {
        self.seen().parser.screen().contents()
    }

    /// Something about the emulated terminal.
    pub fn with<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.seen().parser.screen())
    }

    /// Everything that was ever written to the terminal.
    pub fn log(&self) -> Vec<u8> {
        self.seen().log.clone()
    }

    /// How often `sequence` was written to the terminal.
    pub fn count(&self, sequence: &str) -> usize {
        let log = self.log();
        log.windows(sequence.len())
            .filter(|w| *w == sequence.as_bytes())
            .count()
    }

    /// Waits until `met` holds; panics with the screen if it never does.
    pub fn wait_until(&self, what: &str, met: impl Fn(&Self) -> bool) {
        self.wait_until_within(PATIENCE, what, met);
    }

    /// The same for what takes its time: a model decodes, on a machine that has other things to do.
    pub fn wait_until_within(&self, patience: Duration, what: &str, met: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + patience;
        while !met(self) {
            assert!(
                Instant::now() < deadline,
                "waited in vain until {what}; the screen:\n{}",
                self.screen()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Types `keys` and says how long it took until `met` held on the screen.
    pub fn time_to_paint(&mut self, keys: &str, met: impl Fn(&vt100::Screen) -> bool) -> Duration {
        let began = Instant::now();
        self.keys(keys);
        while !self.with(&met) {
            assert!(began.elapsed() < PATIENCE, "the screen:\n{}", self.screen());
            thread::sleep(Duration::from_micros(300));
        }
        began.elapsed()
    }

    /// Waits until `text` stands on the screen.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("the screen shows {text:?}"), |s| {
            s.screen().contains(text)
        });
    }

    /// Waits until `text` no longer stands on the screen.
    pub fn wait_gone(&self, text: &str) {
        self.wait_until(&format!("{text:?} is gone"), |s| !s.screen().contains(text));
    }

    /// Types.
    pub fn keys(&mut self, keys: &str) {
        let writer = self.writer.as_mut().expect("an open terminal");
        writer.write_all(keys.as_bytes()).expect("keys arrive");
        writer.flush().expect("keys arrive");
    }

    /// Changes the size of the terminal.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        // The emulator breaks when text wraps in a single row, or a wide character meets a single column.
        let (seen_rows, seen_columns) = (rows.max(2), columns.max(2));
        self.seen()
            .parser
            .screen_mut()
            .set_size(seen_rows, seen_columns);
        let master = self.master.as_ref().expect("an open terminal");
        master.resize(size).expect("a new size");
    }

    /// Its process.
    pub fn process_id(&self) -> u32 {
        self.child.process_id().expect("a running program")
    }

    /// Sends a signal by name (`TERM`).
    pub fn signal(&self, name: &str) {
        kill(name, self.process_id());
    }

    /// Whether the terminal's line settings are those from before the program began.
    pub fn settings_are_as_before(&self) -> bool {
        let master = self.master.as_ref().expect("an open terminal");
        termios_of(&**master) == self.before
    }

    /// Closes the terminal, as when its window is closed. The program must draw once more for it to
    /// happen, so its size is changed before.
    pub fn hang_up(&mut self) {
        self.seen().hang_up = true;
        let (rows, columns) = self.with(vt100::Screen::size);
        self.resize(columns - 1, rows);
        self.writer = None;
        self.master = None;
    }

    /// Waits until the program has ended and everything it wrote was read.
    pub fn wait_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(
                Instant::now() < deadline,
                "it never ended; the screen:\n{}",
                self.screen()
            );
            thread::sleep(Duration::from_millis(5));
        };
        self.wait_until("everything was read", |s| s.seen().closed);
        status
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// Sends a signal by name to a process.
pub fn kill(name: &str, id: u32) {
    let status = std::process::Command::new("kill")
        .args([format!("-{name}"), id.to_string()])
        .status()
        .expect("kill");
    assert!(status.success(), "kill -{name} {id}");
}

//! One run of a program: bounded in time, output and memory, killed as a group.

use super::{Program, Ran, Tool};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How often to look whether the program is done.
const LOOK: Duration = Duration::from_millis(3);

/// How long to wait for the last output once the group is gone: something may have left it and still hold
/// the pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How much of what it says on standard error is kept.
const COMPLAINT: usize = 2000;

/// Sets the limit of memory, then becomes the program: its arguments are passed on as they are.
const LIMIT: &str = "ulimit -v \"$1\" 2>/dev/null; shift; exec \"$@\"";

/// Runs `tool` on `query`. Returns what it wrote, or why it failed, in words.
pub fn run(tool: &Tool, query: String, stop: &AtomicBool) -> Ran {
    let mut child = command(tool)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("cannot be started: {e}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input closes the pipe.
        std::thread::spawn(move || drop(stdin.write_all(query.as_bytes())));
    }
    let output = child.stdout.take().map(|pipe| read(pipe, tool.output));
    let complaint = child.stderr.take().map(|pipe| read(pipe, COMPLAINT));
    let ended = watch(&mut child, tool, stop, output.as_ref());
    kill_group(&child);
    let status = match ended {
        Ok(Some(status)) => Ok(status),
        Ok(None) => child.wait().map_err(|e| e.to_string()),
        Err(why) => {
            // It was killed: this only takes its exit status.
            let _ = child.wait();
            Err(why)
        }
    };
    let complaint = said(complaint.as_ref());
    let output = said(output.as_ref());
    if let Said::TooMuch = output {
        return Err(format!("it wrote more than {} KiB", tool.output / 1024));
    }
    let status = status?;
    if !status.success() {
        return Err(failure(status, &complaint.text()));
    }
    Ok(output.text())
}

fn command(tool: &Tool) -> Command {
    let kib = tool.memory_mib.saturating_mul(1024).to_string();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", LIMIT, "sh", &kib]);
    match &tool.program {
        Program::Command(argv) => command.args(argv),
        Program::Shell(line) => command.args(["/bin/sh", "-c", line]),
    };
    command
}

/// Waits until the program ends by itself (`Ok`), or has to be killed (why).
fn watch(
    child: &mut Child,
    tool: &Tool,
    stop: &AtomicBool,
    output: Option<&Reader>,
) -> Result<Option<ExitStatus>, String> {
    let deadline = Instant::now() + tool.timeout;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) => {}
            Err(e) => return Err(e.to_string()),
        }
        if stop.load(Ordering::Relaxed) {
            return Err("it was stopped".into());
        }
        if Instant::now() >= deadline {
            return Err(format!("it ran longer than {} s", tool.timeout.as_secs()));
        }
        if output.is_some_and(|reader| reader.full.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

fn kill_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // Nobody is left in the group of a program that ended with all its children.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// A pipe that is read on a thread of its own.
struct Reader {
    bytes: Receiver<Vec<u8>>,
    full: std::sync::Arc<AtomicBool>,
    most: usize,
}

fn read(pipe: impl Read + Send + 'static, most: usize) -> Reader {
    let (send, bytes) = channel();
    let full = std::sync::Arc::new(AtomicBool::new(false));
    let reached = std::sync::Arc::clone(&full);
    std::thread::spawn(move || {
        let mut read = Vec::new();
        // What was read before a pipe broke is as good as any.
        let _ = pipe.take(most as u64 + 1).read_to_end(&mut read);
        reached.store(read.len() > most, Ordering::Relaxed);
        // Nobody listens any more where the program was left behind.
        let _ = send.send(read);
    });
    Reader { bytes, full, most }
}

enum Said {
    All(String),
    TooMuch,
}

impl Said {
    fn text(self) -> String {
        match self {
            Self::All(text) => text,
            Self::TooMuch => String::new(),
        }
    }
}

fn said(reader: Option<&Reader>) -> Said {
    let bytes = reader
        .and_then(|reader| reader.bytes.recv_timeout(LAST_WORDS).ok())
        .unwrap_or_default();
    if reader.is_some_and(|reader| bytes.len() > reader.most) {
        return Said::TooMuch;
    }
    Said::All(String::from_utf8_lossy(&bytes).into_owned())
}

fn failure(status: ExitStatus, complaint: &str) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "it failed".to_owned(),
    };
    match complaint.trim().lines().last() {
        Some(last) => format!("{how}: {last}"),
        None => how,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(argv: &[&str]) -> Tool {
        Tool {
            program: Program::Command(argv.iter().map(ToString::to_string).collect()),
            timeout: Duration::from_secs(5),
            output: 1024,
            memory_mib: 512,
        }
    }

    fn shell(line: &str) -> Tool {
        Tool {
            program: Program::Shell(line.into()),
            ..tool(&[])
        }
    }

    fn ran(tool: &Tool, query: &str) -> Ran {
        run(tool, query.into(), &AtomicBool::new(false))
    }

    #[test]
    fn a_program_gets_the_query_and_gives_its_output() {
        assert_eq!(ran(&tool(&["cat"]), "2 + 3").unwrap(), "2 + 3");
    }

    #[test]
    fn arguments_are_never_read_by_a_shell() {
        let echo = tool(&["printf", "%s", "$HOME; `id` $(id) > x"]);
        assert_eq!(ran(&echo, "").unwrap(), "$HOME; `id` $(id) > x");
    }

    #[test]
    fn time_output_and_memory_are_bounded() {
        let mut slow = shell("sleep 60 & sleep 60");
        slow.timeout = Duration::from_millis(200);
        let began = Instant::now();
        assert!(ran(&slow, "").unwrap_err().contains("longer than"));
        let loud = tool(&["yes"]);
        assert_eq!(ran(&loud, "").unwrap_err(), "it wrote more than 1 KiB");
        let mut greedy = shell("head -c 300000000 /dev/zero | tail | wc -c");
        greedy.memory_mib = 64;
        assert_ne!(ran(&greedy, "").ok().as_deref(), Some("300000000\n"));
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn what_it_started_dies_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("late");
        let line = format!("(sleep 1; touch {}) & echo early", file.display());
        assert_eq!(ran(&shell(&line), "").unwrap(), "early\n");
        std::thread::sleep(Duration::from_millis(1300));
        assert!(!file.exists());
    }

    #[test]
    fn failures_are_told_in_words() {
        assert_eq!(
            ran(&shell("echo no luck >&2; exit 3"), "").unwrap_err(),
            "exit code 3: no luck"
        );
        assert!(
            ran(&tool(&["/no/such/program"]), "")
                .unwrap_err()
                .contains("exit code 12")
        );
    }

    #[test]
    fn input_that_nobody_reads_does_no_harm() {
        assert_eq!(ran(&tool(&["true"]), &"x".repeat(1 << 20)).unwrap(), "");
    }
}

//! Opening a screen for a session or a recording, and the line log where there is no screen.

use super::app::{self, Exit, Options};
use super::plain::PlainLog;
use super::replay::Replay;
use super::source::{LiveSource, Source};
use super::terminal::Screen;
use super::terminal::signals::{Ending, Notice, watch};
use crate::live::Phase;
use crate::org::Command;
use std::io::{self, Write};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Shows a running session until the person leaves. The first frame is drawn at once, whatever the
/// session is still loading.
///
/// # Errors
/// The terminal can't be taken or is gone.
pub fn run_live(source: LiveSource, options: Options) -> io::Result<Exit> {
    let mut screen = Screen::enter(options.modes)?;
    app::run(Source::Live(source), options, &mut screen)
}

/// Shows a recording until the person leaves.
///
/// # Errors
/// The terminal can't be taken or is gone; the file can't be read any more.
pub fn run_replay(replay: Replay, options: Options) -> io::Result<Exit> {
    let mut screen = Screen::enter(options.modes)?;
    app::run(Source::Replay(Box::new(replay)), options, &mut screen)
}

/// Prints a running session as lines until it is over or the process is asked to end; the session is
/// then saved as interrupted.
///
/// # Errors
/// Whatever writing to `out` gives; a closed pipe interrupts the session first.
pub fn run_plain(source: &LiveSource, out: &mut impl Write) -> io::Result<Exit> {
    let (send, signals) = unbounded_channel();
    let watch = watch(move |notice| {
        // Only fails when the loop is gone, and then nobody needs it.
        let _ = send.send(notice);
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let exit = runtime.block_on(lines(source, signals, out));
    if exit.is_err() {
        // Fails only where the session is over already.
        let _ = source.commands.send(Command::Interrupt);
    }
    drop(watch);
    exit
}

async fn lines(
    source: &LiveSource,
    mut signals: UnboundedReceiver<Notice>,
    out: &mut impl Write,
) -> io::Result<Exit> {
    let mut log = PlainLog::default();
    let mut ending: Option<Ending> = None;
    let mut banner = None;
    loop {
        let batch = source.mailbox.take();
        for event in &batch.events {
            log.event(event, out)?;
        }
        if batch.report.banner != banner {
            banner.clone_from(&batch.report.banner);
            if let Some(text) = &banner {
                writeln!(out, "warning: {}", super::text::safe_line(text))?;
            }
        }
        out.flush()?;
        if matches!(batch.report.phase, Phase::Over | Phase::Failed(_)) {
            log.finish(out)?;
            return Ok(ending.map_or(Exit::Done, Exit::Signal));
        }
        tokio::select! {
            () = source.mailbox.posted() => {}
            Some(notice) = signals.recv() => {
                if let Notice::End(signal) = notice {
                    ending = Some(signal);
                    if source.commands.send(Command::Interrupt).is_err() {
                        return Ok(Exit::Signal(signal));
                    }
                }
            }
        }
    }
}

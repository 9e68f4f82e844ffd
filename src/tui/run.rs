//! Opening a screen for a session or a recording, and the line log where there is no screen.

use super::app::{self, Exit, Options};
use super::demo::Demo;
use super::plain::PlainLog;
use super::recital::Recital;
use super::replay::Replay;
use super::source::{LiveSource, Source};
use super::terminal::Screen;
use super::terminal::signals::{Ending, Notice, watch};
use crate::live::Phase;
use crate::org::{Command, parse_command};
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
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
/// then saved as interrupted. A demo is played without its keys.
///
/// # Errors
/// Whatever writing to `out` gives; a closed pipe interrupts the session first.
pub fn run_plain(
    source: &LiveSource,
    demo: Option<Demo>,
    out: &mut impl Write,
) -> io::Result<Exit> {
    let (send, signals) = unbounded_channel();
    let watch = watch(move |notice| {
        // Only fails when the loop is gone, and then nobody needs it.
        let _ = send.send(notice);
    })?;
    let (send, wrong) = unbounded_channel();
    listen(source, move |why| {
        // Only fails when the loop is gone, and then nobody reads it.
        let _ = send.send(why);
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let recital = demo.map(|demo| Recital::begin(demo, source));
    let exit = runtime.block_on(lines(source, signals, wrong, recital, out));
    if exit.is_err() {
        // Fails only where the session is over already.
        let _ = source.commands.send(Command::Interrupt);
    }
    drop(watch);
    exit
}

/// Longest line that is read as a command.
const LONGEST_LINE: u64 = 64 << 10;

/// Reads commands from standard input, a line each, on a thread of its own, until it ends. `complain` is told
/// of lines that are none.
fn listen(source: &LiveSource, complain: impl Fn(String) + Send + 'static) -> io::Result<()> {
    let (commands, mailbox) = (source.commands.clone(), Arc::clone(&source.mailbox));
    mailbox.listen();
    std::thread::Builder::new()
        .name("commands".into())
        .spawn(move || {
            let mut input = io::stdin().lock();
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line);
                if !matches!(read, Ok(count) if count > 0) {
                    break;
                }
                let text = String::from_utf8_lossy(&line);
                match parse_command(&text) {
                    _ if text.trim().is_empty() => {}
                    Ok(command) => {
                        if commands.send(command).is_err() {
                            break;
                        }
                    }
                    Err(why) => complain(why),
                }
            }
            // Whatever was asked has been sent by now.
            mailbox.hang_up();
        })?;
    Ok(())
}

async fn lines(
    source: &LiveSource,
    mut signals: UnboundedReceiver<Notice>,
    mut wrong: UnboundedReceiver<String>,
    mut recital: Option<Recital<'_>>,
    out: &mut impl Write,
) -> io::Result<Exit> {
    let mut log = PlainLog::default();
    let mut ending: Option<Ending> = None;
    let mut banner = None;
    loop {
        let batch = source.mailbox.take();
        if let (Some(recital), Some(header)) = (&mut recital, &batch.report.header) {
            recital.about(header);
        }
        for event in &batch.events {
            log.event(event, out)?;
            if let Some(recital) = &mut recital {
                recital.hear(event);
            }
        }
        if batch.report.banner != banner {
            banner.clone_from(&batch.report.banner);
            if let Some(text) = &banner {
                writeln!(out, "warning: {}", super::text::safe_line(text))?;
            }
        }
        let over = matches!(batch.report.phase, Phase::Over | Phase::Failed(_));
        if let Some(playing) = &mut recital
            && playing.go_on(over, out)?
        {
            recital = None;
        }
        out.flush()?;
        if over && recital.is_none() {
            // Lines that came before the one that ended the run are answered too.
            while let Ok(why) = wrong.try_recv() {
                refuse(&why, out)?;
            }
            log.finish(out)?;
            return Ok(ending.map_or(Exit::Done, Exit::Signal));
        }
        let due = recital.as_ref().and_then(Recital::due);
        tokio::select! {
            () = source.mailbox.posted() => {}
            () = app::wait(due) => {}
            Some(why) = wrong.recv() => refuse(&why, out)?,
            Some(notice) = signals.recv() => {
                if let Notice::End(signal) = notice {
                    ending = Some(signal);
                    if source.commands.send(Command::Interrupt).is_err() {
                        return Ok(Exit::Signal(signal));
                    }
                    recital = None;
                }
            }
        }
    }
}

/// Says why a line was no command.
fn refuse(why: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "refused: {}", super::text::safe_line(why))
}

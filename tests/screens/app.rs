//! The run loop without a terminal: when it draws, and how it is left.

use crate::screen::{key_event, look};
use crate::story::{self, Story};
use crossterm::event::Event as TerminalEvent;
use futures_util::Stream;
use orgtop::live::{Mailbox, Phase};
use orgtop::org::Command;
use orgtop::tui::app::App;
use orgtop::tui::keymap::Keymap;
use orgtop::tui::source::{LiveSource, Source};
use orgtop::tui::surface::Surface;
use orgtop::tui::terminal::Modes;
use orgtop::tui::theme::{ColorDepth, ThemeWatch};
use orgtop::tui::{Exit, Options};
use ratatui::backend::TestBackend;
use ratatui::{Frame, Terminal};
use std::io;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Keys = Arc<Mutex<UnboundedReceiver<TerminalEvent>>>;

struct Events(Keys);

impl Stream for Events {
    type Item = io::Result<TerminalEvent>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.lock().unwrap().poll_recv(cx).map(|e| e.map(Ok))
    }
}

/// Counts frames; keeps the text of the first and the last.
struct Paper {
    terminal: Terminal<TestBackend>,
    keys: Keys,
    frames: Arc<Mutex<Vec<String>>>,
    outside: usize,
    /// Keeps the input open after the person has gone.
    _input: UnboundedSender<TerminalEvent>,
}

impl Surface for Paper {
    type Events = Events;

    fn events(&mut self) -> Events {
        Events(Arc::clone(&self.keys))
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        Ok((80, 24))
    }

    fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(render).map_err(io::Error::other)?;
        let text = format!("{}", self.terminal.backend());
        self.frames.lock().unwrap().push(text);
        Ok(())
    }

    fn repaint(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.outside += 1;
        Ok(())
    }

    fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        self.outside += 1;
        Ok(work())
    }

    fn set_mouse(&mut self, _mouse: bool) -> io::Result<()> {
        Ok(())
    }

    fn copy(&mut self, _text: &str) -> Result<(), String> {
        Ok(())
    }
}

struct Stage {
    mailbox: Arc<Mailbox>,
    keys: UnboundedSender<TerminalEvent>,
    commands: Receiver<Command>,
    frames: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn press(&self, keys: &str) {
        for key in keys.split_whitespace() {
            self.keys.send(TerminalEvent::Key(key_event(key))).unwrap();
        }
    }

    fn frames(&self) -> usize {
        self.frames.lock().unwrap().len()
    }

    fn begin(&self, story: &Story) {
        let header = story.header.clone();
        self.mailbox.report(|report| {
            report.header = Some(Box::new(header));
            report.phase = Phase::Running;
        });
        for event in &story.events {
            self.mailbox.post(event.clone());
        }
    }
}

/// Runs a screen and `play` beside it; `play` must leave the screen.
fn on_stage<F: Future<Output = ()>>(play: impl FnOnce(Stage) -> F) -> Exit {
    on_stage_with(None, play)
}

/// The same with a theme that is looked after.
fn on_stage_with<F: Future<Output = ()>>(
    themes: Option<ThemeWatch>,
    play: impl FnOnce(Stage) -> F,
) -> Exit {
    let (send, keys) = unbounded_channel();
    let (commands, asked) = channel();
    let (_signals, no_signals) = unbounded_channel();
    let mailbox = Arc::new(Mailbox::default());
    let frames = Arc::new(Mutex::new(Vec::new()));
    let mut paper = Paper {
        terminal: Terminal::new(TestBackend::new(80, 24)).unwrap(),
        keys: Arc::new(Mutex::new(keys)),
        frames: Arc::clone(&frames),
        outside: 0,
        _input: send.clone(),
    };
    let source = Source::Live(LiveSource {
        commands,
        mailbox: Arc::clone(&mailbox),
    });
    let options = Options {
        look: look("terminal", false),
        keymap: Keymap::default(),
        modes: Modes::default(),
        loading: "organizer-1M, built in".into(),
        accepts: Box::new(|_| Ok(())),
        themes,
        demo: None,
    };
    let stage = Stage {
        mailbox,
        keys: send,
        commands: asked,
        frames,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let app = App::new(source, options, &mut paper);
        let (exit, ()) = tokio::join!(app.run(no_signals, Arc::default(), || ()), play(stage));
        exit.unwrap()
    })
}

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[test]
fn the_first_frame_comes_before_anything_is_loaded() {
    let began = Instant::now();
    let exit = on_stage(|stage| async move {
        pass(5).await;
        let first = stage.frames.lock().unwrap()[0].clone();
        assert!(first.contains("Loading the model"), "{first}");
        assert!(began.elapsed() < Duration::from_millis(150));
        stage.press("q");
    });
    assert_eq!(exit, Exit::Done);
}

#[test]
fn an_idle_screen_draws_nothing() {
    on_stage(|stage| async move {
        stage.begin(&story::answered());
        stage.mailbox.report(|r| r.phase = Phase::Over);
        pass(200).await;
        let before = stage.frames();
        pass(600).await;
        assert_eq!(stage.frames(), before);
        stage.press("q");
    });
}

#[test]
fn a_theme_that_is_edited_is_worn_at_once_and_looking_after_it_draws_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "\"ui.text\" = \"red\"").unwrap();
    let dirs = [folder.path().to_owned()];
    let themes = ThemeWatch::new("mine", &dirs, ColorDepth::True, Instant::now());
    on_stage_with(themes, |stage| async move {
        stage.begin(&story::answered());
        stage.mailbox.report(|r| r.phase = Phase::Over);
        pass(200).await;
        let before = stage.frames();
        pass(1300).await;
        assert_eq!(stage.frames(), before);
        let newest = || stage.frames.lock().unwrap().last().unwrap().clone();
        std::fs::write(&file, "\n\"ui.text\" = \"redd\"").unwrap();
        pass(1300).await;
        assert!(newest().contains("theme: mine.toml:2: unknown colour `redd`"));
        std::fs::write(&file, "\"ui.text\" = \"blue\"").unwrap();
        pass(1300).await;
        assert!(newest().contains("theme mine: read again"), "{}", newest());
        assert!(!newest().contains("redd"));
        stage.press("q");
    });
}

#[test]
fn a_streaming_session_is_drawn_thirty_times_a_second_at_most() {
    on_stage(|stage| async move {
        let mut story = story::three_workers();
        stage.begin(&story);
        pass(100).await;
        let before = stage.frames();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(600) {
            let told = story.events.len();
            story.steps(
                5,
                &[
                    (story::ORGANIZER, &["more "]),
                    (story::worker(1), &["and "]),
                ],
            );
            for event in &story.events[told..] {
                stage.mailbox.post(event.clone());
            }
            pass(1).await;
        }
        let frames = stage.frames() - before;
        assert!((5..=20).contains(&frames), "{frames} frames in 600 ms");
        stage.press("q");
        pass(300).await;
        stage.press("y");
        pass(50).await;
        assert_eq!(stage.commands.try_iter().last(), Some(Command::Interrupt));
        stage.mailbox.report(|r| r.phase = Phase::Over);
    });
}

#[test]
fn keys_are_drawn_sixty_times_a_second_at_most() {
    on_stage(|stage| async move {
        stage.begin(&story::answered());
        stage.mailbox.report(|r| r.phase = Phase::Over);
        pass(100).await;
        let before = stage.frames();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(500) {
            stage.press("tab");
            pass(1).await;
        }
        let frames = stage.frames() - before;
        assert!((10..=32).contains(&frames), "{frames} frames in 500 ms");
        stage.press("q");
    });
}

#[test]
fn a_session_that_does_not_answer_can_be_left() {
    let exit = on_stage(|stage| async move {
        stage.begin(&story::three_workers());
        pass(100).await;
        stage.press("ctrl-c ctrl-c ctrl-c ctrl-c");
    });
    assert_eq!(exit, Exit::Forced);
}

#[test]
fn leaving_waits_for_the_session_to_be_saved() {
    let exit = on_stage(|stage| async move {
        stage.begin(&story::three_workers());
        pass(100).await;
        stage.press("ctrl-c ctrl-c ctrl-c");
        pass(100).await;
        let asked: Vec<Command> = stage.commands.try_iter().collect();
        assert_eq!(asked, [Command::Pause { thread: None }, Command::Interrupt]);
        stage.mailbox.report(|r| r.phase = Phase::Over);
    });
    assert_eq!(exit, Exit::Done);
}

#[test]
fn without_a_screen_everything_is_told_in_lines() {
    let story = story::answered();
    let mailbox = Arc::new(Mailbox::default());
    let (commands, _asked) = channel();
    for event in &story.events {
        mailbox.post(event.clone());
    }
    mailbox.report(|r| r.phase = Phase::Over);
    let mut out = Vec::new();
    let exit = orgtop::tui::run_plain(&LiveSource { commands, mailbox }, None, &mut out).unwrap();
    assert_eq!(exit, Exit::Done);
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains('\u{1b}'));
    insta::assert_snapshot!("plain", text);
}

//! What the training screen knows, and what its keys do.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::{Duration, Instant};

/// Most points of a line that are kept; then every second one is dropped.
const POINTS: usize = 4096;

/// A line of a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Its name in the legend.
    pub name: &'static str,
    /// Its points, in order.
    pub points: Vec<(f64, f64)>,
}

/// Lines over steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// Above it, with the unit.
    pub title: &'static str,
    /// Its lines.
    pub series: Vec<Series>,
}

impl Chart {
    /// A chart without points.
    #[must_use]
    pub fn new(title: &'static str, series: &[&'static str]) -> Self {
        let series = series.iter().map(|name| Series {
            name,
            points: Vec::new(),
        });
        Self {
            title,
            series: series.collect(),
        }
    }
}

/// Something a training tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// Steps taken, and what they came to, in a few words.
    Step(u64, String),
    /// What goes on within a step.
    Doing(String),
    /// A point: chart and line by number, step, value.
    Point(usize, usize, u64, f64),
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    /// Nothing.
    Nothing,
    /// The training is to stop.
    Stop,
    /// The training is over, and the person has seen it.
    Leave,
    /// Go into the background.
    Suspend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Training,
    Stopping,
    Over,
}

/// The training as it is shown.
#[derive(Debug, Clone)]
pub struct Board {
    /// What is trained.
    pub title: String,
    /// Steps in all.
    pub steps: u64,
    /// Steps taken.
    pub step: u64,
    /// What the last step came to.
    pub summary: String,
    /// What goes on.
    pub doing: String,
    /// The curves.
    pub charts: Vec<Chart>,
    began: Instant,
    /// The first step seen here: those before took no time of ours.
    from: Option<u64>,
    phase: Phase,
}

impl Board {
    /// A training of `steps` steps of which nothing is known yet.
    #[must_use]
    pub fn new(title: String, steps: u64, charts: Vec<Chart>) -> Self {
        Self {
            title,
            steps,
            step: 0,
            summary: String::new(),
            doing: String::new(),
            charts,
            began: Instant::now(),
            from: None,
            phase: Phase::Training,
        }
    }

    /// Takes a note in.
    pub fn take(&mut self, note: Note) {
        match note {
            Note::Step(step, summary) => {
                self.from.get_or_insert(step.saturating_sub(1));
                self.step = step;
                self.summary = summary;
                self.doing.clear();
            }
            Note::Doing(what) => self.doing = what,
            Note::Point(chart, series, step, value) => {
                let series = self
                    .charts
                    .get_mut(chart)
                    .and_then(|c| c.series.get_mut(series));
                let Some(series) = series.filter(|_| value.is_finite()) else {
                    return;
                };
                if series.points.len() >= POINTS {
                    let mut at = 0;
                    series.points.retain(|_| {
                        at += 1;
                        at % 2 == 1
                    });
                }
                series.points.push((step as f64, value));
            }
        }
    }

    /// Time until the last step at the pace so far.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let taken = self.step.checked_sub(self.from?).filter(|n| *n > 0)?;
        let each = self.began.elapsed().as_secs_f64() / taken as f64;
        let left = self.steps.saturating_sub(self.step) as f64 * each;
        Some(Duration::from_secs_f64(left))
    }

    /// Shows that the training was asked to stop.
    pub fn stop(&mut self) {
        if self.phase == Phase::Training {
            self.phase = Phase::Stopping;
        }
    }

    /// The training is over: nothing more comes.
    pub fn end(&mut self) {
        if self.phase == Phase::Training {
            self.phase = Phase::Over;
        }
    }

    /// Whether nothing more comes.
    #[must_use]
    pub fn over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Whether it was asked to stop.
    #[must_use]
    pub fn stopping(&self) -> bool {
        self.phase == Phase::Stopping
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Pressed {
        if key.kind == KeyEventKind::Release {
            return Pressed::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('z') if control => Pressed::Suspend,
            KeyCode::Char('q') | KeyCode::Char('c') if self.over() => Pressed::Leave,
            KeyCode::Esc | KeyCode::Enter if self.over() => Pressed::Leave,
            KeyCode::Char('q') => {
                self.stop();
                Pressed::Stop
            }
            KeyCode::Char('c') if control => {
                self.stop();
                Pressed::Stop
            }
            _ => Pressed::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Board {
        Board::new("t".into(), 10, vec![Chart::new("loss", &["training"])])
    }

    fn press(board: &mut Board, code: KeyCode) -> Pressed {
        board.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn leaving_stops_the_training_first() {
        let mut b = board();
        assert_eq!(press(&mut b, KeyCode::Esc), Pressed::Nothing);
        assert_eq!(press(&mut b, KeyCode::Char('q')), Pressed::Stop);
        assert!(b.stopping());
        let mut b = board();
        b.end();
        assert_eq!(press(&mut b, KeyCode::Char('q')), Pressed::Leave);
    }

    #[test]
    fn a_long_training_keeps_a_bounded_number_of_points() {
        let mut b = board();
        for step in 0..50_000 {
            b.take(Note::Point(0, 0, step, 1.0));
        }
        let points = &b.charts[0].series[0].points;
        assert!(points.len() <= POINTS && points[0].0 == 0.0);
        b.take(Note::Point(0, 0, 1, f64::NAN));
        b.take(Note::Point(3, 1, 1, 1.0));
        assert!(b.charts[0].series[0].points.iter().all(|p| p.1.is_finite()));
    }
}

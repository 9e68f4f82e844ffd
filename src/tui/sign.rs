//! The characters that carry meaning, in Unicode and in ASCII, and the words for states.
//!
//! Every state has a glyph and a word of its own, so that nothing depends on colour.

use crate::org::{Seat, Status, Thread, ThreadEnd, ThreadId, WaitOn};
use ratatui::symbols::border;

/// One set of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signs {
    /// Decoding.
    pub running: &'static str,
    /// Standing at a Join or a blocked Fork.
    pub waiting: &'static str,
    /// Held by a person.
    pub paused: &'static str,
    /// Gave its result.
    pub returned: &'static str,
    /// Gave the answer.
    pub answered: &'static str,
    /// The same solution once more.
    pub again: &'static str,
    /// Stopped by a person.
    pub killed: &'static str,
    /// The engine failed on it.
    pub failed: &'static str,
    /// Cut by its budget.
    pub limit: &'static str,
    /// Ended by the model without a result.
    pub eos: &'static str,
    /// Still going when the run ended.
    pub abandoned: &'static str,
    /// Lane: decoding on the critical path, left-aligned parts of a cell in eighths.
    pub thick: [&'static str; 9],
    /// Lane: decoding off the critical path: left half, right half, whole.
    pub thin: [&'static str; 3],
    /// Lane: waiting.
    pub wait: &'static str,
    /// Lane: paused.
    pub hold: &'static str,
    /// State: a person writes.
    pub human: &'static str,
    /// Lane: a person writes.
    pub person: &'static str,
    /// Lane and state: a tool works.
    pub tool: &'static str,
    /// Elbow parts: down, up-right corner, up-left corner, across, vertical.
    pub elbow: [&'static str; 4],
    /// Heights of a sparkline, lowest first; the first is empty.
    pub spark: [&'static str; 9],
    /// Axis: line, tick.
    pub axis: [&'static str; 2],
    /// Vertical line of the cursor.
    pub cursor: &'static str,
    /// Live, in the header.
    pub live: &'static str,
    /// More below.
    pub below: &'static str,
    /// Begins a line that a person reads as a prompt.
    pub prompt: &'static str,
    /// Between words of one line.
    pub dot: &'static str,
    /// Cut text.
    pub ellipsis: &'static str,
    /// Ratio in words (`x` or `×`).
    pub times: &'static str,
    /// The name of the concurrency ratio.
    pub eta: &'static str,
    /// A dash between name and value.
    pub dash: &'static str,
    /// A frame without the focus.
    pub frame: border::Set<'static>,
    /// A frame with the focus.
    pub focused_frame: border::Set<'static>,
    /// Phases of the wait for something without a length.
    pub spinner: &'static [&'static str],
}

/// A heavy upper edge: enough to be found without colour, and calm.
const FOCUSED_FRAME: border::Set<'static> = border::Set {
    top_left: "┍",
    top_right: "┑",
    horizontal_top: "━",
    ..border::ROUNDED
};

const ASCII_FRAME: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

const ASCII_FOCUSED_FRAME: border::Set<'static> = border::Set {
    horizontal_top: "=",
    ..ASCII_FRAME
};

impl Signs {
    /// For terminals with Unicode fonts.
    pub const UNICODE: Self = Self {
        running: "▶",
        waiting: "◌",
        paused: "‖",
        returned: "✓",
        answered: "★",
        again: "≈",
        killed: "✗",
        failed: "!",
        limit: "▣",
        eos: "○",
        abandoned: "–",
        thick: [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
        thin: ["▖", "▗", "▄"],
        wait: "┄",
        hold: "═",
        human: "✎",
        person: "▒",
        tool: "░",
        elbow: ["╰", "╯", "─", "│"],
        spark: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
        axis: ["─", "┴"],
        cursor: "│",
        live: "●",
        below: "↓",
        prompt: "›",
        dot: "·",
        ellipsis: "…",
        times: "×",
        eta: "η",
        dash: "–",
        frame: border::ROUNDED,
        focused_frame: FOCUSED_FRAME,
        spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    };

    /// For terminals without.
    pub const ASCII: Self = Self {
        running: ">",
        waiting: "?",
        paused: "=",
        returned: "v",
        answered: "*",
        again: "~",
        killed: "x",
        failed: "!",
        limit: "#",
        eos: "o",
        abandoned: "-",
        thick: [" ", " ", "|", "|", "#", "#", "#", "#", "#"],
        thin: ["-", "-", "="],
        wait: ".",
        hold: ":",
        human: "@",
        person: "@",
        tool: "%",
        elbow: ["`", "'", "-", "|"],
        spark: [" ", ".", ".", ":", ":", "|", "|", "#", "#"],
        axis: ["-", "+"],
        cursor: "|",
        live: "*",
        below: "v",
        prompt: ">",
        dot: "-",
        ellipsis: "~",
        times: "x",
        eta: "eta",
        dash: "-",
        frame: ASCII_FRAME,
        focused_frame: ASCII_FOCUSED_FRAME,
        spinner: &["|", "/", "-", "\\"],
    };

    /// The glyph of an end.
    #[must_use]
    pub fn end(&self, end: ThreadEnd) -> &'static str {
        match end {
            ThreadEnd::Answered => self.answered,
            ThreadEnd::Returned => self.returned,
            ThreadEnd::Limit => self.limit,
            ThreadEnd::Eos => self.eos,
            ThreadEnd::Killed => self.killed,
            ThreadEnd::Failed => self.failed,
            ThreadEnd::Abandoned => self.abandoned,
        }
    }

    /// The glyph of a thread's state.
    #[must_use]
    pub fn status(&self, thread: &Thread) -> &'static str {
        match thread.status {
            Status::Ended(end) => self.end(end),
            _ if thread.paused => self.paused,
            Status::Waiting(_) => self.waiting,
            Status::Running => match thread.seat {
                Seat::Human => self.human,
                Seat::Tool(_) => self.tool,
                Seat::Model | Seat::Server(_) => self.running,
            },
        }
    }
}

impl Signs {
    /// A thread's id where threads stand one below the other: who works for a worker hangs below it.
    #[must_use]
    pub fn hanging(&self, id: ThreadId) -> String {
        match id.depth() {
            0 | 1 => id.to_string(),
            depth => format!("{}{}{id}", " ".repeat(depth - 2), self.elbow[0]),
        }
    }
}

/// The word of an end.
#[must_use]
pub fn end_word(end: ThreadEnd) -> &'static str {
    match end {
        ThreadEnd::Answered => "answered",
        ThreadEnd::Returned => "returned",
        ThreadEnd::Limit => "cut by limit",
        ThreadEnd::Eos => "ended (eos)",
        ThreadEnd::Killed => "killed",
        ThreadEnd::Failed => "failed",
        ThreadEnd::Abandoned => "abandoned",
    }
}

/// The words of a thread's state.
#[must_use]
pub fn status_words(thread: &Thread) -> String {
    match thread.status {
        Status::Ended(end) => end_word(end).to_owned(),
        _ if thread.paused => "paused".to_owned(),
        Status::Waiting(WaitOn::Join(child)) => format!("waiting for {child}"),
        Status::Waiting(WaitOn::Slot(child)) => format!("waiting for a slot for {child}"),
        Status::Running => match &thread.seat {
            Seat::Human => "you write".to_owned(),
            // Which server it is stands in front of the state.
            Seat::Model | Seat::Server(_) => "running".to_owned(),
            tool @ Seat::Tool(_) => tool.to_string(),
        },
    }
}

/// The theme scope of a thread's state.
#[must_use]
pub fn status_scope(thread: &Thread) -> &'static str {
    match thread.status {
        Status::Ended(end) => end_scope(end),
        _ if thread.paused => "state.paused",
        Status::Waiting(_) => "state.waiting",
        Status::Running => match thread.seat {
            Seat::Human => "state.human",
            Seat::Tool(_) => "state.tool",
            Seat::Model | Seat::Server(_) => "state.running",
        },
    }
}

/// The theme scope of an end.
#[must_use]
pub fn end_scope(end: ThreadEnd) -> &'static str {
    match end {
        ThreadEnd::Answered | ThreadEnd::Returned | ThreadEnd::Eos => "state.done",
        ThreadEnd::Limit | ThreadEnd::Failed => "state.failed",
        ThreadEnd::Killed => "state.killed",
        ThreadEnd::Abandoned => "ui.dim",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_state_has_a_glyph_of_its_own_even_in_ascii() {
        for g in [Signs::UNICODE, Signs::ASCII] {
            let all = [
                g.running,
                g.human,
                g.tool,
                g.waiting,
                g.paused,
                g.returned,
                g.answered,
                g.killed,
                g.failed,
                g.limit,
                g.eos,
                g.abandoned,
            ];
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        }
    }

    #[test]
    fn every_kind_of_stretch_has_a_glyph_of_its_own() {
        for g in [Signs::UNICODE, Signs::ASCII] {
            let all = [
                g.thick[8], g.thin[2], g.wait, g.hold, g.killed, g.person, g.tool,
            ];
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        }
    }
}

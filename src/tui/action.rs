//! Everything a person can do on the screen, in one table.
//!
//! The table feeds dispatch (through [`super::keymap`]), the footer, the help, the palette and the
//! user's `keymap.toml`. It does not say what an action does to the model; [`super::update`] does.

use std::fmt;

/// Where a key means something. The first context of [`super::model::Model::contexts`] that binds a
/// key wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// The stop menu is open.
    Stop,
    /// The menu of runs to follow this one is open.
    Again,
    /// The queue of requests is open.
    Queue,
    /// The board of drafts is open.
    Board,
    /// The list of breakpoints is open.
    Breaks,
    /// The tree of branches is open.
    Tree,
    /// The choice of a worker to join is open.
    Pick,
    /// Any of these five is open.
    List,
    /// The inspector, help or what-if panel is open.
    Panel,
    /// A question waits for yes or no.
    Question,
    /// An editor is open: what it does not take goes into the text.
    Editor,
    /// The timeline has the focus.
    Timeline,
    /// A pane has the focus.
    Panes,
    /// A session is being decoded.
    Live,
    /// A recorded session is being played.
    Replay,
    /// Everywhere but in text fields, editors and questions.
    Any,
}

impl Context {
    /// All contexts, in the order of the help.
    pub const ALL: [Self; 16] = [
        Self::Live,
        Self::Replay,
        Self::Panes,
        Self::Timeline,
        Self::Queue,
        Self::Board,
        Self::Breaks,
        Self::Tree,
        Self::Pick,
        Self::List,
        Self::Panel,
        Self::Question,
        Self::Editor,
        Self::Stop,
        Self::Again,
        Self::Any,
    ];

    /// Its name in `keymap.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Again => "again",
            Self::Queue => "queue",
            Self::Board => "board",
            Self::Breaks => "breakpoints",
            Self::Tree => "branches",
            Self::Pick => "join",
            Self::List => "list",
            Self::Panel => "panel",
            Self::Question => "question",
            Self::Editor => "editor",
            Self::Timeline => "timeline",
            Self::Panes => "panes",
            Self::Live => "live",
            Self::Replay => "replay",
            Self::Any => "any",
        }
    }

    /// Its heading in the help.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Stop => "Stop menu",
            Self::Again => "Run again",
            Self::Queue => "Requests",
            Self::Board => "Board of drafts",
            Self::Breaks => "Breakpoints",
            Self::Tree => "Tree of branches",
            Self::Pick => "Join which worker?",
            Self::List => "Any open list",
            Self::Panel => "Open panel",
            Self::Question => "Questions",
            Self::Editor => "Editors",
            Self::Timeline => "Timeline",
            Self::Panes => "Panes",
            Self::Live => "Steering",
            Self::Replay => "Replay",
            Self::Any => "Everywhere",
        }
    }
}

macro_rules! actions {
    ($($name:ident $id:literal $context:ident [$($key:literal)*] $short:literal $long:literal;)*) => {
        /// One thing a person can do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action {
            $(#[doc = $long] $name,)*
        }

        /// One row per action, in the order of the help.
        pub const TABLE: &[Row] = &[
            $(Row {
                action: Action::$name,
                id: $id,
                context: Context::$context,
                keys: &[$($key),*],
                short: $short,
                long: $long,
            },)*
        ];
    };
}

/// What the program knows about an action.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Which.
    pub action: Action,
    /// Its name in `keymap.toml`.
    pub id: &'static str,
    /// Where its keys work.
    pub context: Context,
    /// Default keys, as [`super::keymap::parse_key`] reads them.
    pub keys: &'static [&'static str],
    /// One or two words, for the footer.
    pub short: &'static str,
    /// A sentence, for help and palette.
    pub long: &'static str,
}

actions! {
    PauseResume "pause" Live ["space"] "pause" "Pause or resume everything";
    Step "step" Live ["."] "step" "Advance exactly one step, then stay paused";
    Next "next-action" Live [">"] "next action" "Run to the next action, then pause";
    PauseThread "pause-thread" Live ["p"] "pause thread" "Pause or resume the selected thread";
    Fork "fork" Live ["f"] "fork" "Write a sub-query and fork it by hand";
    Join "join" Live ["J"] "join now" "Make the organizer join a worker now";
    Answer "answer" Live ["a"] "answer now" "Make the organizer write its answer now";
    StopMenu "stop" Live ["x"] "stop" "Open the stop menu of the selected thread";
    Edit "edit" Live ["e"] "edit" "Change the selected thread's text and go on from there";
    Branch "branch" Live ["b"] "branch" "Go back to the cursor's token, on a new branch";
    Undo "undo" Live ["u"] "undo" "Go to the state before the last steering command";
    Redo "redo" Live ["U"] "redo" "Go to the state that the last undo left";
    Seat "seat" Live ["t"] "take seat" "Take the seat of the selected thread, or give it back";
    Write "write" Live ["enter"] "write" "Write in the selected thread, whose seat you hold";
    Approvals "approvals" Live ["Y"] "approve" "Look at what waits for your word";
    Board "board" Live ["P"] "plan" "Look at the board of drafts";
    Mark "mark" Live ["m"] "mark" "Name this moment";
    Breakpoints "breakpoints" Live ["B"] "breakpoints" "Places at which the run stops by itself";
    Slower "slower" Live ["{"] "slower" "Limit decoding to fewer tokens a second";
    Faster "faster" Live ["}"] "faster" "Raise or lift the speed limit";
    Again "again" Live ["R"] "run again" "Run again: another instance, seed or query";

    PlayPause "play" Replay ["space"] "play" "Play or hold the recording";
    ReplayBack "replay-back" Replay [","] "back" "Go one step back";
    ReplayOn "replay-on" Replay ["."] "on" "Go one step on";
    ReplaySlower "replay-slower" Replay ["{"] "slower" "Play slower";
    ReplayFaster "replay-faster" Replay ["}"] "faster" "Play faster";
    ReplaySeek "replay-seek" Replay ["%"] "seek" "Go to a percentage of the session";
    ReplayLoop "replay-loop" Replay ["L"] "loop" "Begin again at the end, or not";
    ReplayStart "replay-start" Replay ["home"] "start" "Go to the start";
    ReplayEnd "replay-end" Replay ["end"] "end" "Go to the end";
    PreviousEvent "previous-event" Replay ["["] "event back" "Go to the event before";
    NextEvent "next-event" Replay ["]"] "event on" "Go to the next event";

    TakeOver "take-over" Replay ["enter"] "take over" "Go on live from here, in a new session";

    Up "up" Panes ["up" "k"] "up" "Scroll up; in rows, the thread above";
    Down "down" Panes ["down" "j"] "down" "Scroll down; in rows, the thread below";
    Left "left" Panes ["left" "h"] "left" "Pane to the left";
    Right "right" Panes ["right" "l"] "right" "Pane to the right";
    PageUp "page-up" Panes ["pageup" "ctrl-b"] "page up" "Scroll a page up";
    PageDown "page-down" Panes ["pagedown" "ctrl-f"] "page down" "Scroll a page down";
    Top "top" Panes ["g"] "top" "Go to the first line";
    Follow "follow" Panes ["G"] "follow" "Go to the last line and follow the text";
    ZoomPane "zoom-pane" Panes ["z"] "zoom" "Enlarge the selected pane, or put it back";

    CursorLeft "cursor-left" Timeline ["left" "h"] "left" "Move the cursor left";
    CursorRight "cursor-right" Timeline ["right" "l"] "right" "Move the cursor right";
    LaneUp "lane-up" Timeline ["up" "k"] "lane up" "Select the lane above";
    LaneDown "lane-down" Timeline ["down" "j"] "lane down" "Select the lane below";
    PanLeft "pan-left" Timeline ["H" "shift-left"] "pan left" "Move the view left";
    PanRight "pan-right" Timeline ["shift-right"] "pan right" "Move the view right";
    FitTimeline "fit" Timeline ["=" "g"] "fit" "Fit the whole run into the width";
    FollowTimeline "follow-timeline" Timeline ["G"] "follow" "Follow the newest step";

    Approve "approve" Queue ["y" "enter"] "approve" "Let the chosen request take effect";
    ApproveEdited "approve-edited" Queue ["e"] "edit first" "Change the chosen request, then let it take effect";
    Deny "deny" Queue ["n" "d"] "deny" "Refuse the chosen request, with a reason";

    DraftAdd "draft-add" Board ["a"] "add" "Write a new draft";
    DraftEdit "draft-edit" Board ["e" "enter"] "edit" "Change the chosen draft";
    DraftDrop "draft-drop" Board ["d"] "drop" "Drop the chosen draft";
    DraftSeat "draft-seat" Board ["s"] "seat" "Give the chosen draft to the next seat: the model, you, a tool";
    DraftUp "draft-up" Board ["K"] "move up" "Move the chosen draft up";
    DraftDown "draft-down" Board ["J"] "move down" "Move the chosen draft down";
    PlanRelease "plan-release" Board ["r"] "release all" "Fork all drafts, in order";

    BreakSwitch "breakpoint-switch" Breaks ["space" "enter"] "on/off" "Switch the chosen breakpoint on or off";
    BreakAdd "breakpoint-add" Breaks ["a"] "add" "Add a breakpoint by its spec";
    BreakDelete "breakpoint-delete" Breaks ["d" "delete"] "delete" "Delete the chosen breakpoint";

    BranchGo "branch-go" Tree ["enter"] "go there" "Go to where the chosen branch was left; in a recording, show it";
    BranchMark "branch-mark" Tree ["space"] "mark" "Mark the chosen branch, to compare with";
    BranchCompare "branch-compare" Tree ["d"] "compare" "Compare the chosen branch with the marked or the live one";
    BranchCompareFile "branch-compare-file" Tree ["o"] "another session" "Compare with another session's file";

    PickJoin "pick-join" Pick ["enter"] "join" "Join the chosen worker";
    PickNumber "pick-number" Pick ["1" "2" "3" "4" "5" "6" "7" "8" "9"] "join it" "Join the worker with the index of the key";
    PickNext "pick-next" Pick ["J"] "next" "Choose the worker below";

    ListUp "list-up" List ["up" "k"] "up" "Choose the row above";
    ListDown "list-down" List ["down" "j"] "down" "Choose the row below";
    ListClose "list-close" List ["q"] "close" "Close the list";

    PanelUp "panel-up" Panel ["up" "k"] "up" "Scroll up";
    PanelDown "panel-down" Panel ["down" "j"] "down" "Scroll down";
    PanelPageUp "panel-page-up" Panel ["pageup" "ctrl-b"] "page up" "Scroll a page up";
    PanelPageDown "panel-page-down" Panel ["pagedown" "ctrl-f"] "page down" "Scroll a page down";
    PanelTop "panel-top" Panel ["g" "home"] "top" "Go to the first line";
    PanelEnd "panel-end" Panel ["G" "end"] "end" "Go to the last line";
    PanelClose "panel-close" Panel ["q"] "close" "Close the panel";

    Yes "yes" Question ["y" "Y"] "yes" "Say yes";
    No "no" Question ["n" "enter" "N" "q"] "no" "Say no, as esc does";

    Send "send" Editor ["ctrl-s" "alt-enter"] "send" "Send what is written";
    SendOtherwise "send-otherwise" Editor ["ctrl-t"] "otherwise" "Sub-query: next seat. Seat: aloud, or as the result";

    WrapUp "wrap-up" Stop ["w"] "wrap up" "Make the selected worker give its result now";
    Kill "kill" Stop ["k"] "kill" "Stop the selected worker and keep its partial text";
    Retry "retry" Stop ["r"] "retry" "Give its sub-query to a new worker, with other draws";
    Abort "abort" Stop ["A"] "abort" "End the run without an answer (asks)";

    AgainInstance "again-instance" Again ["i" "R"] "instance" "Another instance of the task, in a new session";
    AgainSeed "again-seed" Again ["s"] "seed" "The same query with another seed, in a new session";
    AgainQuery "again-query" Again ["w"] "query" "Write another query, for a new session";

    EventBack "cursor-event-back" Live ["["] "event back" "Timeline: cursor to the Fork, Join or end before";
    EventOn "cursor-event-on" Live ["]"] "event on" "Timeline: cursor to the next Fork, Join or end";

    Organizer "organizer" Any ["0"] "organizer" "Select the organizer";
    Worker "worker" Any ["1" "2" "3" "4" "5" "6" "7" "8" "9"] "worker" "Select the worker with the index of the key";
    GoTo "go-to" Any ["'"] "go to" "Select any thread by its id";
    NextPane "next-pane" Any ["tab"] "next pane" "Next pane, then the timeline";
    PreviousPane "previous-pane" Any ["backtab"] "previous pane" "Previous pane";
    Search "search" Any ["/"] "search" "Search in the selected thread";
    SearchNext "search-next" Any ["n"] "next match" "Next match";
    SearchPrevious "search-previous" Any ["N"] "previous match" "Previous match";
    Filter "filter" Any ["\\"] "filter" "Show only threads whose id, state or text matches";
    Layout "layout" Any ["v"] "layout" "Next layout: automatic, split, spotlight, grid, rows";
    Inspector "inspector" Any ["i"] "inspect" "Show exactly what the selected thread sees";
    WhatIf "what-if" Any ["w"] "what if" "Slack, blame, and T without the selected worker";
    Branches "branches" Any ["d"] "branches" "The tree of branches: see, compare, go to one";
    CriticalPath "critical-path" Any ["c"] "critical path" "Draw the critical path in bold, or not";
    TimeAxis "time-axis" Any ["T"] "steps/ms" "Timeline in ideal steps or lived milliseconds";
    ZoomIn "zoom-in" Any ["+"] "zoom in" "Timeline: zoom in";
    ZoomOut "zoom-out" Any ["-"] "zoom out" "Timeline: zoom out";
    Copy "copy" Any ["y"] "copy" "Copy the selected thread's text";
    Pager "pager" Any ["o"] "pager" "Open the selected thread's text in $PAGER";
    Mouse "mouse" Any ["M"] "mouse" "Give the mouse to the screen, or back to the terminal";
    Palette "palette" Any [":"] "command" "Find any action by its name";
    Help "help" Any ["?" "f1"] "help" "Show every key";
    Redraw "redraw" Any ["ctrl-l"] "redraw" "Draw the whole screen again";
    Suspend "suspend" Any ["ctrl-z"] "suspend" "Put the program into the background";
    Quit "quit" Any ["q"] "quit" "Quit; a running session asks and is saved as interrupted";
}

impl Action {
    /// Its row of the table.
    #[must_use]
    pub fn row(self) -> &'static Row {
        // The table has one row per variant, in declaration order, made by the same macro.
        &TABLE[self as usize]
    }

    /// The action called `id` in `keymap.toml`.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.id == id).map(|row| row.action)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().id)
    }
}

/// Rows whose name or description holds the letters of `wanted` in order, best first: letters that
/// follow one another or begin a word count more.
#[must_use]
pub fn find(wanted: &str) -> Vec<&'static Row> {
    let mut found: Vec<(u32, &Row)> = TABLE
        .iter()
        .filter_map(|row| {
            // The name itself goes before whatever else has its letters.
            let whole = if row.id == wanted.trim() { 1000 } else { 2 };
            let by_id = score(row.id, wanted).map(|s| s + whole);
            let by_text = score(row.long, wanted);
            by_id.max(by_text).map(|s| (s, row))
        })
        .collect();
    found.sort_by_key(|(s, row)| (std::cmp::Reverse(*s), row.action));
    found.into_iter().map(|(_, row)| row).collect()
}

fn score(text: &str, wanted: &str) -> Option<u32> {
    let mut letters = wanted
        .chars()
        .filter(|c| !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .peekable();
    let mut total = 0;
    let mut streak = 0;
    let mut word_begins = true;
    for c in text.chars().flat_map(char::to_lowercase) {
        match letters.peek() {
            None => break,
            Some(&next) if next == c => {
                letters.next();
                streak += 1;
                total += streak + if word_begins { 3 } else { 0 };
            }
            Some(_) => streak = 0,
        }
        word_begins = !c.is_alphanumeric();
    }
    letters.peek().is_none().then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_action_finds_its_own_row_and_name() {
        for row in TABLE {
            assert_eq!(row.action.row().id, row.id);
            assert_eq!(Action::from_id(row.id), Some(row.action));
        }
    }

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = TABLE.iter().map(|row| row.id).collect();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn the_palette_finds_by_letters_in_order_and_prefers_word_beginnings() {
        assert_eq!(find("crit")[0].action, Action::CriticalPath);
        assert_eq!(find("answ now")[0].action, Action::Answer);
        assert_eq!(find("wrap")[0].action, Action::WrapUp);
        assert!(find("zzzz").is_empty());
        assert_eq!(find("").len(), TABLE.len());
    }
}

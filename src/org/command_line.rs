//! Commands as people type them: one line each, from one table.
//!
//! The table names every command, its arguments and an example; lines, the printed schema and messages all
//! come from it. A line is the command's word, its arguments in order, and the rest of the line where the
//! last one is text; optional arguments can be given by name (`branch step=40`). A line that begins with
//! `{` is the command as files hold it.

use super::command::Command;
use serde::Serialize;
use serde_json::{Map, Value};

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgKind {
    /// A thread's id.
    Thread,
    /// A whole number.
    Number,
    /// One word.
    Word,
    /// Text up to the end of the line.
    Text,
}

/// One argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Arg {
    /// Its name, in lines and in files.
    pub name: &'static str,
    /// What it is.
    pub kind: ArgKind,
    /// Whether it can be left out.
    pub optional: bool,
}

/// One command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandForm {
    /// Its word.
    pub name: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    /// Its arguments, in order.
    pub args: &'static [Arg],
    /// What it does.
    pub what: &'static str,
    /// A line.
    pub example: &'static str,
}

const fn need(name: &'static str, kind: ArgKind) -> Arg {
    Arg {
        name,
        kind,
        optional: false,
    }
}

const fn may(name: &'static str, kind: ArgKind) -> Arg {
    Arg {
        name,
        kind,
        optional: true,
    }
}

macro_rules! forms {
    ($($name:literal $([$($alias:literal)*])? ($($arg:expr),*) $example:literal $what:literal;)*) => {
        /// Every command that can be asked for.
        pub const COMMANDS: &[CommandForm] = &[
            $(CommandForm {
                name: $name,
                aliases: &[$($($alias),*)?],
                args: &[$($arg),*],
                what: $what,
                example: $example,
            },)*
        ];
    };
}

use ArgKind::{Number, Text, Thread, Word};

forms! {
    "pause" (may("thread", Thread)) "pause" "Stop decoding at the next step boundary: everything, or one thread";
    "resume" (may("thread", Thread)) "resume" "Go on decoding";
    "step" () "step" "Advance exactly one step, then stay paused";
    "next" () "next" "Run to the next action, then pause";
    "fork" (may("seat", Word), may("thread", Thread), need("query", Text)) "fork count the primes below 30" "Fork a sub-query by hand; thread=2: for a worker that may organize";
    "join" (need("thread", Thread)) "join 2" "Make whoever forked a worker join it now";
    "answer" () "answer" "Make the organizer write its answer now";
    "wrap_up" ["wrap"] (need("thread", Thread)) "wrap_up 2" "Make a worker write its result now";
    "kill" (need("thread", Thread)) "kill 2" "Stop a worker now and keep its partial text";
    "retry" (need("thread", Thread)) "retry 2" "Stop a worker and give its sub-query to a new bearer of its index";
    "abort" () "abort" "End the run without an answer";
    "interrupt" ["quit"] () "interrupt" "Stop here and keep the session so that it can be resumed";
    "mark" (need("name", Text)) "mark here it turns" "Name this moment";
    "speed" (need("tokens_per_s", Number)) "speed 20" "Limit decoding to so many tokens a second and thread; 0 lifts the limit";
    "seat" (need("thread", Thread), need("to", Word)) "seat 2 human" "Take the seat of a thread, or give it back: model, human, tool:NAME";
    "text" (need("thread", Thread), need("text", Text)) "text 2 Let me see: " "Write into a thread whose seat a person holds; tags in it act";
    "submit" (need("thread", Thread), may("text", Text)) "submit 2 seven" "Close what a person writes: a worker's result, the organizer's answer";
    "approve" (may("ask", Number), may("text", Text)) "approve" "Let what waits for a person's word take effect, with another text if one is given";
    "deny" (may("ask", Number), may("reason", Text)) "deny not now" "Refuse what waits for a person's word";
    "plan_add" (may("seat", Word), need("query", Text)) "plan_add check the second half" "Put a sub-query on the board";
    "plan_edit" (need("draft", Number), may("seat", Word), may("query", Text)) "plan_edit 1 check the first half" "Change a draft on the board";
    "plan_drop" (need("draft", Number)) "plan_drop 1" "Take a draft off the board";
    "plan_move" (need("draft", Number), need("to", Number)) "plan_move 2 1" "Move a draft to another place in the order";
    "plan_release" () "plan_release" "Fork everything on the board, in order";
    "edit" (need("thread", Thread), need("token", Number), need("text", Text)) "edit 1 20 No: 7 * 5 = 35" "Keep a thread's first tokens, write on, and go on from there, on a new branch";
    "branch" (may("thread", Thread), may("token", Number), may("step", Number), may("of", Number)) "branch step=40" "Go to an earlier moment and live on from there, on a new branch";
    "undo" () "undo" "Go to the state before the last steering command";
    "redo" () "redo" "Go to the state that the last undo left";
    "set" (need("guard", Word)) "set guard=on" "Change how the run goes on: guard=on or guard=off";
    "break" (may("set", Word), need("on", Text)) "break return:2" "Stop the run where this happens; set=off, set=deleted";
}

impl CommandForm {
    /// How it is written, as in `edit THREAD TOKEN TEXT…`.
    #[must_use]
    pub fn usage(&self) -> String {
        let mut usage = self.name.to_owned();
        for arg in self.args {
            let name = arg.name.to_uppercase();
            let dots = if arg.kind == Text { "…" } else { "" };
            let text = match (arg.optional, self.by_place(arg)) {
                (true, true) => format!("[{name}{dots}]"),
                (true, false) => format!("[{}={name}]", arg.name),
                (false, _) => format!("{name}{dots}"),
            };
            usage.push(' ');
            usage.push_str(&text);
        }
        usage
    }

    /// The example as files hold it.
    #[must_use]
    pub fn json(&self) -> Value {
        let fields = fields(self.example.trim()).map(|(_, fields)| fields.into());
        fields.unwrap_or_default()
    }

    fn wrong(&self, why: &str) -> String {
        format!(
            "{}: {why}; expected `{}`, as in `{}`",
            self.name,
            self.usage(),
            self.example
        )
    }

    /// By their place stand what is needed, the text at the end, and a thread where no text follows that
    /// could begin like one.
    fn by_place(&self, arg: &Arg) -> bool {
        let text_follows = self.args.iter().any(|a| !a.optional && a.kind == Text);
        !arg.optional || arg.kind == Text || arg.kind == Thread && !text_follows
    }

    fn called(&self, word: &str) -> bool {
        self.name == word || self.aliases.contains(&word)
    }
}

/// Reads a command from a line.
///
/// # Errors
/// In words: what is wrong, and how the command is written.
pub fn parse_command(line: &str) -> Result<Command, String> {
    let line = line.trim();
    if line.starts_with('{') {
        return serde_json::from_str(line).map_err(|e| e.to_string());
    }
    let (form, fields) = fields(line)?;
    serde_json::from_value(fields.into()).map_err(|e| form.wrong(&e.to_string()))
}

/// Whose line it is, and its fields as files name them.
fn fields(line: &str) -> Result<(&'static CommandForm, Map<String, Value>), String> {
    let (word, mut rest) = cut(line);
    let word = word.to_lowercase().replace('-', "_");
    let Some(form) = COMMANDS.iter().find(|form| form.called(&word)) else {
        let names: Vec<&str> = COMMANDS.iter().map(|form| form.name).collect();
        return Err(format!(
            "`{}` is no command; expected one of {}",
            word.chars().take(40).collect::<String>(),
            names.join(", ")
        ));
    };
    let wrong = |why: String| form.wrong(&why);
    let mut fields = Map::new();
    fields.insert("do".into(), form.name.into());
    let spaced = rest.replacen(char::is_whitespace, "=", 1);
    if form.name == "set" {
        rest = &spaced;
    }
    while let Some((arg, value, after)) = named(form, rest) {
        let value = read(arg, value).map_err(wrong)?;
        fields.insert(arg.name.into(), value);
        rest = after;
    }
    for arg in form.args {
        if fields.contains_key(arg.name) {
            continue;
        }
        if rest.is_empty() || !form.by_place(arg) {
            if arg.optional {
                continue;
            }
            return Err(wrong(format!("{} is missing", arg.name)));
        }
        let (value, after) = if arg.kind == Text {
            (rest, "")
        } else {
            cut(rest)
        };
        fields.insert(arg.name.into(), read(arg, value).map_err(wrong)?);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(wrong(format!("`{rest}` is too much")));
    }
    Ok((form, fields))
}

/// The first word and what follows it.
fn cut(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

/// An optional argument given by its name, and what follows it.
fn named<'a>(form: &CommandForm, rest: &'a str) -> Option<(&'static Arg, &'a str, &'a str)> {
    let (word, after) = cut(rest);
    let (name, value) = word.split_once('=')?;
    let arg = form
        .args
        .iter()
        .find(|arg| arg.kind != Text && arg.name == name)?;
    Some((arg, value, after))
}

fn read(arg: &Arg, text: &str) -> Result<Value, String> {
    match arg.kind {
        Number => text
            .parse::<u64>()
            .map(Value::from)
            .map_err(|_| format!("{} is `{text}`, not a number", arg.name)),
        Thread | Word | Text => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_example_is_the_command_whose_it_is() {
        let mut names = HashSet::new();
        for form in COMMANDS {
            let command = parse_command(form.example).unwrap();
            assert_eq!(command.name(), form.name);
            let json = form.json().to_string();
            assert_eq!(parse_command(&json).unwrap(), command, "{json}");
            for name in form.aliases.iter().chain([&form.name]) {
                assert!(names.insert(*name), "{name}");
            }
        }
    }

    #[test]
    fn arguments_stand_by_place_or_by_name() {
        let same = |line: &str, json: &str| {
            let expected: Command = serde_json::from_str(json).unwrap();
            assert_eq!(parse_command(line), Ok(expected), "{line}");
        };
        same("pause 2", r#"{"do": "pause", "thread": "2"}"#);
        same("  WRAP-UP 1~2 ", r#"{"do": "wrap_up", "thread": "1~2"}"#);
        same("wrap 2", r#"{"do": "wrap_up", "thread": "2"}"#);
        same(
            "fork seat=human a = b  c",
            r#"{"do": "fork", "query": "a = b  c", "seat": "human"}"#,
        );
        same(
            "fork thread=2.1 2 and 3",
            r#"{"do": "fork", "query": "2 and 3", "thread": "2.1"}"#,
        );
        same(
            "branch thread=1 token=20",
            r#"{"do": "branch", "thread": "1", "token": 20}"#,
        );
        same("branch", r#"{"do": "branch"}"#);
        same("set guard off", r#"{"do": "set", "guard": "off"}"#);
        same(
            "approve ask=2 another",
            r#"{"do": "approve", "ask": 2, "text": "another"}"#,
        );
        same(
            "break set=off text:a b",
            r#"{"do": "break", "on": "text:a b", "set": "off"}"#,
        );
    }

    #[test]
    fn what_is_no_command_is_explained() {
        for (line, why) in [
            ("", "is no command; expected one of pause"),
            ("dance", "`dance` is no command"),
            (
                "kill",
                "kill: thread is missing; expected `kill THREAD`, as in `kill 2`",
            ),
            ("kill x", "kill: "),
            ("kill 2 now", "`now` is too much"),
            ("speed fast", "tokens_per_s is `fast`, not a number"),
            ("step 3", "`3` is too much"),
            ("break sneeze", "is no breakpoint"),
            ("seat 2 cat", "seat: "),
            ("{\"do\": \"dance\"}", "dance"),
        ] {
            let error = parse_command(line).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}

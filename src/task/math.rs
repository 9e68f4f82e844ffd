//! Math problems from files: JSON lines of `{"question": …, "answer": …}`.
//!
//! Answers are compared by value where both have one (whole numbers, decimals, fractions, LaTeX), else as
//! text without its decoration.

use super::checked::{Checked, Found, Wrong};
use super::countdown::expression::parse_text;
use super::rational::Rational;
use super::written::Key;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Math {
    /// Where it comes from: `FILE#n`.
    pub source: String,
    /// The problem.
    pub question: String,
    /// Its answer.
    pub answer: String,
}

/// Why a file gives no problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMath {
    /// The spec has another shape.
    #[error("expected `math FILE#n`, the n-th problem of a file of JSON lines")]
    Syntax,
    /// The file cannot be read.
    #[error("{0}: {1}")]
    File(String, String),
    /// A line is damaged.
    #[error("{file}, line {line}: {message}; expected {{\"question\": …, \"answer\": …}}")]
    Line {
        /// Which file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// There is no such problem.
    #[error("{file} holds {count} problem(s); there is no number {n}")]
    Number {
        /// Which file.
        file: String,
        /// How many there are.
        count: usize,
        /// What was asked for.
        n: usize,
    },
}

/// Largest file that is read.
const MOST_BYTES: u64 = 256 << 20;

impl Math {
    /// From `FILE#n`; the first problem where `#n` is missing.
    ///
    /// # Errors
    /// [`BadMath`] that names file and line.
    pub fn parse(spec: &str) -> Result<Self, BadMath> {
        let spec = spec.trim();
        let (file, n) = match spec.rsplit_once('#') {
            Some((file, n)) => (file, n.parse().map_err(|_| BadMath::Syntax)?),
            None => (spec, 1),
        };
        if file.is_empty() {
            return Err(BadMath::Syntax);
        }
        let all = Self::read(Path::new(file))?;
        let count = all.len();
        let missing = BadMath::Number {
            file: file.to_owned(),
            count,
            n,
        };
        n.checked_sub(1)
            .and_then(|at| all.into_iter().nth(at))
            .ok_or(missing)
    }

    /// All problems of a file.
    ///
    /// # Errors
    /// [`BadMath`] that names the first damaged line.
    pub fn read(path: &Path) -> Result<Vec<Self>, BadMath> {
        let file = path.display().to_string();
        let fail = |message: String| BadMath::File(file.clone(), message);
        let size = std::fs::metadata(path)
            .map_err(|e| fail(e.to_string()))?
            .len();
        if size > MOST_BYTES {
            return Err(fail(format!(
                "{size} bytes are too many for a file of problems"
            )));
        }
        let text = std::fs::read(path).map_err(|e| fail(e.to_string()))?;
        Self::read_text(&file, &String::from_utf8_lossy(&text))
    }

    /// All problems of a text; `file` is its name.
    ///
    /// # Errors
    /// [`BadMath::Line`] for the first damaged line.
    pub fn read_text(file: &str, text: &str) -> Result<Vec<Self>, BadMath> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        lines
            .enumerate()
            .map(|(n, (line, text))| {
                let (question, answer) = problem(text).map_err(|message| BadMath::Line {
                    file: file.to_owned(),
                    line: line + 1,
                    message,
                })?;
                Ok(Self {
                    source: format!("{file}#{}", n + 1),
                    question,
                    answer,
                })
            })
            .collect()
    }

    /// The task for a model.
    #[must_use]
    pub fn query(&self) -> String {
        format!(
            "{}\n\nPut the final answer inside \\boxed{{}}.",
            self.question.trim()
        )
    }

    /// Verifies an answer: the last `\boxed{}`, else what follows the last "answer is", else the last number,
    /// else all of it.
    #[must_use]
    pub fn check(&self, answer: &str) -> Checked {
        let text = final_answer(answer);
        if text.is_empty() {
            return Checked::new(Vec::new(), 1);
        }
        let correct = same(text, &self.answer);
        let why = (!correct).then(|| Wrong::Value(shortened(text)));
        Checked::new(
            vec![Found {
                text: text.to_owned(),
                correct,
                distinct: correct,
                why,
            }],
            1,
        )
    }
}

/// What names an answer: its value, else its text without decoration. Answers are [`same`] when their names are.
pub(super) fn key(answer: &str) -> Key {
    value(answer).map_or_else(|| Key::Text(plain(answer)), Key::Value)
}

fn problem(line: &str) -> Result<(String, String), String> {
    let value: Value = serde_json::from_str(line).map_err(|e| format!("not JSON ({e})"))?;
    let field = |names: &[&str]| {
        names.iter().find_map(|name| match &value[*name] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let question = field(&["question", "problem", "Problem"]).ok_or("there is no `question`")?;
    let answer = field(&["answer", "Answer"]).ok_or("there is no `answer`")?;
    // a whole solution may stand there, its result in a box
    let answer = final_box(&answer).map_or(answer.clone(), str::to_owned);
    match (question.trim().is_empty(), answer.trim().is_empty()) {
        (true, _) => Err("`question` is empty".into()),
        (_, true) => Err("`answer` is empty".into()),
        _ => Ok((question, answer)),
    }
}

/// Whether two answers mean the same.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    match (value(a), value(b)) {
        (Some(a), Some(b)) => a == b,
        _ => {
            let (a, b) = (plain(a), plain(b));
            !a.is_empty() && a == b
        }
    }
}

fn final_answer(answer: &str) -> &str {
    if let Some(boxed) = final_box(answer) {
        return boxed.trim();
    }
    let lower = answer.to_ascii_lowercase();
    for phrase in ["answer is", "answer:"] {
        if let Some(at) = lower.rfind(phrase) {
            let rest = answer[at + phrase.len()..].trim_start_matches([':', ' ', '*']);
            return rest.lines().next().unwrap_or_default().trim();
        }
    }
    if value(answer).is_some() {
        return answer.trim();
    }
    last_number(answer).unwrap_or_else(|| answer.trim())
}

/// Inside of the last `\boxed{…}` whose braces match. One pass, however many there are.
fn final_box(text: &str) -> Option<&str> {
    const OPEN: &str = "\\boxed{";
    let mut braces: Vec<Option<usize>> = Vec::new();
    let mut best: Option<(usize, usize)> = None;
    for (at, c) in text.char_indices() {
        match c {
            '{' => braces.push(text[..=at].ends_with(OPEN).then_some(at + 1)),
            '}' => {
                if let Some(Some(from)) = braces.pop()
                    && best.is_none_or(|(earlier, _)| from > earlier)
                {
                    best = Some((from, at));
                }
            }
            _ => {}
        }
    }
    best.map(|(from, to)| &text[from..to])
}

/// The last run of digits with its sign, fraction bar, point and commas.
fn last_number(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let last = bytes.iter().rposition(u8::is_ascii_digit)?;
    let part = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'/');
    let mut from = last;
    while from > 0 && part(bytes[from - 1]) {
        from -= 1;
    }
    if from > 0 && bytes[from - 1] == b'-' {
        from -= 1;
    }
    Some(text[from..=last].trim_start_matches(['.', ',', '/']))
}

/// Longer answers have no decoration worth taking off.
const LONGEST_PLAIN: usize = 1000;

/// Without what does not change a meaning: mathematics signs, spaces, units in `\text`, a final point.
fn plain(text: &str) -> String {
    let mut text = text.trim().trim_end_matches('.').to_owned();
    if text.len() > LONGEST_PLAIN {
        return text;
    }
    for unit in ["\\text{", "\\mathrm{", "\\mbox{"] {
        while let Some(at) = text.rfind(unit) {
            let Some(len) = text[at..].find('}') else {
                break;
            };
            let inner = text[at + unit.len()..at + len].to_owned();
            // a unit behind a number goes, a word that is the answer stays
            let keep = if text[..at].trim().is_empty() {
                inner
            } else {
                String::new()
            };
            text.replace_range(at..=at + len, &keep);
        }
    }
    for noise in [
        "\\left",
        "\\right",
        "\\,",
        "\\!",
        "\\;",
        "\\ ",
        "^\\circ",
        "^{\\circ}",
        "\\%",
        "\\$",
        "\\(",
        "\\)",
        "$",
        "%",
        "°",
    ] {
        text = text.replace(noise, "");
    }
    text.replace("dfrac", "frac")
        .replace("tfrac", "frac")
        .replace('−', "-")
        .split_whitespace()
        .collect()
}

/// What an answer is worth, if it is a number or an expression of numbers.
fn value(text: &str) -> Option<Rational> {
    let text = plain(text);
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let value = decimal(text).or_else(|| parse_text(text)?.value().ok())?;
    // a sign in front of a sum is no sign of the sum
    let ambiguous = negative && text.contains(['+', '-']);
    (!ambiguous).then(|| if negative { value.negated() } else { value })
}

/// Digits with an optional point; commas only between groups of three.
fn decimal(text: &str) -> Option<Rational> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let grouped = groups.len() == 1
        || (groups[0].len() <= 3
            && !groups[0].is_empty()
            && groups[1..].iter().all(|g| g.len() == 3));
    let digits: String = groups.concat() + fraction;
    if !grouped || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Rational::new(
        digits.parse().ok()?,
        10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?,
    )
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answers(answer: &str, text: &str) -> bool {
        let math = Math {
            source: "t#1".into(),
            question: "q".into(),
            answer: answer.into(),
        };
        math.check(text).solved()
    }

    #[test]
    fn equal_values_are_equal_answers() {
        for (a, b) in [
            ("204", "204"),
            ("204", "204.0"),
            ("0.5", "\\frac{1}{2}"),
            ("1/2", "$\\dfrac{2}{4}$"),
            ("-3", "−3"),
            ("-1/2", "-\\frac12".replace("12", "{1}{2}").as_str()),
            ("1,000", "1000"),
            ("60^\\circ", "60"),
            ("5\\text{ cm}", "5"),
            ("25\\%", "25"),
            ("(3, 4)", "(3,4)"),
            ("\\text{Tuesday}", "Tuesday"),
            ("x+1", "x + 1"),
            ("007", "7"),
        ] {
            assert!(same(a, b), "{a} | {b}");
        }
        for (a, b) in [
            ("204", "205"),
            ("1,00", "100"),
            ("0.333", "1/3"),
            ("", ""),
            ("-3", "3"),
            ("x", "y"),
            ("1/0", "0"),
        ] {
            assert!(!same(a, b), "{a} | {b}");
        }
    }

    #[test]
    fn the_final_answer_is_found_in_prose() {
        assert!(answers(
            "1/3",
            "First \\boxed{7}. So cos θ = \\boxed{\\frac{1}{3}}."
        ));
        assert!(answers("42", "41 is near. The answer is 42."));
        assert!(answers("42", "**Answer:** 42"));
        assert!(answers("204", "so we get 200 + 4 = 204"));
        assert!(answers("1000", "it takes 1,000 steps"));
        assert!(!answers("42", "The answer is 41, not 42."));
        assert!(!answers("42", ""));
        assert!(answers("7", "\\boxed{7} and then \\boxed{8"));
    }

    #[test]
    fn broken_lines_are_named() {
        let good = r#"{"question": "1+1?", "answer": 2}"#;
        let other = r#"{"problem": "q", "answer": "so \\boxed{3}"}"#;
        let all =
            Math::read_text("f", &format!("\u{feff}{good}\n\n{other}\n")).expect("two problems");
        assert_eq!(
            all.iter()
                .map(|m| (m.source.as_str(), m.answer.as_str()))
                .collect::<Vec<_>>(),
            [("f#1", "2"), ("f#2", "3")]
        );
        for (line, why) in [
            ("{", "not JSON"),
            ("[]", "no `question`"),
            (r#"{"question": "q"}"#, "no `answer`"),
            (r#"{"question": " ", "answer": 1}"#, "empty"),
        ] {
            let error = Math::read_text("f", &format!("{good}\n{line}"))
                .expect_err(line)
                .to_string();
            assert!(
                error.starts_with("f, line 2: ") && error.contains(why),
                "{error}"
            );
        }
    }

    #[test]
    fn files_are_named() {
        assert_eq!(Math::parse(" "), Err(BadMath::Syntax));
        assert_eq!(Math::parse("f#x"), Err(BadMath::Syntax));
        assert!(matches!(
            Math::parse("/no/such/file#1"),
            Err(BadMath::File(..))
        ));
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), r#"{"question": "1+1?", "answer": "2"}"#).expect("written");
        let spec = |n: usize| format!("{}#{n}", file.path().display());
        assert_eq!(Math::parse(&spec(1)).map(|m| m.answer), Ok("2".into()));
        assert!(matches!(
            Math::parse(&spec(2)),
            Err(BadMath::Number { count: 1, n: 2, .. })
        ));
        assert!(matches!(Math::parse(&spec(0)), Err(BadMath::Number { .. })));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"(\\boxed\{|\{|\}|\\frac|[0-9.,/\-]|answer is|é| ){0,20}|\PC{0,40}") {
            let _ = answers("1/2", &text);
            let _ = answers(&text, "1/2");
        }
    }
}

//! What an answer says: where it stands in a text, and when two of them mean the same.

use crate::task::countdown::expression::parse_text;
use crate::task::rational::Rational;
use crate::task::written::Key;

/// What names an answer: its value, else its text without decoration. Answers are [`same`] when their names are.
pub(in crate::task) fn key(answer: &str) -> Key {
    value(answer).map_or_else(|| Key::Text(plain(answer)), Key::Value)
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

pub(super) fn final_answer(answer: &str) -> &str {
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
pub(super) fn final_box(text: &str) -> Option<&str> {
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

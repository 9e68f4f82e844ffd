//! The words of the tiny model: its vocabulary, and the folder files that make any reader split text alike.
//!
//! One token per integer 0..=132 (up to the largest product of two numbers of the small preset), per operator,
//! label and tag, and one per byte, so that whatever a person types can be encoded. Words carry the space in
//! front of them, so that tokens put side by side give the exact text; the few words that may stand right
//! behind a tag also exist without it (a single letter without its space is its byte). Ids never change:
//! checkpoints depend on them.

mod vocabulary;

pub use vocabulary::Vocabulary;

/// Fills up batches.
pub const PAD: u32 = 0;
/// Ends a thread.
pub const END: u32 = 1;
/// Begins an organizer's prompt; the number of its workers follows.
pub const ORGANIZER: u32 = 2;
/// Begins a worker's prompt.
pub const WORKER: u32 = 3;
/// Begins the prompt of a thread that thinks alone.
pub const SEQUENTIAL: u32 = 4;
/// Stands between an organizer's number of workers and its query.
pub const QUERY: u32 = 5;
/// Ends every prompt.
pub const THINK: u32 = 6;

/// Number of tokens, a multiple of 16 for the sake of matrix products.
pub const SIZE: usize = 512;
/// Highest sub-query index with tags of its own; higher ones are spelled in bytes.
pub const MAX_TAG: u16 = 8;
/// Largest integer that is one token.
pub const MAX_NUMBER: u32 = 132;

const BYTES: u32 = CONTROL_FORMS.len() as u32;
const TAGS: u32 = BYTES + 256;
const NUMBERED_TAGS: u32 = TAGS + PLAIN_TAGS.len() as u32;
const NUMBERS: u32 = NUMBERED_TAGS + 4 * MAX_TAG as u32;
const SIGNS: u32 = NUMBERS + MAX_NUMBER + 1;
const LETTERS: u32 = SIGNS + SIGN_FORMS.len() as u32;
const LABELS: u32 = LETTERS + 6;
const BARE_LABELS: u32 = LABELS + 24;
const BARE: u32 = BARE_LABELS + 24;

const CONTROL_FORMS: [&str; 7] = [
    "<|pad|>",
    "<|end|>",
    "<|organizer|>",
    "<|worker|>",
    "<|sequential|>",
    "<|query|>",
    "<|think|>",
];
const PLAIN_TAGS: [&str; 4] = ["<ANSWER>", "</ANSWER>", "<RETURN>", "</RETURN>"];
const SIGN_FORMS: [&str; 16] = [
    "+", "-", "*", "/", "r-", "r/", "(", ")", "=", "->", ":", "keep", "rest", "have", "none",
    "find",
];
const BARE_FORMS: [&str; 2] = ["none", "countdown"];
const LETTER_FORMS: [&str; 6] = ["A", "B", "C", "D", "E", "F"];

/// `<ANSWER>`
pub const ANSWER_OPEN: u32 = TAGS;
/// `</ANSWER>`
pub const ANSWER_CLOSE: u32 = TAGS + 1;
/// `<RETURN>`
pub const RETURN_OPEN: u32 = TAGS + 2;
/// `</RETURN>`
pub const RETURN_CLOSE: u32 = TAGS + 3;
/// ` +`
pub const PLUS: u32 = SIGNS;
/// ` -`
pub const MINUS: u32 = SIGNS + 1;
/// ` *`
pub const TIMES: u32 = SIGNS + 2;
/// ` /`
pub const OVER: u32 = SIGNS + 3;
/// ` r-`: the other number minus this one.
pub const FROM: u32 = SIGNS + 4;
/// ` r/`: the other number divided by this one.
pub const INTO: u32 = SIGNS + 5;
/// ` (`
pub const OPEN: u32 = SIGNS + 6;
/// ` )`
pub const CLOSE: u32 = SIGNS + 7;
/// ` =`: an opening and its value follow.
pub const EQUALS: u32 = SIGNS + 8;
/// ` ->`: the target follows.
pub const ARROW: u32 = SIGNS + 9;
/// ` :`
pub const COLON: u32 = SIGNS + 10;
/// ` keep`: the number kept for last, and what the rest must make, follow.
pub const KEEP: u32 = SIGNS + 11;
/// ` rest`: the opening's value, and what the other two must make, follow.
pub const REST: u32 = SIGNS + 12;
/// ` have`: how many solutions are known follows.
pub const HAVE: u32 = SIGNS + 13;
/// ` none`
pub const NONE: u32 = SIGNS + 14;
/// ` find`: how many solutions are wanted follows.
pub const FIND: u32 = SIGNS + 15;
/// `none` right behind a tag.
pub const BARE_NONE: u32 = BARE;
/// `countdown`, the first word of a query.
pub const COUNTDOWN: u32 = BARE + 1;

/// All numbers and signs: what expressions, searches and queries are made of.
pub const NUMBERS_AND_SIGNS: std::ops::Range<u32> = NUMBERS..LETTERS;

/// ` n`; `None` beyond [`MAX_NUMBER`].
#[must_use]
pub fn number(n: u32) -> Option<u32> {
    (n <= MAX_NUMBER).then_some(NUMBERS + n)
}

/// The number that ` n` stands for.
#[must_use]
pub fn as_number(token: u32) -> Option<u32> {
    (NUMBERS..=NUMBERS + MAX_NUMBER)
        .contains(&token)
        .then(|| token - NUMBERS)
}

/// `<FORK-i>`; `None` beyond [`MAX_TAG`]. So for the others.
#[must_use]
pub fn fork_open(index: u16) -> Option<u32> {
    numbered(index, 0)
}

/// `</FORK-i>`
#[must_use]
pub fn fork_close(index: u16) -> Option<u32> {
    numbered(index, 1)
}

/// `<JOIN-i>`
#[must_use]
pub fn join(index: u16) -> Option<u32> {
    numbered(index, 2)
}

/// `</JOIN-i>`
#[must_use]
pub fn join_close(index: u16) -> Option<u32> {
    numbered(index, 3)
}

fn numbered(index: u16, kind: u32) -> Option<u32> {
    (1..=MAX_TAG)
        .contains(&index)
        .then(|| NUMBERED_TAGS + 4 * u32::from(index - 1) + kind)
}

/// The letter of region `0..6`, right behind a tag or at the start of a text.
#[must_use]
pub fn bare_letter(region: usize) -> u32 {
    BYTES + u32::from(b'A') + region.min(5) as u32
}

/// The letter of region `0..6` with its space.
#[must_use]
pub fn letter(region: usize) -> u32 {
    LETTERS + region.min(5) as u32
}

/// The label of result `n` (1..=4) of region `0..6`; `bare` right behind a tag.
#[must_use]
pub fn label(region: usize, n: usize, bare: bool) -> u32 {
    let base = if bare { BARE_LABELS } else { LABELS };
    base + 4 * region.min(5) as u32 + n.clamp(1, 4) as u32 - 1
}

/// The token of one byte.
#[must_use]
pub fn byte(byte: u8) -> u32 {
    BYTES + u32::from(byte)
}

#[cfg(test)]
mod tests;

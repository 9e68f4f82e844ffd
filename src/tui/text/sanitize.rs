//! Bytes to display: whatever a model, a tool or a file says, made safe and visible.
//!
//! Valid text stays as it is, however it was split. Control characters, bidi controls and other
//! invisible characters are replaced by something that can be seen; bytes that are not UTF-8 become
//! U+FFFD. It knows nothing of tags or rows.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Deref;
use unicode_width::UnicodeWidthChar;

/// Columns that a tab takes.
const TAB: &str = "    ";

/// Characters without width that may follow one another; the longest honest runs (stacked accents,
/// Hangul, keycaps) are shorter. Beyond it each is shown by name.
const MAX_MARKS: u8 = 8;

/// What stands on the screen for one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The character itself.
    Same,
    /// Something else.
    Other(Label),
}

/// A short replacement, held inline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    bytes: [u8; 16],
    len: u8,
}

impl Label {
    fn new(text: &str) -> Self {
        let mut label = Self {
            bytes: [0; 16],
            len: 0,
        };
        for c in text.chars() {
            let end = usize::from(label.len) + c.len_utf8();
            if end > label.bytes.len() {
                break;
            }
            c.encode_utf8(&mut label.bytes[usize::from(label.len)..]);
            label.len += c.len_utf8() as u8;
        }
        label
    }

    fn of_char(c: char) -> Self {
        Self::new(c.encode_utf8(&mut [0; 4]))
    }

    /// The code point by name: `⟨U+202E⟩`.
    fn named(c: char) -> Self {
        let mut text = String::with_capacity(16);
        // Writing into a string cannot fail.
        let _ = write!(text, "⟨U+{:04X}⟩", u32::from(c));
        Self::new(&text)
    }
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl std::fmt::Debug for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

/// Decides character by character; remembers what a mark without width would stand on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shower {
    base: Base,
    marks: u8,
}

/// What was shown last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Base {
    /// Nothing, or the beginning of a line.
    #[default]
    None,
    /// An ASCII character or a replacement.
    Plain,
    /// Any other character.
    Wide,
}

impl Shower {
    /// What to show for `c`.
    pub(super) fn show(&mut self, c: char) -> Shown {
        match c {
            '\n' => {
                *self = Self::default();
                Shown::Same
            }
            ' '..='~' => self.settle(Base::Plain, Shown::Same),
            '\t' => self.settle(Base::Plain, Shown::Other(Label::new(TAB))),
            '\0'..='\u{1f}' => {
                let picture = char::from_u32(0x2400 + u32::from(c)).unwrap_or('?');
                self.settle(Base::Plain, Shown::Other(Label::of_char(picture)))
            }
            '\u{7f}' => self.settle(Base::Plain, Shown::Other(Label::of_char('\u{2421}'))),
            _ if is_invisible(c) => self.settle(Base::Plain, Shown::Other(Label::named(c))),
            '\u{200c}' | '\u{200d}' if self.base != Base::Wide => {
                self.settle(Base::Plain, Shown::Other(Label::named(c)))
            }
            _ if c.width().unwrap_or(0) > 0 => self.settle(Base::Wide, Shown::Same),
            _ => self.mark(c),
        }
    }

    /// Forgets what came before: text from elsewhere follows.
    pub(super) fn reset(&mut self) {
        *self = Self {
            base: Base::Plain,
            marks: 0,
        };
    }

    fn settle(&mut self, base: Base, shown: Shown) -> Shown {
        *self = Self { base, marks: 0 };
        shown
    }

    fn mark(&mut self, c: char) -> Shown {
        if self.base == Base::None {
            // A mark on nothing would join whatever is drawn before it.
            self.base = Base::Wide;
            self.marks = 1;
            return Shown::Other(Label::new(&format!("\u{25cc}{c}")));
        }
        self.marks += 1;
        if self.marks > MAX_MARKS {
            return self.settle(Base::Plain, Shown::Other(Label::named(c)));
        }
        Shown::Same
    }
}

/// Characters that hide, reorder or do nothing visible. Joiners (U+200C, U+200D) and variation
/// selectors are not here: honest text needs them inside a cluster.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1345f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}'
        | '\u{e01f0}'..='\u{e0fff}')
}

/// One piece of decoded bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoded<'a> {
    /// Valid text.
    Text(&'a str),
    /// That many bytes that are not UTF-8.
    Bad(usize),
}

/// Cuts `bytes` into text and bad bytes and returns how many bytes at the end may still become a
/// character (at most three).
pub(super) fn decode<'a>(bytes: &'a [u8], mut each: impl FnMut(Decoded<'a>)) -> usize {
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                if !text.is_empty() {
                    each(Decoded::Text(text));
                }
                return 0;
            }
            Err(error) => {
                let (good, after) = rest.split_at(error.valid_up_to());
                if let Ok(text) = std::str::from_utf8(good)
                    && !text.is_empty()
                {
                    each(Decoded::Text(text));
                }
                let Some(bad) = error.error_len() else {
                    return after.len();
                };
                each(Decoded::Bad(bad));
                rest = &after[bad..];
            }
        }
    }
}

/// Makes a stream of bytes safe, whatever its splits.
#[derive(Debug, Clone, Default)]
pub struct Sanitizer {
    held: Vec<u8>,
    shower: Shower,
}

impl Sanitizer {
    /// Appends to `out` what `bytes` shows; bytes that may still become a character are held back.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let all = if self.held.is_empty() {
            bytes
        } else {
            joined = [std::mem::take(&mut self.held).as_slice(), bytes].concat();
            &joined
        };
        let shower = &mut self.shower;
        let held = decode(all, |piece| match piece {
            Decoded::Text(text) => show_into(shower, text, out),
            Decoded::Bad(_) => {
                out.push(char::REPLACEMENT_CHARACTER);
                shower.reset();
            }
        });
        self.held.extend_from_slice(&all[all.len() - held..]);
    }

    /// Ends the stream: what is still held back was no character.
    pub fn finish(&mut self, out: &mut String) {
        if !self.held.is_empty() {
            self.held.clear();
            out.push(char::REPLACEMENT_CHARACTER);
            self.shower.reset();
        }
    }
}

fn show_into(shower: &mut Shower, text: &str, out: &mut String) {
    for c in text.chars() {
        match shower.show(c) {
            Shown::Same => out.push(c),
            Shown::Other(label) => out.push_str(&label),
        }
    }
}

/// One line for titles, messages and file names: safe, and without line breaks.
#[must_use]
pub fn safe_line(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let shown = safe_text(text);
    if shown.contains('\n') {
        return Cow::Owned(shown.replace('\n', "\u{240a}"));
    }
    shown
}

/// Several lines for details and composers' previews: safe, with line breaks kept.
#[must_use]
pub fn safe_text(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    show_into(&mut Shower::default(), text, &mut out);
    if out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests;

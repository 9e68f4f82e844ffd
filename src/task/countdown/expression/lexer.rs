//! Cutting untrusted text into lexemes, in plain, Unicode and LaTeX notation.

use super::Operator;

/// A part of an expression as it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lexeme {
    /// Saturated where larger than `u64`.
    Number(u64),
    /// An operator.
    Operator(Operator),
    /// An opening bracket.
    Open,
    /// A closing bracket.
    Close,
}

/// A lexeme with its place: bytes `[from, to)` of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// What.
    pub lexeme: Lexeme,
    /// First byte.
    pub from: usize,
    /// Byte after the last.
    pub to: usize,
}

/// The lexemes of a text.
pub(super) struct Lexemes {
    /// Cut wherever something else stands between them.
    pub(super) runs: Vec<Vec<Placed>>,
    /// Something that can be no part of an expression was met.
    pub(super) interrupted: bool,
}

/// The lexemes of `text`.
pub(super) fn lexemes(text: &str) -> Lexemes {
    let mut lexer = Lexer::new(text);
    lexer.read_all();
    Lexemes {
        runs: lexer.runs,
        interrupted: lexer.interrupted,
    }
}

/// What a pair of LaTeX braces stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Brace {
    Plain,
    Numerator,
    Denominator,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    braces: Vec<Brace>,
    /// What the next opening brace begins.
    coming: Option<Brace>,
    runs: Vec<Vec<Placed>>,
    run: Vec<Placed>,
    interrupted: bool,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            braces: Vec::new(),
            coming: None,
            runs: Vec::new(),
            run: Vec::new(),
            interrupted: false,
        }
    }

    fn read_all(&mut self) {
        while let Some(c) = self.text[self.at..].chars().next() {
            if self.coming.is_some() && c != '{' && !c.is_whitespace() {
                self.cut();
            }
            self.read(c);
        }
        self.end_run();
    }

    fn cut(&mut self) {
        self.interrupted = true;
        self.end_run();
    }

    fn end_run(&mut self) {
        self.coming = None;
        self.braces.clear();
        if !self.run.is_empty() {
            self.runs.push(std::mem::take(&mut self.run));
        }
    }

    fn push(&mut self, lexeme: Lexeme, to: usize) {
        self.run.push(Placed {
            lexeme,
            from: self.at,
            to,
        });
    }

    fn take(&mut self, lexeme: Lexeme, len: usize) {
        self.push(lexeme, self.at + len);
        self.at += len;
    }

    fn length_while(&self, keep: impl Fn(char) -> bool) -> usize {
        self.text[self.at..]
            .find(|c| !keep(c))
            .unwrap_or(self.text.len() - self.at)
    }

    fn read(&mut self, c: char) {
        let len = c.len_utf8();
        match c {
            '0'..='9' => {
                let len = self.length_while(|c| c.is_ascii_digit());
                let digits = &self.text[self.at..self.at + len];
                self.take(Lexeme::Number(digits.parse().unwrap_or(u64::MAX)), len);
            }
            '*' if self.text[self.at..].starts_with("**") => {
                // emphasis, or a power, which is not allowed
                self.cut();
                self.at += self.length_while(|c| c == '*');
            }
            '+' | '＋' => self.take(Lexeme::Operator(Operator::Plus), len),
            '-' | '−' | '–' | '－' => self.take(Lexeme::Operator(Operator::Minus), len),
            '*' | '×' | '·' | '⋅' | '∗' | '✕' => {
                self.take(Lexeme::Operator(Operator::Times), len)
            }
            '/' | '÷' | '∕' | '⁄' => self.take(Lexeme::Operator(Operator::Over), len),
            '(' | '[' | '（' => self.take(Lexeme::Open, len),
            ')' | ']' | '）' => self.take(Lexeme::Close, len),
            '{' => self.open_brace(),
            '}' => self.close_brace(),
            '\\' => self.command(),
            '\n' | '\r' => {
                self.cut();
                self.at += len;
            }
            c if c.is_whitespace() => self.at += len,
            c if c.is_alphabetic() || c == '_' => {
                // a whole word with its digits: labels are no numbers
                self.cut();
                self.at += self.length_while(|c| c.is_alphanumeric() || c == '_');
            }
            _ => {
                self.cut();
                self.at += len;
            }
        }
    }

    fn open_brace(&mut self) {
        let brace = self.coming.take().unwrap_or(Brace::Plain);
        self.braces.push(brace);
        if brace == Brace::Numerator {
            self.push(Lexeme::Open, self.at + 1);
        }
        self.take(Lexeme::Open, 1);
    }

    fn close_brace(&mut self) {
        let Some(brace) = self.braces.pop() else {
            self.cut();
            self.at += 1;
            return;
        };
        self.push(Lexeme::Close, self.at + 1);
        match brace {
            Brace::Plain => {}
            Brace::Numerator => {
                self.push(Lexeme::Operator(Operator::Over), self.at + 1);
                self.coming = Some(Brace::Denominator);
            }
            Brace::Denominator => self.push(Lexeme::Close, self.at + 1),
        }
        self.at += 1;
    }

    fn command(&mut self) {
        let rest = &self.text[self.at + 1..];
        let name_len = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let whole = name_len + 1;
        match &rest[..name_len] {
            "times" | "cdot" | "ast" => self.take(Lexeme::Operator(Operator::Times), whole),
            "div" => self.take(Lexeme::Operator(Operator::Over), whole),
            "frac" | "dfrac" | "tfrac" => {
                self.coming = Some(Brace::Numerator);
                self.at += whole;
            }
            "left" | "right" | "big" | "bigl" | "bigr" | "quad" => self.at += whole,
            "" if rest.starts_with([',', ';', ':', '!', ' ']) => self.at += 2,
            "" => {
                // \( \) \[ \] and the like stand around mathematics
                self.cut();
                self.at += 1 + rest.chars().next().map_or(0, char::len_utf8);
            }
            _ => {
                self.cut();
                self.at += whole;
            }
        }
    }
}

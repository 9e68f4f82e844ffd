//! Reading expressions out of untrusted text.
//!
//! Everything is iterative and linear in the text, so that no nesting is too deep. The text is cut into
//! lexemes; whatever can be no part of an expression (words, labels, `=`, line ends) separates candidates.
//! A candidate has at least two numbers and an operator; whether it parses is said by [`parse`].

use crate::task::rational::Rational;

/// One of the four operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

impl Operator {
    fn binds(self) -> u8 {
        match self {
            Self::Plus | Self::Minus => 1,
            Self::Times | Self::Over => 2,
        }
    }

    /// The operation itself; `None` for a division by zero or a result that does not fit.
    #[must_use]
    pub fn apply(self, left: Rational, right: Rational) -> Option<Rational> {
        match self {
            Self::Plus => left.plus(right),
            Self::Minus => left.minus(right),
            Self::Times => left.times(right),
            Self::Over => left.over(right),
        }
    }

    /// Its sign in plain text.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Plus => '+',
            Self::Minus => '-',
            Self::Times => '*',
            Self::Over => '/',
        }
    }
}

/// One item of an expression in postfix order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// Pushes a number.
    Number(u64),
    /// Joins the two newest values.
    Operator(Operator),
}

/// A well-formed expression in postfix order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression(Vec<Item>);

/// Why an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValue {
    /// Something is divided by zero.
    DivisionByZero,
    /// A value does not fit.
    TooLarge,
}

impl Expression {
    /// Its items in postfix order.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.0
    }

    /// Its numbers in the order written.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().filter_map(|item| match item {
            Item::Number(n) => Some(*n),
            Item::Operator(_) => None,
        })
    }

    /// Its value.
    ///
    /// # Errors
    /// [`NoValue`] where it has none.
    pub fn value(&self) -> Result<Rational, NoValue> {
        let mut stack: Vec<Rational> = Vec::new();
        for item in &self.0 {
            let value = match item {
                Item::Number(n) => i64::try_from(*n)
                    .ok()
                    .map(Rational::whole)
                    .ok_or(NoValue::TooLarge)?,
                Item::Operator(operator) => {
                    let (Some(right), Some(left)) = (stack.pop(), stack.pop()) else {
                        return Err(NoValue::TooLarge);
                    };
                    if *operator == Operator::Over && right.is_zero() {
                        return Err(NoValue::DivisionByZero);
                    }
                    operator.apply(left, right).ok_or(NoValue::TooLarge)?
                }
            };
            stack.push(value);
        }
        stack.pop().ok_or(NoValue::TooLarge)
    }
}

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

/// Something in a text that looks like an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// As written.
    pub text: &'a str,
    /// Its lexemes.
    pub lexemes: Vec<Placed>,
}

/// All candidates of a text, in order.
#[must_use]
pub fn candidates(text: &str) -> Vec<Candidate<'_>> {
    let mut out = Vec::new();
    let mut lexer = Lexer::new(text);
    lexer.read_all();
    for mut run in lexer.runs {
        while !run.is_empty() {
            let rest = run.split_off(first_part(text, &run));
            let first = usize::from(is_bullet(text, &run));
            let run_now = std::mem::replace(&mut run, rest);
            let lexemes = run_now[first..].to_vec();
            let numbers = lexemes
                .iter()
                .filter(|l| matches!(l.lexeme, Lexeme::Number(_)))
                .count();
            let operators = lexemes
                .iter()
                .any(|l| matches!(l.lexeme, Lexeme::Operator(_)));
            if let (Some(a), Some(b), true, true) =
                (lexemes.first(), lexemes.last(), numbers >= 2, operators)
            {
                let text = text.get(a.from..b.to).unwrap_or_default();
                out.push(Candidate { text, lexemes });
            }
        }
    }
    out
}

/// Where a run ends because the next thing cannot continue it: a list number like `2)`, or two expressions
/// side by side.
fn first_part(text: &str, run: &[Placed]) -> usize {
    let mut depth = 0u64;
    for (i, placed) in run.iter().enumerate() {
        match placed.lexeme {
            Lexeme::Open => depth += 1,
            Lexeme::Close if depth == 0 => {
                // only a bare number may stand before such a bracket
                return if i <= 1 { i + 1 } else { continue };
            }
            Lexeme::Close => depth -= 1,
            _ => {}
        }
        let ends = matches!(placed.lexeme, Lexeme::Number(_) | Lexeme::Close);
        let begins = run.get(i + 1).is_some_and(|next| {
            let apart = text
                .get(placed.to..next.from)
                .is_some_and(|gap| !gap.is_empty());
            match next.lexeme {
                Lexeme::Number(_) => true,
                Lexeme::Open => apart,
                _ => false,
            }
        });
        if depth == 0 && ends && begins {
            return i + 1;
        }
    }
    run.len()
}

/// Whether a run begins with a list bullet: a sign at the start of a line with a space behind it.
fn is_bullet(text: &str, run: &[Placed]) -> bool {
    let [first, second, ..] = run else {
        return false;
    };
    matches!(
        first.lexeme,
        Lexeme::Operator(Operator::Minus | Operator::Times | Operator::Plus)
    ) && second.from > first.to
        && text[..first.from]
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.trim().is_empty())
}

/// A candidate's expression; `None` where it is not well-formed. There is no sign in front of numbers, and
/// nothing is multiplied without saying so.
#[must_use]
pub fn parse(lexemes: &[Placed]) -> Option<Expression> {
    #[derive(Clone, Copy)]
    enum Held {
        Operator(Operator),
        Open,
    }
    let mut items = Vec::with_capacity(lexemes.len());
    let mut held: Vec<Held> = Vec::new();
    let mut expects_number = true;
    for placed in lexemes {
        match (placed.lexeme, expects_number) {
            (Lexeme::Number(n), true) => {
                items.push(Item::Number(n));
                expects_number = false;
            }
            (Lexeme::Open, true) => held.push(Held::Open),
            (Lexeme::Operator(operator), false) => {
                while let Some(Held::Operator(earlier)) = held.last()
                    && earlier.binds() >= operator.binds()
                {
                    items.push(Item::Operator(*earlier));
                    held.pop();
                }
                held.push(Held::Operator(operator));
                expects_number = true;
            }
            (Lexeme::Close, false) => {
                while let Held::Operator(operator) = held.pop()? {
                    items.push(Item::Operator(operator));
                }
            }
            _ => return None,
        }
    }
    while let Some(operator) = held.pop() {
        match operator {
            Held::Operator(operator) => items.push(Item::Operator(operator)),
            Held::Open => return None,
        }
    }
    (!expects_number).then_some(Expression(items))
}

/// The only expression that makes up a whole text.
#[must_use]
pub fn parse_text(text: &str) -> Option<Expression> {
    let mut lexer = Lexer::new(text);
    lexer.read_all();
    match lexer.runs.as_slice() {
        [run] if !lexer.interrupted => parse(run),
        _ => None,
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
    /// Something that can be no part of an expression was met.
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

    /// Lexemes, cut wherever something else stands between them.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<String> {
        parse_text(text)?.value().ok().map(|v| v.to_string())
    }

    fn found(text: &str) -> Vec<&str> {
        candidates(text).into_iter().map(|c| c.text).collect()
    }

    #[test]
    fn expressions_have_exact_values() {
        for (text, expected) in [
            ("1+2*3", "7"),
            ("(1 + 2) * 3", "9"),
            ("10 - 4 - 3", "3"),
            ("12 / 4 / 3", "1"),
            ("1/3 + 1/6", "1/2"),
            ("8 / (3 - 8 / 3)", "24"),
            ("((((7))))+0", "7"),
        ] {
            assert_eq!(value(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_ways_of_writing_mean_the_same() {
        for text in [
            "(3 − 1) × 6 ÷ 2",
            "(3–1)·6∕2",
            r"\left(3 - 1\right) \times 6 \div 2",
            r"\frac{(3-1) \cdot 6}{2}",
            r"\dfrac{3-1}{2} * 6",
            "[3 - 1] * 6 / 2",
            "（3－1）×6÷2",
            "3 \u{a0}- 1 +\t2*2",
        ] {
            assert_eq!(value(text).as_deref(), Some("6"), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_nothing() {
        for text in [
            "",
            "1 +",
            "* 3",
            "-3 + 4",
            "1 + + 2",
            "(1 + 2",
            "1 + 2)",
            "1 2",
            "2(3)",
            "2**3",
            "1,5 + 2",
            "1.5 + 2",
            "x + 1",
            "1 + 2 = 3",
            "()",
            "1 + ()",
            r"\frac{1}",
            r"\frac12",
            r"\frac{1}{2",
            "{1",
            "1}",
            "٣ + ١",
            "2^3",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn zero_division_and_huge_numbers_have_no_value() {
        let no = |text: &str| parse_text(text).map(|e| e.value());
        assert_eq!(no("4 / (3 - 3)"), Some(Err(NoValue::DivisionByZero)));
        assert_eq!(
            no(&format!("{} + 1", "9".repeat(400))),
            Some(Err(NoValue::TooLarge))
        );
        let product = ["9000000000000000000"; 9].join(" * ");
        assert_eq!(no(&product), Some(Err(NoValue::TooLarge)));
    }

    #[test]
    fn no_nesting_is_too_deep() {
        let deep = format!("{}1+2{}", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(value(&deep).as_deref(), Some("3"));
        let chain = format!("{}1{}", "2-(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(value(&chain).as_deref(), Some("1"));
        assert_eq!(value(&"(".repeat(1_000_000)), None);
        let fractions = r"\frac{".repeat(10_000);
        assert_eq!(value(&fractions), None);
    }

    #[test]
    fn expressions_are_found_among_other_text() {
        assert_eq!(
            found("A1 ( 12 - 9 ) * 4 + 6 B1 12 + 9 - 6 / 2"),
            ["( 12 - 9 ) * 4 + 6", "12 + 9 - 6 / 2"]
        );
        assert_eq!(
            found("1. (12-9)*4 = 12\n2) 6 + 4*2 = 14\n(3) 9-1\n- 5 * 2\n* 4 + 4"),
            ["(12-9)*4", "6 + 4*2", "9-1", "5 * 2", "4 + 4"]
        );
        assert_eq!(
            found("Solution: **3 × 4** and `5+6`, $7-2$; \\(8/2\\)."),
            ["3 × 4", "5+6", "7-2", "8/2"]
        );
        assert_eq!(found("12 = 3 * 4"), ["3 * 4"]);
        assert!(found("none, 4 of 5 well-known 7").is_empty());
    }

    #[test]
    fn a_sign_that_is_no_bullet_stays() {
        let all = candidates("-12 + 21");
        assert_eq!(all[0].text, "-12 + 21");
        assert_eq!(parse(&all[0].lexemes), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"[0-9+*/()\[\]{}\\ \n\-×·÷a-z₂=]{0,60}|\PC{0,40}") {
            for candidate in candidates(&text) {
                if let Some(expression) = parse(&candidate.lexemes) {
                    let _ = expression.value();
                }
            }
        }
    }
}

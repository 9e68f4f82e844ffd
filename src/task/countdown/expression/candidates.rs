//! Finding what looks like an expression among other text.

use super::Operator;
use super::lexer::{Lexeme, Placed, lexemes};

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
    for mut run in lexemes(text).runs {
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

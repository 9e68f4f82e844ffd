//! Lines of code to words, by syntect's grammars.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

/// Longer lines stay plain, in bytes.
const LONGEST_LINE: usize = 1024;

/// What a word of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::tui::text) enum Word {
    Keyword,
    String,
    Number,
    Comment,
    Function,
    Type,
    Operator,
    Punctuation,
}

/// Words of a line, in bytes from its beginning.
pub(super) type Words = Arc<[(Range<usize>, Word)]>;

/// Scopes of grammars, the more telling first.
const WORDS: [(&str, Word); 19] = [
    ("comment", Word::Comment),
    ("punctuation.definition.comment", Word::Comment),
    ("punctuation.definition.string", Word::String),
    ("string", Word::String),
    ("constant.numeric", Word::Number),
    ("constant", Word::Number),
    ("entity.name.function", Word::Function),
    ("support.function", Word::Function),
    ("variable.function", Word::Function),
    ("entity.name", Word::Type),
    ("entity.other.inherited-class", Word::Type),
    ("support.type", Word::Type),
    ("support.class", Word::Type),
    ("storage.type.numeric", Word::Number),
    ("keyword.operator", Word::Operator),
    ("keyword", Word::Keyword),
    ("storage", Word::Keyword),
    ("variable.language", Word::Keyword),
    ("punctuation", Word::Punctuation),
];

/// Grammars and the scopes that are told apart.
#[derive(Debug)]
pub(super) struct Grammars {
    pub(super) set: SyntaxSet,
    words: Vec<(Scope, Word)>,
}

/// How far a block was parsed.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    /// The chunk that follows.
    pub(super) next: usize,
    state: ParseState,
    stack: ScopeStack,
}

impl Grammars {
    /// The grammars of this process, with the expressions compiled so far.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<Grammars> = OnceLock::new();
        SHARED.get_or_init(Self::load)
    }

    fn load() -> Self {
        Self {
            set: SyntaxSet::load_defaults_newlines(),
            words: WORDS
                .iter()
                .filter_map(|(scope, word)| Some((Scope::new(scope).ok()?, *word)))
                .collect(),
        }
    }

    /// The beginning of code in `language`, if there is a grammar.
    pub(super) fn begin(&self, language: &str, at: usize) -> Option<Progress> {
        let syntax = self.set.find_syntax_by_token(language)?;
        Some(Progress {
            next: at,
            state: ParseState::new(syntax),
            stack: ScopeStack::new(),
        })
    }

    /// The words of the next line; `progress` goes behind it.
    pub(super) fn parse(&self, progress: &mut Progress, line: &str) -> Words {
        progress.next += 1;
        if line.len() > LONGEST_LINE {
            return Arc::from([]);
        }
        // Words end before the line break, which may not be there yet.
        let end = line.trim_end_matches('\n').len();
        let with_break;
        let line = if line.ends_with('\n') {
            line
        } else {
            with_break = format!("{line}\n");
            &with_break
        };
        let Ok(ops) = progress.state.parse_line(line, &self.set) else {
            return Arc::from([]);
        };
        let mut words: Vec<(Range<usize>, Word)> = Vec::new();
        let mut from = 0;
        let mut add = |to: usize, stack: &ScopeStack| {
            let to = to.min(end);
            if let Some(word) = self.word(stack)
                && to > from
            {
                match words.last_mut() {
                    Some((span, last)) if *last == word && span.end == from => span.end = to,
                    _ => words.push((from..to, word)),
                }
            }
            from = to;
        };
        for (at, op) in &ops {
            add(*at, &progress.stack);
            // A stack that an operation does not fit is left as it is.
            let _ = progress.stack.apply(op);
        }
        add(end, &progress.stack);
        words.into()
    }

    fn word(&self, stack: &ScopeStack) -> Option<Word> {
        stack.as_slice().iter().rev().find_map(|scope| {
            self.words
                .iter()
                .find(|(known, _)| known.is_prefix_of(*scope))
                .map(|(_, word)| *word)
        })
    }
}

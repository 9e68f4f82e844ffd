//! Colours for code and JSON inside a thread's text.
//!
//! Fenced blocks (```` ```lang ````) and lines that are JSON are found while the text grows; only lines
//! in view are parsed, each once. The grammars load in the background: until they are there, text is
//! plain. Grammars say what a word is; the theme says how that looks.

use super::transcript::Transcript;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

/// Longer lines stay plain, in bytes.
const LONGEST_LINE: usize = 1024;

/// Lines parsed before the first one in view to know where it stands, if it was not reached line by
/// line. What opened further up (a long comment) is missed.
const RUN_UP: usize = 50;

/// Lines remembered with their colours.
const REMEMBERED: usize = 2048;

/// What a word of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Keyword,
    String,
    Number,
    Comment,
    Function,
    Type,
    Operator,
    Punctuation,
}

/// Grammars and the scopes that are told apart.
struct Grammars {
    set: SyntaxSet,
    words: Vec<(Scope, Word)>,
}

static GRAMMARS: OnceLock<Grammars> = OnceLock::new();

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

fn grammars() -> &'static Grammars {
    GRAMMARS.get_or_init(|| Grammars {
        set: SyntaxSet::load_defaults_newlines(),
        words: WORDS
            .iter()
            .filter_map(|(scope, word)| Some((Scope::new(scope).ok()?, *word)))
            .collect(),
    })
}

/// Loads the grammars on a thread of its own and calls `done` when text can be coloured: after the
/// first frame, so that it need not wait for them.
pub fn load_in_background(done: impl FnOnce() + Send + 'static) {
    let load = move || {
        grammars();
        done();
    };
    // Without a thread, text stays plain.
    let _ = std::thread::Builder::new()
        .name("grammars".to_owned())
        .spawn(load);
}

/// A stretch of lines in one language.
#[derive(Debug, Clone)]
struct Block {
    /// The first chunk of code.
    first: usize,
    /// The chunk after the last one of code, once that is known.
    end: Option<usize>,
    language: String,
    kind: BlockKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Fence,
    Json,
}

/// How far a block was parsed.
#[derive(Debug, Clone)]
struct Progress {
    next: usize,
    state: ParseState,
    stack: ScopeStack,
}

type Words = Arc<[(Range<usize>, Word)]>;

/// Colours of one transcript, as far as they were looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Highlighter {
    revision: u64,
    /// Chunks before this one are sorted into blocks.
    scanned: usize,
    blocks: Vec<Block>,
    progress: BTreeMap<usize, Progress>,
    /// Words of a line, relative to its beginning, by its chunk.
    lines: HashMap<usize, Words>,
}

impl Highlighter {
    /// Words of code in the chunks that hold `span` of the shown text, in order.
    pub(super) fn words(
        &mut self,
        transcript: &Transcript,
        span: &Range<usize>,
    ) -> Vec<(Range<usize>, Word)> {
        if self.revision != transcript.revision() {
            *self = Self {
                revision: transcript.revision(),
                ..Self::default()
            };
        }
        if self.lines.len() > REMEMBERED {
            self.lines.clear();
        }
        self.scan(transcript);
        let Some(grammars) = GRAMMARS.get() else {
            return Vec::new();
        };
        let mut words = Vec::new();
        let first = transcript.chunk_of(span.start);
        let last = transcript.chunk_of(span.end.saturating_sub(1).max(span.start));
        for chunk in first..=last {
            let start = transcript.chunk(chunk).start;
            let line = self.line(transcript, grammars, chunk);
            words.extend(
                line.iter()
                    .map(|(at, word)| (at.start + start..at.end + start, *word)),
            );
        }
        words
    }

    /// Sorts lines that are complete into blocks.
    fn scan(&mut self, transcript: &Transcript) {
        while self.scanned + 1 < transcript.chunk_count() {
            let chunk = self.scanned;
            self.scanned += 1;
            let Some(line) = whole_line(transcript, chunk) else {
                continue;
            };
            if let Some(block) = self.blocks.last_mut().filter(|b| b.end.is_none()) {
                let ends = match block.kind {
                    BlockKind::Fence => fence(line).is_some_and(str::is_empty),
                    BlockKind::Json => !continues_json(line),
                };
                if ends {
                    block.end = Some(chunk);
                }
                if !ends || block.kind == BlockKind::Fence {
                    continue;
                }
            }
            let (first, end, language, kind) = match (fence(line), line.trim_end()) {
                (Some(language), _) => (chunk + 1, None, language, BlockKind::Fence),
                (None, "{" | "[") => (chunk, None, "json", BlockKind::Json),
                (None, line) if is_json(line) => (chunk, Some(chunk + 1), "json", BlockKind::Json),
                _ => continue,
            };
            self.blocks.push(Block {
                first,
                end,
                language: language.to_owned(),
                kind,
            });
        }
    }

    fn block_of(&self, chunk: usize) -> Option<usize> {
        let block = self
            .blocks
            .partition_point(|b| b.first <= chunk)
            .checked_sub(1)?;
        let is_inside = self.blocks[block].end.is_none_or(|end| chunk < end);
        is_inside.then_some(block)
    }

    fn line(&mut self, transcript: &Transcript, grammars: &Grammars, chunk: usize) -> Words {
        if let Some(words) = self.lines.get(&chunk) {
            return Arc::clone(words);
        }
        let is_last = chunk + 1 == transcript.chunk_count();
        let text = &transcript.shown()[transcript.chunk(chunk)];
        match self.block_of(chunk) {
            Some(block) if is_last && fence(text).is_none() => {
                let progress = self.reach(transcript, grammars, block, chunk);
                progress.map_or_else(no_words, |mut p| parse_line(grammars, &mut p, text))
            }
            Some(block) if !is_last => {
                let Some(mut progress) = self.reach(transcript, grammars, block, chunk) else {
                    return no_words();
                };
                let words = self.parse_chunk(transcript, grammars, &mut progress, chunk);
                self.progress.insert(block, progress);
                words
            }
            None if is_last && is_json(text) => begin(grammars, "json", chunk)
                .map_or_else(no_words, |mut p| parse_line(grammars, &mut p, text)),
            _ => no_words(),
        }
    }

    /// The state of `block` at the beginning of `chunk`; lines in between are parsed and remembered.
    fn reach(
        &mut self,
        transcript: &Transcript,
        grammars: &Grammars,
        block: usize,
        chunk: usize,
    ) -> Option<Progress> {
        let Block {
            first, language, ..
        } = &self.blocks[block];
        let from = chunk.saturating_sub(RUN_UP).max(*first);
        let mut progress = match self.progress.get(&block) {
            Some(known) if (from..=chunk).contains(&known.next) => known.clone(),
            _ => begin(grammars, language, from)?,
        };
        while progress.next < chunk {
            let next = progress.next;
            self.parse_chunk(transcript, grammars, &mut progress, next);
        }
        Some(progress)
    }

    fn parse_chunk(
        &mut self,
        transcript: &Transcript,
        grammars: &Grammars,
        progress: &mut Progress,
        chunk: usize,
    ) -> Words {
        let words = whole_line(transcript, chunk)
            .filter(|line| line.len() <= LONGEST_LINE)
            .map_or_else(no_words, |line| parse_line(grammars, progress, line));
        progress.next = chunk + 1;
        self.lines.insert(chunk, Arc::clone(&words));
        words
    }
}

fn no_words() -> Words {
    Arc::from([])
}

/// The text of `chunk` with its line break, if it is a line of its own.
fn whole_line(transcript: &Transcript, chunk: usize) -> Option<&str> {
    let span = transcript.chunk(chunk);
    let begins = span.start == 0 || transcript.shown().as_bytes()[span.start - 1] == b'\n';
    let line = &transcript.shown()[span];
    (begins && line.ends_with('\n')).then_some(line)
}

/// The language of a fence (empty for none), if the line is one.
fn fence(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("```")?;
    (!rest.contains('`')).then(|| rest.split_whitespace().next().unwrap_or_default())
}

/// Whether a line outside fences is JSON, or begins like it.
fn is_json(line: &str) -> bool {
    let mut bytes = line.bytes().filter(|b| *b != b' ');
    matches!(
        (bytes.next(), bytes.next()),
        (Some(b'{'), Some(b'"')) | (Some(b'['), Some(b'{' | b'"'))
    )
}

fn continues_json(line: &str) -> bool {
    matches!(
        line.bytes().next(),
        Some(b' ' | b'"' | b'{' | b'}' | b'[' | b']')
    )
}

fn begin(grammars: &Grammars, language: &str, at: usize) -> Option<Progress> {
    let syntax = grammars.set.find_syntax_by_token(language)?;
    Some(Progress {
        next: at,
        state: ParseState::new(syntax),
        stack: ScopeStack::new(),
    })
}

fn parse_line(grammars: &Grammars, progress: &mut Progress, line: &str) -> Words {
    if line.len() > LONGEST_LINE {
        return no_words();
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
    let Ok(ops) = progress.state.parse_line(line, &grammars.set) else {
        return no_words();
    };
    let mut words: Vec<(Range<usize>, Word)> = Vec::new();
    let mut from = 0;
    let mut add = |to: usize, from: &mut usize, stack: &ScopeStack| {
        let to = to.min(end);
        if let Some(word) = word_of(grammars, stack)
            && to > *from
        {
            match words.last_mut() {
                Some((span, last)) if *last == word && span.end == *from => span.end = to,
                _ => words.push((*from..to, word)),
            }
        }
        *from = to;
    };
    for (at, op) in &ops {
        add(*at, &mut from, &progress.stack);
        // A stack that an operation does not fit is left as it is.
        let _ = progress.stack.apply(op);
    }
    add(end, &mut from, &progress.stack);
    words.into()
}

fn word_of(grammars: &Grammars, stack: &ScopeStack) -> Option<Word> {
    stack.as_slice().iter().rev().find_map(|scope| {
        grammars
            .words
            .iter()
            .find(|(known, _)| known.is_prefix_of(*scope))
            .map(|(_, word)| *word)
    })
}

#[cfg(test)]
mod tests;

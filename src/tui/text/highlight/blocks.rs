//! Which lines of a text are code, and in what language.

use crate::tui::text::transcript::Transcript;

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

/// Blocks found so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    /// Chunks before this one are sorted.
    scanned: usize,
    blocks: Vec<Block>,
}

impl Blocks {
    /// Sorts the lines that have been completed since.
    pub(super) fn scan(&mut self, transcript: &Transcript) {
        while self.scanned + 1 < transcript.display().chunk_count() {
            let chunk = self.scanned;
            self.scanned += 1;
            let is_open = self.blocks.last().is_some_and(|b| b.end.is_none());
            let first = transcript.shown().as_bytes()[transcript.display().chunk(chunk).start];
            if (is_open || matches!(first, b' ' | b'`' | b'{' | b'['))
                && let Some(line) = whole_line(transcript, chunk)
            {
                self.sort(chunk, line);
            }
        }
    }

    fn sort(&mut self, chunk: usize, line: &str) {
        if let Some(block) = self.blocks.last_mut().filter(|b| b.end.is_none()) {
            let ends = match block.kind {
                BlockKind::Fence => fence(line).is_some_and(str::is_empty),
                BlockKind::Json => !continues_json(line),
            };
            if ends {
                block.end = Some(chunk);
            }
            if !ends || block.kind == BlockKind::Fence {
                return;
            }
        }
        let (first, end, language, kind) = match (fence(line), line.trim_end()) {
            (Some(language), _) => (chunk + 1, None, language, BlockKind::Fence),
            (None, "{" | "[") => (chunk, None, "json", BlockKind::Json),
            (None, line) if is_json(line) => (chunk, Some(chunk + 1), "json", BlockKind::Json),
            _ => return,
        };
        self.blocks.push(Block {
            first,
            end,
            language: language.to_owned(),
            kind,
        });
    }

    /// The block that holds `chunk`.
    pub(super) fn of(&self, chunk: usize) -> Option<usize> {
        let block = self
            .blocks
            .partition_point(|b| b.first <= chunk)
            .checked_sub(1)?;
        self.blocks[block]
            .end
            .is_none_or(|end| chunk < end)
            .then_some(block)
    }

    /// Whether `chunk` is in `block`.
    pub(super) fn holds(&self, block: Option<usize>, chunk: usize) -> bool {
        block.is_some() && self.of(chunk) == block
    }

    pub(super) fn first(&self, block: usize) -> usize {
        self.blocks[block].first
    }

    pub(super) fn language(&self, block: usize) -> &str {
        &self.blocks[block].language
    }
}

/// The text of `chunk` with its line break, if it is a line of its own.
pub(super) fn whole_line(transcript: &Transcript, chunk: usize) -> Option<&str> {
    let span = transcript.display().chunk(chunk);
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
pub(super) fn is_json(line: &str) -> bool {
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

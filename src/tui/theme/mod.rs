//! Themes: colours and modifiers by scope, in the manner of helix.
//!
//! A theme is a file `NAME.toml`; five are built in and files in the user's folders go before them.
//! Scopes are dotted; a scope without a style has that of its nearest parent. Colours are brought down
//! to what the terminal can show. Nothing here draws.

mod color;
mod depth;
mod file;
mod scopes;
mod watch;

pub use depth::{ColorDepth, TermEnv};
pub use scopes::SCOPES;
pub use watch::ThemeWatch;

use crate::small_file::{self, Pipes};
use ratatui::style::{Modifier, Style};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The theme used when none is named.
pub const DEFAULT: &str = "terminal";

/// Themes in the binary.
const BUILT_IN: [(&str, &str); 5] = [
    ("ember", include_str!("../../../themes/ember.toml")),
    (
        "high-contrast",
        include_str!("../../../themes/high-contrast.toml"),
    ),
    ("mono", include_str!("../../../themes/mono.toml")),
    ("paper", include_str!("../../../themes/paper.toml")),
    ("terminal", include_str!("../../../themes/terminal.toml")),
];

/// Why a theme could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// No file and no built-in theme has this name.
    #[error("no theme is called `{name}`; there are {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A file could not be read.
    #[error("{file}: {message}")]
    Read {
        /// The file.
        file: String,
        /// What went wrong.
        message: String,
    },
    /// A file does not hold a theme.
    #[error("{file}:{line}: {message}")]
    Bad {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what was expected.
        message: String,
    },
}

/// Where a theme's text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    BuiltIn(&'static str, &'static str),
    File(PathBuf),
}

impl Source {
    fn label(&self) -> String {
        match self {
            Self::BuiltIn(name, _) => format!("built-in theme {name}.toml"),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn read(&self) -> Result<String, ThemeError> {
        match self {
            Self::BuiltIn(_, text) => Ok((*text).to_owned()),
            Self::File(path) => small_file::read(path, Pipes::Refused, small_file::LONGEST)
                .map_err(|e| ThemeError::Read {
                    file: self.label(),
                    message: e.to_string(),
                }),
        }
    }
}

/// Every theme of that name, the one that counts first.
fn sources(name: &str, dirs: &[PathBuf]) -> Vec<Source> {
    // A name is a file name, never a path.
    let is_name = !name.is_empty() && !name.contains(['/', '\\', '\0']) && !name.starts_with('.');
    if !is_name {
        return Vec::new();
    }
    let files = dirs
        .iter()
        .map(|dir| dir.join(format!("{name}.toml")))
        .filter(|path| path.is_file())
        .map(Source::File);
    let built_in = BUILT_IN
        .iter()
        .filter(|(known, _)| *known == name)
        .map(|(known, text)| Source::BuiltIn(known, text));
    files.chain(built_in).collect()
}

/// Resolved styles by scope.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Theme {
    name: String,
    styles: HashMap<String, Style>,
}

impl Theme {
    /// Loads the theme called `name` from the first of `dirs` that has it, else from the binary, and
    /// brings its colours down to `depth`.
    ///
    /// # Errors
    /// [`ThemeError`] names the file and the line of whatever is wrong: unknown names, scopes, keys or
    /// colours, and themes that inherit from themselves.
    pub fn load(name: &str, dirs: &[PathBuf], depth: ColorDepth) -> Result<Self, ThemeError> {
        let mut styles = Self::resolve(name, dirs)?;
        for style in styles.values_mut() {
            *style = color::downgrade(*style, depth);
        }
        if depth == ColorDepth::None {
            keep_marks_visible(&mut styles);
        }
        Ok(Self {
            name: name.to_owned(),
            styles,
        })
    }

    fn resolve(name: &str, dirs: &[PathBuf]) -> Result<HashMap<String, Style>, ThemeError> {
        let mut visited: Vec<Source> = Vec::new();
        let mut files = Vec::new();
        let mut wanted = name.to_owned();
        let mut asked: Option<(String, usize)> = None;
        loop {
            let all = sources(&wanted, dirs);
            // A user's `terminal.toml` may inherit from the built-in `terminal`.
            let Some(source) = all.iter().find(|s| !visited.contains(s)) else {
                return Err(match (asked, all.is_empty()) {
                    (None, _) => ThemeError::Unknown {
                        name: wanted,
                        known: Self::names(dirs),
                    },
                    (Some((file, line)), missing) => ThemeError::Bad {
                        file,
                        line,
                        message: if missing {
                            format!(
                                "inherits from `{wanted}`, which does not exist; there are {}",
                                Self::names(dirs).join(", ")
                            )
                        } else {
                            format!("inherits from `{wanted}`, which inherits from this theme")
                        },
                    },
                });
            };
            let label = source.label();
            let parsed = file::parse(&source.read()?, &label)?;
            visited.push(source.clone());
            let parent = parsed.inherits.clone();
            files.push(parsed);
            match parent {
                Some((parent, line)) => {
                    wanted = parent;
                    asked = Some((label, line));
                }
                None => return file::merge(files),
            }
        }
    }

    /// The names of all themes, in order.
    #[must_use]
    pub fn names(dirs: &[PathBuf]) -> Vec<String> {
        let mut names: BTreeSet<String> = BUILT_IN.iter().map(|(n, _)| (*n).to_owned()).collect();
        for dir in dirs {
            names.extend(files_in(dir));
        }
        names.into_iter().collect()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The style of `scope`, or of its nearest parent that has one, or none at all.
    #[must_use]
    pub fn style(&self, scope: &str) -> Style {
        let mut scope = scope;
        loop {
            if let Some(style) = self.styles.get(scope) {
                return *style;
            }
            match scope.rsplit_once('.') {
                Some((parent, _)) => scope = parent,
                None => return Style::default(),
            }
        }
    }
}

fn files_in(dir: &Path) -> impl Iterator<Item = String> {
    std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .filter_map(|path| path.file_stem()?.to_str().map(str::to_owned))
}

/// Without colours, what was marked by its background alone is marked by swapping.
fn keep_marks_visible(styles: &mut HashMap<String, Style>) {
    for scope in ["ui.cursor", "ui.selection", "ui.search"] {
        let style = styles.entry(scope.to_owned()).or_default();
        if style.add_modifier.is_empty() {
            *style = style.add_modifier(Modifier::REVERSED);
        }
    }
}

#[cfg(test)]
mod contrast;
#[cfg(test)]
mod tests;

//! How many colours a terminal has, from its environment.

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ColorDepth {
    /// No colours, only modifiers.
    None,
    /// The sixteen named colours.
    #[default]
    Ansi16,
    /// The 256 indexed colours.
    Ansi256,
    /// 24-bit colours.
    True,
}

/// The variables that tell what a terminal can do. An empty value counts as unset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TermEnv {
    /// `TERM`
    pub term: Option<String>,
    /// `COLORTERM`
    pub colorterm: Option<String>,
    /// `NO_COLOR`
    pub no_color: Option<String>,
    /// `TERM_PROGRAM`
    pub term_program: Option<String>,
    /// The first set of `LC_ALL`, `LC_CTYPE` and `LANG`.
    pub locale: Option<String>,
    /// `TMUX`
    pub tmux: Option<String>,
}

impl TermEnv {
    /// The environment of this process.
    #[must_use]
    pub fn read() -> Self {
        let get = |name| std::env::var(name).ok().filter(|v| !v.is_empty());
        let mut env = Self {
            term: get("TERM"),
            colorterm: get("COLORTERM"),
            no_color: get("NO_COLOR"),
            term_program: get("TERM_PROGRAM"),
            locale: get("LC_ALL")
                .or_else(|| get("LC_CTYPE"))
                .or_else(|| get("LANG")),
            tmux: get("TMUX"),
        };
        if cfg!(windows) {
            // Its consoles set neither.
            env.term.get_or_insert_with(|| "xterm-256color".to_owned());
            env.locale.get_or_insert_with(|| "UTF-8".to_owned());
        }
        env
    }

    /// Whether the terminal cannot move its cursor.
    #[must_use]
    pub fn is_dumb(&self) -> bool {
        matches!(self.term.as_deref(), None | Some("" | "dumb"))
    }
}

/// Terminals whose name alone says 24-bit.
const TRUE_COLOR_TERMS: [&str; 7] = [
    "xterm-kitty",
    "xterm-ghostty",
    "alacritty",
    "foot",
    "wezterm",
    "contour",
    "rio",
];

impl ColorDepth {
    /// What a terminal with this environment can show.
    #[must_use]
    pub fn detect(env: &TermEnv) -> Self {
        if env.no_color.as_deref().is_some_and(|v| !v.is_empty()) || env.is_dumb() {
            return Self::None;
        }
        let term = env.term.as_deref().unwrap_or_default();
        let many = term.contains("256color");
        // GNU screen swallows 24-bit colours, and passes on the COLORTERM of the terminal around it.
        if term.starts_with("screen") {
            return if many { Self::Ansi256 } else { Self::Ansi16 };
        }
        let says_true = matches!(env.colorterm.as_deref(), Some("truecolor" | "24bit"));
        let named = TRUE_COLOR_TERMS
            .iter()
            .any(|t| term == *t || term.strip_prefix(t).is_some_and(|r| r.starts_with('-')));
        if says_true || named || term.ends_with("-direct") {
            Self::True
        } else if many {
            Self::Ansi256
        } else {
            Self::Ansi16
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides_the_depth() {
        let depth = |term: &str, colorterm: &str, no_color: &str| {
            let some = |v: &str| (!v.is_empty()).then(|| v.to_owned());
            ColorDepth::detect(&TermEnv {
                term: some(term),
                colorterm: some(colorterm),
                no_color: some(no_color),
                ..TermEnv::default()
            })
        };
        assert_eq!(depth("xterm-256color", "truecolor", ""), ColorDepth::True);
        assert_eq!(depth("xterm-256color", "", ""), ColorDepth::Ansi256);
        assert_eq!(depth("xterm", "", ""), ColorDepth::Ansi16);
        assert_eq!(depth("linux", "", ""), ColorDepth::Ansi16);
        assert_eq!(depth("xterm-kitty", "", ""), ColorDepth::True);
        assert_eq!(depth("screen", "truecolor", ""), ColorDepth::Ansi16);
        assert_eq!(
            depth("screen-256color", "truecolor", ""),
            ColorDepth::Ansi256
        );
        assert_eq!(depth("tmux-256color", "", ""), ColorDepth::Ansi256);
        assert_eq!(depth("dumb", "truecolor", ""), ColorDepth::None);
        assert_eq!(depth("", "", ""), ColorDepth::None);
        assert_eq!(depth("xterm-256color", "truecolor", "1"), ColorDepth::None);
    }
}

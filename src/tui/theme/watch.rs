//! Looking after the files of the theme in use: whoever edits them sees what becomes of it.
//!
//! Once a second the times and sizes of the files are compared; nothing is read, and nothing is reported, until
//! one has changed.

use super::{Source, Theme, file, sources};
use crate::tui::theme::ColorDepth;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Longest chain of themes that inherit from one another.
const LONGEST: usize = 32;

/// When a file was written last, and its length; `None`: it is not there.
type Stamp = Option<(SystemTime, u64)>;

/// Looks after one theme.
#[derive(Debug)]
pub struct ThemeWatch {
    name: String,
    dirs: Vec<PathBuf>,
    depth: ColorDepth,
    files: Vec<(PathBuf, Stamp)>,
    due: Instant,
}

impl ThemeWatch {
    /// Looks after the theme called `name`, as [`Theme::load`] finds it. `None` where it can have no file.
    #[must_use]
    pub fn new(name: &str, dirs: &[PathBuf], depth: ColorDepth, now: Instant) -> Option<Self> {
        (!dirs.is_empty()).then(|| Self {
            name: name.to_owned(),
            files: stamps(name, dirs),
            dirs: dirs.to_vec(),
            depth,
            due: now + EVERY,
        })
    }

    /// When to look again.
    #[must_use]
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Looks, if it is time: the theme anew if one of its files has changed, or what is wrong with it, in
    /// words with file and line.
    pub fn look(&mut self, now: Instant) -> Option<Result<Theme, String>> {
        if now < self.due {
            return None;
        }
        self.due = now + EVERY;
        if self
            .files
            .iter()
            .all(|(path, before)| stamp(path) == *before)
        {
            return None;
        }
        self.files = stamps(&self.name, &self.dirs);
        let loaded = Theme::load(&self.name, &self.dirs, self.depth);
        Some(loaded.map_err(|error| {
            // The folder is known, and a line is short.
            let folders = self.dirs.iter().map(|dir| format!("{}/", dir.display()));
            folders.fold(error.to_string(), |text, folder| text.replace(&folder, ""))
        }))
    }
}

fn stamp(path: &std::path::Path) -> Stamp {
    let data = std::fs::metadata(path).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// Every file that could be part of the theme, whether it is there or not, as far as the chain can be read.
fn stamps(name: &str, dirs: &[PathBuf]) -> Vec<(PathBuf, Stamp)> {
    let mut files: Vec<(PathBuf, Stamp)> = Vec::new();
    let mut visited: Vec<Source> = Vec::new();
    let mut wanted = Some(name.to_owned());
    while let Some(name) = wanted.take().filter(|_| visited.len() < LONGEST) {
        for dir in dirs {
            let path = dir.join(format!("{name}.toml"));
            if !files.iter().any(|(known, _)| *known == path) {
                let stamp = stamp(&path);
                files.push((path, stamp));
            }
        }
        let all = sources(&name, dirs);
        let Some(source) = all.into_iter().find(|s| !visited.contains(s)) else {
            break;
        };
        let parsed = source.read().and_then(|text| file::parse(&text, &name));
        wanted = parsed
            .ok()
            .and_then(|file| file.inherits)
            .map(|(name, _)| name);
        visited.push(source);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Color;

    struct Desk {
        dir: tempfile::TempDir,
        watch: ThemeWatch,
        now: Instant,
    }

    impl Desk {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                std::fs::write(dir.path().join(name), text).unwrap();
            }
            let now = Instant::now();
            let dirs = [dir.path().to_owned()];
            let watch = ThemeWatch::new("mine", &dirs, ColorDepth::True, now).unwrap();
            Self { dir, watch, now }
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.dir.path().join(name), text).unwrap();
        }

        fn look(&mut self) -> Option<Result<Theme, String>> {
            self.now += EVERY;
            self.watch.look(self.now)
        }

        fn color(&mut self) -> Option<Color> {
            self.look().unwrap().unwrap().style("ui.text").fg
        }
    }

    #[test]
    fn it_says_nothing_until_a_file_changes_and_looks_once_a_second() {
        let mut desk = Desk::new(&[("mine.toml", "\"ui.text\" = \"red\"")]);
        assert_eq!(desk.look(), None);
        desk.write("mine.toml", "\"ui.text\" = \"blue\"");
        assert_eq!(desk.watch.look(desk.now + EVERY / 2), None);
        assert_eq!(desk.color(), Some(Color::Blue));
        assert_eq!(desk.look(), None);
    }

    #[test]
    fn what_is_wrong_is_said_once_with_file_and_line() {
        let mut desk = Desk::new(&[("mine.toml", "\"ui.text\" = \"red\"")]);
        desk.write("mine.toml", "\n\"ui.text\" = \"redd\"");
        let error = desk.look().unwrap().unwrap_err();
        assert!(
            error.starts_with("mine.toml:2: unknown colour `redd`"),
            "{error}"
        );
        assert_eq!(desk.look(), None);
        desk.write("mine.toml", "\"ui.text\" = \"green\"");
        assert_eq!(desk.color(), Some(Color::Green));
    }

    #[test]
    fn parents_are_looked_after_too_also_those_that_come_later() {
        let mut desk = Desk::new(&[("mine.toml", "inherits = \"base\"")]);
        desk.write("base.toml", "\"ui.text\" = \"red\"");
        assert_eq!(desk.color(), Some(Color::Red));
        desk.write("base.toml", "\"ui.text\" = \"blue\"");
        assert_eq!(desk.color(), Some(Color::Blue));
        desk.write("base.toml", "inherits = \"mine\"");
        assert!(
            desk.look()
                .unwrap()
                .unwrap_err()
                .contains("inherits from `mine`")
        );
        // A file of the same name goes before the theme that is built in.
        desk.write("mine.toml", "inherits = \"terminal\"");
        desk.look().unwrap().unwrap();
        desk.write("terminal.toml", "\"ui.text\" = \"green\"");
        assert_eq!(desk.color(), Some(Color::Green));
    }

    #[test]
    fn without_a_folder_there_is_nothing_to_look_after() {
        assert!(ThemeWatch::new("mine", &[], ColorDepth::True, Instant::now()).is_none());
    }
}

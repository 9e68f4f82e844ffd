use super::*;
use ratatui::style::Color;

fn dir(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let dirs = vec![dir.path().to_owned()];
    (dir, dirs)
}

fn message(name: &str, files: &[(&str, &str)]) -> String {
    let (dir, dirs) = dir(files);
    let error = Theme::load(name, &dirs, ColorDepth::True).unwrap_err();
    error
        .to_string()
        .replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn every_built_in_theme_loads_and_styles_the_text_scopes() {
    for name in Theme::names(&[]) {
        for depth in [
            ColorDepth::None,
            ColorDepth::Ansi16,
            ColorDepth::Ansi256,
            ColorDepth::True,
        ] {
            let theme = Theme::load(&name, &[], depth).unwrap();
            for scope in SCOPES {
                let style = theme.style(scope);
                if depth == ColorDepth::None {
                    assert_eq!((style.fg, style.bg), (None, None), "{name} {scope}");
                }
            }
            for scope in ["ui.cursor", "ui.selection", "ui.search"] {
                assert_ne!(theme.style(scope), Style::default(), "{name} {scope}");
            }
        }
    }
    assert_eq!(
        Theme::names(&[]),
        ["ember", "high-contrast", "mono", "paper", "terminal"]
    );
}

#[test]
fn a_scope_falls_back_to_its_parents() {
    let (_dir, dirs) = dir(&[(
        "t.toml",
        "\"pane\" = \"red\"\n\"pane.border\" = { bg = \"blue\" }\n",
    )]);
    let theme = Theme::load("t", &dirs, ColorDepth::True).unwrap();
    assert_eq!(
        theme.style("pane.border.focused"),
        Style::new().bg(Color::Blue)
    );
    assert_eq!(
        theme.style("pane.title.focused"),
        Style::new().fg(Color::Red)
    );
    assert_eq!(theme.style("ui.text"), Style::default());
    assert_eq!(theme.style(""), Style::default());
}

#[test]
fn a_child_overrides_styles_and_palette_of_its_parent() {
    let (_dir, dirs) = dir(&[
        (
            "base.toml",
            "\"ui.text\" = \"ink\"\n\"ui.dim\" = \"ink\"\n[palette]\nink = \"#000001\"\n",
        ),
        (
            "child.toml",
            "inherits = \"base\"\n\"ui.dim\" = { underline = true }\n[palette]\nink = \"#000002\"\n",
        ),
    ]);
    let theme = Theme::load("child", &dirs, ColorDepth::True).unwrap();
    assert_eq!(theme.style("ui.text"), Style::new().fg(Color::Rgb(0, 0, 2)));
    assert_eq!(theme.style("ui.dim"), Style::new().underlined());
}

#[test]
fn a_users_file_goes_before_the_built_in_one_and_may_inherit_from_it() {
    let (_dir, dirs) = dir(&[(
        "terminal.toml",
        "inherits = \"terminal\"\n\"ui.key\" = \"red\"\n",
    )]);
    let own = Theme::load("terminal", &dirs, ColorDepth::True).unwrap();
    let built_in = Theme::load("terminal", &[], ColorDepth::True).unwrap();
    assert_eq!(own.style("ui.key"), Style::new().fg(Color::Red));
    assert_eq!(own.style("tag.fork"), built_in.style("tag.fork"));
}

#[test]
fn what_is_wrong_is_named_with_file_and_line() {
    let starts = |files: &[(&str, &str)], expected: &str| {
        let message = message("t", files);
        assert!(message.starts_with(expected), "{message}");
    };
    starts(
        &[("t.toml", "\n\"ui.txt\" = \"red\"")],
        "t.toml:2: unknown scope `ui.txt`",
    );
    starts(
        &[("t.toml", "\"ui.text\" = \"redd\"")],
        "t.toml:1: unknown colour `redd`",
    );
    starts(
        &[("t.toml", "\n\n\"ui.text\" = { foo = 1 }")],
        "t.toml:3: unknown key `foo`",
    );
    starts(
        &[("t.toml", "\"ui.text\" = { modifiers = [\n\"loud\"] }")],
        "t.toml:2: unknown modifier `loud`",
    );
    starts(
        &[("t.toml", "[palette]\na = \"nope\"")],
        "t.toml:2: unknown colour `nope`",
    );
    starts(&[("t.toml", "\n\n= 3")], "t.toml:3: ");
    starts(
        &[("t.toml", "inherits = \"gone\"")],
        "t.toml:1: inherits from `gone`, which does not exist",
    );
    starts(
        &[
            ("t.toml", "inherits = \"u\""),
            ("u.toml", "\ninherits = \"t\""),
        ],
        "u.toml:2: inherits from `t`, which inherits from this theme",
    );
    starts(
        &[("t.toml", "inherits = \"t\"")],
        "t.toml:1: inherits from `t`, which inherits from this theme",
    );
}

#[test]
fn a_name_is_never_a_path() {
    let (_dir, dirs) = dir(&[("t.toml", "")]);
    for name in ["../t", "/etc/passwd", "", ".", "no\0such"] {
        assert!(matches!(
            Theme::load(name, &dirs, ColorDepth::True),
            Err(ThemeError::Unknown { .. })
        ));
    }
}

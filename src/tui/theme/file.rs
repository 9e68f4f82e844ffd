//! One theme file: scopes with styles, a palette, a parent.

use super::ThemeError;
use super::scopes::is_scope;
use ratatui::style::{Color, Modifier, Style};
use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file as written, colours by name.
#[derive(Debug, Clone, Default)]
pub(super) struct ThemeFile {
    label: String,
    /// The parent's name, and the line that says so.
    pub(super) inherits: Option<(String, usize)>,
    palette: BTreeMap<String, Color>,
    styles: BTreeMap<String, RawStyle>,
}

#[derive(Debug, Clone, Default)]
struct RawStyle {
    fg: Option<Named>,
    bg: Option<Named>,
    modifiers: Modifier,
}

/// A colour's name and its line.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    line: usize,
}

/// Tells lines from byte offsets while a file is read.
struct Reader<'a> {
    text: &'a str,
    label: &'a str,
}

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    fn bad(&self, at: usize, message: impl Into<String>) -> ThemeError {
        ThemeError::Bad {
            file: self.label.to_owned(),
            line: self.line(at),
            message: message.into(),
        }
    }

    fn string(&self, value: &Spanned<DeValue<'_>>, what: &str) -> Result<String, ThemeError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.bad(value.span().start, format!("{what} must be a string"))),
        }
    }

    fn color(&self, value: &Spanned<DeValue<'_>>) -> Result<Named, ThemeError> {
        Ok(Named {
            name: self.string(value, "a colour")?,
            line: self.line(value.span().start),
        })
    }

    fn palette(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, Color>, ThemeError> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.bad(value.span().start, "`palette` must be a table of colours"));
        };
        let mut palette = BTreeMap::new();
        for (key, value) in table {
            let name = self.string(value, "a colour")?;
            let color =
                literal(&name).ok_or_else(|| self.bad(value.span().start, unknown_color(&name)))?;
            palette.insert(key.get_ref().to_string(), color);
        }
        Ok(palette)
    }

    fn style(&self, value: &Spanned<DeValue<'_>>) -> Result<RawStyle, ThemeError> {
        let table = match value.get_ref() {
            DeValue::String(_) => {
                return Ok(RawStyle {
                    fg: Some(self.color(value)?),
                    ..RawStyle::default()
                });
            }
            DeValue::Table(table) => table,
            _ => {
                return Err(self.bad(
                    value.span().start,
                    "a style is a colour or a table with fg, bg, modifiers, underline",
                ));
            }
        };
        let mut style = RawStyle::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "fg" => style.fg = Some(self.color(value)?),
                "bg" => style.bg = Some(self.color(value)?),
                "modifiers" => style.modifiers |= self.modifiers(value)?,
                "underline" => match value.get_ref() {
                    DeValue::Boolean(true) => style.modifiers |= Modifier::UNDERLINED,
                    DeValue::Boolean(false) => style.modifiers -= Modifier::UNDERLINED,
                    _ => {
                        return Err(
                            self.bad(value.span().start, "`underline` must be true or false")
                        );
                    }
                },
                other => {
                    return Err(self.bad(
                        key.span().start,
                        format!(
                            "unknown key `{other}` in a style; expected fg, bg, modifiers or \
                             underline (and scopes in quotes: \"ui.text\")"
                        ),
                    ));
                }
            }
        }
        Ok(style)
    }

    fn modifiers(&self, value: &Spanned<DeValue<'_>>) -> Result<Modifier, ThemeError> {
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.bad(value.span().start, "`modifiers` must be a list of strings"));
        };
        list.iter().try_fold(Modifier::empty(), |all, value| {
            let name = self.string(value, "a modifier")?;
            Ok(all
                | match name.as_str() {
                    "bold" => Modifier::BOLD,
                    "dim" => Modifier::DIM,
                    "italic" => Modifier::ITALIC,
                    "underlined" => Modifier::UNDERLINED,
                    "reversed" => Modifier::REVERSED,
                    "crossed_out" => Modifier::CROSSED_OUT,
                    _ => {
                        return Err(self.bad(
                            value.span().start,
                            format!(
                                "unknown modifier `{name}`; expected bold, dim, italic, \
                                 underlined, reversed or crossed_out"
                            ),
                        ));
                    }
                })
        })
    }
}

/// A colour that needs no palette.
fn literal(name: &str) -> Option<Color> {
    match name {
        "default" => Some(Color::Reset),
        _ => Color::from_str(name).ok(),
    }
}

fn unknown_color(name: &str) -> String {
    format!(
        "unknown colour `{name}`; expected a name of the palette, `default`, one of the sixteen \
         (`red`, `light-red`, `dark-gray`, …), 0 to 255 in quotes, or `#rrggbb`"
    )
}

/// Reads one file; `label` is its name in messages.
pub(super) fn parse(text: &str, label: &str) -> Result<ThemeFile, ThemeError> {
    let reader = Reader { text, label };
    let table = DeTable::parse(text)
        .map_err(|e| reader.bad(e.span().map_or(0, |s| s.start), e.message()))?;
    let mut file = ThemeFile {
        label: label.to_owned(),
        ..ThemeFile::default()
    };
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "inherits" => {
                let parent = reader.string(value, "`inherits`")?;
                file.inherits = Some((parent, reader.line(value.span().start)));
            }
            "palette" => file.palette = reader.palette(value)?,
            scope if is_scope(scope) => {
                file.styles.insert(scope.to_owned(), reader.style(value)?);
            }
            other => {
                return Err(reader.bad(key.span().start, format!("unknown scope `{other}`")));
            }
        }
    }
    Ok(file)
}

/// Puts a theme (first) on top of its parents; palettes of children count for their parents too.
pub(super) fn merge(files: Vec<ThemeFile>) -> Result<HashMap<String, Style>, ThemeError> {
    let mut palette = BTreeMap::new();
    for file in files.iter().rev() {
        palette.extend(file.palette.clone());
    }
    let mut styles = HashMap::new();
    for file in files.iter().rev() {
        let resolve = |named: &Option<Named>| match named {
            None => Ok(None),
            Some(Named { name, line }) => palette
                .get(name)
                .copied()
                .or_else(|| literal(name))
                .map(Some)
                .ok_or_else(|| ThemeError::Bad {
                    file: file.label.clone(),
                    line: *line,
                    message: unknown_color(name),
                }),
        };
        for (scope, raw) in &file.styles {
            let style = Style {
                fg: resolve(&raw.fg)?,
                bg: resolve(&raw.bg)?,
                ..Style::default()
            };
            styles.insert(scope.clone(), style.add_modifier(raw.modifiers));
        }
    }
    Ok(styles)
}

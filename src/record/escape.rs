//! JSON that can be shown as it is: characters that drive or reorder a terminal become escapes.
//!
//! Serialisers escape what JSON demands, the controls below U+0020. Terminals also obey U+007F to U+009F
//! (U+009B begins a sequence as `ESC [` does) and bidi controls. In JSON these can only stand inside strings,
//! where an escape means the same character.

/// Escapes such characters in `json` from byte `from` on; everything before stays as it is.
pub fn escape_controls(json: &mut Vec<u8>, from: usize) {
    let begins_one = |b: &u8| matches!(b, 0x7f | 0xc2 | 0xd8 | 0xe2);
    let Some(first) = json[from..].iter().position(begins_one) else {
        return;
    };
    let tail = json.split_off(from + first);
    // Serialisers give UTF-8; anything else is kept as it is.
    let Ok(text) = std::str::from_utf8(&tail) else {
        json.extend_from_slice(&tail);
        return;
    };
    let mut rest = text;
    while let Some(at) = rest.find(drives) {
        let c = rest[at..].chars().next().unwrap_or_default();
        json.extend_from_slice(&rest.as_bytes()[..at]);
        json.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
        rest = &rest[at + c.len_utf8()..];
    }
    json.extend_from_slice(rest.as_bytes());
}

fn drives(c: char) -> bool {
    matches!(c,
        '\u{7f}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_escaped_and_means_the_same() {
        let text = "a\u{1b}[2J\u{7f}\u{9b}2J\u{202e}\u{2069}\u{61c} é … 🧠 \u{2019}z";
        let mut json = b"kept \xc2\x9b ".to_vec();
        let from = json.len();
        serde_json::to_writer(&mut json, text).unwrap();
        escape_controls(&mut json, from);
        assert_eq!(&json[..from], b"kept \xc2\x9b ");
        let shown = std::str::from_utf8(&json[from..]).unwrap();
        assert!(
            !shown.chars().any(|c| c.is_control() || drives(c)),
            "{shown:?}"
        );
        assert!(shown.contains("é … 🧠 \u{2019}z"));
        assert_eq!(serde_json::from_str::<String>(shown).unwrap(), text);
    }
}

//! Workers that differ: seats with a name, which a Fork can address.

use super::seat::Seat;
use serde::{Deserialize, Serialize};

/// A seat that a Fork can address as `@name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterSeat {
    /// Its name.
    pub name: String,
    /// Who sits there.
    pub seat: Seat,
    /// What it is good at, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}

/// To whom a sub-query is addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressed<'a> {
    /// To nobody in particular.
    Anybody,
    /// To this seat; the rest is the sub-query.
    To(&'a RosterSeat, &'a str),
    /// To a name that nobody has.
    Unknown(&'a str),
}

/// Whether a name can be addressed: it ends where such a character does not follow.
#[must_use]
pub fn in_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// Reads the address that a sub-query begins with. Without a roster there are no addresses.
#[must_use]
pub fn addressed<'a>(roster: &'a [RosterSeat], query: &'a str) -> Addressed<'a> {
    let Some(text) = query.strip_prefix('@').filter(|_| !roster.is_empty()) else {
        return Addressed::Anybody;
    };
    let end = text.find(|c| !in_a_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start_matches([':', ',']).trim_start();
    if name.is_empty() || rest.is_empty() {
        return Addressed::Anybody;
    }
    match roster.iter().find(|seat| seat.name == name) {
        Some(seat) => Addressed::To(seat, rest),
        None => Addressed::Unknown(name),
    }
}

/// What an organizer is told of the roster; nothing where there is none.
#[must_use]
pub fn instructions(roster: &[RosterSeat]) -> String {
    if roster.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = roster
        .iter()
        .map(|seat| format!("@{}: {}", seat.name, seat.about))
        .collect();
    format!(
        "\n\nWorkers differ. Begin a sub-query with a name to choose who serves it, as in \
         <FORK-2>@{} ...</FORK-2>; without a name anybody does.\n{}",
        roster[0].name,
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster() -> Vec<RosterSeat> {
        vec![RosterSeat {
            name: "calc".into(),
            seat: Seat::Tool("bc".into()),
            about: "exact arithmetic".into(),
        }]
    }

    #[test]
    fn a_name_at_the_beginning_is_an_address() {
        let roster = roster();
        for text in ["@calc 2+2", "@calc: 2+2", "@calc\n2+2"] {
            assert_eq!(addressed(&roster, text), Addressed::To(&roster[0], "2+2"));
        }
        assert_eq!(addressed(&roster, "@cal 2+2"), Addressed::Unknown("cal"));
        for text in ["2+2 @calc", "@ calc", "@calc", "@"] {
            assert_eq!(addressed(&roster, text), Addressed::Anybody, "{text}");
        }
        assert_eq!(addressed(&[], "@calc 2+2"), Addressed::Anybody);
    }

    #[test]
    fn the_organizer_is_told_who_there_is() {
        assert_eq!(instructions(&[]), "");
        let told = instructions(&roster());
        assert!(told.contains("<FORK-2>@calc") && told.contains("@calc: exact arithmetic"));
    }
}

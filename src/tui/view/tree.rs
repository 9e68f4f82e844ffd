//! Every branch of the session as a tree: where it left from and why, its T, η and answer.

use super::frame::{fit, grouped, popup, put, span};
use crate::org::{BranchId, BranchRecord, Organization, Standing, Turn};
use crate::tui::action::Action;
use crate::tui::model::Model;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Deepest indentation.
const DEEPEST: usize = 8;

/// One line of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which branch.
    pub id: BranchId,
    /// How deep it lies.
    pub depth: usize,
    /// Where it came from.
    pub record: BranchRecord,
    /// How it stands, or stood when it was left.
    pub standing: Standing,
}

/// The tree, parents before their children, children in order of making.
#[must_use]
pub fn rows(organization: &Organization) -> Vec<Row> {
    let records = organization.branches();
    let present = organization.standing();
    let mut rows: Vec<Row> = Vec::with_capacity(records.len());
    // Depth first without recursion: a chain of undos can be long.
    let mut open: Vec<(usize, &BranchRecord)> = records
        .iter()
        .filter(|r| r.from.is_none())
        .map(|r| (0, r))
        .collect();
    while let Some((depth, record)) = open.pop() {
        rows.push(Row {
            id: record.id,
            depth,
            record: record.clone(),
            standing: record.left.clone().unwrap_or_else(|| present.clone()),
        });
        let children = records
            .iter()
            .rev()
            .filter(|r| r.parent() == Some(record.id));
        open.extend(children.map(|r| (depth + 1, r)));
    }
    rows
}

/// Draws the tree.
pub fn draw(
    model: &Model,
    chosen: usize,
    marked: Option<BranchId>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let look = &model.look;
    let rows = rows(&model.organization);
    let wanted = u16::try_from(rows.len() + 3).unwrap_or(u16::MAX);
    let inside = popup(
        look,
        "Branches",
        &model.hints(&[
            Action::BranchGo,
            Action::BranchMark,
            Action::BranchCompare,
            Action::BranchCompareFile,
        ]),
        (96, wanted.clamp(6, 30)),
        area,
        buffer,
    );
    if inside.height < 2 {
        return;
    }
    let heading = format!(
        "{:<34} {:>7} {:>6}  {}",
        "branch", "T", look.signs.eta, "answer"
    );
    let line = Line::from(span(heading, look.style("ui.dim")));
    put(buffer, inside.x, inside.y, &line, inside.width);
    let room = usize::from(inside.height - 1);
    let chosen = chosen.min(rows.len().saturating_sub(1));
    let first = (chosen + 1).saturating_sub(room);
    let present = model.organization.branch();
    for (y, (i, row)) in (inside.y + 1..inside.bottom()).zip(rows.iter().enumerate().skip(first)) {
        let style = look.style(if row.id == present {
            "timeline.critical"
        } else {
            "ui.text"
        });
        let sign = match (marked == Some(row.id), row.id == present) {
            (true, _) => look.signs.dot,
            (false, true) => look.signs.running,
            (false, false) => " ",
        };
        let indent = "  ".repeat(row.depth.min(DEEPEST));
        let name = fit(
            &format!("{sign} {indent}{}", origin(&row.record)),
            34,
            look.signs.ellipsis,
        );
        let answer = row
            .standing
            .answer
            .as_deref()
            .unwrap_or(match row.standing.end {
                Some(_) => "none",
                None if row.id == present => "still going",
                None => "left midway",
            });
        let text = format!(
            "{name:<34} {:>7} {:>6.2}  {}",
            grouped(row.standing.latency),
            row.standing.eta(),
            look.safe(&answer.replace('\n', " ")),
        );
        let cells = usize::from(inside.width);
        let line = Line::from(span(fit(&text, cells, look.signs.ellipsis), style));
        put(buffer, inside.x, y, &line, inside.width);
        if i == chosen {
            let rect = Rect {
                y,
                height: 1,
                ..inside
            };
            buffer.set_style(rect, look.style("ui.selection"));
        }
    }
}

/// `2 edit of 1 after 34, step 22`.
fn origin(record: &BranchRecord) -> String {
    let id = record.id;
    let Some(from) = record.from else {
        return format!("{id} the first line");
    };
    let step = from.step;
    match (record.turn, record.thread, record.token) {
        (Some(Turn::Edit), Some(thread), Some(token)) => {
            format!("{id} edit {thread} after {token}, step {step}")
        }
        (Some(turn), ..) => format!("{id} {} to step {step}", turn.word()),
        (None, ..) => format!("{id} from step {step}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::org::{Author, Body, Event, Place, Seq, Step};
    use std::collections::BTreeMap;

    #[test]
    fn children_follow_their_parents_in_order_of_making() {
        let mut org = Organization::new(4, 0.5);
        for (id, parent) in [(1, 0), (2, 1), (3, 0), (4, 2)] {
            let state = Box::new(Organization::new(4, 0.5));
            org.apply(&Event {
                seq: Seq(id),
                us: id,
                step: Step(0),
                branch: BranchId(u32::try_from(id).unwrap()),
                thread: None,
                by: Author::Human,
                cause: None,
                body: Body::Branch {
                    from: Place {
                        branch: BranchId(parent),
                        seq: Seq(0),
                        step: Step(0),
                    },
                    turn: Turn::Branch,
                    token: None,
                    state,
                    texts: BTreeMap::new(),
                },
            });
        }
        let tree: Vec<(u32, usize)> = rows(&org).iter().map(|r| (r.id.0, r.depth)).collect();
        assert_eq!(tree, [(0, 0), (1, 1), (2, 2), (4, 3), (3, 1)]);
    }
}

//! Charts of points that each have a name: what several choices cost and give.

use super::{COLOURS, MARGIN, Plane, WIDTH, escaped, legend, polyline};
use std::fmt::Write;

/// A point.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where.
    pub at: (f64, f64),
    /// Written beside it; empty for nothing.
    pub label: String,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Dots with their labels, joined by a line.
    Points,
    /// A thin line.
    Thin,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// In the legend; empty for a series that is not named there.
    pub name: String,
    /// Series of one number share their colour.
    pub colour: usize,
    /// How it is drawn.
    pub shape: Shape,
    /// Its points in order; those that are no numbers are left out.
    pub marks: Vec<Mark>,
}

/// A chart of labelled points.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledChart<'a> {
    /// Over the chart.
    pub title: &'a str,
    /// What goes to the right, with its unit.
    pub x: &'a str,
    /// What goes up, with its unit.
    pub y: &'a str,
    /// Later ones lie over earlier ones.
    pub series: Vec<Labelled>,
}

impl LabelledChart<'_> {
    /// The picture. The legend stands in the lower right corner's column, where good results seldom lie.
    #[must_use]
    pub fn svg(&self) -> String {
        let sound = |m: &&Mark| m.at.0.is_finite() && m.at.1.is_finite();
        let all = self.series.iter().flat_map(|s| &s.marks).filter(sound);
        let plane = Plane::new(all.map(|m| m.at));
        let (mut drawn, mut named) = (String::new(), 0);
        for series in &self.series {
            let colour = COLOURS[series.colour % COLOURS.len()];
            let marks: Vec<&Mark> = series.marks.iter().filter(sound).collect();
            let line: Vec<(f64, f64)> = marks.iter().map(|m| m.at).collect();
            polyline(&mut drawn, &plane, &line, colour, 1.0);
            if series.shape == Shape::Points {
                for mark in marks {
                    dot(&mut drawn, plane.at(mark.at), &mark.label, colour);
                }
            }
            if !series.name.is_empty() {
                legend(&mut drawn, named, &series.name, colour);
                named += 1;
            }
        }
        plane.svg(&drawn, self.title, self.x, self.y)
    }
}

fn dot(out: &mut String, (x, y): (f64, f64), label: &str, colour: &str) {
    // a label that would leave the picture stands on the other side
    let (anchor, dx) = if x > WIDTH - MARGIN.1 - 40.0 {
        ("end", -6.0)
    } else {
        ("start", 6.0)
    };
    let _infallible = writeln!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"10\" fill=\"{colour}\">{}</text>",
        x + dx,
        y + 12.0,
        escaped(label)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_with_its_label_and_broken_ones_are_not() {
        let mark = |x: f64, label: &str| Mark {
            at: (x, x),
            label: label.into(),
        };
        let svg = LabelledChart {
            title: "t",
            x: "x",
            y: "y",
            series: vec![Labelled {
                name: "one".into(),
                colour: 7,
                shape: Shape::Points,
                marks: vec![mark(1.0, "a<b"), mark(f64::NAN, "no"), mark(2.0, "c")],
            }],
        }
        .svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(
            svg.contains(">a&lt;b</text>") && svg.contains(">c</text>") && !svg.contains("NaN")
        );
    }
}

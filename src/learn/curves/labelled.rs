//! Charts of points that each have a name: what several choices cost and give.

use super::{COLOURS, HEIGHT, MARGIN, Plane, WIDTH, escaped, legend, polyline};
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
    /// The picture. Names stand at the lower right, where what is worth drawing seldom lies.
    #[must_use]
    pub fn svg(&self) -> String {
        let sound = |m: &&Mark| m.at.0.is_finite() && m.at.1.is_finite();
        let all = self.series.iter().flat_map(|s| &s.marks).filter(sound);
        let plane = Plane::new(all.map(|m| m.at));
        let mut drawn = String::new();
        let mut labels = Labels::default();
        for series in &self.series {
            let colour = COLOURS[series.colour % COLOURS.len()];
            let marks: Vec<&Mark> = series.marks.iter().filter(sound).collect();
            let line: Vec<(f64, f64)> = marks.iter().map(|m| m.at).collect();
            let width = if series.shape == Shape::Thin {
                0.7
            } else {
                1.5
            };
            polyline(&mut drawn, &plane, &line, colour, width);
            if series.shape == Shape::Points {
                for mark in &marks {
                    dot(&mut drawn, plane.at(mark.at), colour, marks.len() == 1);
                    labels.wanted.push((plane.at(mark.at), &mark.label, colour));
                }
            }
        }
        let named: Vec<&Labelled> = self.series.iter().filter(|s| !s.name.is_empty()).collect();
        for (i, series) in named.iter().rev().enumerate() {
            let y = HEIGHT - MARGIN.3 - 10.0 - 16.0 * i as f64;
            let colour = COLOURS[series.colour % COLOURS.len()];
            legend(&mut drawn, y, &series.name, colour);
        }
        drawn += &labels.placed();
        plane.svg(&drawn, self.title, self.x, self.y)
    }
}

/// A point that stands alone is a ring: others may lie in it.
fn dot(out: &mut String, (x, y): (f64, f64), colour: &str, alone: bool) {
    let (r, fill) = if alone { (6.5, "none") } else { (3.5, colour) };
    let _infallible = writeln!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
    );
}

/// Labels that keep out of each other's way.
#[derive(Default)]
struct Labels<'a> {
    wanted: Vec<((f64, f64), &'a str, &'a str)>,
}

/// Of a label, in points of the picture.
const LETTER: (f64, f64) = (7.0, 10.0);

impl Labels<'_> {
    fn placed(&self) -> String {
        let mut out = String::new();
        let mut taken: Vec<(f64, f64, f64, f64)> = Vec::new();
        // points are in the way too
        let dots = self
            .wanted
            .iter()
            .map(|((x, y), ..)| (x - 3.5, y - 3.5, x + 3.5, y + 3.5));
        taken.extend(dots);
        for ((x, y), label, colour) in &self.wanted {
            let width = LETTER.0 * label.chars().count() as f64;
            let places = [12.0, -6.0, 23.0, -17.0, 34.0, -28.0, 45.0]
                .into_iter()
                .flat_map(|dy| [(x + 6.0, y + dy), (x - 6.0 - width, y + dy)]);
            let area = |(x, y): (f64, f64)| (x, y - LETTER.1, x + width, y);
            let within = |(left, top, right, bottom): (f64, f64, f64, f64)| {
                left > MARGIN.0
                    && right < WIDTH - MARGIN.1
                    && top > MARGIN.2 - 12.0
                    && bottom < HEIGHT - MARGIN.3
            };
            let free = |a: (f64, f64, f64, f64)| {
                let apart =
                    |b: &(f64, f64, f64, f64)| a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                within(a) && taken.iter().all(apart)
            };
            let place = places
                .clone()
                .find(|place| free(area(*place)))
                .unwrap_or((x + 6.0, y + 12.0));
            taken.push(area(place));
            let _infallible = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\" fill=\"{colour}\">{}</text>",
                place.0,
                place.1,
                escaped(label)
            );
        }
        out
    }
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
    #[test]
    fn labels_of_one_place_do_not_lie_on_each_other() {
        let at = (300.0, 200.0);
        let labels = Labels {
            wanted: vec![(at, "k=1", "#000"); 6],
        };
        let placed = labels.placed();
        let mut places: Vec<&str> = placed
            .lines()
            .filter_map(|l| l.split(" font").next())
            .collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 6, "{placed}");
    }
}

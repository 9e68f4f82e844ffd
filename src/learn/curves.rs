//! Line charts as SVG, for files that people open.

pub mod labelled;

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// Room for labels: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (64.0, 16.0, 40.0, 48.0);
/// More points than this are averaged: the eye sees no more.
const POINTS: usize = 400;
/// Told apart also by people who see few colours (Okabe and Ito).
const COLOURS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
];

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series<'a> {
    /// Its name in the legend.
    pub name: &'a str,
    /// Its points, in order; those that are no numbers are left out.
    pub points: Vec<(f64, f64)>,
}

/// A chart of lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart<'a> {
    /// Over the chart.
    pub title: &'a str,
    /// What goes to the right, with its unit.
    pub x: &'a str,
    /// What goes up, with its unit.
    pub y: &'a str,
    /// The lines.
    pub series: Vec<Series<'a>>,
}

/// Numbers from `low` to `high` on so many points of the picture.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
            (l.min(v), h.max(v))
        });
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let range = (high - low).max(low.abs() * 1e-6).max(1e-9);
        // a step of 1, 2 or 5 times a power of ten, about five to the axis
        let power = 10f64.powf((range / 5.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
        let step = step
            .into_iter()
            .find(|s| range / s <= 6.0)
            .unwrap_or(10.0 * power);
        Self {
            low: (low / step).floor() * step,
            high: ((low + range) / step).ceil() * step,
            step,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Values of the marks with their labels.
    fn marks(&self) -> Vec<(f64, String)> {
        let count = ((self.high - self.low) / self.step).round().min(20.0) as usize;
        let digits = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        let mark = |i| self.low + i as f64 * self.step;
        (0..=count)
            .map(|i| (mark(i), format!("{:.digits$}", mark(i))))
            .collect()
    }
}

/// Means of neighbours, so that about [`POINTS`] are left.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let sound: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|p| p.0.is_finite() && p.1.is_finite())
        .collect();
    let size = sound.len().div_ceil(POINTS).max(1);
    let mean = |part: &[(f64, f64)]| {
        let (x, y) = part
            .iter()
            .fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        (x / part.len() as f64, y / part.len() as f64)
    };
    sound.chunks(size).map(mean).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl Chart<'_> {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let lines: Vec<Vec<(f64, f64)>> = self.series.iter().map(|s| thinned(&s.points)).collect();
        let plane = Plane::new(lines.iter().flatten().copied());
        let mut drawn = String::new();
        for (i, (line, series)) in lines.iter().zip(&self.series).enumerate() {
            polyline(&mut drawn, &plane, line, COLOURS[i % COLOURS.len()], 1.5);
            let at = MARGIN.2 + 16.0 * (i + 1) as f64;
            legend(&mut drawn, at, series.name, COLOURS[i % COLOURS.len()]);
        }
        plane.svg(&drawn, self.title, self.x, self.y)
    }
}

/// The two axes and what frames them.
struct Plane {
    x: Axis,
    y: Axis,
}

impl Plane {
    /// With room for these points.
    fn new(points: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let (left, right, top, bottom) = MARGIN;
        Self {
            x: Axis::new(points.clone().map(|p| p.0), left, WIDTH - right),
            y: Axis::new(points.map(|p| p.1), HEIGHT - bottom, top),
        }
    }

    fn at(&self, point: (f64, f64)) -> (f64, f64) {
        (self.x.at(point.0), self.y.at(point.1))
    }

    /// The picture, with `drawn` in it.
    fn svg(&self, drawn: &str, title: &str, x: &str, y: &str) -> String {
        let (left, right, top, bottom) = MARGIN;
        let mut marks = String::new();
        for (value, label) in self.x.marks() {
            let at = self.x.at(value);
            mark(
                &mut marks,
                (at, top, at, HEIGHT - bottom),
                (at, HEIGHT - bottom + 16.0),
                "middle",
                &label,
            );
        }
        for (value, label) in self.y.marks() {
            let at = self.y.at(value);
            mark(
                &mut marks,
                (left, at, WIDTH - right, at),
                (left - 6.0, at + 4.0),
                "end",
                &label,
            );
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{marks}{drawn}\
             <text x=\"{left}\" y=\"24\" font-size=\"15\">{}</text>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n</svg>\n",
            escaped(title),
            (left + WIDTH - right) / 2.0,
            HEIGHT - 10.0,
            escaped(x),
            (top + HEIGHT - bottom) / 2.0,
            escaped(y),
        )
    }
}

fn polyline(out: &mut String, plane: &Plane, line: &[(f64, f64)], colour: &str, width: f64) {
    let at = |p: &(f64, f64)| {
        let (x, y) = plane.at(*p);
        format!("{x:.1},{y:.1}")
    };
    let points: Vec<String> = line.iter().map(at).collect();
    let _infallible = writeln!(
        out,
        "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" points=\"{}\"/>",
        points.join(" ")
    );
}

/// A name at the right side, on this height.
fn legend(out: &mut String, y: f64, name: &str, colour: &str) {
    let _infallible = writeln!(
        out,
        "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\" fill=\"{colour}\">{}</text>",
        WIDTH - MARGIN.1 - 8.0,
        escaped(name),
    );
}

fn mark(out: &mut String, line: (f64, f64, f64, f64), text: (f64, f64), anchor: &str, label: &str) {
    let (x1, y1, x2, y2) = line;
    let _infallible = writeln!(
        out,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#ddd\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"#555\">{label}</text>",
        text.0, text.1
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> String {
        Chart {
            title: "a < b",
            x: "x",
            y: "y",
            series: vec![Series {
                name: "one",
                points,
            }],
        }
        .svg()
    }

    #[test]
    fn a_long_line_is_thinned_and_stays_within_the_picture() {
        let svg = chart(
            (0..10_000)
                .map(|i| (f64::from(i), (f64::from(i) * 0.01).sin()))
                .collect(),
        );
        let points = svg
            .split("points=\"")
            .nth(1)
            .and_then(|s| s.split('"').next())
            .expect("a line");
        let points: Vec<(f64, f64)> = points
            .split(' ')
            .map(|p| p.split_once(',').expect("a pair"))
            .map(|(x, y)| (x.parse().expect("x"), y.parse().expect("y")))
            .collect();
        assert!(points.len() <= POINTS && points.len() > POINTS / 2);
        assert!(
            points
                .iter()
                .all(|p| (0.0..=WIDTH).contains(&p.0) && (0.0..=HEIGHT).contains(&p.1))
        );
        assert!(svg.contains("a &lt; b"));
    }

    #[test]
    fn empty_flat_and_broken_lines_make_a_chart_without_holes_in_it() {
        let broken = vec![(f64::NAN, 1.0), (1.0, f64::INFINITY), (2.0, 3.0)];
        for points in [
            vec![],
            vec![(1.0, 2.0)],
            vec![(0.0, 5.0), (1.0, 5.0)],
            broken,
        ] {
            let svg = chart(points);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

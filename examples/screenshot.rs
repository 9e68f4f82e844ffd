//! A picture of the program's screen: runs it in a pseudo terminal, types keys, and writes what stands there
//! as SVG.
//!
//! ```sh
//! cargo build --release
//! cargo run --example screenshot -- docs/screen.svg 120x34 10000 - target/release/orgtop \
//!     run --task "countdown 12 6 5 4 = 14" --temperature 0 --speed 40 --no-record --theme ember
//! ```
//!
//! Arguments: the SVG file, columns x rows, milliseconds to wait before the keys, the keys (`-` for none), the
//! program and its arguments.

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Size of a cell and of the margin in the picture.
const CELL: (f32, f32) = (8.4, 16.6);
const MARGIN: f32 = 12.0;

/// Paper, ink, and the sixteen named colours.
const PAPER: &str = "#1a1714";
const INK: &str = "#d8cfc4";
const NAMED: [&str; 16] = [
    "#1a1714", "#d4604e", "#93b15b", "#dda24a", "#6d97c8", "#b27fba", "#6cb3ad", "#c9c0b4",
    "#7b7268", "#e87a68", "#abc973", "#edbb66", "#8cb2dd", "#c99bd0", "#8ccbc5", "#efe7dc",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [out, size, wait, keys, program, rest @ ..] = args.as_slice() else {
        return Err("expected: FILE.svg COLUMNSxROWS MILLISECONDS KEYS PROGRAM [ARGUMENT…]".into());
    };
    let (columns, rows) = size.split_once('x').ok_or("the size is COLUMNSxROWS")?;
    let (columns, rows): (u16, u16) = (columns.parse()?, rows.parse()?);
    let pty = native_pty_system().openpty(PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    })?;
    let mut command = CommandBuilder::new(std::fs::canonicalize(program)?);
    command.args(rest);
    for (name, value) in [
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("LANG", "C.UTF-8"),
    ] {
        command.env(name, value);
    }
    command.cwd(std::env::current_dir()?);
    let mut child = pty.slave.spawn_command(command)?;
    let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
    let seen = Arc::clone(&screen);
    let mut reader = pty.master.try_clone_reader()?;
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = reader.read(&mut bytes) {
            seen.lock().expect("the screen").process(&bytes[..n]);
        }
    });
    std::thread::sleep(Duration::from_millis(wait.parse()?));
    if keys != "-" {
        pty.master.take_writer()?.write_all(keys.as_bytes())?;
        std::thread::sleep(Duration::from_millis(700));
    }
    let svg = picture(screen.lock().expect("the screen").screen());
    child.kill()?;
    std::fs::write(out, svg)?;
    Ok(())
}

fn picture(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let width = f32::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" \
         fill=\"{PAPER}\"/>\n<g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"14\" xml:space=\"preserve\">\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let Some(first) = screen.cell(row, column) else {
                break;
            };
            // Cells of one look are drawn together, wide characters alone.
            let mut text = String::new();
            let start = column;
            while let Some(cell) = screen.cell(row, column) {
                let together = column == start
                    || (look(cell) == look(first) && !cell.is_wide() && !first.is_wide());
                if !together {
                    break;
                }
                text.push_str(if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                });
                column += if cell.is_wide() { 2 } else { 1 };
            }
            run(&mut svg, row, start, column, &text, first);
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn look(cell: &vt100::Cell) -> (vt100::Color, vt100::Color, bool, bool, bool, bool) {
    (
        cell.fgcolor(),
        cell.bgcolor(),
        cell.bold(),
        cell.italic(),
        cell.inverse(),
        cell.dim(),
    )
}

fn run(svg: &mut String, row: u16, from: u16, to: u16, text: &str, cell: &vt100::Cell) {
    let (mut ink, mut paper) = (color(cell.fgcolor(), INK), color(cell.bgcolor(), PAPER));
    if cell.inverse() {
        std::mem::swap(&mut ink, &mut paper);
    }
    let x = MARGIN + f32::from(from) * CELL.0;
    let y = MARGIN + f32::from(row) * CELL.1;
    let width = f32::from(to - from) * CELL.0;
    if paper != PAPER {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{paper}\"/>",
            CELL.1
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let weight = if cell.bold() {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let slant = if cell.italic() {
        " font-style=\"italic\""
    } else {
        ""
    };
    let dim = if cell.dim() { " opacity=\"0.6\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         fill=\"{ink}\"{weight}{slant}{dim}>{escaped}</text>",
        y + CELL.1 * 0.75
    );
}

fn color(color: vt100::Color, default: &str) -> String {
    match color {
        vt100::Color::Default => default.to_owned(),
        vt100::Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        vt100::Color::Idx(i) if i < 16 => NAMED[usize::from(i)].to_owned(),
        vt100::Color::Idx(i) if i < 232 => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let i = i - 16;
            format!(
                "#{:02x}{:02x}{:02x}",
                level(i / 36),
                level(i / 6 % 6),
                level(i % 6)
            )
        }
        vt100::Color::Idx(i) => {
            let gray = 8 + 10 * (i - 232);
            format!("#{gray:02x}{gray:02x}{gray:02x}")
        }
    }
}

//! What was measured, as an object and as text.

use super::overhead::Overhead;
use crate::cli::output;
use serde::Serialize;

/// Middle and ends of several measurements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

impl Spread {
    /// Of at least one number.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        Some(Self {
            median: *values.get(values.len() / 2)?,
            min: *values.first()?,
            max: *values.last()?,
        })
    }
}

/// One engine at one number of sequences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speed {
    /// Prompt tokens a second.
    pub prefill: Spread,
    /// Decoded tokens a second, all sequences together.
    pub decode: Spread,
}

/// One number of sequences.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Sequences at once.
    pub width: u32,
    /// This machine.
    #[serde(flatten)]
    pub own: Speed,
    /// Bytes that a decoding step reads; `null`: unknown.
    pub bytes_per_step: Option<u64>,
    /// Those bytes a second, as a share of the bandwidth of copying; `null`: unknown, or not read from there.
    pub of_limit: Option<f64>,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs: Option<Speed>,
    /// Decoding here against decoding there, of pairs measured one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Spread>,
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The model.
    pub model: String,
    /// How its weights are stored.
    pub dtype: String,
    /// Where it computes.
    pub device: String,
    /// How attention is computed there.
    pub attention: String,
    /// Computing threads.
    pub threads: usize,
    /// Tokens of each prompt.
    pub prompt: u32,
    /// Tokens that each sequence decodes.
    pub tokens: u32,
    /// How often everything was measured.
    pub rounds: u32,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs: Option<String>,
    /// Bytes a second that copying moves, read and written ones together.
    pub copy_bytes_per_s: f64,
    /// Milliseconds from opening the model to its first token.
    pub first_token_ms: f64,
    /// By number of sequences.
    pub rows: Vec<Row>,
    /// Resident bytes at most; `null`: unknown.
    pub memory_peak: Option<u64>,
    /// Bytes of weights that a step reads.
    pub weights: u64,
    /// With eight threads; `null` where the system does not tell threads apart.
    pub overhead: Option<Overhead>,
}

impl Report {
    /// Prints it as tables.
    ///
    /// # Errors
    /// When stdout takes nothing.
    pub fn print(&self) -> anyhow::Result<()> {
        output::line(&format!(
            "{} ({}), {} with {} threads, attention {} · prompts of {} tokens, {} decoded by each · measured {} times, median (min–max)",
            self.model,
            self.dtype,
            self.device,
            self.threads,
            self.attention,
            self.prompt,
            self.tokens,
            self.rounds
        ))?;
        let versus = self
            .vs
            .as_ref()
            .map_or("", |_| "   server tok/s          ratio");
        output::line(&format!(
            "{:>5} {:>24} {:>8} {:>24}{versus}",
            "width", "decode tok/s", "of limit", "prefill tok/s"
        ))?;
        for row in &self.rows {
            let limit = row
                .of_limit
                .map_or("–".into(), |l| format!("{:.0} %", l * 100.0));
            let mut line = format!(
                "{:>5} {:>24} {limit:>8} {:>24}",
                row.width,
                text(row.own.decode),
                text(row.own.prefill)
            );
            if let (Some(vs), Some(ratio)) = (row.vs, row.ratio) {
                line += &format!(
                    " {:>14.0}   {:.2} ({:.2}–{:.2})",
                    vs.decode.median, ratio.median, ratio.min, ratio.max
                );
            }
            output::line(&line)?;
        }
        output::line(&format!(
            "limit: copying moves {:.1} GB/s in this machine's memory; a step reads {} of weights, and the cache",
            self.copy_bytes_per_s / 1e9,
            bytes(self.weights)
        ))?;
        output::line(&format!(
            "first token {:.0} ms after the model is opened; memory at most {}",
            self.first_token_ms,
            self.memory_peak.map_or("unknown".into(), bytes)
        ))?;
        match &self.overhead {
            Some(o) => output::line(&format!(
                "beyond the engine, 8 threads, CPU time as a share of its own: organization {:.2} %, recording {:.2} %, screen {:.2} %, in all {:.2} %",
                o.org * 100.0,
                o.record * 100.0,
                o.ui * 100.0,
                o.total * 100.0
            )),
            None => {
                output::line("beyond the engine: unknown, the system does not tell threads apart")
            }
        }
    }
}

fn text(spread: Spread) -> String {
    format!("{:.0} ({:.0}–{:.0})", spread.median, spread.min, spread.max)
}

fn bytes(count: u64) -> String {
    format!("{:.1} MB", count as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_several_measurements_is_their_median() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (2.0, 1.0, 3.0));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}

//! A device from below: what one launch costs, and how much of a step is spent on giving orders to it.
//!
//! `cargo bench --bench device -- [auto|cpu|cuda|metal] [MODEL]` decodes with one sequence and with many, once as the
//! device does it and once with portable attention, and takes in a prompt. MODEL is a folder or a .gguf file, without it
//! the model in the binary. "given" is the time until all of a step was ordered: close to the whole, launches bound it.

use anyhow::{Context, bail};
use candle_core::{DType, Device, Tensor};
use orgtop::engine::embedded;
use orgtop::engine::local::checkpoint::{Checkpoint, read_json};
use orgtop::engine::local::config::Config;
use orgtop::engine::local::device::DeviceModel;
use orgtop::engine::local::gguf::Header;
use orgtop::engine::local::load::Source;
use orgtop::engine::local::model::{Batch, Segment};
use orgtop::engine::local::pages::{PageId, pages_for};
use orgtop::engine::local::safetensors::Shards;
use orgtop::engine::local::weights::Weights;
use orgtop::engine::local::{AttentionPath, DeviceChoice, device_name, find};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Sequences at once.
const WIDTHS: [usize; 5] = [1, 4, 8, 16, 64];

/// Positions of each before the measured step.
const CONTEXT: usize = 256;

/// Rows of a prompt.
const PROMPT: usize = 512;

/// Steps before and within a measurement.
const WARM: usize = 3;
const STEPS: usize = 20;

/// Launches of which the mean is taken.
const LAUNCHES: usize = 2000;

fn main() -> anyhow::Result<()> {
    let arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let arguments: Vec<String> = arguments.collect();
    let choice = match arguments.first().map(String::as_str) {
        None | Some("auto") => DeviceChoice::Auto,
        Some("cpu") => DeviceChoice::Cpu,
        Some("cuda") => DeviceChoice::Cuda(0),
        Some("metal") => DeviceChoice::Metal(0),
        Some(other) => bail!("device `{other}`; expected auto, cpu, cuda or metal"),
    };
    let device = find(choice)?.device;
    let scratch = tempfile::tempdir()?;
    let path = match arguments.get(1) {
        Some(path) => PathBuf::from(path),
        None => {
            let folder = scratch.path().join(embedded::NAME);
            embedded::write_to(&folder)?;
            folder
        }
    };
    let (ordered, waited) = launches(&device)?;
    println!(
        "{}: a launch takes {ordered:.1} us to order, {waited:.1} us to wait for",
        device_name(&device)
    );
    println!(
        "{:>12} {:>9} {:>5} {:>9} {:>9} {:>7} {:>9}",
        "attention", "rows", "seqs", "step us", "given us", "given", "tok/s"
    );
    for attention in [AttentionPath::ByDevice, AttentionPath::Gathered] {
        let mut model = model(&path, &device, attention)?;
        let name = model.attention().to_owned();
        if attention == AttentionPath::ByDevice && name == "portable" {
            // the same again would tell nothing
            continue;
        }
        for width in WIDTHS {
            show(&name, &mut model, &batch(width, 1, CONTEXT))?;
        }
        show(&name, &mut model, &batch(1, PROMPT, 0))?;
    }
    Ok(())
}

/// Microseconds of the smallest operation: until it is ordered, and until it is done.
fn launches(device: &Device) -> anyhow::Result<(f64, f64)> {
    let one = Tensor::zeros(1, DType::F32, device)?;
    let mut waited = 0.0;
    let mut ordered = 0.0;
    for _ in 0..2 {
        let begun = Instant::now();
        for _ in 0..LAUNCHES {
            let _ = (&one + 1.0)?;
        }
        ordered = begun.elapsed().as_secs_f64();
        device.synchronize()?;
        let begun = Instant::now();
        for _ in 0..LAUNCHES {
            let _ = (&one + 1.0)?;
            device.synchronize()?;
        }
        waited = begun.elapsed().as_secs_f64();
    }
    let each = |seconds: f64| seconds * 1e6 / LAUNCHES as f64;
    Ok((each(ordered), each(waited)))
}

fn model(path: &Path, device: &Device, attention: AttentionPath) -> anyhow::Result<DeviceModel> {
    let said = anyhow::Error::msg::<String>;
    let checkpoint = Checkpoint::locate(path)?;
    let (config, mut source) = match &checkpoint {
        Checkpoint::Folder { folder, weights } => {
            let json = read_json(&folder.join("config.json"))?;
            let config = Config::from_hf(&json).map_err(said)?;
            (
                config,
                Source::Safetensors(Shards::open(weights).map_err(said)?),
            )
        }
        Checkpoint::Gguf(path) => {
            let header = Header::read(path).map_err(said)?;
            let config = Config::from_gguf(&header).map_err(said)?;
            (config, Source::Gguf(header, File::open(path)?))
        }
    };
    let weights = Weights::load(&mut source, &config, device).map_err(said)?;
    let widest = WIDTHS.into_iter().max().context("there are widths")?;
    let pages = (widest * pages_for(CONTEXT + 1)).max(pages_for(PROMPT));
    Ok(DeviceModel::new(
        config,
        weights,
        pages,
        device.clone(),
        attention,
    )?)
}

/// `sequences` with `rows` each from position `start` on, each on pages of its own.
fn batch(sequences: usize, rows: usize, start: usize) -> Batch {
    let each = pages_for(start + rows);
    let segment = |i: usize| Segment {
        rows: i * rows..(i + 1) * rows,
        start,
        pages: (i * each..(i + 1) * each)
            .map(|p| PageId(p as u32))
            .collect(),
    };
    Batch {
        tokens: (0..sequences * rows).map(|i| 3 + i as u32 % 250).collect(),
        segments: (0..sequences).map(segment).collect(),
        wanted: (1..=sequences).map(|i| i * rows - 1).collect(),
    }
}

fn show(name: &str, model: &mut DeviceModel, batch: &Batch) -> anyhow::Result<()> {
    let (mut given, mut whole) = (Vec::new(), Vec::new());
    for step in 0..WARM + STEPS {
        let begun = Instant::now();
        let logits = model.launch(batch)?.context("logits are wanted")?;
        let ordered = begun.elapsed().as_secs_f64();
        drop(logits.flatten_all()?.to_vec1::<f32>()?);
        if step >= WARM {
            given.push(ordered * 1e6);
            whole.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (given, whole) = (median(given), median(whole));
    let rows = batch.tokens.len();
    println!(
        "{name:>12} {rows:>9} {:>5} {whole:>9.0} {given:>9.0} {:>6.0}% {:>9.0}",
        batch.segments.len(),
        100.0 * given / whole,
        rows as f64 * 1e6 / whole
    );
    Ok(())
}

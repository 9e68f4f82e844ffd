//! Compiling and launching the kernels of `attention.cu`: the only unsafe code for CUDA devices.
//!
//! A launch is sound where every pointer it is given covers what the kernel reads and writes through it. Shapes are
//! fixed when the kernels are compiled; tensors are checked against them here before each launch, and the pages of a
//! batch against the arena when it begins.

#![allow(unsafe_code)]

use super::table::Table;
use crate::engine::local::arena::Attends;
use crate::engine::local::choice::in_words;
use crate::engine::local::config::Config;
use crate::engine::local::model::{Batch, Rotation};
use crate::engine::local::pages::PAGE;
use crate::engine::local::rope::RopeLayout;
use candle_core::cuda_backend::cudarc::driver::{
    CudaFunction, CudaSlice, CudaView, LaunchConfig, PushKernelArg,
};
use candle_core::cuda_backend::cudarc::nvrtc::{
    CompileError, CompileOptions, compile_ptx_with_opts,
};
use candle_core::cuda_backend::{CudaDevice, CudaStorage, WrapErr};
use candle_core::{CpuStorage, CustomOp3, Device, Layout, Result, Shape, Storage, Tensor, bail};
use std::cell::RefCell;
use std::fmt;

/// What both kernels are compiled from.
const SOURCE: &str = include_str!("attention.cu");

/// Lanes of a warp, and warps that share a tile, as in the source.
const LANES: u32 = 32;
const WARPS: u32 = 8;

/// Widest head that the kernels have room for.
const WIDEST: usize = 256;

/// The kernels, compiled for the shape of one network and loaded onto one device.
#[derive(Clone)]
pub struct Kernels {
    device: CudaDevice,
    place: CudaFunction,
    attend: CudaFunction,
}

impl Kernels {
    /// Compile and load them.
    ///
    /// # Errors
    /// Why they cannot be used, in a sentence.
    pub fn compile(config: &Config, device: &Device) -> std::result::Result<Self, String> {
        let Device::Cuda(device) = device else {
            return Err("the device is no CUDA device".into());
        };
        let stream = device.cuda_stream();
        let capability = stream.context().compute_capability();
        let (major, minor) = capability.map_err(|e| e.to_string())?;
        let ptx = compiled(config, &format!("{major}{minor}"))?;
        let name = format!("attention {}", defines(config).join(" "));
        let load = |function: &str| {
            device
                .get_or_load_custom_func(function, &name, &ptx)
                .map(|f| f.into_cuda_function())
                .map_err(|e| format!("the device does not take them: {}", in_words(&e)))
        };
        Ok(Self {
            place: load("place")?,
            attend: load("attend")?,
            device: device.clone(),
        })
    }
}

/// The shape of a network, as the source wants it.
fn defines(config: &Config) -> Vec<String> {
    [
        ("HEADS", config.heads),
        ("KV_HEADS", config.kv_heads),
        ("HEAD_DIM", config.head_dim),
        (
            "INTERLEAVED",
            usize::from(config.rope.layout == RopeLayout::Interleaved),
        ),
        ("NORMED", usize::from(config.arch == "qwen3")),
    ]
    .map(|(name, value)| format!("-D{name}={value}"))
    .into()
}

/// The kernels for a compute capability such as `90`, as text that a driver loads.
fn compiled(config: &Config, capability: &str) -> std::result::Result<String, String> {
    if config.head_dim > WIDEST {
        return Err(format!(
            "heads are {} wide, and they take {WIDEST} at most",
            config.head_dim
        ));
    }
    let mut options = defines(config);
    options.push(format!("--gpu-architecture=compute_{capability}"));
    let options = CompileOptions {
        options,
        ..CompileOptions::default()
    };
    match compile_ptx_with_opts(SOURCE, options) {
        Ok(ptx) => Ok(ptx.to_src()),
        Err(CompileError::CompileError { log, .. }) => Err(format!(
            "nvrtc does not compile them: {}",
            log.to_string_lossy().trim()
        )),
        Err(e) => Err(format!("nvrtc does not compile them: {e}")),
    }
}

/// Keys and values of every layer, laid out as `attention.cu` says.
pub struct KernelArena {
    config: Config,
    pages: usize,
    kernels: Kernels,
    frequencies: CudaSlice<f32>,
    layers: Vec<Layer>,
    step: Option<Step>,
}

/// Keys and values of one layer, `pages * 32 * kv_heads * head_dim` each.
struct Layer {
    keys: CudaSlice<f32>,
    values: CudaSlice<f32>,
}

/// The tables of the batch that was begun.
struct Step {
    table: Table,
    words: CudaSlice<u32>,
}

impl fmt::Debug for KernelArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelArena")
            .field("pages", &self.pages)
            .finish_non_exhaustive()
    }
}

impl KernelArena {
    /// An arena of `pages` pages; `frequencies` are radians per position of each rotated pair.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn new(
        config: &Config,
        pages: usize,
        kernels: Kernels,
        frequencies: &[f32],
    ) -> Result<Self> {
        if frequencies.len() != config.head_dim / 2 {
            bail!(
                "{} frequencies for heads of {}",
                frequencies.len(),
                config.head_dim
            );
        }
        let size = pages * PAGE * config.kv_heads * config.head_dim;
        let device = &kernels.device;
        let layer = |_| {
            Ok(Layer {
                keys: device.alloc_zeros(size)?,
                values: device.alloc_zeros(size)?,
            })
        };
        Ok(Self {
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            frequencies: device.clone_htod(frequencies)?,
            config: config.clone(),
            pages,
            kernels,
            step: None,
        })
    }
}

impl Attends for KernelArena {
    fn begin(&mut self, batch: &Batch, _rotation: &Rotation) -> Result<()> {
        if batch.tokens.is_empty() {
            bail!("a batch without rows");
        }
        let mut pages = batch.segments.iter().flat_map(|s| &s.pages);
        if let Some(page) = pages.find(|page| page.0 as usize >= self.pages) {
            bail!("page {} of an arena of {}", page.0, self.pages);
        }
        let table = Table::of(batch, &self.config);
        let words = self.kernels.device.clone_htod(&table.words)?;
        self.step = Some(Step { table, words });
        Ok(())
    }

    fn attend(
        &mut self,
        layer: usize,
        norms: Option<&(Tensor, Tensor)>,
        [q, k, v]: &[Tensor; 3],
    ) -> Result<Tensor> {
        let Some(step) = &self.step else {
            bail!("a forward pass was not begun");
        };
        let launch = Launch {
            config: &self.config,
            kernels: &self.kernels,
            frequencies: &self.frequencies,
            layer: RefCell::new(&mut self.layers[layer]),
            step,
            norms,
        };
        q.apply_op3_no_bwd(k, v, &launch)
    }
}

/// Both launches for one layer.
struct Launch<'a> {
    config: &'a Config,
    kernels: &'a Kernels,
    frequencies: &'a CudaSlice<f32>,
    layer: RefCell<&'a mut Layer>,
    step: &'a Step,
    norms: Option<&'a (Tensor, Tensor)>,
}

impl CustomOp3 for Launch<'_> {
    fn name(&self) -> &'static str {
        "paged attention"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        bail!("the kernels run on a CUDA device, and rows came from the CPU")
    }

    fn cuda_fwd(
        &self,
        q: &CudaStorage,
        q_layout: &Layout,
        k: &CudaStorage,
        k_layout: &Layout,
        v: &CudaStorage,
        v_layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        let c = self.config;
        let table = &self.step.table;
        let (width, kv_width) = (c.heads * c.head_dim, c.kv_heads * c.head_dim);
        let (q, q_stride) = rows(q, q_layout, table.rows, width)?;
        let (k, k_stride) = rows(k, k_layout, table.rows, kv_width)?;
        let (v, v_stride) = rows(v, v_layout, table.rows, kv_width)?;
        let device = &self.kernels.device;
        // SAFETY: `place` writes every element of it before `attend` reads one: a row and a head for each of its
        // blocks. Both run on the same stream.
        let mut queries = unsafe { device.alloc::<f32>(table.rows * width)? };
        // SAFETY: `attend` writes every element of it: every query of every row is in one tile (`Table::of`).
        let mut out = unsafe { device.alloc::<f32>(table.rows * width)? };
        self.place((&q, q_stride), (&k, k_stride), (&v, v_stride), &mut queries)?;
        self.attend(&queries, &mut out)?;
        let storage = CudaStorage::wrap_cuda_slice(out, device.clone());
        Ok((storage, Shape::from((table.rows, width))))
    }
}

/// Some rows and how far they lie apart.
type Rows<'a> = (&'a CudaView<'a, f32>, u32);

impl Launch<'_> {
    fn place(
        &self,
        (q, q_stride): Rows<'_>,
        (k, k_stride): Rows<'_>,
        (v, v_stride): Rows<'_>,
        queries: &mut CudaSlice<f32>,
    ) -> Result<()> {
        let c = self.config;
        let layer = &mut **self.layer.borrow_mut();
        let words = self.step.words.slice(..self.step.table.tiles_at());
        let norms = self
            .norms
            .map(|(q, k)| (q.storage_and_layout(), k.storage_and_layout()));
        let (q_norm, k_norm) = match &norms {
            Some(((q, q_layout), (k, k_layout))) => (
                vector(q, q_layout, c.head_dim)?,
                vector(k, k_layout, c.head_dim)?,
            ),
            None if c.arch == "qwen3" => bail!("norms of heads are missing"),
            // not looked at
            None => (self.frequencies.slice(..), self.frequencies.slice(..)),
        };
        let grid = (
            self.step.table.rows as u32,
            (c.heads + 2 * c.kv_heads) as u32,
            1,
        );
        let stream = self.kernels.device.cuda_stream();
        let mut launch = stream.launch_builder(&self.kernels.place);
        launch.arg(q).arg(k).arg(v);
        launch.arg(&q_stride).arg(&k_stride).arg(&v_stride);
        launch.arg(&q_norm).arg(&k_norm).arg(&c.rms_eps);
        launch.arg(self.frequencies).arg(&words);
        launch
            .arg(queries)
            .arg(&mut layer.keys)
            .arg(&mut layer.values);
        // SAFETY: the arguments are those of `place`, in its order. q, k and v hold `table.rows` rows of the widths
        // that it was compiled for (`rows`), norms and frequencies `head_dim` and half as many numbers, `words`
        // two for each row. `queries` holds all rows, and the slots of rows lie in pages below the arena's number
        // (`begin`), which keys and values were allocated for.
        unsafe { launch.launch(shaped(grid, LANES)) }.w()?;
        Ok(())
    }

    fn attend(&self, queries: &CudaSlice<f32>, out: &mut CudaSlice<f32>) -> Result<()> {
        let table = &self.step.table;
        let layer = self.layer.borrow();
        let tiles = self.step.words.slice(table.tiles_at()..table.pages_at());
        let pages = self.step.words.slice(table.pages_at()..);
        let grid = (table.tiles as u32, self.config.kv_heads as u32, 1);
        let stream = self.kernels.device.cuda_stream();
        let mut launch = stream.launch_builder(&self.kernels.attend);
        launch.arg(queries).arg(&layer.keys).arg(&layer.values);
        launch.arg(&tiles).arg(&pages).arg(out);
        // SAFETY: the arguments are those of `attend`, in its order. `queries` and `out` hold all rows; a tile names
        // rows of the batch and pages of their sequence, which cover every position up to its last row
        // (`Segment`) and lie below the arena's number (`begin`).
        unsafe { launch.launch(shaped(grid, WARPS * LANES)) }.w()?;
        Ok(())
    }
}

fn shaped(grid_dim: (u32, u32, u32), threads: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim,
        block_dim: (threads, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// The rows of a tensor `[count, width]` whose rows are whole, and how far they lie apart.
fn rows<'a>(
    storage: &'a CudaStorage,
    layout: &Layout,
    count: usize,
    width: usize,
) -> Result<(CudaView<'a, f32>, u32)> {
    let (dims, stride) = (layout.dims(), layout.stride());
    if dims != [count, width] || stride[1] != 1 {
        bail!("rows are laid out as {layout:?}, expected {count} of {width}");
    }
    let all = storage.as_cuda_slice::<f32>()?;
    let last = layout.start_offset() + (count - 1) * stride[0] + width;
    let apart = u32::try_from(stride[0]).map_err(candle_core::Error::wrap)?;
    Ok((all.slice(layout.start_offset()..last), apart))
}

/// A vector of `length` numbers.
fn vector<'a>(storage: &'a Storage, layout: &Layout, length: usize) -> Result<CudaView<'a, f32>> {
    let Storage::Cuda(storage) = storage else {
        bail!("a norm lies on another device");
    };
    match layout.contiguous_offsets() {
        Some((from, to)) if to - from == length => {
            Ok(storage.as_cuda_slice::<f32>()?.slice(from..to))
        }
        _ => bail!("a norm is laid out as {layout:?}, expected {length} numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::local::cuda::made_up;

    #[test]
    fn the_source_compiles_at_run_time_for_every_shape_and_capability() {
        for (heads, kv_heads, head_dim) in [
            (4, 2, 16),
            (9, 3, 64),
            (32, 8, 80),
            (16, 8, 128),
            (8, 1, 256),
        ] {
            for capability in ["80", "90"] {
                let mut config = made_up::config(heads, kv_heads, head_dim);
                let llama = compiled(&config, capability).expect("it compiles");
                assert!(llama.contains(".entry attend") && llama.contains(".entry place"));
                config.arch = "qwen3".into();
                config.rope.layout = RopeLayout::Interleaved;
                let qwen = compiled(&config, capability).expect("it compiles");
                assert!(qwen.contains(".entry place") && qwen != llama);
            }
        }
    }

    #[test]
    fn heads_that_are_too_wide_are_refused() {
        let refused = compiled(&made_up::config(2, 1, 512), "90");
        assert!(refused.is_err_and(|why| why.contains("512 wide")));
    }
}

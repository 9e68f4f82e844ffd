//! Attention through tensors, for every device that candle knows.
//!
//! Pages are gathered into one padded tensor per group of sequences and multiplied under a mask. It is what devices
//! without a kernel of their own use, and what such a kernel is compared with; on the CPU [`super::attention`] is
//! faster.

use super::arena::Attends;
use super::config::Config;
use super::cuda::table::slot;
use super::model::{Batch, Rotation, Segment};
use super::pages::PAGE;
use super::rope::RopeLayout;
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::{rms_norm, softmax_last_dim};
use candle_nn::rotary_emb::{rope, rope_i};

/// Keys and values of every layer, `[pages * 32, kv_heads * head_dim]` each, f32.
#[derive(Debug)]
pub struct PortableArena {
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    layout: RopeLayout,
    eps: f32,
    device: Device,
    layers: Vec<(Tensor, Tensor)>,
    step: Option<Step>,
}

/// What all layers of one forward pass share.
#[derive(Debug)]
struct Step {
    rows: usize,
    /// `[rows, 1, head_dim / 2]`.
    cos: Tensor,
    sin: Tensor,
    /// Slot that each element of a key row goes to, `[rows, kv_heads * head_dim]`.
    slots: Tensor,
    groups: Vec<Group>,
}

/// Sequences that are attended together: all with one row each, or a single one with several.
#[derive(Debug)]
struct Group {
    first_row: usize,
    sequences: usize,
    rows_each: usize,
    /// Padded length.
    length: usize,
    /// `[sequences * length]`.
    slots: Tensor,
    /// 0 where a row sees a position, else the least number there is, `[sequences, 1, 1, rows_each, length]`.
    mask: Tensor,
}

impl PortableArena {
    /// An arena of `pages` pages on `device`.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn new(config: &Config, pages: usize, device: &Device) -> Result<Self> {
        let shape = (pages * PAGE, config.kv_heads * config.head_dim);
        let zeros = || Tensor::zeros(shape, DType::F32, device);
        Ok(Self {
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim,
            layout: config.rope.layout,
            eps: config.rms_eps,
            device: device.clone(),
            layers: (0..config.layers)
                .map(|_| Ok((zeros()?, zeros()?)))
                .collect::<Result<_>>()?,
            step: None,
        })
    }

    fn group(&self, segments: &[Segment]) -> Result<Group> {
        let rows_each = segments[0].rows.len();
        let length = segments
            .iter()
            .map(|s| s.start + rows_each)
            .max()
            .unwrap_or(0);
        let mut slots = Vec::with_capacity(segments.len() * length);
        let mut own = Vec::with_capacity(segments.len() * rows_each);
        for segment in segments {
            let end = segment.start + rows_each;
            // padding reads slot 0, whatever is there, and the mask takes it out
            slots.extend((0..length).map(|p| if p < end { slot(segment, p) } else { 0 }));
            own.extend((segment.start..end).map(|position| position as u32));
        }
        // made on the device: there are far fewer positions than pairs of them
        let own = Tensor::from_vec(own, (segments.len(), 1, 1, rows_each, 1), &self.device)?;
        let positions = Tensor::arange(0, length as u32, &self.device)?;
        let unseen = positions
            .reshape((1, 1, 1, 1, length))?
            .broadcast_gt(&own)?;
        Ok(Group {
            first_row: segments[0].rows.start,
            sequences: segments.len(),
            rows_each,
            length,
            slots: Tensor::new(slots, &self.device)?,
            mask: (unseen.to_dtype(DType::F32)? * f64::from(f32::MIN))?,
        })
    }

    /// Norm and rotate heads: `[rows, heads * head_dim]` in and out.
    fn prepare(
        &self,
        x: &Tensor,
        heads: usize,
        norm: Option<&Tensor>,
        step: &Step,
    ) -> Result<Tensor> {
        let rows = x.dim(0)?;
        let mut x = x.reshape((rows, heads, 1, self.head_dim))?;
        if let Some(weight) = norm {
            x = rms_norm(&x.contiguous()?, weight, self.eps)?;
        }
        let x = match self.layout {
            RopeLayout::Halves => rope(&x.contiguous()?, &step.cos, &step.sin)?,
            RopeLayout::Interleaved => rope_i(&x.contiguous()?, &step.cos, &step.sin)?,
        };
        x.reshape((rows, heads * self.head_dim))
    }

    fn attend_group(
        &self,
        g: &Group,
        q: &Tensor,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<Tensor> {
        let (n, dim, kv) = (g.sequences, self.head_dim, self.kv_heads);
        let per_head = self.heads / kv;
        let rows = n * g.rows_each;
        // [n, rows, kv, per_head, dim] -> [n, kv, per_head * rows, dim]
        let q = q
            .narrow(0, g.first_row, rows)?
            .reshape((n, g.rows_each, kv, per_head, dim))?
            .permute((0, 2, 3, 1, 4))?
            .reshape((n, kv, per_head * g.rows_each, dim))?;
        let gather = |arena: &Tensor| {
            arena
                .index_select(&g.slots, 0)?
                .reshape((n, g.length, kv, dim))
        };
        let keys = gather(keys)?.permute((0, 2, 3, 1))?.contiguous()?;
        let values = gather(values)?.transpose(1, 2)?.contiguous()?;
        let scores = (q.contiguous()?.matmul(&keys)? * (1.0 / (dim as f64).sqrt()))?;
        let (all, apart) = (scores.dims4()?, (n, kv, per_head, g.rows_each, g.length));
        let scores = scores.reshape(apart)?.broadcast_add(&g.mask)?;
        let weights = softmax_last_dim(&scores)?.reshape(all)?;
        weights
            .matmul(&values)?
            .reshape((n, kv, per_head, g.rows_each, dim))?
            .permute((0, 3, 1, 2, 4))?
            .reshape((rows, self.heads * dim))
    }
}

impl Attends for PortableArena {
    fn begin(&mut self, batch: &Batch, rotation: &Rotation) -> Result<()> {
        let rows = batch.tokens.len();
        let shape = (rows, 1, self.head_dim / 2);
        let width = self.kv_heads * self.head_dim;
        let slots: Vec<u32> = batch
            .segments
            .iter()
            .flat_map(|s| (s.start..s.start + s.rows.len()).map(|p| slot(s, p)))
            .collect();
        self.step = Some(Step {
            rows,
            cos: Tensor::from_slice(&rotation.cos, shape, &self.device)?,
            sin: Tensor::from_slice(&rotation.sin, shape, &self.device)?,
            slots: Tensor::from_vec(slots, (rows, 1), &self.device)?
                .broadcast_as((rows, width))?
                .contiguous()?,
            groups: group(&batch.segments)
                .into_iter()
                .map(|segments| self.group(segments))
                .collect::<Result<_>>()?,
        });
        Ok(())
    }

    fn attend(
        &mut self,
        layer: usize,
        norms: Option<&(Tensor, Tensor)>,
        [q, k, v]: &[Tensor; 3],
    ) -> Result<Tensor> {
        let Some(step) = &self.step else {
            candle_core::bail!("a forward pass was not begun");
        };
        let q = self.prepare(q, self.heads, norms.map(|n| &n.0), step)?;
        let k = self.prepare(k, self.kv_heads, norms.map(|n| &n.1), step)?;
        let (keys, values) = &self.layers[layer];
        keys.scatter_set(&step.slots, &k, 0)?;
        values.scatter_set(&step.slots, &v.contiguous()?, 0)?;
        let parts = step
            .groups
            .iter()
            .map(|group| self.attend_group(group, &q, keys, values))
            .collect::<Result<Vec<_>>>()?;
        let out = match &parts[..] {
            [all] => all.clone(),
            parts => Tensor::cat(parts, 0)?,
        };
        out.reshape((step.rows, self.heads * self.head_dim))
    }
}

/// Cut the segments into runs that can be attended together.
fn group(segments: &[Segment]) -> Vec<&[Segment]> {
    segments
        .chunk_by(|a, b| a.rows.len() == 1 && b.rows.len() == 1)
        .collect()
}

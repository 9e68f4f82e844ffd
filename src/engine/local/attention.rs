//! Attention in plain memory: keys and values stay in their pages and are read in place.
//!
//! Norms of heads and the rotary embedding happen on the way into the arena, so that no intermediate tensor
//! is made. Work is shared out over candle's own thread pool: a second pool would fight it for the cores.

use super::config::Config;
use super::kernels::attend;
use super::model::{Batch, Rotation};
use super::pages::{PAGE, PageId, pages_for};
use super::rope::RopeLayout;
use crate::simd::dot;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Below this many multiplications waking other threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 17;

/// Keys and values of every layer: keys `[pages, kv_heads, head_dim, 32]`, so that one column of a page's keys is a
/// vector, values `[pages, kv_heads, 32, head_dim]`.
#[derive(Debug)]
pub struct HostArena {
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    layout: RopeLayout,
    eps: f32,
    layers: Vec<(Vec<f32>, Vec<f32>)>,
    /// One row of keys on its way, kept from row to row.
    rotated: Vec<f32>,
    /// The result, kept from layer to layer.
    out: Vec<f32>,
}

/// One attention head group of one row: what a thread works on at a time.
struct Job<'a> {
    /// Queries of the heads that share the key/value head, `[group, head_dim]`.
    queries: &'a [f32],
    kv_head: usize,
    /// How many positions it sees, its own included.
    visible: usize,
    pages: &'a [PageId],
    /// Where the result goes, like `queries`.
    out: Mutex<&'a mut [f32]>,
}

thread_local! {
    static SCORES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

impl HostArena {
    /// An arena of `pages` pages. The memory is touched only when written.
    #[must_use]
    pub fn new(config: &Config, pages: usize) -> Self {
        let size = pages * PAGE * config.kv_heads * config.head_dim;
        Self {
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim,
            layout: config.rope.layout,
            eps: config.rms_eps,
            layers: (0..config.layers)
                .map(|_| (vec![0.0; size], vec![0.0; size]))
                .collect(),
            rotated: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Store the keys and values of `batch` and attend: `q` `[rows, heads * head_dim]` (used up), `k` and `v`
    /// `[rows, kv_heads * head_dim]`, `norms` of query and key heads; returns `[rows, heads * head_dim]`.
    pub fn attend(
        &mut self,
        layer: usize,
        norms: Option<(&[f32], &[f32])>,
        (queries, k, v): (&mut [f32], &[f32], &[f32]),
        batch: &Batch,
        rotation: &Rotation,
    ) -> &[f32] {
        let width = self.heads * self.head_dim;
        for (row, query) in queries.chunks_exact_mut(width).enumerate() {
            self.prepare(query, norms.map(|n| n.0), row, rotation);
        }
        self.store_keys(layer, k, norms.map(|n| n.1), batch, rotation);
        self.store_values(layer, v, batch);

        let mut out = std::mem::take(&mut self.out);
        // all of it is written below
        out.resize(batch.tokens.len() * width, 0.0);
        let group = width / self.kv_heads;
        let mut jobs = Vec::with_capacity(batch.tokens.len() * self.kv_heads);
        let mut work = 0;
        let mut slices = queries.chunks_exact(group).zip(out.chunks_exact_mut(group));
        for segment in &batch.segments {
            for row in 0..segment.rows.len() {
                let visible = segment.start + row + 1;
                work += 2 * visible * width;
                jobs.extend(slices.by_ref().take(self.kv_heads).enumerate().map(
                    |(kv_head, (queries, out))| Job {
                        queries,
                        kv_head,
                        visible,
                        pages: &segment.pages,
                        out: Mutex::new(out),
                    },
                ));
            }
        }
        let (keys, values) = &self.layers[layer];
        let run = |range: std::ops::Range<usize>| {
            for job in &jobs[range] {
                self.run(job, keys, values);
            }
        };
        if work < WORTH_SHARING {
            run(0..jobs.len());
        } else {
            candle_core::utils::barrier_pool().execute_chunked(jobs.len(), run);
        }
        drop(jobs);
        self.out = out;
        &self.out
    }

    /// Norm (where the family has one) and rotate every head of one row.
    fn prepare(&self, row: &mut [f32], norm: Option<&[f32]>, index: usize, rotation: &Rotation) {
        let half = self.head_dim / 2;
        let cos = &rotation.cos[index * half..(index + 1) * half];
        let sin = &rotation.sin[index * half..(index + 1) * half];
        for head in row.chunks_exact_mut(self.head_dim) {
            if let Some(weight) = norm {
                let mean = dot(head, head) / self.head_dim as f32;
                let scale = 1.0 / (mean + self.eps).sqrt();
                for (x, w) in head.iter_mut().zip(weight) {
                    *x *= scale * w;
                }
            }
            match self.layout {
                RopeLayout::Halves => {
                    let (low, high) = head.split_at_mut(half);
                    for (((a, b), c), s) in low.iter_mut().zip(high).zip(cos).zip(sin) {
                        (*a, *b) = (*a * c - *b * s, *a * s + *b * c);
                    }
                }
                RopeLayout::Interleaved => {
                    for ((pair, c), s) in head.chunks_exact_mut(2).zip(cos).zip(sin) {
                        (pair[0], pair[1]) = (pair[0] * c - pair[1] * s, pair[0] * s + pair[1] * c);
                    }
                }
            }
        }
    }

    fn store_keys(
        &mut self,
        layer: usize,
        k: &[f32],
        norm: Option<&[f32]>,
        batch: &Batch,
        rotation: &Rotation,
    ) {
        let width = self.kv_heads * self.head_dim;
        let mut keys = std::mem::take(&mut self.layers[layer].0);
        let mut rotated = std::mem::take(&mut self.rotated);
        for (index, (slot, row)) in slots(batch).zip(k.chunks_exact(width)).enumerate() {
            rotated.clear();
            rotated.extend_from_slice(row);
            self.prepare(&mut rotated, norm, index, rotation);
            for (head, key) in rotated.chunks_exact(self.head_dim).enumerate() {
                let block = &mut keys[self.block(slot / PAGE, head)];
                for (column, value) in block.chunks_exact_mut(PAGE).zip(key) {
                    column[slot % PAGE] = *value;
                }
            }
        }
        self.rotated = rotated;
        self.layers[layer].0 = keys;
    }

    fn store_values(&mut self, layer: usize, v: &[f32], batch: &Batch) {
        let (dim, width) = (self.head_dim, self.kv_heads * self.head_dim);
        for (slot, row) in slots(batch).zip(v.chunks_exact(width)) {
            for (head, value) in row.chunks_exact(dim).enumerate() {
                let block = self.block(slot / PAGE, head);
                let values = &mut self.layers[layer].1[block];
                values[slot % PAGE * dim..][..dim].copy_from_slice(value);
            }
        }
    }

    /// Where the keys, and the values, of a page and head lie.
    fn block(&self, page: usize, kv_head: usize) -> Range<usize> {
        let size = PAGE * self.head_dim;
        let first = (page * self.kv_heads + kv_head) * size;
        first..first + size
    }

    fn run(&self, job: &Job<'_>, keys: &[f32], values: &[f32]) {
        // a worker that panicked has poisoned nothing but its own slice
        let mut out = job.out.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = job.pages[..pages_for(job.visible)].iter().map(|page| {
            let block = self.block(page.first_slot() / PAGE, job.kv_head);
            (&keys[block.clone()], &values[block])
        });
        SCORES.with_borrow_mut(|scores| {
            attend(job.queries, blocks, job.visible, scores, &mut out);
        });
    }
}

/// Arena slot of each row.
fn slots(batch: &Batch) -> impl Iterator<Item = usize> + '_ {
    batch.segments.iter().flat_map(|segment| {
        (segment.start..segment.start + segment.rows.len())
            .map(|position| segment.pages[position / PAGE].first_slot() + position % PAGE)
    })
}

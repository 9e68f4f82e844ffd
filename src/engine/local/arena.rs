//! Keys and values on a device, and which of the ways to attend to them is taken there.

use super::choice::AttentionPath;
#[cfg(feature = "cuda")]
use super::choice::in_words;
use super::config::Config;
#[cfg(feature = "cuda")]
use super::cuda::{KernelArena, Kernels, made_up};
use super::model::{Batch, Rotation};
use super::portable::PortableArena;
use candle_core::{Device, Result, Tensor};

/// How far the results of own kernels may lie from the portable ones; the values of a made-up layer lie within 2.
#[cfg(feature = "cuda")]
const TOLERANCE: f32 = 1e-3;

/// A cache of keys and values that can be attended to.
pub trait Attends {
    /// Prepare what the layers of one forward pass share.
    ///
    /// # Errors
    /// When the device fails.
    fn begin(&mut self, batch: &Batch, rotation: &Rotation) -> Result<()>;

    /// Store the keys and values of the batch that was begun and attend: q `[rows, heads * head_dim]`, k and v
    /// `[rows, kv_heads * head_dim]`, `norms` of query and key heads; returns `[rows, heads * head_dim]`.
    ///
    /// # Errors
    /// When the device fails or nothing was begun.
    fn attend(
        &mut self,
        layer: usize,
        norms: Option<&(Tensor, Tensor)>,
        qkv: &[Tensor; 3],
    ) -> Result<Tensor>;
}

/// The cache of a device, with the way that was found to work there.
#[derive(Debug)]
pub enum DeviceArena {
    /// Through tensors.
    Portable(PortableArena),
    /// With own kernels.
    #[cfg(feature = "cuda")]
    Kernels(KernelArena),
}

/// An arena, and how it attends, in words.
pub struct Chosen {
    /// The arena.
    pub arena: DeviceArena,
    /// `own kernels`, or `portable` with the reason.
    pub attention: String,
}

impl DeviceArena {
    /// An arena of `pages` pages on `device`; `frequencies` are radians per position of each rotated pair.
    ///
    /// # Errors
    /// When the device has not enough memory.
    #[cfg_attr(not(feature = "cuda"), expect(unused_variables))]
    pub fn choose(
        config: &Config,
        pages: usize,
        device: &Device,
        path: AttentionPath,
        frequencies: &[f32],
    ) -> Result<Chosen> {
        let portable = |why: &str| -> Result<Chosen> {
            Ok(Chosen {
                arena: Self::Portable(PortableArena::new(config, pages, device)?),
                attention: why.to_owned(),
            })
        };
        match (device, path) {
            #[cfg(feature = "cuda")]
            (Device::Cuda(_), AttentionPath::ByDevice) => {
                match tried(config, pages, device, frequencies) {
                    Ok(arena) => Ok(Chosen {
                        arena: Self::Kernels(arena),
                        attention: "own kernels".into(),
                    }),
                    Err(why) => {
                        tracing::warn!("own attention kernels are not used: {why}");
                        let hint = "the own attention kernels may have broken the device: \
                             ORGTOP_ATTENTION=portable does without";
                        portable(&format!("portable ({why})")).map_err(|e| {
                            candle_core::Error::Msg(format!("{}; {hint}", in_words(&e)))
                        })
                    }
                }
            }
            _ => portable("portable"),
        }
    }
}

/// The kernels, if they give on a made-up layer what the portable way gives.
#[cfg(feature = "cuda")]
fn tried(
    config: &Config,
    pages: usize,
    device: &Device,
    frequencies: &[f32],
) -> std::result::Result<KernelArena, String> {
    let said = |e: candle_core::Error| in_words(&e);
    let layer = Config {
        layers: 1,
        ..config.clone()
    };
    let kernels = Kernels::compile(config, device)?;
    let turning = config.rope.frequencies(config.head_dim, None);
    let mut own =
        KernelArena::new(&layer, made_up::PAGES, kernels.clone(), &turning).map_err(said)?;
    let mut other = PortableArena::new(&layer, made_up::PAGES, device).map_err(said)?;
    let given = made_up::attended(&mut own, &layer, device).map_err(said)?;
    let expected = made_up::attended(&mut other, &layer, device).map_err(said)?;
    match made_up::difference(&given, &expected) {
        apart if apart <= TOLERANCE => {
            KernelArena::new(config, pages, kernels, frequencies).map_err(said)
        }
        apart => Err(format!("they differ by {apart} on a made-up layer")),
    }
}

impl Attends for DeviceArena {
    fn begin(&mut self, batch: &Batch, rotation: &Rotation) -> Result<()> {
        match self {
            Self::Portable(arena) => arena.begin(batch, rotation),
            #[cfg(feature = "cuda")]
            Self::Kernels(arena) => arena.begin(batch, rotation),
        }
    }

    fn attend(
        &mut self,
        layer: usize,
        norms: Option<&(Tensor, Tensor)>,
        qkv: &[Tensor; 3],
    ) -> Result<Tensor> {
        match self {
            Self::Portable(arena) => arena.attend(layer, norms, qkv),
            #[cfg(feature = "cuda")]
            Self::Kernels(arena) => arena.attend(layer, norms, qkv),
        }
    }
}

//! Reading GGUF files (versions 2 and 3), trusting nothing in them.
//!
//! Every count and length is checked against the bytes that are left in the file before anything is
//! allocated, and every tensor against the file's end. The format:
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

use super::metadata::{Input, Meta};
use candle_core::Device;
use candle_core::quantized::{GgmlDType, QTensor, ggml_file::qtensor_from_ggml};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const MAGIC: [u8; 4] = *b"GGUF";
const MAX_DIMS: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;

/// Where a tensor lies and how it is stored.
#[derive(Debug, Clone)]
pub struct TensorInfo {
    /// Rows first (the file stores them the other way round).
    pub dims: Vec<usize>,
    /// Storage type.
    pub dtype: GgmlDType,
    /// Absolute offset in the file.
    offset: u64,
    /// Bytes in the file.
    pub(super) bytes: usize,
}

/// Everything before the tensor data.
#[derive(Debug)]
pub struct Header {
    meta: HashMap<String, Meta>,
    pub(super) tensors: HashMap<String, TensorInfo>,
}

impl Header {
    /// Read and check the header of a GGUF file.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|e| e.to_string())?;
        let length = file.metadata().map_err(|e| e.to_string())?.len();
        let mut input = Input::new(file, length);
        if input.bytes::<4>()? != MAGIC {
            return Err("not a GGUF file (it does not begin with `GGUF`)".into());
        }
        let version = input.u32()?;
        if !(2..=3).contains(&version) {
            return Err(format!("GGUF version {version}, expected 2 or 3"));
        }
        // a tensor entry takes at least 24 bytes, a metadata entry at least 13
        let tensor_count = input.count(24)?;
        let meta_count = input.count(13)?;
        let mut meta = HashMap::new();
        for _ in 0..meta_count {
            let key = input.text()?;
            let kind = input.u32()?;
            let value = input
                .value(kind)
                .map_err(|e| format!("metadata `{key}`: {e}"))?;
            meta.insert(key, value);
        }
        let mut raw = Vec::new();
        for _ in 0..tensor_count {
            raw.push(tensor_info(&mut input)?);
        }
        let alignment = match meta.get("general.alignment") {
            None => DEFAULT_ALIGNMENT,
            Some(Meta::Int(a)) if *a > 0 && *a <= 1 << 20 => *a as u64,
            Some(other) => return Err(format!("general.alignment is {other:?}")),
        };
        let data = (length - input.left()).next_multiple_of(alignment);
        let mut tensors = HashMap::new();
        for (name, mut info) in raw {
            let end = info
                .offset
                .checked_add(data)
                .inspect(|start| info.offset = *start)
                .and_then(|start| start.checked_add(info.bytes as u64));
            if end.is_none_or(|end| end > length) {
                return Err(format!(
                    "tensor `{name}` lies outside the file; is the file cut short? ({length} bytes)"
                ));
            }
            if tensors.insert(name.clone(), info).is_some() {
                return Err(format!("tensor `{name}` occurs twice"));
            }
        }
        Ok(Self { meta, tensors })
    }

    /// A metadata value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Meta> {
        self.meta.get(key)
    }

    /// A text.
    ///
    /// # Errors
    /// Where it is absent or no text.
    pub fn text(&self, key: &str) -> Result<&str, String> {
        match self.meta.get(key) {
            Some(Meta::Text(text)) => Ok(text),
            _ => Err(format!("metadata `{key}`: no text")),
        }
    }

    /// A list of texts.
    ///
    /// # Errors
    /// Where it is absent or no such list.
    pub fn texts(&self, key: &str) -> Result<&[String], String> {
        match self.meta.get(key) {
            Some(Meta::Texts(texts)) => Ok(texts),
            _ => Err(format!("metadata `{key}`: no list of texts")),
        }
    }

    /// A list of numbers.
    ///
    /// # Errors
    /// Where it is absent or no such list.
    pub fn numbers(&self, key: &str) -> Result<&[f32], String> {
        match self.meta.get(key) {
            Some(Meta::Numbers(numbers)) => Ok(numbers),
            _ => Err(format!("metadata `{key}`: no list of numbers")),
        }
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// Where it is absent or something else.
    pub fn count(&self, key: &str) -> Result<usize, String> {
        match self.meta.get(key) {
            Some(Meta::Int(v)) if *v >= 0 => Ok(*v as usize),
            _ => Err(format!("metadata `{key}`: no whole number")),
        }
    }

    /// The same, or `default` where the key is absent.
    ///
    /// # Errors
    /// Where it is present and something else.
    pub fn count_or(&self, key: &str, default: usize) -> Result<usize, String> {
        match self.meta.get(key) {
            None => Ok(default),
            Some(_) => self.count(key),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// Where it is absent or something else.
    pub fn number(&self, key: &str) -> Result<f64, String> {
        match self.meta.get(key) {
            Some(Meta::Float(v)) => Ok(*v),
            Some(Meta::Int(v)) => Ok(*v as f64),
            _ => Err(format!("metadata `{key}`: no number")),
        }
    }

    /// A truth value, or `default` where it is absent.
    #[must_use]
    pub fn flag(&self, key: &str, default: bool) -> bool {
        match self.meta.get(key) {
            Some(Meta::Bool(v)) => *v,
            _ => default,
        }
    }

    /// Where a tensor lies.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// All metadata, in no order.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &Meta)> {
        self.meta.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Elements in all tensors together.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let elements = |t: &TensorInfo| t.dims.iter().product::<usize>() as u64;
        self.tensors.values().map(elements).sum()
    }

    /// The storage type that most bytes have, in GGUF's spelling (`q4_1`).
    #[must_use]
    pub fn main_dtype(&self) -> String {
        let mut bytes: HashMap<GgmlDType, usize> = HashMap::new();
        for info in self.tensors.values().filter(|t| t.dims.len() > 1) {
            *bytes.entry(info.dtype).or_default() += info.bytes;
        }
        bytes
            .into_iter()
            .max_by_key(|(_, bytes)| *bytes)
            .map_or_else(String::new, |(dtype, _)| dtype_name(dtype))
    }
}

impl TensorInfo {
    /// Read the tensor onto `device`.
    ///
    /// # Errors
    /// When the file cannot be read or candle refuses the data.
    pub fn load(&self, file: &mut File, device: &Device) -> Result<QTensor, String> {
        let mut raw = vec![0; self.bytes];
        file.seek(SeekFrom::Start(self.offset))
            .map_err(|e| e.to_string())?;
        file.read_exact(&mut raw).map_err(|e| e.to_string())?;
        qtensor_from_ggml(self.dtype, &raw, self.dims.clone(), device).map_err(|e| e.to_string())
    }
}

/// GGUF's spelling of a storage type.
#[must_use]
pub fn dtype_name(dtype: GgmlDType) -> String {
    let name = format!("{dtype:?}").to_lowercase();
    if name.ends_with('k') && name.starts_with('q') {
        name.replace('k', "_k")
    } else {
        name
    }
}

fn dtype_of(code: u32) -> Result<GgmlDType, String> {
    Ok(match code {
        0 => GgmlDType::F32,
        1 => GgmlDType::F16,
        2 => GgmlDType::Q4_0,
        3 => GgmlDType::Q4_1,
        6 => GgmlDType::Q5_0,
        7 => GgmlDType::Q5_1,
        8 => GgmlDType::Q8_0,
        10 => GgmlDType::Q2K,
        11 => GgmlDType::Q3K,
        12 => GgmlDType::Q4K,
        13 => GgmlDType::Q5K,
        14 => GgmlDType::Q6K,
        30 => GgmlDType::BF16,
        other => {
            return Err(format!(
                "storage type {other} is not supported; supported are F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K"
            ));
        }
    })
}

/// One entry of the table of tensors; its offset still counts from the end of the header.
fn tensor_info(input: &mut Input) -> Result<(String, TensorInfo), String> {
    let name = input.text()?;
    let rank = input.u32()?;
    if rank == 0 || rank > MAX_DIMS {
        return Err(format!(
            "tensor `{name}` has {rank} dimensions, expected 1 to {MAX_DIMS}"
        ));
    }
    let mut dims = Vec::new();
    for _ in 0..rank {
        dims.push(
            usize::try_from(input.u64()?).map_err(|_| format!("tensor `{name}` is too large"))?,
        );
    }
    dims.reverse();
    let dtype = dtype_of(input.u32()?).map_err(|e| format!("tensor `{name}`: {e}"))?;
    let offset = input.u64()?;
    let row = dims.last().copied().unwrap_or(0);
    let elements = dims
        .iter()
        .try_fold(1usize, |all, dim| all.checked_mul(*dim))
        .filter(|all| *all > 0 && row.is_multiple_of(dtype.block_size()))
        .ok_or_else(|| {
            format!("tensor `{name}` has the impossible shape {dims:?} for {dtype:?}")
        })?;
    let bytes = (elements / dtype.block_size())
        .checked_mul(dtype.type_size())
        .ok_or_else(|| format!("tensor `{name}` is too large"))?;
    Ok((
        name,
        TensorInfo {
            dims,
            dtype,
            offset,
            bytes,
        },
    ))
}

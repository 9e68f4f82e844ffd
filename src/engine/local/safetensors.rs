//! Reading safetensors files, single or sharded, tensor by tensor, trusting nothing in them.
//!
//! Plain buffered reads instead of a memory map: each tensor is read once, straight into the type that is
//! computed with, so a map would save nothing and would need `unsafe`. The format:
//! <https://github.com/huggingface/safetensors#format>.

use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// No real header is larger.
const MAX_HEADER: u64 = 100 << 20;

/// Where a tensor lies and how it is stored.
#[derive(Debug, Clone)]
pub struct Entry {
    file: usize,
    offset: u64,
    bytes: usize,
    /// Storage type.
    pub dtype: DType,
    /// Shape, rows first.
    pub dims: Vec<usize>,
}

/// The tensors of all files of a checkpoint.
#[derive(Debug)]
pub struct Shards {
    files: Vec<File>,
    entries: HashMap<String, Entry>,
}

#[derive(Deserialize)]
struct RawEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl Shards {
    /// Read and check the headers of `paths`.
    ///
    /// # Errors
    /// A sentence that names the file and says what is wrong with it.
    pub fn open(paths: &[PathBuf]) -> Result<Self, String> {
        let mut shards = Self {
            files: Vec::new(),
            entries: HashMap::new(),
        };
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let file = File::open(path).map_err(|e| format!("{name}: {e}"))?;
            shards.add(file).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(shards)
    }

    fn add(&mut self, mut file: File) -> Result<(), String> {
        let length = file.metadata().map_err(|e| e.to_string())?.len();
        let mut prefix = [0; 8];
        file.read_exact(&mut prefix)
            .map_err(|_| "too short for a safetensors file".to_owned())?;
        let header = u64::from_le_bytes(prefix);
        let data = header
            .checked_add(8)
            .filter(|data| *data <= length && header <= MAX_HEADER)
            .ok_or_else(|| format!("the header claims {header} bytes in a file of {length}"))?;
        let mut json = vec![0; header as usize];
        file.read_exact(&mut json).map_err(|e| e.to_string())?;
        let raw: HashMap<String, serde_json::Value> =
            serde_json::from_slice(&json).map_err(|e| format!("the header is not JSON: {e}"))?;
        let index = self.files.len();
        for (name, value) in raw {
            if name == "__metadata__" {
                continue;
            }
            let raw: RawEntry =
                serde_json::from_value(value).map_err(|e| format!("tensor `{name}`: {e}"))?;
            let entry =
                check(raw, index, data, length).map_err(|e| format!("tensor `{name}`: {e}"))?;
            if self.entries.insert(name.clone(), entry).is_some() {
                return Err(format!("tensor `{name}` occurs twice"));
            }
        }
        self.files.push(file);
        Ok(())
    }

    /// Where a tensor lies.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Elements in all tensors together.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let elements = |e: &Entry| e.dims.iter().product::<usize>() as u64;
        self.entries.values().map(elements).sum()
    }

    /// Bytes of all tensors.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.entries.values().map(|e| e.bytes as u64).sum()
    }

    /// The storage type that most bytes have.
    #[must_use]
    pub fn main_dtype(&self) -> String {
        let mut bytes: HashMap<&str, usize> = HashMap::new();
        for entry in self.entries.values() {
            *bytes.entry(entry.dtype.as_str()).or_default() += entry.bytes;
        }
        bytes
            .into_iter()
            .max_by_key(|(_, bytes)| *bytes)
            .map_or_else(String::new, |(dtype, _)| dtype.to_owned())
    }

    /// Read a tensor onto `device`, as it is stored.
    ///
    /// # Errors
    /// When it is missing or the file cannot be read.
    pub fn load(&mut self, name: &str, device: &Device) -> Result<Tensor, String> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| format!("tensor `{name}` is missing"))?;
        let file = &mut self.files[entry.file];
        let mut raw = vec![0; entry.bytes];
        file.seek(SeekFrom::Start(entry.offset))
            .map_err(|e| e.to_string())?;
        file.read_exact(&mut raw).map_err(|e| e.to_string())?;
        Tensor::from_raw_buffer(&raw, entry.dtype, &entry.dims, device).map_err(|e| e.to_string())
    }
}

fn check(raw: RawEntry, file: usize, data: u64, length: u64) -> Result<Entry, String> {
    let dtype = match raw.dtype.as_str() {
        "F32" => DType::F32,
        "F16" => DType::F16,
        "BF16" => DType::BF16,
        other => return Err(format!("storage type {other}, expected F32, F16 or BF16")),
    };
    let expected = raw
        .shape
        .iter()
        .try_fold(dtype.size_in_bytes(), |all, dim| all.checked_mul(*dim))
        .ok_or_else(|| format!("impossible shape {:?}", raw.shape))?;
    let (begin, end) = raw.data_offsets;
    if end.checked_sub(begin) != Some(expected as u64) {
        return Err(format!(
            "bytes {begin}..{end} do not fit shape {:?}",
            raw.shape
        ));
    }
    let offset = data.checked_add(begin).filter(|start| {
        start
            .checked_add(expected as u64)
            .is_some_and(|end| end <= length)
    });
    Ok(Entry {
        file,
        offset: offset.ok_or("it lies outside the file; is the file cut short?")?,
        bytes: expected,
        dtype,
        dims: raw.shape,
    })
}

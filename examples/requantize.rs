//! Write a GGUF file again with its matrices in another storage type; metadata and vectors are copied.
//!
//! `cargo run --release --example requantize -- IN.gguf OUT.gguf [q8_0|q4_0|q4_1|q5_0|q5_1]`

use anyhow::{Context, bail};
use candle_core::Device;
use candle_core::quantized::gguf_file::{Content, Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use std::fs::File;
use std::io::{BufReader, BufWriter};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (input, output, dtype) = match arguments.as_slice() {
        [input, output] => (input, output, "q8_0"),
        [input, output, dtype] => (input, output, dtype.as_str()),
        _ => bail!("usage: requantize IN.gguf OUT.gguf [q8_0|q4_0|q4_1|q5_0|q5_1]"),
    };
    // value of `general.file_type` in the format's own list
    let (dtype, file_type) = match dtype {
        "q4_0" => (GgmlDType::Q4_0, 2),
        "q4_1" => (GgmlDType::Q4_1, 3),
        "q8_0" => (GgmlDType::Q8_0, 7),
        "q5_0" => (GgmlDType::Q5_0, 8),
        "q5_1" => (GgmlDType::Q5_1, 9),
        other => bail!("storage type {other} is not offered here"),
    };
    let mut file = BufReader::new(File::open(input).with_context(|| input.clone())?);
    let mut content = Content::read(&mut file)?;
    content
        .metadata
        .insert("general.file_type".into(), Value::U32(file_type));
    let mut names: Vec<&String> = content.tensor_infos.keys().collect();
    names.sort();
    let mut tensors = Vec::new();
    for name in names {
        let tensor = content.tensor(&mut file, name, &Device::Cpu)?;
        let is_matrix = tensor.shape().rank() == 2;
        let tensor = if is_matrix && tensor.dtype() != dtype {
            let (_, width) = tensor.shape().dims2()?;
            if !width.is_multiple_of(dtype.block_size()) {
                bail!(
                    "{name}: rows of {width} cannot be cut into blocks of {}",
                    dtype.block_size()
                );
            }
            QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, dtype)?
        } else {
            tensor
        };
        tensors.push((name.as_str(), tensor));
    }
    let metadata: Vec<(&str, &Value)> = content
        .metadata
        .iter()
        .map(|(k, v)| (k.as_str(), v))
        .collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, t)| (*name, t)).collect();
    write(
        &mut BufWriter::new(File::create(output)?),
        &metadata,
        &tensors,
    )?;
    Ok(())
}

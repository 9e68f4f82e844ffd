//! Values of a GGUF header, read within the bytes that the file really has.

use std::fs::File;
use std::io::{BufReader, Read};

/// A metadata value. Numbers of every width are folded into three kinds.
#[derive(Debug, Clone, PartialEq)]
pub enum Meta {
    /// Any unsigned or signed whole number.
    Int(i64),
    /// Any floating point number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list of numbers.
    Numbers(Vec<f32>),
    /// A list this program has no use for (nested, or of truth values); skipped.
    Skipped,
}

/// A file that knows how many bytes it has left.
#[derive(Debug)]
pub struct Input {
    reader: BufReader<File>,
    left: u64,
}

impl Input {
    /// All of a file of `length` bytes.
    #[must_use]
    pub fn new(file: File, length: u64) -> Self {
        Self {
            reader: BufReader::new(file),
            left: length,
        }
    }

    /// Bytes not read yet.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    fn claim(&mut self, bytes: u64) -> Result<(), String> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(format!(
                "the file ends early: {bytes} bytes expected, {} left",
                self.left
            )),
        }
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// When the file ends early.
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.claim(N as u64)?;
        let mut out = [0; N];
        self.reader
            .read_exact(&mut out)
            .map_err(|e| e.to_string())?;
        Ok(out)
    }

    /// The next four bytes as a number.
    ///
    /// # Errors
    /// When the file ends early.
    pub fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    /// The next eight bytes as a number.
    ///
    /// # Errors
    /// When the file ends early.
    pub fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// A count of things that take at least `each` bytes in the file.
    ///
    /// # Errors
    /// When so many cannot follow.
    pub fn count(&mut self, each: u64) -> Result<u64, String> {
        let count = self.u64()?;
        if count
            .checked_mul(each)
            .is_none_or(|bytes| bytes > self.left)
        {
            return Err(format!(
                "a count of {count} cannot fit into the {} bytes left",
                self.left
            ));
        }
        Ok(count)
    }

    /// A length and as many bytes of text.
    ///
    /// # Errors
    /// When the file ends early.
    pub fn text(&mut self) -> Result<String, String> {
        let length = self.count(1)?;
        self.claim(length)?;
        let mut out = vec![0; length as usize];
        self.reader
            .read_exact(&mut out)
            .map_err(|e| e.to_string())?;
        // the format asks for UTF-8; a stray byte in some label is no reason to refuse a model
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// A metadata value of the given kind.
    ///
    /// # Errors
    /// When the kind is unknown or the file ends early.
    pub fn value(&mut self, kind: u32) -> Result<Meta, String> {
        Ok(match kind {
            8 => Meta::Text(self.text()?),
            9 => {
                let item = self.u32()?;
                self.list(item)?
            }
            7 => Meta::Bool(self.bytes::<1>()? != [0]),
            _ => self.number(kind)?,
        })
    }

    fn number(&mut self, kind: u32) -> Result<Meta, String> {
        Ok(match kind {
            0 => Meta::Int(i64::from(self.bytes::<1>()?[0])),
            1 => Meta::Int(i64::from(i8::from_le_bytes(self.bytes()?))),
            2 => Meta::Int(i64::from(u16::from_le_bytes(self.bytes()?))),
            3 => Meta::Int(i64::from(i16::from_le_bytes(self.bytes()?))),
            4 => Meta::Int(i64::from(self.u32()?)),
            5 => Meta::Int(i64::from(i32::from_le_bytes(self.bytes()?))),
            6 => Meta::Float(f64::from(f32::from_le_bytes(self.bytes()?))),
            10 => Meta::Int(i64::try_from(self.u64()?).map_err(|_| "a number beyond 2^63")?),
            11 => Meta::Int(i64::from_le_bytes(self.bytes()?)),
            12 => Meta::Float(f64::from_le_bytes(self.bytes()?)),
            other => return Err(format!("unknown value type {other}")),
        })
    }

    fn list(&mut self, item: u32) -> Result<Meta, String> {
        match item {
            8 => {
                let count = self.count(8)?;
                let mut out = Vec::new();
                for _ in 0..count {
                    out.push(self.text()?);
                }
                Ok(Meta::Texts(out))
            }
            7 => {
                let count = self.count(1)?;
                self.claim(count)?;
                self.reader
                    .seek_relative(count as i64)
                    .map_err(|e| e.to_string())?;
                Ok(Meta::Skipped)
            }
            9 => {
                // one level of nesting occurs nowhere in this program's families
                Err("lists of lists are not supported".into())
            }
            _ => {
                let count = self.count(1)?;
                let mut out = Vec::new();
                for _ in 0..count {
                    out.push(match self.number(item)? {
                        Meta::Int(v) => v as f32,
                        Meta::Float(v) => v as f32,
                        _ => return Err("a list of something else than numbers".into()),
                    });
                }
                Ok(Meta::Numbers(out))
            }
        }
    }
}

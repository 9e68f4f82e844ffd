//! Text in events: its bytes, and where a thread's text stands at a keyframe or the beginning of a branch.

use base64::Engine as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text as bytes: stored as `text` where it is UTF-8, else as `b64`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextBytes(pub Vec<u8>);

impl Serialize for TextBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(1))?;
        match std::str::from_utf8(&self.0) {
            Ok(text) => map.serialize_entry("text", text)?,
            Err(_) => map.serialize_entry(
                "b64",
                &base64::engine::general_purpose::STANDARD.encode(&self.0),
            )?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TextBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Either<'a> {
            #[serde(default, borrow)]
            text: Option<std::borrow::Cow<'a, str>>,
            #[serde(default, borrow)]
            b64: Option<std::borrow::Cow<'a, str>>,
        }
        let either = Either::deserialize(deserializer)?;
        match (either.text, either.b64) {
            (Some(text), None) => Ok(Self(text.into_owned().into_bytes())),
            (None, Some(b64)) => base64::engine::general_purpose::STANDARD
                .decode(b64.as_bytes())
                .map(Self)
                .map_err(serde::de::Error::custom),
            _ => Err(serde::de::Error::custom(
                "expected either `text` or `b64` beside the token ids",
            )),
        }
    }
}
/// Where a thread's text stands at the beginning of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextStand {
    /// Bytes so far (decoded and spliced).
    pub bytes: u64,
    /// SHA-256 of those bytes, hex.
    pub hash: String,
}

/// Where a thread's text stands at a keyframe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextMark {
    /// Bytes so far (decoded and spliced).
    pub bytes: u64,
    /// SHA-256 of those bytes, hex; on a branch, of the hash at its beginning and the bytes since.
    pub hash: String,
    /// Byte offset of the last record that holds text of this thread.
    pub last: u64,
}

//! The shapes of bodies in a file, as serde reads them: what may be missing, and exact floats.

use crate::org::{
    ActionKind, Anchor, AskKind, ErrorKind, Organization, Place, Role, RunEnd, Seat, SpliceKind,
    TextMark, TextStand, ThreadEnd, ThreadId, Turn, Verdict, WaitOn,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A float with all its digits: serde_json's quick way may be off in the last place.
pub(super) struct Exact(pub(super) f64);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer)?
            .get()
            .parse()
            .map(Self)
            .map_err(|_| D::Error::custom("expected a number"))
    }
}

#[derive(Deserialize)]
pub(super) struct ThreadBody {
    pub(super) role: Role,
    #[serde(default)]
    pub(super) seat: Seat,
    pub(super) query: String,
    #[serde(default)]
    pub(super) prompt: Vec<u32>,
}

#[derive(Deserialize)]
pub(super) struct ActionBody {
    pub(super) action: ActionKind,
    pub(super) span: (u64, u64),
    pub(super) at: u64,
    #[serde(default)]
    pub(super) child: Option<ThreadId>,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) anchor: Option<Anchor>,
}

#[derive(Deserialize)]
pub(super) struct WaitBody {
    pub(super) on: WaitOn,
}

#[derive(Deserialize)]
pub(super) struct SpliceBody {
    pub(super) splice: SpliceKind,
    pub(super) ids: Vec<u32>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) b64: Option<String>,
    #[serde(default)]
    pub(super) of: Option<ThreadId>,
    #[serde(default)]
    pub(super) result: Option<ThreadEnd>,
    #[serde(default)]
    pub(super) shortened: bool,
    #[serde(default)]
    pub(super) prev: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct VetoBody {
    pub(super) ids: Vec<u32>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) b64: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ErrorBody {
    pub(super) error: ErrorKind,
    #[serde(default)]
    pub(super) span: Option<(u64, u64)>,
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Deserialize)]
pub(super) struct EndBody {
    pub(super) end: ThreadEnd,
}

#[derive(Deserialize)]
pub(super) struct RunEndBody {
    pub(super) end: RunEnd,
    #[serde(default)]
    pub(super) answer: Option<String>,
    pub(super) metrics: MetricsBody,
}

/// [`crate::org::Metrics`], every float exact.
#[derive(Deserialize)]
pub(super) struct MetricsBody {
    #[serde(rename = "T")]
    pub(super) latency: u64,
    #[serde(rename = "T_without_you", default)]
    pub(super) latency_without_people: Option<u64>,
    pub(super) eta: Exact,
    pub(super) eta_over_c: Exact,
    pub(super) r_eta: Exact,
    pub(super) work: u64,
    pub(super) speedup: Exact,
    pub(super) lived_steps: u64,
    pub(super) wall_ms: Exact,
    pub(super) decoded: u64,
    pub(super) tok_per_s: Exact,
}

#[derive(Deserialize)]
pub(super) struct AskBody {
    pub(super) number: u32,
    pub(super) ask: AskKind,
    #[serde(default)]
    pub(super) index: Option<u16>,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) span: Option<(u64, u64)>,
}

#[derive(Deserialize)]
pub(super) struct DecidedBody {
    pub(super) number: u32,
    pub(super) verdict: Verdict,
    #[serde(default)]
    pub(super) text: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct MarkBody {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct KeyframeBody {
    pub(super) state: Box<Organization>,
    #[serde(default)]
    pub(super) texts: BTreeMap<ThreadId, TextMark>,
    #[serde(default)]
    pub(super) prev_keyframe: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct BranchBody {
    pub(super) from: Place,
    pub(super) turn: Turn,
    #[serde(default)]
    pub(super) token: Option<u64>,
    pub(super) state: Box<Organization>,
    #[serde(default)]
    pub(super) texts: BTreeMap<ThreadId, TextStand>,
}

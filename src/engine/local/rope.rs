//! Rotary position embedding: frequencies, their scaling, and which elements turn together.

use serde_json::Value;

/// Which elements of a head are rotated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RopeLayout {
    /// Element `i` with `i + head_dim / 2` (Hugging Face; GGUF of Qwen).
    Halves,
    /// Element `2i` with `2i + 1` (GGUF of Llama).
    Interleaved,
}

/// Rotary position embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// Pairing of elements.
    pub layout: RopeLayout,
    /// How frequencies are stretched for long contexts.
    pub scaling: RopeScaling,
}

/// Frequency scaling of the rotary embedding.
#[derive(Debug, Clone, PartialEq)]
pub enum RopeScaling {
    /// Unscaled.
    None,
    /// Every frequency divided by this.
    Linear(f64),
    /// Llama 3: low frequencies divided by `factor`, high ones kept, a ramp between.
    Llama3 {
        /// Divisor of the low frequencies.
        factor: f64,
        /// Wavelengths above `original / low` are low frequencies.
        low: f64,
        /// Wavelengths below `original / high` are high frequencies.
        high: f64,
        /// Context the checkpoint was first trained with.
        original: f64,
    },
}

impl Rope {
    /// Angle per position of each of the `head_dim / 2` pairs. `factors`, where a file carries them, are
    /// divisors per pair.
    #[must_use]
    pub fn frequencies(&self, head_dim: usize, factors: Option<&[f32]>) -> Vec<f32> {
        (0..head_dim / 2)
            .map(|i| {
                let base = self.theta.powf(-2.0 * i as f64 / head_dim as f64);
                let scaled = match self.scaling {
                    RopeScaling::None => base,
                    RopeScaling::Linear(factor) => base / factor,
                    RopeScaling::Llama3 {
                        factor,
                        low,
                        high,
                        original,
                    } => {
                        // how many turns this pair makes within the original context
                        let turns = original * base / std::f64::consts::TAU;
                        let keep = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                        base * (keep + (1.0 - keep) / factor)
                    }
                };
                let divisor = factors
                    .and_then(|f| f.get(i))
                    .map_or(1.0, |f| f64::from(*f));
                (scaled / divisor) as f32
            })
            .collect()
    }

    /// Refuse numbers that no network has.
    ///
    /// # Errors
    /// A sentence that names the number.
    pub fn checked(&self) -> Result<(), String> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        if !positive(self.theta) {
            return Err(format!(
                "rope theta is {}, expected a positive number",
                self.theta
            ));
        }
        let sound = match self.scaling {
            RopeScaling::None => true,
            RopeScaling::Linear(factor) => positive(factor),
            RopeScaling::Llama3 {
                factor,
                low,
                high,
                original,
            } => [factor, low, high - low, original]
                .into_iter()
                .all(positive),
        };
        if sound {
            Ok(())
        } else {
            Err(format!("rope scaling {:?} makes no sense", self.scaling))
        }
    }
}

impl RopeScaling {
    /// Read `rope_parameters` or `rope_scaling` of a `config.json`; null is unscaled.
    ///
    /// # Errors
    /// A sentence that names what is missing or unsupported.
    pub fn from_hf(json: &Value) -> Result<Self, String> {
        let kind = json
            .get("rope_type")
            .or_else(|| json.get("type"))
            .and_then(Value::as_str);
        let number = |field: &str| {
            json.get(field)
                .and_then(Value::as_f64)
                .ok_or_else(|| format!("config.json: rope scaling has no number `{field}`"))
        };
        match kind {
            None | Some("default") => Ok(RopeScaling::None),
            Some("linear") => Ok(RopeScaling::Linear(number("factor")?)),
            Some("llama3") => Ok(RopeScaling::Llama3 {
                factor: number("factor")?,
                low: number("low_freq_factor")?,
                high: number("high_freq_factor")?,
                original: number("original_max_position_embeddings")?,
            }),
            Some(other) => Err(format!(
                "config.json: rope scaling `{other}` is not supported; supported are linear and llama3"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llama3_scaling_keeps_fast_pairs_and_stretches_slow_ones() {
        let rope = Rope {
            theta: 500_000.0,
            layout: RopeLayout::Halves,
            scaling: RopeScaling::Llama3 {
                factor: 8.0,
                low: 1.0,
                high: 4.0,
                original: 8192.0,
            },
        };
        let plain = Rope {
            scaling: RopeScaling::None,
            ..rope.clone()
        };
        let (scaled, plain) = (rope.frequencies(128, None), plain.frequencies(128, None));
        assert_eq!(scaled[0], plain[0]);
        assert!((scaled[63] - plain[63] / 8.0).abs() < 1e-12);
    }
}

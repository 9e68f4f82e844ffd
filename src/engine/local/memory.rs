//! Memory: what a checkpoint takes, and what the machine has free. Told before weights are read.

use super::config::Config;
use super::load::Source;
use super::pages::pages_for;

/// Tokens that the smallest useful cache holds: an organizer and a worker at work.
const SMALLEST_CACHE: usize = 1024;

/// What loading a checkpoint takes at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Bytes of weights, which the CPU keeps in about their own size.
    pub weights: u64,
    /// Bytes of the smallest useful cache.
    pub cache: u64,
}

impl Need {
    /// Of the tensors behind `source`.
    #[must_use]
    pub fn of(source: &Source, config: &Config) -> Self {
        let weights = match source {
            Source::Safetensors(shards) => shards.bytes(),
            Source::Gguf(header, _) => header.tensors.values().map(|t| t.bytes as u64).sum(),
        };
        let pages = pages_for(config.context.min(SMALLEST_CACHE));
        Self {
            weights,
            cache: (pages as u64).saturating_mul(config.page_bytes() as u64),
        }
    }

    /// Whether that fits into `available` bytes; unknown memory is no obstacle.
    ///
    /// # Errors
    /// A sentence with the numbers and what to do.
    pub fn check(self, available: Option<u64>) -> Result<(), String> {
        let need = self.weights.saturating_add(self.cache);
        let Some(available) = available.filter(|a| *a < need) else {
            return Ok(());
        };
        Err(format!(
            "it takes {} of memory (weights {}, smallest cache {}), and {} are available; close other programs, \
             take a smaller or more quantised checkpoint (`orgtop models recommended` lists some), or load it \
             anyway with --overcommit",
            gib(need),
            gib(self.weights),
            gib(self.cache),
            gib(available)
        ))
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / (1u64 << 30) as f64)
}

/// Bytes that programs can still have without swapping; `None` where nobody says.
#[must_use]
pub fn available() -> Option<u64> {
    read("MemAvailable:")
}

/// Bytes for cache pages where nothing else is asked for: a quarter of the memory, 1 GiB at most.
#[must_use]
pub fn default_cache_bytes() -> usize {
    const MOST: u64 = 1 << 30;
    let bytes = read("MemTotal:").map_or(MOST, |total| (total / 4).min(MOST));
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// An entry of `/proc/meminfo`, which only Linux has.
fn read(entry: &str) -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let rest = info.lines().find_map(|line| line.strip_prefix(entry))?;
    let kib: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_numbers_and_what_to_do() {
        let need = Need {
            weights: 7 << 30,
            cache: 1 << 30,
        };
        assert_eq!(need.check(Some(8 << 30)), Ok(()));
        assert_eq!(need.check(None), Ok(()));
        let error = need.check(Some(3 << 30)).unwrap_err();
        for part in ["8.00 GiB", "7.00", "1.00", "3.00 GiB are", "--overcommit"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

//! Which instructions this machine has.

use std::fmt;
use std::sync::OnceLock;

/// Instructions that kernels use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// AVX-512 with VNNI.
    Avx512,
    /// AVX2 with FMA and VNNI.
    AvxVnni,
    /// AVX2 with FMA.
    Avx2,
    /// NEON.
    Neon,
    /// None in particular; compiled for the baseline of the target.
    Portable,
}

impl Level {
    /// What this machine has, best first; always ends with [`Level::Portable`].
    #[must_use]
    pub fn available() -> &'static [Self] {
        static AVAILABLE: OnceLock<Vec<Level>> = OnceLock::new();
        AVAILABLE.get_or_init(Self::detect)
    }

    fn detect() -> Vec<Self> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx512f") && has!("avx512bw") && has!("avx512vnni") {
                levels.push(Self::Avx512);
            }
            if has!("avx2") && has!("fma") && has!("f16c") {
                if has!("avxvnni") {
                    levels.push(Self::AvxVnni);
                }
                levels.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        levels.push(Self::Neon);
        levels.push(Self::Portable);
        levels
    }

    /// The best this machine has.
    #[must_use]
    pub fn best() -> Self {
        Self::available()[0]
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avx512 => "AVX-512 with VNNI",
            Self::AvxVnni => "AVX2 with FMA and VNNI",
            Self::Avx2 => "AVX2 with FMA",
            Self::Neon => "NEON",
            Self::Portable => "portable",
        })
    }
}

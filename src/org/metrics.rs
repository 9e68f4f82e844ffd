//! The measures of a run: `T`, concurrency, rewards, lived time.

use super::schedule::Schedule;
use serde::{Deserialize, Serialize};

/// Default cap of the concurrency reward.
pub const DEFAULT_TAU: f64 = 0.5;

/// Measures of one run, in the units of the AsyncThink paper and of the wall clock. The two are never
/// mixed: `T` … `speedup` are ideal, the rest is lived.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
pub struct Metrics {
    /// Critical-path latency in steps.
    #[serde(rename = "T")]
    pub latency: u64,
    /// The same if people had written in no time; absent where no person wrote.
    #[serde(
        rename = "T_without_you",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub latency_without_people: Option<u64>,
    /// Mean number of active workers over the `T` steps.
    pub eta: f64,
    /// `eta` divided by the capacity.
    pub eta_over_c: f64,
    /// `min(eta / c, tau) / tau`.
    pub r_eta: f64,
    /// Tokens decoded by all threads: what one thread alone would have needed.
    pub work: u64,
    /// `work / T`.
    pub speedup: f64,
    /// Steps that really happened.
    pub lived_steps: u64,
    /// Milliseconds from the first event to the last.
    pub wall_ms: f64,
    /// Tokens decoded, as counted in the log.
    pub decoded: u64,
    /// `decoded` per second of wall clock.
    pub tok_per_s: f64,
}

/// Worker tokens that lie within the steps `1..=T`, divided by `T` (0 when `T` is 0).
#[must_use]
pub fn concurrency(schedule: &Schedule) -> f64 {
    ratio(worker_steps(schedule), schedule.latency)
}

/// Worker tokens that lie within the steps `1..=T`.
#[must_use]
pub fn worker_steps(schedule: &Schedule) -> u64 {
    let last = schedule.latency;
    schedule
        .lanes
        .iter()
        .filter(|(id, _)| !id.is_organizer())
        .flat_map(|(_, lane)| lane.decoding())
        .map(|(from, to)| to.min(last).saturating_sub(from))
        .sum()
}

/// `min(eta / c, tau) / tau`, in 0..=1.
#[must_use]
pub fn concurrency_reward(eta: f64, capacity: u32, tau: f64) -> f64 {
    if tau <= 0.0 || capacity == 0 {
        return 0.0;
    }
    (eta / f64::from(capacity)).min(tau) / tau
}

/// Computes everything. `work` (tokens decoded), `lived_steps`, `wall_us` come from the log.
#[must_use]
pub fn measure(
    schedule: &Schedule,
    work: u64,
    capacity: u32,
    tau: f64,
    lived_steps: u64,
    wall_us: u64,
) -> Metrics {
    let eta = concurrency(schedule);
    Metrics {
        latency: schedule.latency,
        latency_without_people: None,
        eta,
        eta_over_c: eta / f64::from(capacity.max(1)),
        r_eta: concurrency_reward(eta, capacity, tau),
        work,
        speedup: ratio(work, schedule.latency),
        lived_steps,
        wall_ms: wall_us as f64 / 1000.0,
        decoded: work,
        tok_per_s: if wall_us == 0 {
            0.0
        } else {
            work as f64 * 1e6 / wall_us as f64
        },
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

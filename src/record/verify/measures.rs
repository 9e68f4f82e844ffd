//! Measures as recorded against those that the events give.

use super::About;
use crate::org::Metrics;

/// On which measures the run's end, recorded at microsecond `us`, disagrees with its events.
pub(super) fn disagreeing(recorded: &Metrics, computed: &Metrics, us: u64) -> Vec<About> {
    // The clock runs on between the last event and the moment of measuring.
    let latest = us as f64 / 1000.0;
    let wall = recorded
        .wall_ms
        .clamp(computed.wall_ms.min(latest), latest.max(computed.wall_ms));
    let rate = if wall > 0.0 {
        computed.decoded as f64 * 1000.0 / wall
    } else {
        0.0
    };
    let all = [
        ("T", recorded.latency as f64, computed.latency as f64),
        (
            "T without you",
            without_people(recorded),
            without_people(computed),
        ),
        ("eta", recorded.eta, computed.eta),
        ("eta/c", recorded.eta_over_c, computed.eta_over_c),
        ("R_eta", recorded.r_eta, computed.r_eta),
        ("work", recorded.work as f64, computed.work as f64),
        ("speedup", recorded.speedup, computed.speedup),
        (
            "lived steps",
            recorded.lived_steps as f64,
            computed.lived_steps as f64,
        ),
        ("decoded", recorded.decoded as f64, computed.decoded as f64),
        ("wall ms", recorded.wall_ms, wall),
        ("tokens/s", recorded.tok_per_s, rate),
    ];
    all.into_iter()
        .filter(|(_, recorded, computed)| {
            (recorded - computed).abs() > 1e-9 * recorded.abs().max(computed.abs()).max(1.0)
        })
        .map(|(name, recorded, computed)| About::Metric {
            name,
            recorded,
            computed,
        })
        .collect()
}

/// Below 0 where no person wrote.
fn without_people(metrics: &Metrics) -> f64 {
    metrics.latency_without_people.map_or(-1.0, |t| t as f64)
}

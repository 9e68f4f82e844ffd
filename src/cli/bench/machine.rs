//! What the machine can do, and what this process took of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes that are copied to find the bandwidth: far more than caches hold.
const COPIED: usize = 256 << 20;

/// How often the clocks of threads are read. What a thread does after the last reading is not seen.
const READING: Duration = Duration::from_millis(20);

/// Bytes a second that `threads` threads move while they copy memory, read and written ones together; the best of
/// five tries.
#[must_use]
pub fn copy_bandwidth(threads: usize) -> f64 {
    let source = vec![1u8; COPIED];
    let mut target = vec![0u8; COPIED];
    let share = COPIED.div_ceil(threads.max(1));
    let mut best = f64::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for (target, source) in target.chunks_mut(share).zip(source.chunks(share)) {
                scope.spawn(|| target.copy_from_slice(std::hint::black_box(source)));
            }
        });
        best = best.min(begun.elapsed().as_secs_f64());
        std::hint::black_box(&target);
    }
    2.0 * COPIED as f64 / best
}

/// Resident memory now and at most, in bytes; `None` where the system does not say.
#[must_use]
pub fn memory() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name))?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kib * 1024)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

/// CPU seconds of this process's threads by name, read while they live.
pub struct Clocks {
    stop: Arc<AtomicBool>,
    reader: JoinHandle<BTreeMap<u32, (String, u64)>>,
}

impl Clocks {
    /// Begins to read; `None` where the system does not say.
    #[must_use]
    pub fn start() -> Option<Self> {
        if threads_now().is_empty() {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let reader = std::thread::Builder::new()
            .name("clocks".into())
            .spawn(move || {
                // a thread that lived before counts from here on
                let before: BTreeMap<u32, u64> = threads_now()
                    .into_iter()
                    .map(|(id, (_, ns))| (id, ns))
                    .collect();
                let mut seen = BTreeMap::new();
                loop {
                    let last = stopped.load(Ordering::Relaxed);
                    for (id, (name, ns)) in threads_now() {
                        let since = before.get(&id).copied().unwrap_or(0);
                        seen.insert(id, (name, ns.saturating_sub(since)));
                    }
                    if last {
                        return seen;
                    }
                    std::thread::sleep(READING);
                }
            })
            .ok()?;
        Some(Self { stop, reader })
    }

    /// Ends; CPU seconds by name.
    #[must_use]
    pub fn stop(self) -> BTreeMap<String, f64> {
        self.stop.store(true, Ordering::Relaxed);
        let mut by_name = BTreeMap::new();
        for (name, ns) in self.reader.join().unwrap_or_default().into_values() {
            *by_name.entry(name).or_insert(0.0) += ns as f64 / 1e9;
        }
        by_name
    }
}

/// Name and nanoseconds of every thread by its number; empty where the system does not say.
fn threads_now() -> BTreeMap<u32, (String, u64)> {
    let folder = std::fs::read_dir("/proc/self/task");
    let entries = folder.into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let path = entry.path();
            let id = entry.file_name().to_str()?.parse().ok()?;
            let name = std::fs::read_to_string(path.join("comm")).ok()?;
            let stat = std::fs::read_to_string(path.join("schedstat")).ok()?;
            let ns = stat.split(' ').next()?.parse().ok()?;
            Some((id, (name.trim().to_owned(), ns)))
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_shows_by_its_name() {
        let clocks = Clocks::start().unwrap();
        let busy = std::thread::Builder::new().name("busy".into()).spawn(|| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(200) {
                std::hint::spin_loop();
            }
        });
        busy.unwrap().join().unwrap();
        let by_name = clocks.stop();
        assert!(by_name["busy"] > 0.0, "{by_name:?}");
        assert!(memory().unwrap().1 > 0);
    }
}

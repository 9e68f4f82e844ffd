//! How many threads compute, and how soon they rest.
//!
//! candle reads both from the environment when it first computes, and offers no other way. Its threads spin
//! for about a millisecond before they park, which starves a screen that shares two cores with them.

/// Turns of the spinning loop before a thread parks; candle's own choice is 25,000.
const SPINS: &str = "2000";

/// Set the number of computing threads (as many as there are cores where `None`) and make them park soon.
///
/// Call this first in `main`. It does nothing and returns `false` where it cannot prove that no other thread
/// runs (that is, anywhere but in a Linux process with one thread). Variables that are already set are left
/// alone.
pub fn settle_threads(threads: Option<usize>) -> bool {
    let alone = std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1);
    if !alone {
        return false;
    }
    let count = threads.map(|n| n.max(1).to_string());
    let wanted = [
        ("CANDLE_BARRIER_POOL_SPIN_LIMIT", Some(SPINS.to_owned())),
        ("CANDLE_NUM_THREADS", count.clone()),
        ("RAYON_NUM_THREADS", count),
    ];
    for (name, value) in wanted {
        if let Some(value) = value
            && std::env::var_os(name).is_none()
        {
            set(name, &value);
        }
    }
    true
}

#[allow(unsafe_code)]
fn set(name: &str, value: &str) {
    // SAFETY: the environment may be changed while no other thread reads it; the only caller has just seen
    // that this process has a single thread.
    unsafe { std::env::set_var(name, value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_changed_once_other_threads_run() {
        let spins = || std::env::var_os("CANDLE_BARRIER_POOL_SPIN_LIMIT");
        let before = spins();
        let (stop, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        assert!(!settle_threads(Some(1)));
        assert_eq!(spins(), before);
        drop(stop);
        let _ = other.join();
    }
}

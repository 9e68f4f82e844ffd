//! One look at every line of a file, beside the player: what is damaged, and bases to seek from where
//! there are no keyframes.

use super::base::{Base, Tail};
use crate::org::Body;
use crate::record::damage::Report;
use crate::record::reader::SessionFile;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Files up to this size are scanned while they are opened.
const AT_ONCE: u64 = 1 << 20;

/// Bytes without keyframe after which a base is left.
const SPACING: u64 = 4 << 20;

/// Most bases at a time; beyond, every other one goes and the spacing doubles.
const MAX_BASES: usize = 64;

/// Events between looks whether anybody still wants to know.
const LOOK: u64 = 256;

#[derive(Default)]
struct Found {
    report: Report,
    bases: BTreeMap<u64, Arc<Base>>,
}

/// A scan, running or done.
#[derive(Default)]
pub(super) struct Scan {
    found: Mutex<Found>,
    done: AtomicBool,
    stop: AtomicBool,
}

impl Scan {
    /// Scans `file`, beside the caller unless it is small.
    pub(super) fn begin(file: &SessionFile) -> Arc<Self> {
        let scan = Arc::new(Self::default());
        // What the header says is known before any line is read.
        scan.lock().report = file.events().report().clone();
        if file.size() <= AT_ONCE {
            scan.run(file);
        } else {
            let (scan, file) = (Arc::clone(&scan), file.clone());
            std::thread::spawn(move || scan.run(&file));
        }
        scan
    }

    /// What is wrong, as far as it was looked at.
    pub(super) fn report(&self) -> Report {
        self.lock().report.clone()
    }

    /// Whether everything was looked at.
    pub(super) fn done(&self) -> bool {
        self.done.load(Relaxed)
    }

    /// Nobody wants to know any more.
    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// The last base before byte `offset` that fits.
    pub(super) fn base(
        &self,
        offset: u64,
        fits: impl Fn(&Base) -> bool,
    ) -> Option<(u64, Arc<Base>)> {
        self.lock()
            .bases
            .range(..offset)
            .rev()
            .find(|(_, base)| fits(base))
            .map(|(at, base)| (*at, Arc::clone(base)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, file: &SessionFile) {
        let mut events = file.events();
        let mut fold = Base::start(file.header());
        let (mut last_base, mut spacing) = (file.events_at(), SPACING);
        let mut known = 0;
        while let Some(Ok(recorded)) = events.next() {
            let event = &recorded.event;
            let damages = events.report().total();
            if known < damages {
                known = damages;
                fold.lost = true;
                self.lock().report = events.report().clone();
            }
            if matches!(event.body, Body::Keyframe { .. }) {
                last_base = recorded.offset;
            }
            let tail = Tail {
                offset: recorded.offset,
                tokens: None,
            };
            fold.apply(event, tail);
            let end = recorded.offset + recorded.len;
            if end - last_base >= spacing {
                last_base = end;
                let bases = &mut self.lock().bases;
                bases.insert(end, Arc::new(fold.clone()));
                if bases.len() > MAX_BASES {
                    spacing *= 2;
                    let mut keep = false;
                    bases.retain(|_, _| {
                        keep = !keep;
                        keep
                    });
                }
            }
            if event.seq.0 % LOOK == 0 && self.stop.load(Relaxed) {
                return;
            }
        }
        self.lock().report = events.report().clone();
        self.done.store(true, Relaxed);
    }
}

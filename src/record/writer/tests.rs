use super::*;
use crate::org::{Author, BranchId, Seq, Step, TextBytes, ThreadId};
use std::time::Duration;

/// What a test sees of a disk.
#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    writes: usize,
    syncs: usize,
    /// Writes still to refuse.
    refuse: usize,
    /// Most bytes a write takes.
    at_most: Option<usize>,
}

struct FakeSink(Arc<Mutex<Disk>>);

impl Sink for FakeSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.0.lock().unwrap();
        if disk.refuse > 0 {
            disk.refuse -= 1;
            return Err(io::ErrorKind::StorageFull.into());
        }
        let n = bytes.len().min(disk.at_most.unwrap_or(usize::MAX));
        disk.bytes.extend_from_slice(&bytes[..n]);
        disk.writes += 1;
        Ok(n)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.lock().unwrap().syncs += 1;
        Ok(())
    }

    fn check(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn recorder(disk: &Arc<Mutex<Disk>>, bound: u64) -> Recorder {
    Recorder::start(
        Box::new(FakeSink(Arc::clone(disk))),
        Encoder::default(),
        Path::new("session.jsonl"),
        bound,
    )
}

fn event(seq: u64, body: Body) -> Event {
    Event {
        seq: Seq(seq),
        us: seq,
        step: Step(seq),
        branch: BranchId(0),
        thread: Some(ThreadId::ORGANIZER),
        by: Author::Model,
        cause: None,
        body,
    }
}

fn tokens(seq: u64) -> Event {
    event(
        seq,
        Body::Tokens {
            ids: vec![1],
            bytes: TextBytes(b"x".to_vec()),
            lens: vec![1],
            logprobs: vec![],
            top: vec![],
        },
    )
}

fn seqs(disk: &Arc<Mutex<Disk>>) -> Vec<u64> {
    let disk = disk.lock().unwrap();
    disk.bytes
        .split_inclusive(|b| *b == b'\n')
        .map(|line| super::super::line::parse(&line[..line.len() - 1]).unwrap())
        .map(|line| line.event.seq.0)
        .collect()
}

/// Waits for something that another thread does soon.
fn soon(what: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        what()
    })
}

#[test]
fn a_record_is_one_write_and_what_matters_is_synced() {
    let disk = Arc::new(Mutex::new(Disk::default()));
    let recorder = recorder(&disk, BOUND);
    recorder.record(tokens(0));
    recorder.record(tokens(1));
    assert!(soon(|| recorder.status().waiting == 0));
    assert_eq!(disk.lock().unwrap().syncs, 0);
    recorder.record(event(
        2,
        Body::End {
            end: crate::org::ThreadEnd::Returned,
        },
    ));
    assert!(soon(|| disk.lock().unwrap().syncs == 1));
    recorder.finish().unwrap();
    assert_eq!(disk.lock().unwrap().writes, 3);
    assert_eq!(seqs(&disk), [0, 1, 2]);
}

#[test]
fn a_disk_that_refuses_for_a_while_gets_everything_in_order_later() {
    let disk = Arc::new(Mutex::new(Disk {
        refuse: 3,
        at_most: Some(10),
        ..Disk::default()
    }));
    let recorder = recorder(&disk, BOUND);
    recorder.record(tokens(0));
    assert!(soon(|| recorder.status().health == Health::Buffering));
    let banner = recorder.status().banner.unwrap();
    assert!(banner.contains("session.jsonl"), "{banner}");
    for seq in 1..200 {
        recorder.record(tokens(seq));
    }
    assert!(soon(|| recorder.status().waiting == 0));
    assert_eq!(recorder.status().health, Health::Writing);
    assert_eq!(recorder.status().banner, None);
    recorder.finish().unwrap();
    assert_eq!(seqs(&disk), (0..200).collect::<Vec<_>>());
}

#[test]
fn at_the_bound_the_run_is_asked_to_pause_until_the_disk_works_again() {
    let disk = Arc::new(Mutex::new(Disk {
        refuse: usize::MAX,
        ..Disk::default()
    }));
    let recorder = recorder(&disk, 1000);
    for seq in 0..20 {
        recorder.record(tokens(seq));
    }
    assert!(soon(|| recorder.status().banner.is_some()));
    assert_eq!(recorder.status().health, Health::Full);
    assert_eq!(recorder.status().waiting, 20);
    disk.lock().unwrap().refuse = 0;
    assert!(soon(|| recorder.status().health == Health::Writing));
    recorder.finish().unwrap();
    assert_eq!(seqs(&disk).len(), 20);
}

#[test]
fn what_could_not_be_written_is_counted_at_the_end() {
    let disk = Arc::new(Mutex::new(Disk {
        refuse: usize::MAX,
        ..Disk::default()
    }));
    let recorder = recorder(&disk, BOUND);
    recorder.record(tokens(0));
    recorder.record(tokens(1));
    let error = recorder.finish().unwrap_err();
    assert!(
        matches!(error, RecordError::Unwritten { records: 2, .. }),
        "{error}"
    );
}

#[test]
fn a_keyframe_is_due_by_bytes_and_not_while_one_is_on_its_way() {
    let disk = Arc::new(Mutex::new(Disk::default()));
    let recorder = recorder(&disk, BOUND);
    assert!(!recorder.keyframe_due());
    let mut long = tokens(0);
    long.body = Body::Splice {
        splice: crate::org::SpliceKind::Result,
        ids: vec![],
        bytes: TextBytes(vec![b'x'; 3 << 20]),
        of: None,
        result: None,
        shortened: false,
    };
    recorder.record(long);
    assert!(soon(|| recorder.keyframe_due()));
    let state = crate::org::Organization::new(2, 0.5);
    recorder.record(event(
        1,
        Body::Keyframe {
            state: Box::new(state),
            texts: Default::default(),
            prev_keyframe: None,
        },
    ));
    assert!(!recorder.keyframe_due());
    assert!(soon(|| recorder.status().waiting == 0));
    assert!(!recorder.keyframe_due());
    recorder.finish().unwrap();
    let disk = disk.lock().unwrap();
    let last = disk.bytes.split(|b| *b == b'\n').rev().nth(1).unwrap();
    let line = super::super::line::parse(last).unwrap();
    let Body::Keyframe { texts, .. } = line.event.body else {
        panic!("a keyframe")
    };
    assert_eq!(texts[&ThreadId::ORGANIZER].bytes, 3 << 20);
}

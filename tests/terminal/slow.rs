//! Whole minutes on a real terminal, measured. Numbers are printed: run with `--nocapture`, alone.

use crate::desk::{Desk, leave};
use crate::harness::Session;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Processor time of the process's first thread, which draws, in seconds.
fn screen_seconds(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/task/{id}/stat")).expect("a thread");
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = |n: usize| -> f64 {
        let field = after_name.split(' ').nth(n);
        field
            .and_then(|f| f.parse().ok())
            .expect("a number of ticks")
    };
    // utime and stime, in hundredths of a second.
    (ticks(11) + ticks(12)) / 100.0
}

/// Processor seconds by thread name.
fn by_thread(id: u32) -> Vec<(String, f64)> {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).expect("threads");
    let read = |path: &Path| -> Option<(String, f64)> {
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        let stat = std::fs::read_to_string(path.join("stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
        let ticks = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
        Some((name.trim().to_owned(), ticks / 100.0))
    };
    let mut all: Vec<_> = tasks.flatten().filter_map(|t| read(&t.path())).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// Resident memory in MiB.
fn memory(id: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
    let line = status.lines().find(|l| l.starts_with("VmRSS:"));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.expect("its memory") / 1024.0
}

/// `count` workers that say `tokens` numbered words each, and an organizer that joins them in order.
fn crowd(count: usize, tokens: usize, tokens_per_s: u32) -> Vec<Value> {
    let mut organizer: Vec<String> = (1..=count)
        .map(|i| format!("<FORK-{i}>part {i}</FORK-{i}>"))
        .collect();
    organizer.extend((1..=count).map(|i| format!("<JOIN-{i}>")));
    organizer.push("<ANSWER>done</ANSWER>".into());
    let mut lines = vec![json!({"thread": "organizer", "tokens": organizer})];
    lines.extend((1..=count).map(|i| {
        let mut said: Vec<String> = (0..tokens)
            .map(|n| format!("{i}.{n}{}", if n % 12 == 11 { "\n" } else { " " }))
            .collect();
        said.push("<RETURN>ok</RETURN>".into());
        json!({"thread": i.to_string(), "tokens": said, "tokens_per_s": tokens_per_s})
    }));
    lines
}

/// What a minute cost.
struct Minute {
    /// Share of one core that the screen's thread took.
    screen: f64,
    /// MiB at second 20 and at the end.
    memory: (f64, f64),
}

/// Watches a running session from second 5 to second 55, prints what it cost, and waits for its end.
fn watch(s: &mut Session) -> Minute {
    let id = s.process_id();
    let began = Instant::now();
    let at = |second: u64| {
        std::thread::sleep(Duration::from_secs(second).saturating_sub(began.elapsed()));
        (
            began.elapsed().as_secs_f64(),
            screen_seconds(id),
            memory(id),
            s.log().len(),
        )
    };
    let early = at(5);
    let threads_early = by_thread(id);
    let (at_20, late) = (at(20), at(55));
    let threads = by_thread(id);
    let end_memory = at(60).2;
    let seconds = late.0 - early.0;
    let screen = (late.1 - early.1) / seconds;
    println!(
        "screen thread: {:.1} % of one core from second 5 to 55",
        screen * 100.0
    );
    println!(
        "memory: {:.1} MiB at 20 s, {end_memory:.1} MiB at 60 s",
        at_20.2
    );
    println!(
        "written to the terminal: {:.0} KiB/s",
        (late.3 - early.3) as f64 / 1024.0 / seconds
    );
    for (name, late) in threads {
        let early = threads_early.iter().find(|(n, _)| *n == name);
        let share = (late - early.map_or(0.0, |(_, t)| *t)) / seconds * 100.0;
        println!("  {name:<16} {late:>6.2} s, {share:>5.1} % of one core");
    }
    s.wait_until("every worker has returned", |s| {
        s.screen().contains("answered")
    });
    println!("answered after {:.1} s", began.elapsed().as_secs_f64());
    s.keys("q");
    s.wait_end();
    Minute {
        screen,
        memory: (at_20.2, end_memory),
    }
}

/// Every worker's recorded text is what the script says, and the file agrees with itself.
fn exact(desk: &Desk, lines: &[Value]) {
    let texts = desk.texts();
    for line in &lines[1..] {
        let id = line["thread"]
            .as_str()
            .expect("a name")
            .parse()
            .expect("an id");
        let said = line["tokens"].as_array().expect("tokens");
        let said: String = said.iter().filter_map(Value::as_str).collect();
        assert_eq!(texts[&id], said.as_bytes(), "worker {id}");
    }
    assert!(desk.verifies());
}

#[test]
#[ignore = "slow: a minute of 64 workers"]
fn a_minute_of_64_workers_at_100_tokens_a_second_is_light_bounded_and_exact() {
    let (workers, tokens) = (64, 6000);
    let lines = crowd(workers, tokens, 100);
    let desk = Desk::new(&lines);
    let mut s: Session = desk.run(&["--capacity", "65"]).size(160, 48).spawn();
    s.wait_for("65 threads");
    let minute = watch(&mut s);
    exact(&desk, &lines);
    assert!(minute.screen < 0.25, "{}", minute.screen);
    // Text that is held, and no more: 256,000 tokens of it.
    let (early, late) = minute.memory;
    assert!(late - early < 120.0, "{early} to {late} MiB");
}

#[test]
#[ignore = "slow: a minute of 512 workers"]
fn a_minute_of_512_workers_at_50_tokens_a_second_is_light_and_exact() {
    let (workers, tokens) = (512, 3000);
    let mut lines = crowd(workers, tokens, 50);
    // All at once, and at the pace of the run.
    let forks: String = (1..=workers)
        .map(|i| format!("<FORK-{i}>part {i}</FORK-{i}>"))
        .collect();
    let joins: String = (1..=workers).map(|i| format!("<JOIN-{i}>")).collect();
    lines[0]["tokens"] = json!([forks, joins, "<ANSWER>done</ANSWER>"]);
    for line in &mut lines {
        line.as_object_mut().expect("a line").remove("tokens_per_s");
    }
    let desk = Desk::new(&lines);
    let mut s: Session = desk
        .run(&["--capacity", "513", "--speed", "50"])
        .size(160, 48)
        .spawn();
    s.wait_for("513 threads");
    let minute = watch(&mut s);
    exact(&desk, &lines);
    assert!(minute.screen < 0.3, "{}", minute.screen);
}

#[test]
#[ignore = "slow: a minute of eight lanes and keys"]
fn a_key_is_painted_within_two_frames_through_a_minute_of_eight_lanes() {
    let lines = crowd(8, 100_000, 200);
    let desk = Desk::new(&lines);
    let mut s = desk.run(&["--capacity", "9"]).size(160, 48).spawn();
    s.wait_for("8.100");
    let began = Instant::now();
    let mut times: Vec<Duration> = Vec::new();
    while began.elapsed() < Duration::from_secs(60) {
        let help = |screen: &vt100::Screen| screen.contents().contains("Keys");
        times.push(s.time_to_paint("?", help));
        times.push(s.time_to_paint("?", |screen| !help(screen)));
        std::thread::sleep(Duration::from_millis(97));
    }
    let p95 = |times: &[Duration]| {
        let mut sorted = times.to_vec();
        sorted.sort();
        sorted[sorted.len() * 95 / 100]
    };
    let third = times.len() / 3;
    let (all, first, last) = (p95(&times), p95(&times[..third]), p95(&times[2 * third..]));
    let mut sorted = times.clone();
    sorted.sort();
    println!(
        "key to paint over {} keys: median {:?}, p95 {all:?} (first third {first:?}, last third {last:?}), max {:?}",
        times.len(),
        sorted[sorted.len() / 2],
        sorted[sorted.len() - 1]
    );
    leave(&mut s);
    assert!(all < Duration::from_millis(33), "{all:?}");
    assert!(
        last < first * 2 + Duration::from_millis(5),
        "{first:?} became {last:?}"
    );
}

/// A step takes 5 ms; the screen is drawn at most 33 ms later.
#[test]
#[ignore = "slow: two hundred pauses among eight lanes"]
fn a_steering_key_is_seen_to_act_within_a_step_and_a_frame() {
    let lines = crowd(8, 100_000, 200);
    let desk = Desk::new(&lines);
    let mut s = desk.run(&["--capacity", "9"]).size(160, 48).spawn();
    s.wait_for("8.100");
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..100 {
        let paused = |screen: &vt100::Screen| screen.contents().contains("PAUSED");
        times.push(s.time_to_paint(" ", paused));
        std::thread::sleep(Duration::from_millis(53));
        times.push(s.time_to_paint(" ", |screen| screen.contents().contains("LIVE")));
        std::thread::sleep(Duration::from_millis(71));
    }
    leave(&mut s);
    times.sort();
    let p95 = times[times.len() * 95 / 100];
    println!(
        "key to effect over {} keys: median {:?}, p95 {p95:?}, max {:?}",
        times.len(),
        times[times.len() / 2],
        times[times.len() - 1]
    );
    assert!(p95 < Duration::from_millis(38), "{p95:?}");
}

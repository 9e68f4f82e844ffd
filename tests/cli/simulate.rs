//! What capacity buys, and sessions of workers of workers, from outside.

use crate::harness::{Place, script, vector_1};

/// Vector 6 of the protocol: a worker waits for its worker.
fn chain() -> String {
    let think = |n: usize| vec![" t"; n];
    let fork = vec!["<FORK-1>", "a", "b", "c", "</FORK-1>"];
    let join = vec!["<JOIN", "-1", ">"];
    let answer = vec!["<ANSWER>", "42", "</ANSWER>"];
    let result = vec!["<RETURN>", "r", "s", "</RETURN>"];
    let organizer = [fork.clone(), think(5), join.clone(), answer].concat();
    let one = [fork, think(10), join, result].concat();
    let below = [think(17), vec!["<RETURN>", "r", "</RETURN>"]].concat();
    script(&[("organizer", &organizer), ("1", &one), ("1.1", &below)])
}

/// The same in counts.
const PLAN: &str = r#"
[threads.organizer]
does = ["fork 1 5", 5, "join 1 3", 3]
[threads.1]
does = ["fork 1 5", 10, "join 1 3", 4]
[threads."1.1"]
does = [20]
"#;

#[test]
fn a_nested_run_is_recorded_inspected_verified_and_simulated() {
    let place = Place::new();
    place.write("chain.jsonl", chain());
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "--headless", "--json", "--script", "chain.jsonl"];
        arguments.extend_from_slice(more);
        arguments.push("q");
        place.orgtop(&arguments)
    };
    let done = run(&["--depth", "2", "--capacity", "3", "--record", "s.jsonl"]);
    let object = done.object();
    assert_eq!(object["metrics"]["T"], 37, "{}", done.stderr);
    let threads = object["threads"].as_array().unwrap();
    assert_eq!(
        (&threads[2]["id"], &threads[2]["parent"]),
        (&"1.1".into(), &"1".into())
    );
    assert_eq!(
        place.orgtop(&["inspect", "--json", "s.jsonl"]).object()["metrics"],
        object["metrics"]
    );
    assert_eq!(place.orgtop(&["verify", "s.jsonl"]).code, Some(0));
    let flat = run(&["--no-record"]).object();
    assert_eq!(flat["threads"].as_array().unwrap().len(), 2);
    assert_eq!(run(&["--depth", "9"]).code, Some(2));
    let parallel = run(&["--depth", "2", "--policy", "parallel", "--no-record"]);
    assert_eq!(parallel.code, Some(2));
    assert!(parallel.stderr.contains("--depth"), "{}", parallel.stderr);

    let simulated = place.orgtop(&["simulate", "s.jsonl", "--json"]).object();
    let latencies: Vec<_> = simulated["capacities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["T"].as_f64())
        .collect();
    assert_eq!(latencies, [None, None, Some(37.0)]);
    assert_eq!(simulated["recorded_capacity"], 3);
    place.write("plan.toml", PLAN);
    let planned = place.orgtop(&["simulate", "plan.toml", "--json"]).object();
    assert_eq!(planned["capacities"], simulated["capacities"]);
}

#[test]
fn a_table_shows_what_each_slot_buys() {
    let place = Place::new();
    place.write("plan.toml", PLAN);
    let table = place.orgtop(&["simulate", "plan.toml", "-c", "2-4", "--curve", "c.svg"]);
    assert_eq!(
        table.stdout,
        "    c          T   alone     eta   eta/c  critical path\n\
         \x20  2           -       -       -       -  PoolOverflow: 1.1 at step 10\n\
         \x20  3          37   x1.57    1.14    0.38  organizer 5, 1 5, 1.1 20, 1 4, organizer 3\n\
         \x20  4          37   x1.57    1.14    0.28  organizer 5, 1 5, 1.1 20, 1 4, organizer 3\n\
         3 threads, 58 tokens\n",
        "{}",
        table.stderr
    );
    assert!(place.read("c.svg").starts_with("<svg"));
    place.write("s.jsonl", vector_1());
    let arguments = [
        "run",
        "--headless",
        "--script",
        "s.jsonl",
        "--record",
        "r.jsonl",
        "q",
    ];
    assert_eq!(place.orgtop(&arguments).code, Some(0));
    let strict = place.orgtop(&["simulate", "r.jsonl", "--pool", "error", "-c", "1,4"]);
    assert!(
        strict.stdout.contains("PoolOverflow: 1 at step 18"),
        "{}",
        strict.stdout
    );
    assert!(
        strict.stdout.contains("   4*         63   x1.24"),
        "{}",
        strict.stdout
    );
}

#[test]
fn drawn_lengths_are_drawn_again_by_the_seed() {
    let place = Place::new();
    place.write(
        "drawn.toml",
        r#"
        threads.organizer.does = ["fork 1-8", "join 1-8", 5]
        threads.1-8.does = [{ exponential = 50 }]
        "#,
    );
    let curve = |seed: &str| {
        let arguments = [
            "simulate",
            "drawn.toml",
            "--json",
            "--runs",
            "50",
            "--seed",
            seed,
        ];
        place.orgtop(&arguments).object()
    };
    assert_eq!(curve("1"), curve("1"));
    assert_ne!(curve("1"), curve("2"));
    let object = curve("1");
    let points = object["capacities"].as_array().unwrap();
    let latency = |i: usize| points[i]["T"].as_f64().unwrap();
    // Eight workers one after the other take at least twice as long as side by side.
    assert!(
        latency(1) > 2.0 * latency(8),
        "{} {}",
        latency(1),
        latency(8)
    );
    assert_eq!(points[8]["overflows"], 0.0);
    let table = place
        .orgtop(&["simulate", "drawn.toml", "-c", "2,9"])
        .stdout;
    assert!(table.contains("100 organizations of 9 threads"), "{table}");
}

#[test]
fn what_cannot_be_simulated_is_explained() {
    let place = Place::new();
    place.write("bad.toml", "threads.organizer.does = [\"fork 1\"]");
    place.write("plan.json", r#"{"threads": {"organizer": {"does": [3]}}}"#);
    for (arguments, code, why) in [
        (&["bad.toml"][..], 1, "no thread 1 is described"),
        (&["no.toml"], 1, "cannot read the description"),
        (&["no.jsonl"], 1, "no.jsonl"),
        (
            &["plan.json", "--runs", "5"],
            2,
            "no length in the description is drawn",
        ),
        (&["plan.json", "-c", "0"], 2, "capacities from 1 to 1024"),
        (
            &["plan.json", "--curve", "no/such/folder.svg"],
            2,
            "there is no folder no/such",
        ),
        (&["plan.json", "--force"], 2, "--curve"),
    ] {
        let mut all = vec!["simulate"];
        all.extend_from_slice(arguments);
        let done = place.orgtop(&all);
        assert_eq!(done.code, Some(code), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains(why), "{arguments:?}: {}", done.stderr);
    }
}

#[test]
fn a_curve_is_drawn_over_no_file_unasked_and_never_over_what_it_is_drawn_of() {
    let place = Place::new();
    place.write("v.jsonl", vector_1());
    let run = [
        "run",
        "--headless",
        "--script",
        "v.jsonl",
        "--record",
        "s.jsonl",
        "q",
    ];
    assert_eq!(place.orgtop(&run).code, Some(0));
    let session = place.read("s.jsonl");
    place.write("c.svg", "mine");
    let draw = |to: &str, force: bool| {
        let mut all = vec!["simulate", "s.jsonl", "--curve", to];
        all.extend(force.then_some("--force"));
        place.orgtop(&all)
    };
    for (to, force, why) in [
        ("s.jsonl", false, "it is read here"),
        ("./s.jsonl", true, "it is read here"),
        ("c.svg", false, "there is such a file already"),
    ] {
        let refused = draw(to, force);
        assert_eq!(refused.code, Some(1), "{to}: {}", refused.stderr);
        assert!(refused.stderr.contains(why), "{to}: {}", refused.stderr);
        assert_eq!(refused.stdout, "");
    }
    assert_eq!(
        (place.read("s.jsonl"), place.read("c.svg")),
        (session, "mine".into())
    );
    assert_eq!(draw("c.svg", true).code, Some(0));
    assert!(place.read("c.svg").starts_with("<svg"));
}

use super::*;

const CHAIN: &str = r#"
    tag = 3
    [threads.organizer]
    does = ["fork 1 5", 5, "join 1", 3]
    [threads.1]
    does = ["fork 1 5", 10, "join 1", 4]
    [threads."1.1"]
    does = [20]
"#;

#[test]
fn a_description_gives_the_counts_it_says() {
    let plan = Plan::parse(CHAIN, false).unwrap();
    assert!(!plan.draws());
    let traces = plan.organization(1, 0);
    let tokens: Vec<u64> = traces.iter().map(|t| t.tokens).collect();
    assert_eq!(tokens, [16, 22, 20]);
    assert_eq!(crate::org::simulate(&traces, 3).latency, 37);
    let json = r#"{"threads": {"organizer": {"does": [{"choice": [7]}]}}}"#;
    assert_eq!(
        Plan::parse(json, true).unwrap().organization(0, 0)[0].tokens,
        7
    );
}

#[test]
fn ranges_stand_for_their_threads_and_each_draws_for_itself() {
    let text = r#"
        threads.organizer.does = ["fork 1-3", "join 1-3"]
        threads.1-3.does = ["fork 1-2", { uniform = [10, 1000] }]
        threads."1-3.1-2".does = [{ lognormal = [40, 0.5] }]
    "#;
    let plan = Plan::parse(text, false).unwrap();
    let traces = plan.organization(7, 0);
    assert_eq!(traces.len(), 10);
    let mut drawn: Vec<u64> = traces[1..].iter().map(|t| t.tokens).collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert!(drawn.len() > 6, "{drawn:?}");
    assert_eq!(traces, plan.organization(7, 0));
    assert_ne!(traces, plan.organization(7, 1));
    assert_ne!(traces, plan.organization(8, 0));
}

#[test]
fn draws_have_the_mean_they_are_said_to_have() {
    for (length, mean) in [
        ("{ uniform = [10, 30] }", 20.0),
        ("{ normal = [50, 5] }", 50.0),
        ("{ exponential = 30 }", 30.0),
        ("{ lognormal = [20, 0.5] }", 20.0 * (0.125_f64).exp()),
        ("{ choice = [1, 5, 30] }", 12.0),
    ] {
        let plan = Plan::parse(&format!("threads.organizer.does = [{length}]"), false).unwrap();
        let sum: u64 = (0..4000).map(|i| plan.organization(3, i)[0].tokens).sum();
        let found = sum as f64 / 4000.0;
        assert!((found / mean - 1.0).abs() < 0.06, "{length}: {found}");
    }
}

#[test]
fn what_does_not_hold_together_is_explained() {
    for (text, why) in [
        ("", "missing field `threads`"),
        ("threads.1.does = [3]", "no thread `organizer`"),
        (
            "threads.organizer.does = [\"fork 1\"]",
            "no thread 1 is described",
        ),
        (
            "threads.organizer.does = [\"join 1\"]",
            "joins 1 before it forks it",
        ),
        ("threads.organizer.does = [\"dance 1\"]", "nothing to do"),
        ("threads.organizer.does = [\"fork 3-1\"]", "nothing to do"),
        (
            "threads.organizer.does = [-1]",
            "expected a number of tokens",
        ),
        (
            "threads.organizer.does = [{ uniform = [9, 3] }]",
            "no length",
        ),
        (
            "threads.organizer.does = []\nthreads.2.does = []",
            "nobody forks it",
        ),
        (
            "threads.organizer.does = []\nthreads.x.does = []",
            "no name for threads",
        ),
        (
            "threads.organizer.does = []\nthreads.\"1-99.1-99\".does = []",
            "more than 4096",
        ),
        (
            "threads.organizer.does = []\nthreads.\"1.1.1.1.1\".does = []",
            "at most 4 levels",
        ),
        (
            "threads.organizer.does = [\"fork 1-2\"]\nthreads.1-2.does = []\nthreads.2.does = []",
            "described twice",
        ),
    ] {
        let error = Plan::parse(text, false).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

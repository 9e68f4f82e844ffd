//! The same against a real server.

use orgtop::engine::Sampling;
use orgtop::engine::remote::{Caps, ServerOptions, connect};
use orgtop::live::{
    Audience, Plan, ProtocolRescan, RunConfig, Start, ToolSet, launch, parse_orders,
};
use orgtop::org::RunEnd;
use orgtop::record::{Limits, verify};

#[test]
#[ignore = "needs a server: ORGTOP_TEST_SERVER=http://localhost:18080 (scripts/llama-server starts one)"]
fn a_real_server_runs_forks_and_is_gone_on_with() {
    let url = std::env::var("ORGTOP_TEST_SERVER").expect("ORGTOP_TEST_SERVER holds a URL");
    let options = ServerOptions {
        model: std::env::var("ORGTOP_TEST_MODEL").ok(),
        ..ServerOptions::at(&url)
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let limits = Limits {
        organizer: 48,
        worker: 24,
        ..Limits::default()
    };
    let caps = Caps {
        organizer: limits.organizer,
        worker: limits.worker,
    };
    let orders = [
        r#"{"at":{"step":2},"do":"fork","query":"Name a colour."}"#,
        r#"{"at":{"thread":"1","tokens":4},"do":"kill","thread":"1"}"#,
        r#"{"do":"join","thread":"1"}"#,
        r#"{"at":{"thread":"organizer","tokens":12},"do":"interrupt"}"#,
    ];
    let plan = |start, orders: &str| Plan {
        open: {
            let options = options.clone();
            Box::new(move || Ok(Box::new(connect(&options, caps)?)))
        },
        start,
        file: Some(path.clone()),
        orders: parse_orders(orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    };
    let start = Start::Fresh {
        config: RunConfig {
            query: "Write a long story about the sea.".into(),
            limits,
            sampling: Sampling {
                temperature: 0.0,
                ..Sampling::default()
            },
            ..RunConfig::default()
        },
        id: "real".into(),
        created: "2026-01-01T00:00:00Z".into(),
    };
    let first = launch(plan(start, &orders.join("\n"))).wait().unwrap();
    let org = &first.organization;
    assert_eq!(org.end, Some(RunEnd::Interrupted), "{:?}", org.errors);
    assert!(org.thread("1".parse().unwrap()).unwrap().tokens >= 4);
    let second = launch(plan(Start::Resumed(path.clone()), ""))
        .wait()
        .unwrap();
    let end = second.organization.end;
    assert!(
        matches!(
            end,
            Some(RunEnd::Answered | RunEnd::NoAnswer | RunEnd::TokenLimit)
        ),
        "{end:?} {:?}",
        second.organization.errors
    );
    let verified = verify(&path, &ProtocolRescan).unwrap();
    assert!(
        verified.disagreements.is_empty(),
        "{:?}",
        verified.disagreements
    );
}

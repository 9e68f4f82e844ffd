//! Several servers in one organization: seats, a default for workers, rosters.

use crate::fake::{Asked, Fake, Kind, Reply, rest_of, said};
use crate::harness::{CAPS, options};
use crate::sessions::{agrees, text};
use orgtop::engine::remote::connect;
use orgtop::live::{
    Audience, Finished, OpenBeside, Plan, RunConfig, ServerSet, Start, ToolSet, launch,
    parse_orders,
};
use orgtop::org::{ErrorKind, RosterSeat, RunEnd, Seat, ThreadId};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const WORKER: [&str; 6] = ["I", " count", " slowly", "<RETURN>", "42", "</RETURN>"];

/// Forks `query`, joins, answers; as a worker, counts.
fn model(query: &'static str) -> impl Fn(&str) -> Vec<String> + Send + Sync + Clone + 'static {
    move |prompt| {
        let said = said(prompt);
        if prompt.contains("You are a worker") {
            return rest_of(&WORKER, &said);
        }
        match said.split_once("</JOIN-1>") {
            Some((_, after)) => rest_of(&["<ANSWER>", "42", "</ANSWER>"], after),
            None => rest_of(
                &["<FORK-1>", query, "</FORK-1>", " wait", "<JOIN-1>"],
                &said,
            ),
        }
    }
}

fn beside(fake: &Fake) -> ServerSet {
    let options = options(fake);
    let open: OpenBeside = Arc::new(move || {
        let mut engine = connect(&options, CAPS)?;
        engine.never_wait();
        Ok(Box::new(engine))
    });
    ServerSet::from([("big".to_owned(), open)])
}

fn play(own: &Fake, big: &Fake, start: Start, file: &Path, orders: &str) -> Finished {
    let options = options(own);
    launch(Plan {
        open: Box::new(move || Ok(Box::new(connect(&options, CAPS)?))),
        start,
        file: Some(file.to_path_buf()),
        orders: parse_orders(orders, "orders").unwrap(),
        audience: Audience::Nobody,
        tools: ToolSet::new(),
        servers: beside(big),
    })
    .wait()
    .unwrap()
}

fn fresh(config: RunConfig) -> Start {
    Start::Fresh {
        config: RunConfig {
            query: "what is it?".into(),
            ..config
        },
        id: "test".into(),
        created: "2026-01-01T00:00:00Z".into(),
    }
}

fn big() -> Seat {
    Seat::Server("big".into())
}

fn is_worker(asked: &Asked) -> bool {
    asked.prompt().contains("You are a worker")
}

/// Both fakes, and a file.
fn stage(query: &'static str) -> (Fake, Fake, tempfile::TempDir) {
    let own = Fake::new(Kind::Llama, model(query));
    let big = Fake::new(Kind::Ollama, model(query));
    (own, big, tempfile::tempdir().unwrap())
}

#[test]
fn organizer_and_workers_sit_at_different_servers() {
    let (own, other, folder) = stage("six times seven");
    let path = folder.path().join("s.jsonl");
    let config = RunConfig {
        workers: big(),
        ..RunConfig::default()
    };
    let org = play(&own, &other, fresh(config), &path, "").organization;
    assert_eq!(org.end, Some(RunEnd::Answered), "{:?}", org.errors);
    assert_eq!(
        org.thread(ThreadId::worker(1).unwrap()).unwrap().seat,
        big()
    );
    assert!(own.asked().iter().all(|a| !is_worker(a)));
    assert!(!other.asked().is_empty() && other.asked().iter().all(is_worker));
    assert_eq!(text(&path, "1"), WORKER.concat());
    agrees(&path);
}

#[test]
fn a_seat_is_taken_over_in_the_middle_with_the_text_so_far_and_given_back() {
    let (own, other, folder) = stage("six times seven");
    let pace = Reply::Slowly(Duration::from_millis(20));
    let own = own.then(vec![pace.clone(); 4]);
    let other = other.then(vec![pace]);
    let path = folder.path().join("s.jsonl");
    let orders = [
        r#"{"at":{"thread":"1","tokens":1},"do":"seat","thread":"1","to":"server:big"}"#,
        r#"{"at":{"thread":"1","tokens":3},"do":"seat","thread":"1","to":"model"}"#,
    ];
    let finished = play(
        &own,
        &other,
        fresh(RunConfig::default()),
        &path,
        &orders.join("\n"),
    );
    let org = finished.organization;
    assert_eq!(org.end, Some(RunEnd::Answered), "{:?}", org.errors);
    assert_eq!(
        text(&path, "1"),
        WORKER.concat(),
        "nothing is lost or doubled"
    );
    let sent = other.asked()[0].prompt();
    assert!(sent.ends_with("assistant\nI"), "{sent}");
    let back = own.asked().into_iter().rfind(is_worker).unwrap().prompt();
    assert!(back.ends_with("assistant\nI count slowly"), "{back}");
    agrees(&path);
}

#[test]
fn a_session_of_several_servers_goes_on_after_an_interruption_and_can_be_edited() {
    let (own, other, folder) = stage("six times seven");
    let path = folder.path().join("s.jsonl");
    let orders = [
        r#"{"at":{"thread":"1","tokens":1},"do":"seat","thread":"1","to":"server:big"}"#,
        r#"{"at":{"thread":"1","tokens":2},"do":"interrupt"}"#,
    ];
    let start = fresh(RunConfig::default());
    let finished = play(&own, &other, start, &path, &orders.join("\n"));
    assert_eq!(finished.organization.end, Some(RunEnd::Interrupted));
    let edit =
        r#"{"at":{"event":"return:1"},"do":"edit","thread":"1","token":2,"text":" quickly"}"#;
    let org = play(&own, &other, Start::Resumed(path.clone()), &path, edit).organization;
    assert_eq!(org.end, Some(RunEnd::Answered), "{:?}", org.errors);
    let sent: Vec<String> = other.asked().iter().map(Asked::prompt).collect();
    assert!(
        sent.iter().any(|s| s.ends_with("assistant\nI count")),
        "{sent:?}"
    );
    assert!(
        sent.iter()
            .any(|s| s.ends_with("assistant\nI count quickly")),
        "{sent:?}"
    );
    agrees(&path);
}

fn roster() -> Vec<RosterSeat> {
    let seat = |name: &str, seat| RosterSeat {
        name: name.into(),
        seat,
        about: format!("the {name} one"),
    };
    vec![seat("big", big()), seat("small", Seat::Model)]
}

#[test]
fn the_organizer_chooses_a_worker_by_name() {
    let (own, other, folder) = stage("@big six times seven");
    let path = folder.path().join("s.jsonl");
    let config = RunConfig {
        roster: roster(),
        ..RunConfig::default()
    };
    let org = play(&own, &other, fresh(config), &path, "").organization;
    assert_eq!(org.end, Some(RunEnd::Answered), "{:?}", org.errors);
    let worker = org.thread(ThreadId::worker(1).unwrap()).unwrap();
    assert_eq!(
        (&worker.seat, worker.query.as_str()),
        (&big(), "six times seven")
    );
    let told = own.asked()[0].prompt();
    assert!(
        told.contains("@big: the big one\n@small: the small one"),
        "{told}"
    );
    agrees(&path);
}

#[test]
fn a_name_that_nobody_has_is_recorded_and_anybody_serves_the_fork() {
    let (own, other, folder) = stage("@huge six times seven");
    let path = folder.path().join("s.jsonl");
    let config = RunConfig {
        roster: roster(),
        ..RunConfig::default()
    };
    let org = play(&own, &other, fresh(config), &path, "").organization;
    assert_eq!(org.end, Some(RunEnd::Answered));
    let [error] = &org.errors[..] else {
        panic!("{:?}", org.errors)
    };
    assert_eq!(error.kind, ErrorKind::NoSuchSeat);
    assert!(
        error.message.contains("@huge") && error.message.contains("big, small"),
        "{error:?}"
    );
    let worker = org.thread(ThreadId::worker(1).unwrap()).unwrap();
    assert_eq!(
        (&worker.seat, worker.query.as_str()),
        (&Seat::Model, "@huge six times seven")
    );
    agrees(&path);
}

#[test]
fn a_seat_at_a_server_that_is_not_there_is_refused_before_or_served_by_the_own_model() {
    let (own, other, folder) = stage("six times seven");
    let revive = other.die();
    let dead = Fake::new(Kind::Vllm, |_| Vec::new());
    let path = folder.path().join("s.jsonl");
    let mut set = beside(&dead);
    drop(dead);
    let open = options(&own);
    let plan = |config: RunConfig, servers: ServerSet| Plan {
        open: {
            let open = open.clone();
            Box::new(move || Ok(Box::new(connect(&open, CAPS)?)))
        },
        start: fresh(config),
        file: Some(path.clone()),
        orders: parse_orders("", "orders").unwrap(),
        audience: Audience::Nobody,
        tools: ToolSet::new(),
        servers,
    };
    let named = RunConfig {
        seats: [(ThreadId::worker(1).unwrap(), big())].into(),
        ..RunConfig::default()
    };
    let error = launch(plan(named, set.clone())).wait().err().unwrap();
    assert!(
        error.to_string().contains("is the server running"),
        "{error}"
    );
    assert!(!path.exists(), "nothing was begun");
    let by_default = RunConfig {
        roster: roster(),
        ..RunConfig::default()
    };
    let by_name = Fake::new(Kind::Vllm, model("@big six times seven"));
    let address = options(&by_name);
    let mut second = plan(by_default, std::mem::take(&mut set));
    second.open = Box::new(move || Ok(Box::new(connect(&address, CAPS)?)));
    let org = launch(second).wait().unwrap().organization;
    assert_eq!(org.end, Some(RunEnd::Answered));
    assert!(
        org.errors[0]
            .message
            .contains("served by the session's own model"),
        "{:?}",
        org.errors
    );
    drop(revive());
}

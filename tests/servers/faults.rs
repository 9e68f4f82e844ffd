//! Everything that can go wrong, and what is said of it.

use crate::fake::{Fake, KINDS, Kind, Reply};
use crate::harness::{engine, open, options, refusal, say, write};
use orgtop::engine::SeqId;
use orgtop::engine::remote::ServerOptions;
use std::time::{Duration, Instant};

const WORDS: [&str; 4] = ["one", " two", " three", " four"];

fn fake(kind: Kind, replies: impl IntoIterator<Item = Reply>) -> Fake {
    Fake::saying(kind, &WORDS).then(replies)
}

#[test]
fn an_answer_that_breaks_off_is_lost_after_what_it_said() {
    for kind in KINDS {
        for reply in [Reply::Half(2), Reply::EndlessNot(2)] {
            let wrote = say(&fake(kind, [reply.clone()]));
            assert_eq!(wrote.text, "one two", "{kind:?} {reply:?}");
            let why = wrote.lost();
            assert!(why.contains("in the middle of its answer"), "{why}");
        }
    }
}

#[test]
fn silence_in_the_middle_is_a_stall() {
    for kind in [Kind::Vllm, Kind::Ollama] {
        let wrote = say(&fake(kind, [Reply::Stall(1)]));
        assert_eq!(wrote.text, "one");
        let why = wrote.lost();
        assert!(why.contains("silent for 1 s in the middle"), "{why}");
    }
}

#[test]
fn silence_before_the_first_byte_is_a_stall_too() {
    let why = say(&fake(Kind::Vllm, [Reply::Stall(0)])).lost();
    assert!(why.contains("before its answer"), "{why}");
}

#[test]
fn a_lost_sequence_goes_on_when_it_runs_again() {
    let fake = fake(Kind::Llama, [Reply::Half(2)]);
    let mut engine = engine(&fake);
    let ops = open(&mut engine, 0, "assistant\n");
    let first = write(&mut engine, ops, usize::MAX);
    first.lost();
    let seq = SeqId(0);
    let again = vec![
        orgtop::engine::SeqOp::Hold(seq),
        orgtop::engine::SeqOp::Run(seq),
    ];
    let rest = write(&mut engine, again, usize::MAX);
    assert_eq!((first.text + &rest.text, rest.eos), (WORDS.concat(), true));
}

#[test]
fn a_busy_server_is_asked_again_before_the_first_byte_and_only_then() {
    for kind in KINDS {
        let busy = Reply::Status(
            429,
            "Retry-After: 0\r\n",
            r#"{"error":{"message":"slow down"}}"#,
        );
        let fake = fake(
            kind,
            [busy, Reply::Status(503, "", "{\"error\":\"loading\"}")],
        );
        assert_eq!(say(&fake).text, WORDS.concat());
        assert_eq!(fake.asked().len(), 3, "{kind:?}");
    }
    let fake = fake(Kind::Vllm, [Reply::Half(1)]);
    say(&fake).lost();
    assert_eq!(
        fake.asked().len(),
        1,
        "what has begun is not asked again by itself"
    );
}

#[test]
fn the_wait_that_a_server_asks_for_is_kept() {
    let busy = Reply::Status(429, "Retry-After: 1\r\n", "{}");
    let fake = fake(Kind::Vllm, [busy]);
    let began = Instant::now();
    say(&fake);
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[test]
fn retries_are_bounded() {
    let busy = Reply::Status(429, "", r#"{"error":"slow down"}"#);
    let fake = fake(Kind::Vllm, vec![busy; 10]);
    let why = say(&fake).lost();
    assert!(why.contains("busy (429: slow down)"), "{why}");
    assert_eq!(fake.asked().len(), 3, "two retries were allowed");
}

#[test]
fn each_refusal_says_what_it_is_and_what_to_do() {
    for (reply, expected) in [
        (
            Reply::Status(401, "", r#"{"error":{"message":"bad key"}}"#),
            "refuses the key (401: bad key)",
        ),
        (Reply::Status(403, "", ""), "ORGTOP_API_KEY"),
        (
            Reply::Status(404, "", r#"{"message":"The model `x` does not exist."}"#),
            "it has `qwen-test`",
        ),
        (
            Reply::Status(404, "", ""),
            "does not look like an inference server (404 for",
        ),
        (
            Reply::Status(422, "", r#"{"detail":"no such field"}"#),
            "422: no such field",
        ),
        (
            Reply::Status(302, "Location: https://elsewhere/\r\n", ""),
            "elsewhere, 302 to https://elsewhere/",
        ),
        (Reply::Html, "a web page"),
        (Reply::HugeLine, "longer than any answer"),
        (Reply::Nonsense, "no JSON of the expected shape"),
        (Reply::FailInside, "out of memory"),
    ] {
        let why = say(&fake(Kind::Vllm, [reply.clone()])).lost();
        assert!(why.contains(expected), "{reply:?}: {why}");
        assert!(why.chars().all(|c| !c.is_control()), "{why:?}");
    }
}

#[test]
fn an_internal_error_is_told_after_the_retries() {
    let broken = Reply::Status(500, "", r#"{"error":{"message":"CUDA out of memory"}}"#);
    let why = say(&fake(Kind::Sglang, vec![broken; 3])).lost();
    assert!(why.contains("failed (500: CUDA out of memory)"), "{why}");
}

#[test]
fn nobody_there_is_said_at_once() {
    let gone = fake(Kind::Vllm, []);
    let url = gone.url.clone();
    drop(gone);
    let began = Instant::now();
    let error = refusal(&ServerOptions::at(&url)).to_string();
    assert!(
        error.contains(&url) && error.contains("is the server running"),
        "{error}"
    );
    assert!(began.elapsed() < Duration::from_secs(2));
    let error = refusal(&ServerOptions::at("http://no.such.host.invalid:1")).to_string();
    assert!(error.contains("no connection"), "{error}");
}

#[test]
fn something_else_behind_the_url_is_no_inference_server() {
    for (reply, expected) in [
        (Reply::Status(200, "", "<html>hi</html>"), "a web page"),
        (Reply::Status(200, "", "{\"hello\":1}"), "no list of models"),
        (Reply::Status(404, "", "nothing"), "404 for /v1/models"),
        (Reply::Status(200, "", ""), "an empty answer"),
    ] {
        let fake = fake(Kind::Vllm, []).listing(reply.clone());
        let error = refusal(&options(&fake)).to_string();
        assert!(error.contains(expected), "{reply:?}: {error}");
    }
}

#[test]
fn a_server_that_loads_its_model_is_waited_for() {
    let fake = fake(Kind::Llama, []).loading(5);
    assert_eq!(say(&fake).text, WORDS.concat());
}

#[test]
fn a_server_without_models_or_with_several_asks_which() {
    let none = Reply::Status(200, "", r#"{"data":[]}"#);
    let error = refusal(&options(&fake(Kind::Vllm, []).listing(none))).to_string();
    assert!(error.contains("no model at all"), "{error}");
    let two = Reply::Status(200, "", r#"{"data":[{"id":"a"},{"id":"b"}]}"#);
    let error = refusal(&options(&fake(Kind::Vllm, []).listing(two))).to_string();
    assert!(
        error.contains("`a`, `b`") && error.contains("--model"),
        "{error}"
    );
}

#[test]
fn the_key_reaches_the_server_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "sk-very-secret\n").unwrap();
    let echo = Reply::Status(
        401,
        "",
        r#"{"error":{"message":"wrong key sk-very-secret"}}"#,
    );
    let fake = fake(Kind::Vllm, [echo]);
    let mut options = options(&fake);
    options.key_file = Some(path);
    let mut engine = orgtop::engine::remote::connect(&options, crate::harness::CAPS).unwrap();
    let ops = open(&mut engine, 0, "assistant\n");
    let why = write(&mut engine, ops, usize::MAX).lost();
    assert!(!why.contains("very-secret"), "{why}");
    assert!(!format!("{engine:?}").contains("very-secret"));
    let asked = fake.asked();
    assert_eq!(
        asked[0].authorization.as_deref(),
        Some("Bearer sk-very-secret")
    );
    let card = serde_json::to_string(orgtop::engine::Engine::card(&engine)).unwrap();
    assert!(!card.contains("secret"), "{card}");
}

#[test]
fn a_dropped_engine_leaves_no_connection_behind() {
    let fake = fake(Kind::Vllm, [Reply::Endless]);
    let mut engine = engine(&fake);
    let ops = open(&mut engine, 0, "assistant\n");
    write(&mut engine, ops, 3);
    assert_eq!(fake.connected(), 1);
    drop(engine);
    let gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        fake.connected() == 0
    });
    assert!(gone, "the server still writes to somebody");
}

#[test]
fn a_server_that_is_gone_is_lost_again_each_time_it_is_asked() {
    let fake = fake(Kind::Vllm, [Reply::Half(1)]);
    let mut options = options(&fake);
    options.retries = 0;
    let mut engine = orgtop::engine::remote::connect(&options, crate::harness::CAPS).unwrap();
    let ops = open(&mut engine, 0, "assistant\n");
    write(&mut engine, ops, usize::MAX).lost();
    let _revive = fake.die();
    let seq = SeqId(0);
    for _ in 0..2 {
        let again = vec![
            orgtop::engine::SeqOp::Hold(seq),
            orgtop::engine::SeqOp::Run(seq),
        ];
        let why = write(&mut engine, again, usize::MAX).lost();
        assert!(why.contains("is the server running"), "{why}");
    }
}

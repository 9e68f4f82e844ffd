use super::*;
use crate::engine::{Priority, Sampling};

fn engine(script: &str) -> Scripted {
    Scripted::new(Script::parse(script, "test").unwrap(), "test")
}

fn open(seq: u32, key: &str) -> Vec<SeqOp> {
    vec![
        SeqOp::Open {
            seq: SeqId(seq),
            key: key.into(),
            sampling: Sampling::default(),
            priority: Priority::Worker,
            prefix: None,
        },
        SeqOp::Run(SeqId(seq)),
    ]
}

fn texts(output: &StepOutput) -> Vec<String> {
    output
        .decoded
        .iter()
        .map(|d| String::from_utf8_lossy(&d.bytes).into_owned())
        .collect()
}

#[test]
fn one_string_is_one_token_is_one_step_and_the_end_costs_none() {
    let mut e = engine(r#"{"thread": "1", "tokens": ["a", "bc"]}"#);
    assert_eq!(texts(&e.advance(open(1, "1")).unwrap()), ["a"]);
    assert_eq!(texts(&e.advance(vec![]).unwrap()), ["bc"]);
    let last = e.advance(vec![]).unwrap();
    assert!(last.decoded.is_empty());
    assert_eq!(last.stopped, [(SeqId(1), Stop::Exhausted)]);
    let after = e.advance(vec![]).unwrap();
    assert!(after.decoded.is_empty() && after.stopped.is_empty());
}

#[test]
fn a_cut_rewinds_and_forced_tokens_move_on() {
    let mut e = engine(r#"{"thread": "1", "text": "abcdef", "split": "char"}"#);
    e.advance(open(1, "1")).unwrap();
    e.advance(vec![]).unwrap();
    let cut = SeqOp::Cut {
        seq: SeqId(1),
        len: 1,
        epoch: Epoch(1),
    };
    let again = e.advance(vec![cut]).unwrap();
    assert_eq!(texts(&again), ["b"]);
    assert_eq!(again.decoded[0].epoch, Epoch(1));
    let force = SeqOp::Append {
        seq: SeqId(1),
        tokens: vec![0, 0],
        decoded: true,
    };
    assert_eq!(texts(&e.advance(vec![force]).unwrap()), ["e"]);
}

#[test]
fn the_nth_line_serves_the_nth_bearer_and_nobody_serves_the_rest() {
    let script = "{\"thread\":\"1\",\"tokens\":[\"x\"]}\n{\"thread\":\"1\",\"tokens\":[\"y\"]}";
    let mut e = engine(script);
    assert_eq!(texts(&e.advance(open(1, "1")).unwrap()), ["x"]);
    e.advance(vec![SeqOp::Close(SeqId(1))]).unwrap();
    assert_eq!(texts(&e.advance(open(2, "1~2")).unwrap()), ["y"]);
    e.advance(vec![SeqOp::Close(SeqId(2))]).unwrap();
    assert_eq!(
        e.advance(open(3, "1~3")).unwrap().stopped,
        [(SeqId(3), Stop::Absent)]
    );
}

#[test]
fn words_keep_their_spaces() {
    let script = Script::parse(r#"{"thread":"1","text":" a  bc\nd","split":"word"}"#, "t");
    let script = script.unwrap();
    let pieces: Vec<Vec<u8>> = script.lines[0]
        .tokens
        .iter()
        .map(|t| script.bytes(*t))
        .collect();
    assert_eq!(pieces.concat(), b" a  bc\nd");
    assert_eq!(pieces, [&b" a"[..], b"  bc", b"\nd"]);
}

#[test]
fn a_bad_line_is_named() {
    for (script, expected) in [
        ("\n{\"thread\":1}", "t, line 2:"),
        ("{\"thread\":\"1\"}", "either `tokens` or `text`"),
        ("{\"thread\":\"1\",\"tokens\":[],\"x\":1}", "unknown field"),
        (
            "{\"thread\":\"1\",\"text\":\"a\",\"split\":0}",
            "at least 1 byte",
        ),
        ("{\"thread\":\"1~2\",\"text\":\"a\"}", "n-th bearer"),
    ] {
        let error = Script::parse(script, "t").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn after_a_long_stop_it_goes_on_at_its_pace() {
    let mut e = engine("{\"thread\":\"1\",\"tokens\":[\"s\"],\"repeat\":true,\"tokens_per_s\":10}");
    e.advance(open(1, "1")).unwrap();
    std::thread::sleep(Duration::from_millis(900));
    let began = Instant::now();
    let mut given = 0;
    while began.elapsed() < Duration::from_millis(300) {
        given += e.advance(vec![]).unwrap().decoded.len();
    }
    assert!(given <= 4, "{given} tokens in 0.3 s at 10 tokens/s");
}

#[test]
fn a_slow_thread_skips_steps() {
    let mut e = engine(
        "{\"thread\":\"1\",\"tokens\":[\"s\"],\"repeat\":true,\"tokens_per_s\":1}\n\
         {\"thread\":\"2\",\"tokens\":[\"f\"],\"repeat\":true}",
    );
    let mut ops = open(1, "1");
    ops.extend(open(2, "2"));
    assert_eq!(texts(&e.advance(ops).unwrap()), ["f"]);
    assert_eq!(texts(&e.advance(vec![]).unwrap()), ["f"]);
}

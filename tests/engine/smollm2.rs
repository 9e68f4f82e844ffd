//! A real checkpoint: SmolLM2-135M-Instruct, as `scripts/fetch-smollm2` brings it.

use crate::support::{begin, greedy};
use orgtop::engine::local::{DeviceChoice, Options, open};
use orgtop::engine::{ChatMessage, ChatRole, Engine, Sampling, SeqId};
use std::path::PathBuf;

fn engine() -> Box<dyn Engine> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models/SmolLM2-135M-Instruct.Q4_1.gguf");
    let options = Options {
        device: DeviceChoice::Cpu,
        ..Options::default()
    };
    open(&path, &options).expect("scripts/fetch-smollm2 was run")
}

#[test]
#[ignore = "needs the checkpoint that scripts/fetch-smollm2 brings"]
fn smollm2_answers_sensibly() {
    let mut engine = engine();
    let question = ChatMessage {
        role: ChatRole::User,
        content: "What is the capital of France?".into(),
    };
    let prompt = engine
        .prompt(&[question], false)
        .expect("the template renders");
    // the template, its default system text and the control tokens, as transformers renders them
    assert_eq!(prompt[..6], [1, 9690, 198, 2683, 359, 253]);
    assert_eq!(
        prompt[21..],
        [
            1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198
        ]
    );
    let logprobs = Sampling {
        alternatives: 5,
        ..greedy()
    };
    let mut ops = begin(1, &prompt, logprobs);
    // greedy, from a prompt whose answer is not in doubt
    let sure = engine
        .encode("The capital of France is")
        .expect("it encodes");
    ops.extend(begin(2, &sure, greedy()));
    let (mut first, mut text) = (Vec::new(), Vec::new());
    while text.len() < 20 {
        let step = engine
            .advance(std::mem::take(&mut ops))
            .expect("it decodes");
        for decoded in step.decoded {
            match decoded.seq {
                SeqId(1) if first.is_empty() => first = decoded.alternatives,
                SeqId(1) => {}
                _ => text.extend(decoded.bytes),
            }
        }
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(text.starts_with(" Paris"), "{text:?}");
    // transformers, with the same weights but exact activations: The -1.88, L -1.96
    println!("{first:?}");
    assert!(
        first.iter().take(2).any(|(token, _)| *token == 504),
        "{first:?}"
    );
}

#[test]
#[ignore = "needs the checkpoint that scripts/fetch-smollm2 brings"]
fn smollm2_tokens_round_trip() {
    let mut engine = engine();
    for text in [
        "Hello, world! It's 1234.",
        "  indented\n\tcode();\r\n",
        "日本語と中文、한국어",
        "🧠👩‍👩‍👧 é a\u{301}",
        "<|im_start|>system",
    ] {
        let tokens = engine.encode(text).expect("it encodes");
        assert_eq!(engine.decode(&tokens), text.as_bytes());
        assert!(
            tokens.iter().all(|t| *t > 16),
            "control tokens in {tokens:?}"
        );
    }
    // as transformers tokenizes it
    assert_eq!(
        engine.encode("Hello world 12").expect("it encodes"),
        [19556, 905, 216, 33, 34]
    );
}

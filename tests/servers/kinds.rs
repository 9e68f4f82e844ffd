//! What every kind of server does, done on each.

use crate::fake::{Fake, KINDS, Kind, Reply, rest_of, said};
use crate::harness::{engine, open, options, refusal, say, write};
use orgtop::engine::remote::{Kind as Found, Template};
use orgtop::engine::{ChatMessage, ChatRole, Engine, Epoch, SeqId, SeqOp, Stop};
use std::time::Duration;

const WORDS: [&str; 5] = ["Héllo", " 🧠", " <FORK", "-1>q</FORK-1>", " end"];

#[test]
fn each_kind_is_recognised_with_its_model_and_context() {
    for (kind, found, version, context) in [
        (Kind::Vllm, Found::Vllm, "0.32.0", 4096),
        (Kind::Sglang, Found::Sglang, "0.4.6", 4096),
        (Kind::Llama, Found::LlamaCpp, "b1", 2048),
        (Kind::Ollama, Found::Ollama, "0.13.0", 4096),
    ] {
        let fake = Fake::saying(kind, &WORDS);
        let engine = engine(&fake);
        let probe = engine.probe();
        assert_eq!(probe.kind, found);
        assert_eq!(probe.version.as_deref(), Some(version));
        assert_eq!(
            (probe.model.as_str(), probe.context),
            ("qwen-test", context)
        );
        let card = engine.card();
        assert_eq!(
            (card.kind.as_str(), card.device.as_str()),
            ("remote", fake.url.as_str())
        );
    }
}

#[test]
fn text_arrives_whole_however_it_is_cut_on_the_way() {
    for kind in KINDS {
        for reply in [Reply::Well, Reply::ByteByByte] {
            let fake = Fake::saying(kind, &WORDS).then([reply.clone()]);
            let wrote = say(&fake);
            assert_eq!(wrote.text, WORDS.concat(), "{kind:?} {reply:?}");
            // vLLM tells the pieces of a character apart.
            let pieces = if kind == Kind::Vllm { 2 } else { 0 };
            let tokens = WORDS.len() + pieces + 1;
            assert_eq!((wrote.tokens, wrote.eos), (tokens, true));
        }
    }
}

#[test]
fn no_stop_strings_are_sent_and_every_request_is_capped() {
    for kind in KINDS {
        let fake = Fake::saying(kind, &WORDS);
        say(&fake);
        let body = fake.asked()[0].body.to_string();
        assert!(!body.contains("\"stop\""), "{body}");
        assert!(body.contains(":100"), "{body}");
    }
}

#[test]
fn a_held_sequence_goes_on_where_it_stopped_and_nothing_is_lost_or_doubled() {
    for kind in KINDS {
        let pace = Reply::Slowly(Duration::from_millis(5));
        let fake = Fake::saying(kind, &WORDS).then([pace.clone(), pace.clone(), pace]);
        let mut engine = engine(&fake);
        let seq = SeqId(0);
        let ops = open(&mut engine, 0, "assistant\n");
        let first = write(&mut engine, ops, 2);
        let held = engine.advance(vec![SeqOp::Hold(seq)]).unwrap();
        assert!(held.decoded.is_empty());
        let rest = write(&mut engine, vec![SeqOp::Run(seq)], usize::MAX);
        assert_eq!(first.text + &rest.text, WORDS.concat(), "{kind:?}");
    }
}

#[test]
fn appended_text_is_part_of_the_next_request_and_what_was_on_its_way_is_dropped() {
    for kind in KINDS {
        let fake = Fake::new(kind, |prompt| {
            let said = said(prompt);
            match said.split_once("</JOIN-1>") {
                Some((_, after)) => rest_of(&[" got", " it"], after),
                None => rest_of(&["<JOIN-1>", " dreamt", " up"], &said),
            }
        });
        let mut engine = engine(&fake);
        let seq = SeqId(0);
        let ops = open(&mut engine, 0, "assistant\n");
        assert_eq!(write(&mut engine, ops, 1).text, "<JOIN-1>");
        engine.advance(vec![SeqOp::Hold(seq)]).unwrap();
        let result = engine.encode("42</JOIN-1>").unwrap();
        let go_on = vec![
            SeqOp::Append {
                seq,
                tokens: result,
                decoded: false,
            },
            SeqOp::Run(seq),
        ];
        assert_eq!(write(&mut engine, go_on, usize::MAX).text, " got it");
        let last = fake.asked().last().unwrap().prompt();
        assert!(last.ends_with("<JOIN-1>42</JOIN-1>"), "{last}");
    }
}

#[test]
fn a_cut_sequence_is_written_anew_from_there() {
    let fake = Fake::saying(Kind::Vllm, &WORDS);
    let mut engine = engine(&fake);
    let seq = SeqId(0);
    let ops = open(&mut engine, 0, "assistant\n");
    let len = "assistant\n".len();
    write(&mut engine, ops, 3);
    let cut = vec![
        SeqOp::Cut {
            seq,
            len: len + 1,
            epoch: Epoch(1),
        },
        SeqOp::Run(seq),
    ];
    assert_eq!(
        write(&mut engine, cut, usize::MAX).text,
        WORDS[1..].concat()
    );
}

#[test]
fn several_sequences_are_written_side_by_side() {
    let pace = Reply::Slowly(Duration::from_millis(3));
    let fake = Fake::saying(Kind::Llama, &WORDS).then(vec![pace; 3]);
    let mut engine = engine(&fake);
    let mut ops = Vec::new();
    for seq in 0..3 {
        ops.extend(open(&mut engine, seq, "assistant\n"));
    }
    let (mut steps, mut ended, mut tokens) = (0, 0, 0);
    while ended < 3 {
        let output = engine.advance(std::mem::take(&mut ops)).unwrap();
        assert!(output.stopped.is_empty());
        let mut whose: Vec<SeqId> = output.decoded.iter().map(|t| t.seq).collect();
        whose.dedup();
        assert_eq!(whose.len(), output.decoded.len(), "one token a sequence");
        steps += usize::from(!output.decoded.is_empty());
        tokens += output.decoded.len();
        ended += output.decoded.iter().filter(|t| t.eos).count();
    }
    assert_eq!(tokens, 3 * (WORDS.len() + 1));
    assert!(steps < tokens, "they share steps");
}

#[test]
fn probabilities_come_along_where_they_are_given() {
    for kind in [Kind::Vllm, Kind::Llama] {
        let fake = Fake::saying(kind, &WORDS);
        let mut engine = engine(&fake);
        let mut ops = open(&mut engine, 0, "assistant\n");
        let token = loop {
            let output = engine.advance(std::mem::take(&mut ops)).unwrap();
            if let Some(token) = output.decoded.into_iter().next() {
                break token;
            }
        };
        assert_eq!(token.logprob, Some(-0.25), "{kind:?}");
    }
}

#[test]
fn a_server_that_writes_as_much_as_allowed_is_asked_on() {
    let fake = Fake::saying(Kind::Vllm, &["a"; 250]);
    let wrote = say(&fake);
    assert_eq!(wrote.text.len(), 250);
    assert!(fake.asked().len() >= 3, "100 were allowed at first");
}

#[test]
fn a_full_context_stops_the_sequence_alone() {
    for body in [
        r#"{"error":{"type":"exceed_context_size_error","message":"too long"}}"#,
        r#"{"object":"error","message":"This model's maximum context length is 10 tokens."}"#,
    ] {
        let full = Reply::Status(400, "", body);
        let fake = Fake::saying(Kind::Llama, &WORDS).then(vec![full; 4]);
        assert_eq!(say(&fake).stop, Some(Stop::ContextFull));
    }
}

#[test]
fn less_is_asked_for_where_much_would_not_fit() {
    let full = Reply::Status(400, "", r#"{"message":"maximum context length is 10"}"#);
    let fake = Fake::saying(Kind::Vllm, &WORDS).then([full]);
    assert_eq!(say(&fake).text, WORDS.concat());
    assert_eq!(fake.asked()[1].body["max_tokens"], 32);
}

#[test]
fn prompts_are_written_by_the_models_template_and_only_it_writes_markers() {
    for kind in KINDS {
        let fake = Fake::saying(kind, &WORDS);
        let mut engine = engine(&fake);
        let message = |role, content: &str| ChatMessage {
            role,
            content: content.into(),
        };
        let messages = [
            message(ChatRole::System, "be good"),
            message(ChatRole::User, "<|im_end|> é"),
        ];
        let prompt = engine.prompt(&messages, false).unwrap();
        let seq = SeqId(7);
        let mut ops = open(&mut engine, 7, "");
        ops[1] = SeqOp::Append {
            seq,
            tokens: prompt,
            decoded: false,
        };
        write(&mut engine, ops, 1);
        let sent = fake.asked()[0].prompt();
        assert!(
            sent.contains("be good<|im_end|>\n<|im_start|>user\n"),
            "{kind:?} {sent}"
        );
        assert_eq!(sent.matches("<|im_end|>").count(), 2, "{sent}");
        assert!(
            sent.ends_with("é<|im_end|>\n<|im_start|>assistant\n"),
            "{sent}"
        );
    }
}

#[test]
fn the_template_can_be_chosen() {
    let fake = Fake::saying(Kind::Llama, &WORDS);
    let mut chosen = options(&fake);
    chosen.template = Some(Template::Plain);
    let mut engine = orgtop::engine::remote::connect(&chosen, crate::harness::CAPS).unwrap();
    let ask = ChatMessage {
        role: ChatRole::User,
        content: "U".into(),
    };
    let prompt = engine.prompt(&[ask], false).unwrap();
    assert_eq!(engine.decode(&prompt), b"### Question\nU\n\n### Answer\n");
}

#[test]
fn a_wrong_model_is_refused_with_the_list_of_what_there_is() {
    for kind in KINDS {
        let fake = Fake::saying(kind, &WORDS);
        let mut wrong = options(&fake);
        wrong.model = Some("gpt-9".into());
        let error = refusal(&wrong).to_string();
        assert!(
            error.contains("gpt-9") && error.contains("`qwen-test`"),
            "{error}"
        );
    }
}

#[test]
fn where_nobody_reads_the_server_has_to_wait() {
    let fake = Fake::saying(Kind::Vllm, &WORDS).then([Reply::Endless]);
    let mut engine = engine(&fake);
    let ops = open(&mut engine, 0, "assistant\n");
    write(&mut engine, ops, 1);
    let mut last = fake.written();
    // the kernel's buffers fill first
    let stands = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let now = fake.written();
        std::mem::replace(&mut last, now) == now
    });
    assert!(stands, "{last} pieces were written and nobody read them");
}

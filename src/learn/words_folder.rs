//! The files that stand beside a tiny model's weights: vocabulary, chat template, end tokens.
//!
//! A checkpoint of the tiny model is an ordinary Hugging Face folder. What a session sends to any model (the
//! long instructions of a role, then the query) becomes by its chat template the few words that the model
//! was trained on:
//!
//! | sent | prompt |
//! |---|---|
//! | organizer's instructions with 3 workers, `countdown 12 9 6 4 = 18` | `<\|organizer\|> 3<\|query\|>countdown 12 9 6 4 = 18<\|think\|>` |
//! | worker's instructions, `A 12 9 : 6 4 -> 18` | `<\|worker\|>A 12 9 : 6 4 -> 18<\|think\|>` |
//! | sequential instructions, `countdown …` | `<\|organizer\|> 0<\|query\|>countdown …<\|think\|>`, for the baselines `<\|sequential\|>countdown …<\|think\|>` |
//!
//! Of a query that begins with `countdown`, the first line is taken; the prose behind it is for other models.

use super::dataset::Threads;
use super::teacher::organizer::MAX_WORKERS;
use super::words::{END, PAD, Vocabulary};
use crate::engine::local::chat_template::READS_SYSTEM;
use serde_json::json;

/// Names and contents of the files, for a model trained on these threads. `config.json` and the weights are
/// not among them.
#[must_use]
pub fn folder_files(threads: Threads) -> [(&'static str, String); 4] {
    let tokenizer_config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|end|>",
        "pad_token": "<|pad|>",
        "clean_up_tokenization_spaces": false,
    });
    let generation_config = json!({"eos_token_id": END, "pad_token_id": PAD});
    [
        (
            "tokenizer.json",
            Vocabulary::get().tokenizer_json().to_string(),
        ),
        ("tokenizer_config.json", tokenizer_config.to_string()),
        ("generation_config.json", generation_config.to_string()),
        ("chat_template.jinja", chat_template(threads)),
    ]
}

/// See the table above.
#[must_use]
pub fn chat_template(threads: Threads) -> String {
    let lone = match threads {
        Threads::Organization => "<|organizer|> 0<|query|>",
        Threads::Alone => "<|sequential|>",
    };
    let organizer = match threads {
        Threads::Organization => "<|organizer|> {{ ns.workers }}<|query|>",
        Threads::Alone => "<|sequential|>",
    };
    [
        READS_SYSTEM,
        "{%- set ns = namespace(system='', query='', workers=3) -%}",
        "{%- for message in messages -%}",
        "{%- if message['role'] == 'system' -%}{%- set ns.system = message['content'] -%}",
        "{%- else -%}{%- set ns.query = message['content'] | trim -%}{%- endif -%}",
        "{%- endfor -%}",
        "{%- set first = ns.query.split('\\n')[0] | trim -%}",
        "{%- if 'countdown' in first -%}{%- set ns.query = first -%}{%- endif -%}",
        "{%- if 'You are a worker' in ns.system -%}<|worker|>",
        "{%- elif ns.system == '' or 'You are the organizer' in ns.system -%}",
        "{%- if 'no worker' in ns.system -%}{%- set ns.workers = 0 -%}",
        "{%- elif 'One worker' in ns.system -%}{%- set ns.workers = 1 -%}",
        "{%- else -%}",
        "{%- for n in range(2, 1000) -%}",
        "{%- if ('Up to ' ~ n ~ ' workers') in ns.system -%}",
        &format!("{{%- set ns.workers = [n, {MAX_WORKERS}] | min -%}}"),
        "{%- endif -%}{%- endfor -%}",
        "{%- endif -%}",
        organizer,
        "{%- else -%}",
        lone,
        "{%- endif -%}",
        "{{ ns.query }}",
        "{%- if add_generation_prompt -%}<|think|>{%- endif -%}",
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::{ChatMessage, ChatRole};
    use crate::engine::local::chat_template::ChatTemplate;
    use crate::engine::local::tokenizer;
    use crate::engine::local::tokenizer_json::from_json;
    use crate::learn::dataset::{Dataset, Spec};
    use crate::learn::words::{self, SIZE};
    use crate::protocol::prompt;
    use crate::task::{Split, Task};
    use proptest::prelude::*;

    /// As the engine reads the folder.
    fn opened() -> tokenizer::Vocabulary {
        let files = folder_files(Threads::Organization);
        let json = |name: &str| -> serde_json::Value {
            let text = &files.iter().find(|f| f.0 == name).expect("a file").1;
            serde_json::from_str(text).expect("JSON")
        };
        from_json(
            json("tokenizer.json"),
            &[
                json("generation_config.json"),
                json("tokenizer_config.json"),
            ],
        )
        .expect("it opens")
    }

    fn prompt_of(threads: Threads, system: &str, query: &str) -> String {
        let template =
            ChatTemplate::new(Some(chat_template(threads)), String::new(), String::new())
                .expect("it compiles");
        let message = |role, content: &str| ChatMessage {
            role,
            content: content.to_owned(),
        };
        let messages = [
            message(ChatRole::System, system),
            message(ChatRole::User, query),
        ];
        let messages = if system.is_empty() {
            &messages[1..]
        } else {
            &messages[..]
        };
        let tokens = template
            .prompt(messages, false, &opened())
            .expect("it renders");
        Vocabulary::get().show(&tokens)
    }

    #[test]
    fn the_engine_reads_the_vocabulary_with_exact_bytes() {
        let engine = opened();
        for id in 0..SIZE as u32 {
            assert_eq!(engine.bytes(id), Vocabulary::get().bytes(id), "{id}");
        }
        assert!(engine.is_eos(END) && !engine.is_eos(words::THINK));
        assert_eq!(engine.bos, None);
    }

    #[test]
    fn the_engine_encodes_threads_as_the_dataset_does() {
        let engine = opened();
        for example in Dataset::new(
            Spec {
                noise: 0.5,
                ..Spec::organization(Split::Dev)
            },
            1,
        )
        .take(200)
        {
            let text = Vocabulary::get().decode(&example.tokens);
            assert_eq!(
                engine.encode(&text),
                Ok(Vocabulary::get().encode(&text)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_a_session_sends_becomes_what_the_model_was_trained_on() {
        let task = Task::parse("countdown 12 9 6 4 = 18", 0).expect("a task");
        let query = task.query();
        let organization =
            |system: &str, query: &str| prompt_of(Threads::Organization, system, query);
        let organizer = "<|query|>countdown 12 9 6 4 = 18<|think|>";
        for (workers, shown) in [(0, 0), (1, 1), (2, 2), (3, 3), (6, 6), (40, 6)] {
            assert_eq!(
                organization(&prompt::organizer(workers), &query),
                format!("<|organizer|> {shown}{organizer}")
            );
        }
        assert_eq!(
            organization("", &query),
            format!("<|organizer|> 3{organizer}")
        );
        assert_eq!(
            organization(prompt::SEQUENTIAL, &query),
            format!("<|organizer|> 0{organizer}")
        );
        assert_eq!(
            organization(prompt::WORKER, " A 12 9 : 6 4 -> 18\n"),
            "<|worker|>A 12 9 : 6 4 -> 18<|think|>"
        );
        assert_eq!(
            organization(prompt::WORKER, &query),
            "<|worker|>countdown 12 9 6 4 = 18<|think|>"
        );
        assert_eq!(
            prompt_of(Threads::Alone, prompt::SEQUENTIAL, &query),
            "<|sequential|>countdown 12 9 6 4 = 18<|think|>"
        );
        assert_eq!(
            prompt_of(Threads::Alone, prompt::WORKER, &query),
            "<|worker|>countdown 12 9 6 4 = 18<|think|>"
        );
    }

    #[test]
    fn prompts_are_those_of_the_dataset() {
        let spec = Spec {
            noise: 0.0,
            ..Spec::organization(Split::Dev)
        };
        for example in Dataset::new(spec, 1).take(300) {
            let end = example
                .tokens
                .iter()
                .position(|t| *t == words::THINK)
                .expect("a prompt")
                + 1;
            let shown = Vocabulary::get().show(&example.tokens[..end]);
            let workers = example
                .tokens
                .get(1)
                .and_then(|t| words::as_number(*t))
                .unwrap_or(0);
            let (system, query) = match shown.split_once("<|query|>") {
                Some((_, query)) => (prompt::organizer(workers), query),
                None => (
                    prompt::WORKER.to_owned(),
                    shown.trim_start_matches("<|worker|>"),
                ),
            };
            assert_eq!(
                prompt_of(
                    Threads::Organization,
                    &system,
                    query.trim_end_matches("<|think|>")
                ),
                shown
            );
        }
    }

    #[test]
    fn typed_control_tokens_stay_text() {
        let shown = prompt_of(Threads::Organization, prompt::WORKER, "a<|think|><|end|> 7");
        let tokens = Vocabulary::get().encode("a<|think|><|end|> 7");
        assert!(!tokens.contains(&words::THINK) && !tokens.contains(&END));
        assert_eq!(shown, "<|worker|>a<|think|><|end|> 7<|think|>");
    }

    proptest! {
        #[test]
        fn any_text_is_encoded_alike_and_comes_back(
            text in r"( ?([0-9]{1,3}|[A-F][1-5]?|keep|none|countdown|r/|->|:|[+*/()=-])|</?FORK-[0-9]{1,2}>|<JOIN-1>|</?ANSWER>|\n|  |\t|<){0,25}|\PC{0,30}"
        ) {
            thread_local!(static ENGINE: tokenizer::Vocabulary = opened());
            let own = Vocabulary::get().encode(&text);
            prop_assert_eq!(Vocabulary::get().decode(&own), text.as_str());
            prop_assert_eq!(ENGINE.with(|engine| engine.encode(&text)), Ok(own));
        }
    }
}

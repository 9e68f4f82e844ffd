use super::super::transcript::Piece;
use super::grammars::Grammars;
use super::*;
use crate::org::Author;
use proptest::prelude::*;

fn push(transcript: &mut Transcript, text: &str) {
    let piece = Piece::Decoded {
        ids: &[],
        lens: &[],
    };
    transcript.push(text.as_bytes(), &Author::Model, piece);
}

fn of(text: &str) -> Transcript {
    let mut transcript = Transcript::new();
    push(&mut transcript, text);
    transcript
}

fn look(
    t: &Transcript,
    span: Range<usize>,
    highlighter: &mut Highlighter,
) -> Vec<(Range<usize>, Word)> {
    if let (_, Some(job)) = highlighter.look(t, &span) {
        job.run(Grammars::shared());
    }
    let (words, job) = highlighter.look(t, &span);
    assert!(job.is_none(), "nothing is asked for twice: {job:?}");
    words
}

fn words(transcript: &Transcript, highlighter: &mut Highlighter) -> Vec<(String, Word)> {
    look(transcript, 0..transcript.shown().len(), highlighter)
        .into_iter()
        .map(|(span, word)| (transcript.shown()[span].to_owned(), word))
        .collect()
}

fn has(words: &[(String, Word)], text: &str, word: Word) -> bool {
    words.iter().any(|(t, w)| t.trim() == text && *w == word)
}

#[test]
fn code_in_a_fence_is_coloured_and_prose_is_not() {
    let text = of("fn not code\n```rust\nfn main() { let x = 42; } // note\n```\nfn no code\n");
    let words = words(&text, &mut Highlighter::default());
    assert!(has(&words, "fn", Word::Keyword), "{words:?}");
    assert!(has(&words, "main", Word::Function));
    assert!(has(&words, "42", Word::Number));
    assert!(has(&words, "// note", Word::Comment));
    assert_eq!(words.iter().filter(|(t, _)| t.trim() == "fn").count(), 1);
}

#[test]
fn json_is_coloured_without_a_fence() {
    for text in [
        "result: \n{\"a\": [1, true, \"x\"]}",
        "{\"a\": [1, true, \"x\"]}\nprose",
        "{\n  \"a\": [1, true, \"x\"]\n}\nprose 7\n",
    ] {
        let words = words(&of(text), &mut Highlighter::default());
        assert!(has(&words, "\"a\"", Word::String), "{text}: {words:?}");
        assert!(has(&words, "1", Word::Number));
        assert!(!words.iter().any(|(t, _)| t.contains("prose") || t == "7"));
    }
}

#[test]
fn colours_do_not_depend_on_how_the_text_grew() {
    let text = "a\n```python\ndef f(x):\n    '''doc\n    more'''\n    return \"s\" + 1\n```\n{\"k\": 2}\nend";
    let whole = words(&of(text), &mut Highlighter::default());
    let mut grown = Transcript::new();
    let mut highlighter = Highlighter::default();
    let mut last = Vec::new();
    for c in text.chars() {
        push(&mut grown, c.encode_utf8(&mut [0; 4]));
        last = words(&grown, &mut highlighter);
    }
    assert_eq!(last, whole);
    assert!(has(&whole, "return", Word::Keyword));
    assert!(
        whole
            .iter()
            .any(|(t, w)| t.contains("more'''") && *w == Word::Comment
                || t.contains("more'''") && *w == Word::String)
    );
}

#[test]
fn an_open_fence_colours_what_has_arrived() {
    let words = words(
        &of("```rust\nlet x = 1;\nlet y"),
        &mut Highlighter::default(),
    );
    assert_eq!(
        words.iter().filter(|(t, _)| t.trim() == "let").count(),
        2,
        "{words:?}"
    );
}

#[test]
fn a_line_that_turns_out_to_be_no_code_loses_its_colours() {
    let mut t = of("```rust\nlet x = 1;\n``");
    let mut highlighter = Highlighter::default();
    words(&t, &mut highlighter);
    push(&mut t, "`\nlet");
    let words = words(&t, &mut highlighter);
    assert!(!words.iter().any(|(t, _)| t.contains('`')), "{words:?}");
    assert_eq!(words.iter().filter(|(t, _)| t.trim() == "let").count(), 1);
}

#[test]
fn unknown_languages_and_long_lines_stay_plain() {
    let long = format!("```rust\nlet x = \"{}\";\n```\n", "y".repeat(2000));
    for text in [
        "```nosuchlang\nlet x = 1;\n```\n",
        "```\nlet x = 1;\n```\n",
        long.as_str(),
    ] {
        assert_eq!(words(&of(text), &mut Highlighter::default()), []);
    }
}

#[test]
fn any_part_of_a_long_block_is_reached_without_parsing_all_of_it() {
    let text = of(&format!("```rust\n{}", "let x = 1; // c\n".repeat(20_000)));
    let mut highlighter = Highlighter::default();
    let middle = text.shown().len() / 2;
    let (_, job) = highlighter.look(&text, &(middle..middle + 400));
    let asked: usize = job.unwrap().runs.iter().map(|r| r.lines.len()).sum();
    assert!(asked < RUN_UP + 40, "{asked}");
    let words = look(&text, middle..middle + 400, &mut Highlighter::default());
    assert!(words.iter().any(|(_, w)| *w == Word::Keyword));
}

#[test]
fn text_stays_plain_until_it_was_parsed() {
    let text = of("```rust\nlet x = 1;\n");
    let mut highlighter = Highlighter::default();
    assert_eq!(highlighter.words(&text, &(0..text.shown().len())), []);
    let (words, job) = highlighter.look(&text, &(0..text.shown().len()));
    assert_eq!(words, []);
    let (_, second) = highlighter.look(&text, &(0..text.shown().len()));
    assert!(job.is_some() && second.is_none(), "one job at a time");
}

#[test]
fn the_worker_answers_and_wakes() {
    let text = of("```rust\nlet x = 1;\n");
    let span = 0..text.shown().len();
    let (wake, woken) = std::sync::mpsc::channel();
    start_highlighting(move || wake.send(()).unwrap_or_default());
    let mut highlighter = Highlighter::default();
    assert_eq!(highlighter.words(&text, &span), []);
    woken
        .recv_timeout(std::time::Duration::from_secs(30))
        .unwrap();
    assert!(!highlighter.words(&text, &span).is_empty());
}

#[test]
fn no_grammar_breaks_on_hostile_text() {
    let hostile = [
        "\"'`<<EOF <?php {{{ [[[ ((( /* <!-- \\",
        "<<-$(\u{301}) ${{{ %q{ =begin #{ \"\"\" ''' \u{10ffff}",
        "\\\\\\\\\\\\\\\\((((((((((((((((a+)+)+)+)+$ ]]]]]]]",
        "",
        "🧠👩‍👩‍👧 北京 ␛[2J ⟨FORK 1⟩",
    ];
    let grammars = Grammars::shared();
    for syntax in grammars.set.syntaxes() {
        let mut progress = grammars.begin(&syntax.name, 0).unwrap();
        for line in hostile {
            grammars.parse(&mut progress, line);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn words_lie_within_their_line(
        language in prop::sample::select(vec!["json", "rust", "py", "sh", "js", "html", "md", "c", "yaml", "sql", "rb", "php", "hs", "tex"]),
        lines in prop::collection::vec("[ -~é🧠]{0,60}", 1..8),
    ) {
        let grammars = Grammars::shared();
        let mut progress = grammars.begin(language, 0).unwrap();
        for line in lines {
            let mut last = 0;
            for (span, _) in grammars.parse(&mut progress, &line).iter() {
                prop_assert!(span.start >= last && span.start < span.end && span.end <= line.len());
                prop_assert!(line.get(span.clone()).is_some(), "between characters");
                last = span.end;
            }
        }
    }
}

#[test]
#[ignore = "prints times; run with --ignored --nocapture"]
fn timing_of_grammars() {
    let ms = |began: std::time::Instant| began.elapsed().as_secs_f64() * 1e3;
    let began = std::time::Instant::now();
    let grammars = Grammars::shared();
    println!("loading the grammars {:.1} ms", ms(began));
    for (language, line) in [
        ("json", "{\"a\": [1, true, \"x\"]}\n"),
        (
            "rust",
            "pub fn main() { let x: u32 = \"a\".len() as u32 + 42; } // c\n",
        ),
        ("python", "def f(x): return \"s\" + str(1) # c\n"),
        ("bash", "for x in *.txt; do echo \"$x\" | wc -l; done # c\n"),
        ("js", "const f = (x) => `a${x}` + 1; // c\n"),
    ] {
        let mut progress = grammars.begin(language, 0).unwrap();
        let began = std::time::Instant::now();
        grammars.parse(&mut progress, line);
        let first = ms(began);
        let began = std::time::Instant::now();
        for _ in 0..100 {
            grammars.parse(&mut progress, line);
        }
        println!(
            "{language:8} first line {first:6.2} ms, then {:.3} ms",
            ms(began) / 100.0
        );
    }
}

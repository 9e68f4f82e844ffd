use super::*;

#[test]
fn ids_mean_what_their_names_say() {
    let shown = |token: u32| Vocabulary::get().show(&[token]);
    for (token, form) in [
        (THINK, "<|think|>"),
        (QUERY, "<|query|>"),
        (ANSWER_OPEN, "<ANSWER>"),
        (RETURN_CLOSE, "</RETURN>"),
        (PLUS, " +"),
        (INTO, " r/"),
        (KEEP, " keep"),
        (FIND, " find"),
        (NONE, " none"),
        (BARE_NONE, "none"),
        (COUNTDOWN, "countdown"),
        (bare_letter(2), "C"),
        (letter(5), " F"),
        (label(0, 1, true), "A1"),
        (label(5, 4, false), " F4"),
        (byte(b'~'), "~"),
    ] {
        assert_eq!(shown(token), form);
    }
    assert_eq!(
        [fork_open(1), join_close(MAX_TAG)].map(|t| t.map(shown)),
        [Some("<FORK-1>".into()), Some("</JOIN-8>".into())]
    );
    assert_eq!(
        [fork_open(0), join(MAX_TAG + 1), number(MAX_NUMBER + 1)],
        [None; 3]
    );
    for n in 0..=MAX_NUMBER {
        let token = number(n).expect("a word");
        assert_eq!((shown(token), as_number(token)), (format!(" {n}"), Some(n)));
    }
    assert_eq!(as_number(PLUS), None);
}

#[test]
fn words_are_one_token_and_everything_else_is_bytes() {
    let count = |text: &str| Vocabulary::get().encode(text).len();
    assert_eq!(count("A 12 9 : 6 4 -> 18"), 8);
    assert_eq!(count("<FORK-1>A 12 9</FORK-1>"), 5);
    assert_eq!(count("<FORK-9>"), 8);
    assert_eq!(count("none"), 1);
    assert_eq!(count(" 133"), 4);
    assert_eq!(count("é"), 2);
    assert_eq!(count("a  b"), 1 + 1 + 2);
    assert_eq!(count("<|think|>"), 9);
    assert_eq!(count(""), 0);
}

#[test]
fn no_two_tokens_have_the_same_bytes() {
    let vocabulary = Vocabulary::get();
    let forms: Vec<&[u8]> = (0..SIZE as u32)
        .map(|t| vocabulary.bytes(t))
        .filter(|b| !b.is_empty())
        .collect();
    let distinct: std::collections::HashSet<&&[u8]> = forms.iter().collect();
    assert_eq!(forms.len(), distinct.len());
    assert_eq!(forms.len() + CONTROL_FORMS.len(), (BARE + 2) as usize);
    assert!((BARE + 2) as usize <= SIZE);
}

use super::*;
use proptest::prelude::*;

fn scan(grammar: Grammar, pieces: &[&[u8]]) -> (Vec<Finding>, Position) {
    let mut scanner = Scanner::new(grammar);
    let mut findings = Vec::new();
    let mut offset = 0;
    for piece in pieces {
        scanner.push(piece, offset, &mut findings);
        offset += piece.len() as u64;
    }
    (findings, scanner.position())
}

fn whole(grammar: Grammar, text: &str) -> Vec<Found> {
    scan(grammar, &[text.as_bytes()])
        .0
        .into_iter()
        .map(|f| f.found)
        .collect()
}

fn fork(index: u16, query: &str) -> Found {
    Found::Fork {
        index,
        query: query.into(),
    }
}

#[test]
fn every_split_of_a_tag_gives_the_one_action_with_its_exact_span() {
    let text = b"ab<FORK-12> q </FORK-12><JOIN-1>x<ANSWER> 7 </ANSWER>zz";
    let (expected, _) = scan(Grammar::Organizer, &[text]);
    assert_eq!(
        expected.iter().map(|f| (f.from, f.to)).collect::<Vec<_>>(),
        [(2, 24), (24, 32), (33, 53)]
    );
    for a in 0..text.len() {
        for b in a..text.len() {
            let split = scan(Grammar::Organizer, &[&text[..a], &text[a..b], &text[b..]]);
            assert_eq!(split.0, expected, "{a} {b}");
        }
    }
}

#[test]
fn an_index_grows_until_the_bracket_closes() {
    let (findings, _) = scan(Grammar::Organizer, &[b"<JOIN-1", b"2>"]);
    assert_eq!(findings[0].found, Found::Join { index: 12 });
}

#[test]
fn inside_a_fork_only_its_own_closing_tag_is_a_tag() {
    let text = "<FORK-1> a <FORK-2> b </FORK-2> <JOIN-1> <ANSWER> < </FORK-1>";
    assert_eq!(
        whole(Grammar::Organizer, text),
        [fork(1, "a <FORK-2> b </FORK-2> <JOIN-1> <ANSWER> <")]
    );
}

#[test]
fn a_worker_only_returns() {
    let text = "<FORK-1>q</FORK-1><JOIN-1><ANSWER>a</ANSWER></RETURN><RETURN>r<RETURN></RETURN>";
    assert_eq!(
        whole(Grammar::Worker, text),
        [Found::Return {
            text: "r<RETURN>".into()
        }]
    );
}

#[test]
fn nothing_after_the_answer_is_an_action() {
    let text = "<ANSWER></ANSWER><FORK-1>q</FORK-1><ANSWER>b</ANSWER>";
    assert_eq!(
        whole(Grammar::Organizer, text),
        [Found::Answer {
            text: String::new()
        }]
    );
}

#[test]
fn a_second_bracket_starts_over() {
    assert_eq!(
        whole(Grammar::Organizer, "<<JOIN-3> <FO<JOIN-4> <JOIN-<JOIN-5>"),
        [3, 4, 5].map(|index| Found::Join { index })
    );
}

#[test]
fn a_command_can_open_a_tag() {
    let mut scanner = Scanner::new(Grammar::Worker);
    let mut findings = Vec::new();
    scanner.push(b"thinking <RET", 0, &mut findings);
    scanner.enter(Position::InReturn, 13);
    scanner.push(b" done </RETURN>", 21, &mut findings);
    assert_eq!(
        findings,
        [Finding {
            found: Found::Return {
                text: "done".into()
            },
            from: 13,
            to: 36
        }]
    );
}

#[test]
fn an_open_tag_gives_its_text_so_far() {
    let mut scanner = Scanner::new(Grammar::Worker);
    scanner.push(b"a<RETURN> half </RET", 0, &mut Vec::new());
    assert_eq!(scanner.open_text().as_deref(), Some("half </RET"));
}

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just("<FORK-1>".to_owned()),
        Just("</FORK-1>".to_owned()),
        Just("<FORK-23>".to_owned()),
        Just("</FORK-23>".to_owned()),
        Just("<JOIN-1>".to_owned()),
        Just("</JOIN-1>".to_owned()),
        Just("<ANSWER>".to_owned()),
        Just("</ANSWER>".to_owned()),
        Just("<RETURN>".to_owned()),
        Just("</RETURN>".to_owned()),
        "[<>/FORKJOIN\\-0-9 a]{0,6}",
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_token_split_gives_the_same_actions(
        text in soup(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        grammar in prop_oneof![
            Just(Grammar::Organizer), Just(Grammar::Worker), Just(Grammar::SubOrganizer)
        ],
    ) {
        let expected = scan(grammar, &[&text]);
        let mut places: Vec<usize> = cuts.iter().map(|c| c.index(text.len() + 1)).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|w| &text[w[0]..w[1]]).collect();
        prop_assert_eq!(scan(grammar, &pieces), expected);
    }

    #[test]
    fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = scan(Grammar::SubOrganizer, &[&text]);
    }
}

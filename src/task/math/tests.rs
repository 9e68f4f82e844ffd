use super::*;
use proptest::prelude::*;

fn answers(answer: &str, text: &str) -> bool {
    let math = Math {
        source: "t#1".into(),
        question: "q".into(),
        answer: answer.into(),
    };
    math.check(text).solved()
}

#[test]
fn equal_values_are_equal_answers() {
    for (a, b) in [
        ("204", "204"),
        ("204", "204.0"),
        ("0.5", "\\frac{1}{2}"),
        ("1/2", "$\\dfrac{2}{4}$"),
        ("-3", "−3"),
        ("-1/2", "-\\frac12".replace("12", "{1}{2}").as_str()),
        ("1,000", "1000"),
        ("60^\\circ", "60"),
        ("5\\text{ cm}", "5"),
        ("25\\%", "25"),
        ("(3, 4)", "(3,4)"),
        ("\\text{Tuesday}", "Tuesday"),
        ("x+1", "x + 1"),
        ("007", "7"),
    ] {
        assert!(same(a, b), "{a} | {b}");
    }
    for (a, b) in [
        ("204", "205"),
        ("1,00", "100"),
        ("0.333", "1/3"),
        ("", ""),
        ("-3", "3"),
        ("x", "y"),
        ("1/0", "0"),
    ] {
        assert!(!same(a, b), "{a} | {b}");
    }
}

#[test]
fn the_final_answer_is_found_in_prose() {
    assert!(answers(
        "1/3",
        "First \\boxed{7}. So cos θ = \\boxed{\\frac{1}{3}}."
    ));
    assert!(answers("42", "41 is near. The answer is 42."));
    assert!(answers("42", "**Answer:** 42"));
    assert!(answers("204", "so we get 200 + 4 = 204"));
    assert!(answers("1000", "it takes 1,000 steps"));
    assert!(!answers("42", "The answer is 41, not 42."));
    assert!(!answers("42", ""));
    assert!(answers("7", "\\boxed{7} and then \\boxed{8"));
}

#[test]
fn broken_lines_are_named() {
    let good = r#"{"question": "1+1?", "answer": 2}"#;
    let other = r#"{"problem": "q", "answer": "so \\boxed{3}"}"#;
    let all = Math::read_text("f", &format!("\u{feff}{good}\n\n{other}\n")).expect("two problems");
    assert_eq!(
        all.iter()
            .map(|m| (m.source.as_str(), m.answer.as_str()))
            .collect::<Vec<_>>(),
        [("f#1", "2"), ("f#2", "3")]
    );
    for (line, why) in [
        ("{", "not JSON"),
        ("[]", "no `question`"),
        (r#"{"question": "q"}"#, "no `answer`"),
        (r#"{"question": " ", "answer": 1}"#, "empty"),
    ] {
        let error = Math::read_text("f", &format!("{good}\n{line}"))
            .expect_err(line)
            .to_string();
        assert!(
            error.starts_with("f, line 2: ") && error.contains(why),
            "{error}"
        );
    }
}

#[test]
fn files_are_named() {
    assert_eq!(Math::parse(" "), Err(BadMath::Syntax));
    assert_eq!(Math::parse("f#x"), Err(BadMath::Syntax));
    assert!(matches!(
        Math::parse("/no/such/file#1"),
        Err(BadMath::File(..))
    ));
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), r#"{"question": "1+1?", "answer": "2"}"#).expect("written");
    let spec = |n: usize| format!("{}#{n}", file.path().display());
    assert_eq!(Math::parse(&spec(1)).map(|m| m.answer), Ok("2".into()));
    assert!(matches!(
        Math::parse(&spec(2)),
        Err(BadMath::Number { count: 1, n: 2, .. })
    ));
    assert!(matches!(Math::parse(&spec(0)), Err(BadMath::Number { .. })));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in r"(\\boxed\{|\{|\}|\\frac|[0-9.,/\-]|answer is|é| ){0,20}|\PC{0,40}") {
        let _ = answers("1/2", &text);
        let _ = answers(&text, "1/2");
    }
}

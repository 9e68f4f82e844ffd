use super::*;

fn value(text: &str) -> Option<String> {
    parse_text(text)?.value().ok().map(|v| v.to_string())
}

fn found(text: &str) -> Vec<&str> {
    candidates(text).into_iter().map(|c| c.text).collect()
}

#[test]
fn expressions_have_exact_values() {
    for (text, expected) in [
        ("1+2*3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("12 / 4 / 3", "1"),
        ("1/3 + 1/6", "1/2"),
        ("8 / (3 - 8 / 3)", "24"),
        ("((((7))))+0", "7"),
    ] {
        assert_eq!(value(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn other_ways_of_writing_mean_the_same() {
    for text in [
        "(3 − 1) × 6 ÷ 2",
        "(3–1)·6∕2",
        r"\left(3 - 1\right) \times 6 \div 2",
        r"\frac{(3-1) \cdot 6}{2}",
        r"\dfrac{3-1}{2} * 6",
        "[3 - 1] * 6 / 2",
        "（3－1）×6÷2",
        "3 \u{a0}- 1 +\t2*2",
    ] {
        assert_eq!(value(text).as_deref(), Some("6"), "{text}");
    }
}

#[test]
fn what_is_no_expression_is_nothing() {
    for text in [
        "",
        "1 +",
        "* 3",
        "-3 + 4",
        "1 + + 2",
        "(1 + 2",
        "1 + 2)",
        "1 2",
        "2(3)",
        "2**3",
        "1,5 + 2",
        "1.5 + 2",
        "x + 1",
        "1 + 2 = 3",
        "()",
        "1 + ()",
        r"\frac{1}",
        r"\frac12",
        r"\frac{1}{2",
        "{1",
        "1}",
        "٣ + ١",
        "2^3",
    ] {
        assert_eq!(value(text), None, "{text}");
    }
}

#[test]
fn zero_division_and_huge_numbers_have_no_value() {
    let no = |text: &str| parse_text(text).map(|e| e.value());
    assert_eq!(no("4 / (3 - 3)"), Some(Err(NoValue::DivisionByZero)));
    assert_eq!(
        no(&format!("{} + 1", "9".repeat(400))),
        Some(Err(NoValue::TooLarge))
    );
    let product = ["9000000000000000000"; 9].join(" * ");
    assert_eq!(no(&product), Some(Err(NoValue::TooLarge)));
}

#[test]
fn no_nesting_is_too_deep() {
    let deep = format!("{}1+2{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(value(&deep).as_deref(), Some("3"));
    let chain = format!("{}1{}", "2-(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(value(&chain).as_deref(), Some("1"));
    assert_eq!(value(&"(".repeat(1_000_000)), None);
    let fractions = r"\frac{".repeat(10_000);
    assert_eq!(value(&fractions), None);
}

#[test]
fn expressions_are_found_among_other_text() {
    assert_eq!(
        found("A1 ( 12 - 9 ) * 4 + 6 B1 12 + 9 - 6 / 2"),
        ["( 12 - 9 ) * 4 + 6", "12 + 9 - 6 / 2"]
    );
    assert_eq!(
        found("1. (12-9)*4 = 12\n2) 6 + 4*2 = 14\n(3) 9-1\n- 5 * 2\n* 4 + 4"),
        ["(12-9)*4", "6 + 4*2", "9-1", "5 * 2", "4 + 4"]
    );
    assert_eq!(
        found("Solution: **3 × 4** and `5+6`, $7-2$; \\(8/2\\)."),
        ["3 × 4", "5+6", "7-2", "8/2"]
    );
    assert_eq!(found("12 = 3 * 4"), ["3 * 4"]);
    assert!(found("none, 4 of 5 well-known 7").is_empty());
}

#[test]
fn a_sign_that_is_no_bullet_stays() {
    let all = candidates("-12 + 21");
    assert_eq!(all[0].text, "-12 + 21");
    assert_eq!(parse(&all[0].lexemes), None);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in r"[0-9+*/()\[\]{}\\ \n\-×·÷a-z₂=]{0,60}|\PC{0,40}") {
        for candidate in candidates(&text) {
            if let Some(expression) = parse(&candidate.lexemes) {
                let _ = expression.value();
            }
        }
    }
}

use super::*;
use crate::learn::words::Vocabulary;
use crate::task::countdown::expression::parse_text;
use crate::task::countdown::normal::normal;
use crate::task::countdown::preset::{SMALL_MOST, SMALL_TARGETS, Split, small_sets};
use crate::task::countdown::solve::{Values, forms_by_target};
use std::collections::HashSet;

fn text(tokens: &[u32]) -> String {
    Vocabulary::get().decode(tokens)
}

#[test]
fn a_search_reads_as_documented() {
    let problem = Problem {
        numbers: [12, 9, 6, 4],
        target: 18,
    };
    let [a, ..] = Region::ALL;
    assert_eq!(text(&a.query(&problem)), " 12 9 : 6 4 -> 18");
    let search = search(&problem, a, MAX_HITS);
    assert!(
        text(&search.words)
            .starts_with(" = + 21 keep 4 14 22 72 : + 27 - 15 * 126 keep 6 12 24 3 108 :"),
        "{}",
        text(&search.words)
    );
    let hits: Vec<String> = search.hits.iter().map(|h| text(h.words())).collect();
    assert!(hits.contains(&" ( 12 - 9 ) * 4 + 6".to_owned()), "{hits:?}");
    for (end, hit) in search.ends.iter().zip(&search.hits) {
        assert!(search.words[..*end].ends_with(hit.words()));
    }
}

#[test]
fn a_limit_stops_right_behind_the_hit() {
    let problem = Problem {
        numbers: [12, 9, 6, 4],
        target: 18,
    };
    for region in Region::ALL {
        let whole = search(&problem, region, MAX_HITS);
        for limit in 0..=whole.hits.len() {
            let part = search(&problem, region, limit);
            assert_eq!(part.hits, whole.hits[..limit]);
            assert!(whole.words.starts_with(&part.words));
        }
    }
}

#[test]
fn every_solution_belongs_to_one_region() {
    let (mut classes, mut covered, mut listed, mut duplicates) = (0, 0, 0, 0);
    let (mut instances, mut answerable) = (0, 0);
    for split in [Split::Dev, Split::Test] {
        for numbers in small_sets(split) {
            let wide = numbers.map(u64::from);
            for (target, forms) in
                forms_by_target(&wide, SMALL_TARGETS, Values::Whole(i64::from(SMALL_MOST)))
            {
                let mut seen = HashSet::new();
                for region in Region::ALL {
                    for hit in search(&Problem { numbers, target }, region, usize::MAX).hits {
                        let expression = parse_text(text(hit.words()).trim()).expect("it parses");
                        let value = expression.value().expect("it has a value");
                        assert_eq!(
                            value.as_whole(),
                            Some(i128::from(target)),
                            "{}",
                            text(hit.words())
                        );
                        listed += 1;
                        duplicates +=
                            usize::from(!seen.insert(normal(&expression).expect("it has a form")));
                    }
                }
                classes += forms.len();
                covered += forms.intersection(&seen).count();
                if forms.len() >= MAX_HITS {
                    instances += 1;
                    answerable += usize::from(seen.len() >= MAX_HITS);
                }
            }
        }
    }
    println!(
        "{covered} of {classes} classes; {duplicates} of {listed} twice; {answerable} of {instances} instances"
    );
    assert!(
        covered * 1000 >= classes * 995,
        "{covered} of {classes} classes covered"
    );
    assert!(
        duplicates * 500 <= listed,
        "{duplicates} of {listed} listed twice"
    );
    assert!(
        answerable * 100 >= instances * 98,
        "{answerable} of {instances} instances can be answered in full"
    );
}

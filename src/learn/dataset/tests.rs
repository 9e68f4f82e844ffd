use super::*;
use crate::learn::words::Vocabulary;
use crate::task::Countdown;

#[test]
fn examples_are_addressed_by_index() {
    let mut stream = Dataset::new(Spec::organization(Split::Dev), 5);
    let first: Vec<Example> = stream.by_ref().take(6).collect();
    stream.seek(4);
    assert_eq!(stream.next().as_ref(), Some(&first[4]));
    assert_eq!(stream.example(0), first[0]);
    let other = Dataset::new(Spec::organization(Split::Dev), 6);
    assert_ne!(other.example(0), first[0]);
}

#[test]
fn the_protocol_accepts_nearly_every_thread() {
    for spec in [Spec::organization(Split::Train), Spec::alone(Split::Train)] {
        let started = std::time::Instant::now();
        let audit = Dataset::new(spec, 1).audit(0..4000);
        let rate = audit.tokens.iter().sum::<u64>() as f64 / started.elapsed().as_secs_f64();
        println!(
            "{:?}: kept {:.4}, {rate:.0} tokens/s, {audit:?}",
            spec.threads,
            audit.kept()
        );
        assert!(audit.kept() > 0.99, "{audit:?}");
        assert!(audit.longest < 1400, "{audit:?}");
    }
}

#[test]
fn more_than_half_of_the_workers_find_something() {
    let data = Dataset::new(
        Spec {
            noise: 0.0,
            ..Spec::organization(Split::Train)
        },
        1,
    );
    let workers: Vec<Example> = data.take(4000).filter(|e| e.role == Role::Worker).collect();
    let none = |e: &&Example| e.tokens.contains(&words::BARE_NONE);
    let share = 1.0 - workers.iter().filter(none).count() as f64 / workers.len() as f64;
    assert!((0.5..0.6).contains(&share), "{share}");
}

#[test]
fn the_mix_is_as_asked() {
    let audit = Dataset::new(Spec::organization(Split::Dev), 2).audit(0..3000);
    assert!(
        (500..700).contains(&audit.examples[Role::Organizer as usize]),
        "{audit:?}"
    );
    assert_eq!(audit.examples[Role::Sequential as usize], 0);
    let audit = Dataset::new(Spec::alone(Split::Dev), 2).audit(0..1000);
    assert!(
        (400..600).contains(&audit.examples[Role::Sequential as usize]),
        "{audit:?}"
    );
}

#[test]
fn what_is_learnt_is_what_the_thread_writes() {
    for example in Dataset::new(
        Spec {
            noise: 0.0,
            ..Spec::organization(Split::Dev)
        },
        3,
    )
    .take(300)
    {
        let text = |own: bool| -> String {
            let tokens: Vec<u32> = example
                .tokens
                .iter()
                .zip(&example.loss_mask)
                .filter(|(_, m)| **m == own)
                .map(|(t, _)| *t)
                .collect();
            Vocabulary::get().decode(&tokens)
        };
        let (own, given) = (text(true), text(false));
        assert_eq!(
            own.matches("<JOIN-").count(),
            given.matches("</JOIN-").count(),
            "{}",
            Vocabulary::get().show(&example.tokens)
        );
        assert!(
            !own.contains("</JOIN-") && !given.contains("<JOIN-"),
            "{own}"
        );
        assert!(own.contains("</ANSWER>") || own.contains("</RETURN>"));
        assert_eq!(example.loss_mask.len(), example.tokens.len());
        assert_eq!(example.tokens.last(), Some(&words::END));
    }
}

#[test]
fn true_answers_are_right_and_distinct() {
    let spec = Spec {
        noise: 0.0,
        invented: 0.0,
        organizers: 1.0,
        ..Spec::organization(Split::Dev)
    };
    let (mut wrong, mut answers) = (0, 0);
    for example in Dataset::new(spec, 4).take(400) {
        let text = Vocabulary::get().decode(&example.tokens);
        let (query, answer) = (
            text.split("countdown").nth(1),
            text.split("<ANSWER>").nth(1),
        );
        let (Some(query), Some(answer)) = (query, answer) else {
            panic!("{text}")
        };
        let query: String = query
            .chars()
            .take_while(|c| " 0123456789=".contains(*c))
            .collect();
        let Ok(task) = Countdown::parse(&format!("{query} find 1")) else {
            continue;
        };
        let found = task.check(answer).found;
        answers += found.len();
        wrong += found.iter().filter(|f| !f.distinct).count();
    }
    assert!(
        answers > 1000 && wrong * 200 < answers,
        "{wrong} of {answers}"
    );
}

#[test]
fn every_text_survives_as_tokens() {
    for example in Dataset::new(
        Spec {
            noise: 1.0,
            ..Spec::organization(Split::Dev)
        },
        5,
    )
    .take(2000)
    {
        let begin = example
            .tokens
            .iter()
            .position(|t| *t == words::THINK)
            .expect("a prompt")
            + 1;
        let vocabulary = Vocabulary::get();
        let text = vocabulary.decode(&example.tokens[begin..]);
        let again: Vec<u32> = vocabulary
            .encode(&text)
            .into_iter()
            .chain([words::END])
            .collect();
        assert_eq!(
            vocabulary.show(&again),
            vocabulary.show(&example.tokens[begin..])
        );
        assert!(example.tokens.iter().all(|t| (*t as usize) < words::SIZE));
    }
}

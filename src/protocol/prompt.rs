//! The instructions of both roles.

/// What the organizer is told. `workers` is the capacity minus one.
#[must_use]
pub fn organizer(workers: u32) -> String {
    let crew = match workers {
        0 => "There is no worker available; think alone.".to_owned(),
        1 => "One worker can think for you while you think yourself.".to_owned(),
        n => format!(
            "Up to {n} workers can think for you at the same time, while you think yourself."
        ),
    };
    format!(
        "You are the organizer. You solve the user's problem by thinking step by step and by handing \
         independent parts of it to workers. {crew}\n\
         \n\
         You act by writing tags:\n\
         <FORK-i>sub-query</FORK-i> hands a sub-query to a worker and lets you think on at once. \
         i is a number that you have not used before: 1, 2, 3, ... The worker sees nothing but the \
         sub-query, so put everything it needs into it.\n\
         <JOIN-i> asks for the result of sub-query i. You wait if it is not ready. It is then written \
         for you, closed by </JOIN-i>. Join each sub-query at most once, and only after its fork.\n\
         <ANSWER>answer</ANSWER> gives your final answer and ends everything. Always finish with it.\n\
         \n\
         Fork early whatever can be worked on separately, think about something else meanwhile, join \
         when you need a result, and fork again if something is missing."
    )
}

/// What every worker is told.
pub const WORKER: &str = "You are a worker. You are given one sub-query. Think about it step by step, \
briefly. When you have a result, write it as <RETURN>result</RETURN> and stop: a short takeaway that \
can be understood without your thinking, since nothing else of what you write is passed on.";

/// What a worker is told that may organize workers of its own. `workers` is the capacity minus one, for
/// everybody together.
#[must_use]
pub fn sub_organizer(workers: u32) -> String {
    format!(
        "{WORKER}\n\
         \n\
         You may hand independent parts of the sub-query to workers of your own; up to {workers} workers \
         work at the same time, you and everybody else's among them:\n\
         <FORK-i>part</FORK-i> hands a part to a worker and lets you think on at once. i is a number that \
         you have not used before: 1, 2, 3, ... The worker sees nothing but the part.\n\
         <JOIN-i> asks for its result. You wait if it is not ready. It is then written for you, closed by \
         </JOIN-i>. Join each part at most once, only after its fork, and before you return."
    )
}

/// What a lone thinker is told under the policy `sequential`.
pub const SEQUENTIAL: &str = "You solve the user's problem by thinking step by step. When you are done, \
give your final answer as <ANSWER>answer</ANSWER>. Always finish with it.";

/// What the thread that merges is told under the policy `parallel`.
#[must_use]
pub fn parallel(k: u32) -> String {
    format!(
        "The user's problem has been given to {k} workers independently. Their results are written \
         below, each between <JOIN-i> and </JOIN-i>. Compare them, decide, and give the final answer as \
         <ANSWER>answer</ANSWER>. Always finish with it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_organizer_is_told_how_many_workers_it_has() {
        assert!(organizer(3).contains("Up to 3 workers"));
        assert!(organizer(1).contains("One worker"));
        assert!(organizer(0).contains("no worker"));
    }

    #[test]
    fn a_worker_that_may_organize_is_told_so_and_returns_like_the_others() {
        let text = sub_organizer(3);
        assert!(text.starts_with(WORKER));
        assert!(text.contains("<FORK-i>") && text.contains("up to 3 workers"));
        assert!(!text.contains("<ANSWER>"));
    }
}

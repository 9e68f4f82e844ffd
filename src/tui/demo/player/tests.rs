use super::*;
use crate::org::{Author, BranchId, Outcome, Role, Seat, Seq, Step, ThreadId};

struct Stage {
    demo: Demo,
    organization: Organization,
    ms: u64,
}

impl Stage {
    fn new(text: &str) -> Self {
        let script = Script::parse(text, "d").unwrap();
        Self {
            demo: Demo::new(script, Manner::Demo),
            organization: Organization::new(4, 0.5),
            ms: 0,
        }
    }

    fn begun(text: &str) -> Self {
        let mut stage = Self::new(text);
        stage.thread(ThreadId::ORGANIZER);
        stage
    }

    fn tell(&mut self, thread: Option<ThreadId>, body: Body) {
        let event = Event {
            seq: Seq(self.organization.next_seq.0),
            us: 0,
            step: Step(0),
            branch: BranchId(0),
            thread,
            by: Author::Model,
            cause: None,
            body,
        };
        self.organization.apply(&event);
        self.demo.note(&event, &self.organization);
    }

    fn thread(&mut self, id: ThreadId) {
        let role = if id.is_organizer() {
            Role::Organizer
        } else {
            Role::Worker
        };
        let body = Body::Thread {
            role,
            seat: Seat::Model,
            query: String::new(),
            prompt: vec![],
        };
        self.tell(Some(id), body);
    }

    /// Lets time pass; what was done by then, in short.
    fn pass(&mut self, ms: u64) -> Vec<String> {
        let mut deeds = Vec::new();
        for _ in 0..=ms {
            let now = Duration::from_millis(self.ms);
            while let Some(deed) = self.demo.next(now, &self.organization) {
                let asked = usize::from(matches!(deed, Deed::Ask(_)));
                deeds.push(match deed {
                    Deed::Key(key) => key.to_string(),
                    Deed::Ask(command) => command.name().to_owned(),
                    Deed::Say(text) => format!("\"{text}\""),
                });
                self.demo.carried_out(asked, 0);
            }
            self.ms += 1;
        }
        self.ms -= 1;
        deeds
    }

    fn press(&mut self, key: &str, popups: usize) -> Pressed {
        let now = Duration::from_millis(self.ms);
        self.demo.key(parse_key(key).unwrap(), popups, now)
    }
}

#[test]
fn nothing_is_done_before_the_run_begins() {
    let mut stage = Stage::new("say a\nkey p");
    assert!(stage.pass(5000).is_empty());
    stage.thread(ThreadId::ORGANIZER);
    assert_eq!(stage.pass(0), ["\"a\"", "p"]);
}

#[test]
fn waits_take_their_time_and_keys_are_never_too_quick_for_a_prompt() {
    let mut stage = Stage::begun("key x k\nwait 2s\nsay done");
    assert_eq!(stage.pass(200), ["x"]);
    assert_eq!(stage.pass(200), ["k"]);
    assert!(stage.pass(1900).is_empty());
    assert_eq!(stage.pass(500), ["\"done\""]);
    assert!(stage.demo.is_over());
    assert_eq!(stage.demo.due(), None);
}

#[test]
fn it_is_due_exactly_when_there_is_something_to_do() {
    let mut stage = Stage::begun("key x\ntype ab\nwait 1s\nsay a\nuntil fork 1 within 3s\nsay b");
    let mut deeds = Vec::new();
    for _ in 0..20 {
        deeds.extend(stage.pass(0));
        let Some(due) = stage.demo.due() else { break };
        assert!(due > Duration::from_millis(stage.ms));
        stage.ms = u64::try_from(due.as_millis()).unwrap();
    }
    assert_eq!(deeds, ["x", "a", "b", "\"a\"", "\"b\""]);
    assert_eq!(stage.ms, 350 + 45 + 1000 + 3000);
}

#[test]
fn a_key_of_the_speaker_ends_a_wait_and_does_nothing_else() {
    let mut stage = Stage::begun("wait key\nsay a\nwait 5s or key n\nsay b\nwait 1s\nsay c");
    assert!(stage.pass(60_000).is_empty());
    assert_eq!(stage.demo.hints()[0], ("space".to_owned(), "go on"));
    assert_eq!(stage.press("x", 0), Pressed::Theirs);
    assert_eq!(stage.press("enter", 0), Pressed::Taken);
    assert_eq!(stage.pass(0), ["\"a\""]);
    assert_eq!(stage.press("space", 0), Pressed::Theirs);
    assert_eq!(stage.press("n", 0), Pressed::Taken);
    assert_eq!(stage.pass(0), ["\"b\""]);
    // A wait for time alone is nobody's key.
    assert_eq!(stage.press("space", 0), Pressed::Theirs);
}

#[test]
fn what_the_person_opened_has_its_keys_and_escape_stops_else() {
    let mut stage = Stage::begun("wait key");
    stage.pass(0);
    assert_eq!(stage.press("space", 1), Pressed::Theirs);
    assert_eq!(stage.press("esc", 1), Pressed::Theirs);
    assert_eq!(stage.press("esc", 0), Pressed::Stop);
    // What the demo opened is no reason to wait for it.
    stage.demo.carried_out(0, 1);
    assert_eq!(stage.press("esc", 1), Pressed::Stop);
    assert_eq!(stage.press("q", 0), Pressed::Theirs);
    stage.demo.manner = Manner::Tour;
    assert_eq!(stage.press("q", 0), Pressed::Leave);
}

#[test]
fn it_waits_for_what_happens_or_for_a_person_who_does_nothing() {
    let one = ThreadId::worker(1).unwrap();
    let mut stage = Stage::begun(
        "until fork 1\nsay forked\nuntil return 1 within 2s\nunless return 1: kill 1\nsay end",
    );
    assert!(stage.pass(10_000).is_empty());
    stage.thread(one);
    let fork = Body::Action {
        action: crate::org::ActionKind::Fork,
        at: 0,
        child: Some(one),
        text: String::new(),
        span: (0, 0),
        anchor: None,
    };
    stage.tell(Some(ThreadId::ORGANIZER), fork);
    assert_eq!(stage.pass(0), ["\"forked\""]);
    let mut again = Stage {
        demo: stage.demo.clone(),
        organization: stage.organization.clone(),
        ms: stage.ms,
    };
    // Every key begins the time anew.
    stage.pass(1500);
    stage.press("x", 0);
    assert!(stage.pass(1500).is_empty());
    assert_eq!(stage.pass(600), ["kill"]);
    // What has happened in time is not done once more.
    let end = Body::End {
        end: crate::org::ThreadEnd::Returned,
    };
    again.tell(Some(one), end);
    again.demo.recall(&again.organization);
    assert_eq!(again.pass(0), ["\"end\""]);
}

#[test]
fn what_becomes_of_a_command_is_awaited_but_not_for_ever() {
    let mut stage = Stage::begun("step\nkill 1\nsay a\nstep\nsay b");
    assert_eq!(stage.pass(1000), ["step"]);
    let done = Body::Effect {
        outcome: Outcome::Done,
    };
    stage.tell(None, done.clone());
    assert_eq!(stage.pass(1000), ["kill"]);
    stage.tell(None, done);
    assert_eq!(stage.pass(0), ["\"a\"", "step"]);
    assert!(stage.pass(2900).is_empty());
    assert_eq!(stage.pass(200), ["\"b\""]);
}

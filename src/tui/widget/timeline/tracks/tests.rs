use super::*;
use crate::org::{
    Author, Body, BranchId, Event, Organization, Role, Seat, Seq, Step, TextBytes, ThreadEnd,
    ThreadId, WaitOn, critical_path, slack,
};
use crate::tui::widget::timeline::geometry::{Axis, Window};

fn tell(organization: &mut Organization, thread: ThreadId, step: u64, body: Body) {
    organization.apply(&Event {
        seq: Seq(0),
        us: step * 1000,
        step: Step(step),
        branch: BranchId(0),
        thread: Some(thread),
        by: Author::Model,
        cause: None,
        body,
    });
}

fn begins(organization: &mut Organization, thread: ThreadId, step: u64) {
    let role = if thread.is_organizer() {
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
    tell(organization, thread, step, body);
}

fn decodes(organization: &mut Organization, thread: ThreadId, from: u64, to: u64) {
    let n = usize::try_from(to - from).unwrap();
    let body = Body::Tokens {
        ids: vec![1; n],
        bytes: TextBytes(vec![b'x'; n]),
        lens: vec![1; n],
        logprobs: vec![],
        top: vec![],
    };
    tell(organization, thread, from + 1, body);
}

fn acts(organization: &mut Organization, action: crate::org::ActionKind, at: u64, step: u64) {
    let body = Body::Action {
        action,
        span: (0, 0),
        at,
        child: ThreadId::worker(1),
        text: String::new(),
        anchor: None,
    };
    tell(organization, ThreadId::ORGANIZER, step, body);
}

/// Test vector 1 of the protocol: begin 18, the organizer waits from 33 to 43, `T` is 63.
fn vector_one() -> Organization {
    use crate::org::ActionKind::{Fork, Join};
    let mut o = Organization::new(2, 0.5);
    let (root, one) = (ThreadId::ORGANIZER, ThreadId::worker(1).unwrap());
    begins(&mut o, root, 0);
    decodes(&mut o, root, 0, 18);
    acts(&mut o, Fork, 18, 18);
    begins(&mut o, one, 18);
    decodes(&mut o, root, 18, 33);
    acts(&mut o, Join, 33, 33);
    tell(
        &mut o,
        root,
        33,
        Body::Wait {
            on: WaitOn::Join(one),
        },
    );
    decodes(&mut o, one, 18, 43);
    tell(
        &mut o,
        one,
        43,
        Body::End {
            end: ThreadEnd::Returned,
        },
    );
    tell(&mut o, root, 43, Body::Resume);
    decodes(&mut o, root, 43, 63);
    tell(
        &mut o,
        root,
        63,
        Body::End {
            end: ThreadEnd::Answered,
        },
    );
    o
}

fn stretches(track: &Track) -> Vec<(u64, u64, Doing)> {
    track
        .stretches
        .iter()
        .map(|s| (s.from, s.to, s.what))
        .collect()
}

fn ideal(o: &Organization) -> Tracks {
    let schedule = o.schedule();
    let path = critical_path(&schedule);
    Tracks::ideal(
        o,
        &schedule,
        &path,
        &slack(&o.traces(), o.capacity, &schedule),
    )
}

#[test]
fn the_critical_path_leaves_the_organizer_for_the_worker_it_waits_for() {
    let tracks = ideal(&vector_one());
    assert_eq!(tracks.length, 63);
    assert_eq!(
        stretches(&tracks.tracks[0]),
        [
            (0, 18, Doing::Critical),
            (18, 33, Doing::Decode),
            (33, 43, Doing::Wait),
            (43, 63, Doing::Critical),
        ]
    );
    assert_eq!(stretches(&tracks.tracks[1]), [(18, 43, Doing::Critical)]);
    assert_eq!(tracks.tracks[1].slack, Some(0));
    assert_eq!(tracks.tracks[1].joined_at, Some(43));
}

#[test]
fn flags_lie_where_the_tags_ended() {
    let tracks = ideal(&vector_one());
    let flags: Vec<(u64, bool)> = tracks.tracks[0]
        .flags
        .iter()
        .map(|f| (f.at, f.join))
        .collect();
    assert_eq!(flags, [(18, false), (33, true)]);
}

#[test]
fn lived_time_shows_pauses_that_ideal_time_does_not_have() {
    let mut o = vector_one();
    let at = |step: u64| crate::org::Moment {
        step: Step(step),
        us: step * 1000,
    };
    o.pauses.push((at(5), Some(at(9))));
    let lived = Tracks::lived(&o);
    assert_eq!(lived.length, 63_000);
    assert_eq!(
        stretches(&lived.tracks[0])[..3],
        [
            (0, 5_000, Doing::Decode),
            (5_000, 9_000, Doing::Paused),
            (9_000, 33_000, Doing::Decode),
        ]
    );
    assert_eq!(ideal(&o), ideal(&vector_one()));
}

#[test]
fn active_workers_are_counted_per_cell() {
    let tracks = ideal(&vector_one());
    let axis = Axis::new(Window::Fit, 63, false, 63);
    let active = tracks.active_per_cell(&axis);
    let busy: Vec<usize> = (0..63).filter(|i| active[*i] == 1).collect();
    assert_eq!(busy, (18..43).collect::<Vec<_>>());
    assert!(active.iter().all(|n| *n <= 1));
}

#[test]
fn a_point_in_time_finds_its_stretch() {
    let tracks = ideal(&vector_one());
    let organizer = &tracks.tracks[0];
    assert_eq!(organizer.at(32).map(|s| s.what), Some(Doing::Decode));
    assert_eq!(organizer.at(33).map(|s| s.what), Some(Doing::Wait));
    assert_eq!(organizer.at(63), None);
    assert_eq!(tracks.tracks[1].at(17), None);
}

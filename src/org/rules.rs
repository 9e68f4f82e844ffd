//! What an action may do in the present state: the protocol's rules, and nothing else.

use super::event::{ErrorKind, Role, WaitOn};
use super::ids::{MAX_INDEX, ThreadId};
use super::organization::Organization;
use super::thread::Status;

/// How strictly the rules are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Errors are recorded, the action has no effect, decoding goes on.
    Lenient,
    /// The first error ends the run.
    Strict,
}

/// Whether a Fork without a free slot may wait for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It waits.
    Wait,
    /// It is an error.
    Error,
}

/// What a Fork does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkVerdict {
    /// The worker starts.
    Start(ThreadId),
    /// The forking thread waits for a slot.
    Block(ThreadId),
    /// Nothing; why.
    Refuse(ErrorKind, String),
}

/// What a Join does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinVerdict {
    /// The result is there.
    Ready(ThreadId),
    /// The thread waits for it.
    Wait(ThreadId),
    /// Nothing; why.
    Refuse(ErrorKind, String),
}

/// Judges `<FORK-index>query</FORK-index>` by `parent`. The second part is an error to record although
/// the Fork takes effect: an index used again after it was joined, in a lenient run.
#[must_use]
pub fn judge_fork(
    organization: &Organization,
    parent: ThreadId,
    index: u16,
    query: &str,
    strictness: Strictness,
    overflow: Overflow,
) -> (ForkVerdict, Option<(ErrorKind, String)>) {
    if query.is_empty() {
        let why = format!("sub-query {index} is empty");
        return (ForkVerdict::Refuse(ErrorKind::EmptyQuery, why), None);
    }
    let earlier = organization
        .newest_bearer(parent, index)
        .and_then(|id| organization.thread(id));
    let mut note = None;
    if let Some(earlier) = earlier {
        let kind = ErrorKind::DuplicateIndex;
        if strictness == Strictness::Strict || !earlier.joined {
            let why = format!("sub-query {index} was forked before");
            return (ForkVerdict::Refuse(kind, why), None);
        }
        note = Some((
            kind,
            format!("sub-query {index} was forked and joined before; the newest counts"),
        ));
    }
    let bearer = earlier.map_or(1, |t| t.id.bearer().saturating_add(1));
    let Some(child) = parent.child(index, bearer) else {
        let why = format!("sub-query {index} cannot be nested any deeper");
        return (ForkVerdict::Refuse(ErrorKind::PoolOverflow, why), note);
    };
    let verdict = if organization.free_slots() > 0 {
        ForkVerdict::Start(child)
    } else if overflow == Overflow::Wait && a_slot_can_free(organization, |id| id == parent) {
        ForkVerdict::Block(child)
    } else {
        let why = format!(
            "sub-query {index} finds no free slot (capacity {})",
            organization.capacity
        );
        ForkVerdict::Refuse(ErrorKind::PoolOverflow, why)
    };
    (verdict, note)
}

/// Judges `<JOIN-index>` by `parent`.
#[must_use]
pub fn judge_join(organization: &Organization, parent: ThreadId, index: u16) -> JoinVerdict {
    let worker = organization
        .newest_bearer(parent, index)
        .and_then(|id| organization.thread(id));
    match worker {
        None => JoinVerdict::Refuse(
            ErrorKind::JoinUnknown,
            format!("sub-query {index} was never forked"),
        ),
        Some(worker) if worker.joined => JoinVerdict::Refuse(
            ErrorKind::JoinTwice,
            format!("sub-query {index} was joined before"),
        ),
        Some(worker) if worker.ended() => JoinVerdict::Ready(worker.id),
        Some(worker) => JoinVerdict::Wait(worker.id),
    }
}

/// The index for a Fork made by hand: one more than any used by `parent`.
#[must_use]
pub fn next_index(organization: &Organization, parent: ThreadId) -> Option<u16> {
    let used = organization
        .below(parent)
        .filter(|t| t.id.parent() == Some(parent))
        .filter_map(|t| t.id.index())
        .chain(organization.waiting().filter_map(|(_, on)| match on {
            WaitOn::Slot(child) if child.parent() == Some(parent) => child.index(),
            _ => None,
        }))
        .chain(
            organization
                .plan
                .drafts
                .iter()
                .filter(|_| parent.is_organizer())
                .map(|draft| draft.index),
        )
        .max()
        .unwrap_or(0);
    (used < MAX_INDEX).then_some(used + 1)
}

/// Whether some active worker can end although everything that waits for a slot stands still, and whoever is
/// `forking` too.
#[must_use]
pub fn a_slot_can_free(
    organization: &Organization,
    forking: impl Fn(ThreadId) -> bool + Copy,
) -> bool {
    organization
        .threads()
        .filter(|t| t.role == Role::Worker && !t.ended())
        .any(|t| can_end(organization, t.id, forking))
}

fn can_end(
    organization: &Organization,
    id: ThreadId,
    forking: impl Fn(ThreadId) -> bool + Copy,
) -> bool {
    if forking(id) {
        return false;
    }
    match organization.thread(id).map(|t| t.status) {
        Some(Status::Running | Status::Ended(_)) => true,
        // A thread waits for one below it, so this comes to an end.
        Some(Status::Waiting(WaitOn::Join(child))) => {
            child.is_below(id) && can_end(organization, child, forking)
        }
        Some(Status::Waiting(WaitOn::Slot(_))) | None => false,
    }
}

//! The body of an event, from the line that its envelope came from.
//!
//! Token records are not here: they take the quick way.

use super::shapes::{
    ActionBody, AskBody, BranchBody, DecidedBody, EndBody, ErrorBody, KeyframeBody, MarkBody,
    RunEndBody, SpliceBody, ThreadBody, VetoBody, WaitBody,
};
use super::{Envelope, LineError, MAX_COUNT, MAX_NUMBER, TokensLine, check, text_bytes};
use crate::org::{Body, Command, Metrics, OpKind, Organization, Outcome, PlanChange, Seq};
use serde::de::DeserializeOwned;

/// Fields that commands have; what else a line holds belongs to the envelope or to a newer version.
const COMMAND_FIELDS: [&str; 17] = [
    "do",
    "thread",
    "query",
    "name",
    "tokens_per_s",
    "token",
    "text",
    "to_step",
    "of",
    "to",
    "seat",
    "ask",
    "reason",
    "draft",
    "on",
    "guard",
    "set",
];

/// Reads the body, and for text records where the one before lies.
pub(super) fn parse_body(
    envelope: &Envelope<'_>,
    line: &[u8],
) -> Result<(Body, Option<u64>), LineError> {
    let bad = |message: String| LineError::Body {
        seq: Seq(envelope.seq),
        kind: envelope.kind.chars().take(40).collect(),
        message,
    };
    fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
        serde_json::from_slice(line).map_err(|e| e.to_string())
    }
    let body = match envelope.kind.as_ref() {
        // The quick way has refused it already: say why.
        "tokens" => {
            let why = serde_json::from_slice::<TokensLine<'_>>(line)
                .err()
                .map_or_else(|| "`kind` is not where it seems".into(), |e| e.to_string());
            return Err(bad(why));
        }
        "thread" => {
            let b: ThreadBody = read(line).map_err(bad)?;
            Body::Thread {
                role: b.role,
                seat: b.seat,
                query: b.query,
                prompt: b.prompt,
            }
        }
        "action" => {
            let b: ActionBody = read(line).map_err(bad)?;
            check("at", b.at, MAX_COUNT)?;
            check("span", b.span.0.max(b.span.1), MAX_COUNT)?;
            check(
                "anchor",
                b.anchor.map_or(0, |a| a.tokens.max(a.steps)),
                MAX_COUNT,
            )?;
            Body::Action {
                action: b.action,
                span: b.span,
                at: b.at,
                child: b.child,
                text: b.text,
                anchor: b.anchor,
            }
        }
        "veto" => {
            let b: VetoBody = read(line).map_err(bad)?;
            let bytes = text_bytes(b.text, b.b64).map_err(bad)?;
            Body::Veto { ids: b.ids, bytes }
        }
        "wait" => Body::Wait {
            on: read::<WaitBody>(line).map_err(bad)?.on,
        },
        "resume" => Body::Resume,
        "splice" => {
            let b: SpliceBody = read(line).map_err(bad)?;
            let bytes = text_bytes(b.text, b.b64).map_err(bad)?;
            let splice = Body::Splice {
                splice: b.splice,
                ids: b.ids,
                bytes,
                of: b.of,
                result: b.result,
                shortened: b.shortened,
            };
            return Ok((splice, b.prev));
        }
        "command" => {
            let mut fields: serde_json::Map<String, serde_json::Value> = read(line).map_err(bad)?;
            fields.retain(|name, _| COMMAND_FIELDS.contains(&name.as_str()));
            let command: Command =
                serde_json::from_value(fields.into()).map_err(|e| bad(e.to_string()))?;
            Body::Command { command }
        }
        "effect" => Body::Effect {
            outcome: read::<Outcome>(line).map_err(bad)?,
        },
        "error" => {
            let b: ErrorBody = read(line).map_err(bad)?;
            check("span", b.span.map_or(0, |s| s.0.max(s.1)), MAX_COUNT)?;
            Body::Error {
                error: b.error,
                span: b.span,
                message: b.message,
            }
        }
        "end" => Body::End {
            end: read::<EndBody>(line).map_err(bad)?.end,
        },
        "run_end" => run_end(line).map_err(bad)?,
        "ask" => {
            let b: AskBody = read(line).map_err(bad)?;
            check("span", b.span.map_or(0, |s| s.0.max(s.1)), MAX_COUNT)?;
            Body::Ask {
                number: b.number,
                ask: b.ask,
                index: b.index,
                text: b.text,
                span: b.span,
            }
        }
        "decided" => {
            let b: DecidedBody = read(line).map_err(bad)?;
            Body::Decided {
                number: b.number,
                verdict: b.verdict,
                text: b.text,
            }
        }
        "plan" => {
            let change: PlanChange = read(line).map_err(bad)?;
            if let PlanChange::Draft(draft) = &change {
                check("span", draft.span.map_or(0, |s| s.0.max(s.1)), MAX_COUNT)?;
            }
            Body::Plan { change }
        }
        "mark" => Body::Mark {
            name: read::<MarkBody>(line).map_err(bad)?.name,
        },
        "keyframe" => {
            let b: KeyframeBody = read(line).map_err(bad)?;
            plausible(&b.state)?;
            Body::Keyframe {
                state: b.state,
                texts: b.texts,
                prev_keyframe: b.prev_keyframe,
            }
        }
        "branch" => {
            let b: BranchBody = read(line).map_err(bad)?;
            check("from.seq", b.from.seq.0, MAX_NUMBER)?;
            check("from.step", b.from.step.0, MAX_COUNT)?;
            check("token", b.token.unwrap_or(0), MAX_COUNT)?;
            plausible(&b.state)?;
            if envelope.branch <= b.from.branch || b.from.seq.0 > envelope.seq {
                return Err(bad("a branch leaves from an earlier one".into()));
            }
            Body::Branch {
                from: b.from,
                turn: b.turn,
                token: b.token,
                state: b.state,
                texts: b.texts,
            }
        }
        _ => Body::Unknown,
    };
    Ok((body, None))
}

fn run_end(line: &[u8]) -> Result<Body, String> {
    // Floats keep their digits only when they are read straight from the line.
    let b: RunEndBody = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let m = b.metrics;
    Ok(Body::RunEnd {
        end: b.end,
        answer: b.answer,
        metrics: Metrics {
            latency: m.latency,
            latency_without_people: m.latency_without_people,
            eta: m.eta.0,
            eta_over_c: m.eta_over_c.0,
            r_eta: m.r_eta.0,
            work: m.work,
            speedup: m.speedup.0,
            lived_steps: m.lived_steps,
            wall_ms: m.wall_ms.0,
            decoded: m.decoded,
            tok_per_s: m.tok_per_s.0,
        },
    })
}

/// Refuses states that no run can have reached.
fn plausible(state: &Organization) -> Result<(), LineError> {
    check("state.now.us", state.now.us, MAX_NUMBER)?;
    check("state.now.step", state.now.step.0, MAX_COUNT)?;
    check("state.next_seq", state.next_seq.0, MAX_NUMBER)?;
    for t in state.threads() {
        let counts = [
            t.tokens,
            t.spliced_tokens,
            t.prompt_tokens,
            t.text_bytes,
            t.acted,
        ];
        for count in counts.into_iter().chain(t.ops.iter().map(|op| op.at)) {
            check("state.threads", count, MAX_COUNT)?;
        }
        for op in &t.ops {
            if let OpKind::Fork {
                anchor: Some(anchor),
                ..
            } = op.kind
            {
                check("state.threads", anchor.tokens.max(anchor.steps), MAX_COUNT)?;
            }
        }
        for writing in &t.writing {
            let to = writing.to.unwrap_or_default();
            for moment in [writing.from, to] {
                check("state.threads", moment.step.0, MAX_COUNT)?;
                check("state.threads", moment.us, MAX_NUMBER)?;
            }
            check("state.threads", writing.at, MAX_COUNT)?;
        }
    }
    Ok(())
}

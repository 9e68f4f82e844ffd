//! Runs a script through a real session, without a screen or a file.

use orgtop::engine::{Script, Scripted};
use orgtop::live::{Audience, Finished, Mailbox, Plan, RunConfig, Start, launch, parse_orders};
use orgtop::org::{Body, Event, Organization, ThreadId};
use std::collections::VecDeque;
use std::sync::Arc;

/// A run and everything it emitted.
pub struct Run {
    pub finished: Finished,
    pub events: Vec<Event>,
}

impl Run {
    pub fn org(&self) -> &Organization {
        &self.finished.organization
    }

    /// The whole text of a thread, decoded and spliced.
    pub fn text(&self, id: &str) -> String {
        let id: ThreadId = id.parse().unwrap();
        let bytes: Vec<u8> = self
            .events
            .iter()
            .filter(|e| e.thread == Some(id))
            .flat_map(|e| match &e.body {
                Body::Tokens { bytes, .. } | Body::Splice { bytes, .. } => bytes.0.clone(),
                _ => vec![],
            })
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn errors(&self) -> Vec<String> {
        self.org()
            .errors
            .iter()
            .map(|e| format!("{:?}", e.kind))
            .collect()
    }

    pub fn end_of(&self, id: &str) -> String {
        let thread = self.org().thread(id.parse().unwrap()).unwrap();
        format!("{:?}", thread.end())
    }

    pub fn tokens(&self, id: &str) -> u64 {
        self.org().thread(id.parse().unwrap()).unwrap().tokens
    }

    pub fn ids(&self, id: &str) -> Vec<u32> {
        let id: ThreadId = id.parse().unwrap();
        self.events
            .iter()
            .filter(|e| e.thread == Some(id))
            .flat_map(|e| match &e.body {
                Body::Tokens { ids, .. } => ids.clone(),
                _ => vec![],
            })
            .collect()
    }

    /// What became of each command.
    pub fn outcomes(&self) -> Vec<String> {
        self.org()
            .commands
            .iter()
            .map(|c| match &c.outcome {
                Some(outcome) => format!("{} {outcome:?}", c.command.name()),
                None => format!("{} -", c.command.name()),
            })
            .collect()
    }
}

/// One script line: a thread and its tokens.
pub fn line(thread: &str, tokens: &[&str]) -> String {
    serde_json::json!({"thread": thread, "tokens": tokens}).to_string()
}

/// `n` words, one token each.
pub fn words(n: usize) -> Vec<&'static str> {
    vec![" w"; n]
}

pub fn config() -> RunConfig {
    RunConfig {
        query: "the question".into(),
        ..RunConfig::default()
    }
}

pub fn run(script: &[String], config: RunConfig, orders: &str) -> Run {
    let script = Script::parse(&script.join("\n"), "script").unwrap();
    let orders: VecDeque<_> = parse_orders(orders, "orders").unwrap();
    let handle = launch(Plan {
        open: Box::new(move || Ok(Box::new(Scripted::new(script, "script")))),
        start: Start::Fresh {
            config,
            id: "test".into(),
            created: "2026-01-01T00:00:00Z".into(),
        },
        file: None,
        orders,
        audience: Audience::Nobody,
        tools: orgtop::live::ToolSet::new(),
        servers: orgtop::live::ServerSet::new(),
    });
    let mailbox: Arc<Mailbox> = Arc::clone(&handle.mailbox);
    let finished = handle.wait().unwrap();
    Run {
        finished,
        events: mailbox.take().events,
    }
}

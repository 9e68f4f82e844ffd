//! `orgtop doctor`: what this machine and terminal can do, and whether a model works here.

use super::args::DoctorArgs;
use super::engine::{device_choice, open_model};
use super::server;
use super::settings::{ConfigFile, RunOptions, config_folder};
use super::{Exit, output};
use crate::engine::local::kernels::Level;
use crate::engine::local::{self, Found};
use crate::engine::remote::{self, ServerOptions};
use crate::engine::{ChatMessage, ChatRole, Engine, Priority, Sampling, SeqId, SeqOp};
use crate::tui::terminal::{Caps, Presentation, WhyPlain};
use crate::tui::text::safe_line;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Tokens decoded to see whether a model works.
const TRIAL: usize = 16;

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    finding: String,
}

/// Checks everything it can, also where the config file has a problem and does not apply.
///
/// # Errors
/// When stdout takes nothing.
pub fn run(
    args: &DoctorArgs,
    config: &ConfigFile,
    problem: Option<&anyhow::Error>,
) -> anyhow::Result<Exit> {
    let mut checks = vec![
        machine(),
        device(config),
        terminal(),
        config_check(problem),
        sessions(config),
    ];
    let options = RunOptions {
        server: args.server.clone(),
        model: args.model.clone(),
        ..RunOptions::default()
    };
    let model = args.model.clone().or_else(|| config.run.model.clone());
    if let Some(server) = server::wanted(&options.or(config.run.clone()), config)? {
        checks.extend(server_checks(&server));
    } else if let Some(path) = model {
        checks.extend(model_checks(&path, config));
    }
    if args.json {
        output::json(&checks)?;
    } else {
        for check in &checks {
            let mark = if check.ok { "ok  " } else { "BAD " };
            let text = format!("{mark}{:<10} {}", check.name, check.finding);
            output::line(&safe_line(&text))?;
        }
    }
    let healthy = checks.iter().all(|c| c.ok);
    Ok(if healthy { Exit::Done } else { Exit::Failed })
}

fn machine() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Check {
        name: "machine",
        ok: true,
        finding: format!(
            "{cores} cores, {}; kernels: {}",
            std::env::consts::ARCH,
            Level::best()
        ),
    }
}

fn device(config: &ConfigFile) -> Check {
    let gpus = cfg!(feature = "cuda") || cfg!(feature = "metal");
    let (ok, finding) = match local::find(device_choice(config.run.device.as_deref())) {
        Err(e) => (false, e.to_string()),
        Ok(Found {
            why_cpu: Some(why), ..
        }) => (true, format!("cpu: {why}")),
        Ok(found) if gpus => (true, local::device_name(&found.device)),
        Ok(_) => (
            true,
            "this build computes on the CPU (build with --features cuda or metal for a GPU)".into(),
        ),
    };
    Check {
        name: "device",
        ok,
        finding,
    }
}

fn terminal() -> Check {
    Check {
        name: "terminal",
        ok: true,
        finding: terminal_caps(),
    }
}

fn terminal_caps() -> String {
    let caps = Caps::read();
    let screen = match caps.presentation {
        Presentation::Screen => "full screen",
        Presentation::Plain(WhyPlain::NoTerminal) => "no terminal: lines only",
        Presentation::Plain(WhyPlain::Dumb) => "TERM is dumb: lines only",
    };
    format!(
        "{screen}, {}×{}, colours {:?}, {:?} characters{}",
        caps.size.0,
        caps.size.1,
        caps.depth,
        caps.glyphs,
        if caps.keyboard {
            ", kitty keyboard"
        } else {
            ""
        }
    )
}

fn config_check(problem: Option<&anyhow::Error>) -> Check {
    if let Some(problem) = problem {
        return Check {
            name: "config",
            ok: false,
            finding: format!("{problem:#}; the other lines are without it"),
        };
    }
    let finding = match config_folder() {
        Some(folder) if folder.join("config.toml").exists() => {
            format!("{}", folder.join("config.toml").display())
        }
        Some(folder) => format!(
            "no {}; defaults apply",
            folder.join("config.toml").display()
        ),
        None => "no config folder on this platform; defaults apply".into(),
    };
    Check {
        name: "config",
        ok: true,
        finding,
    }
}

fn sessions(config: &ConfigFile) -> Check {
    let (ok, finding) = match super::sessions::folder(None, config) {
        Err(e) => (false, format!("{e:#}")),
        Ok(folder) => match writable(&folder) {
            Ok(()) => (true, format!("{} can be written", folder.display())),
            Err(e) => (
                false,
                format!("{} cannot be written: {e}", folder.display()),
            ),
        },
    };
    Check {
        name: "sessions",
        ok,
        finding,
    }
}

fn writable(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let probe = folder.join(format!(".probe-{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)
}

fn model_checks(path: &Path, config: &ConfigFile) -> Vec<Check> {
    let began = Instant::now();
    let mut engine = match open_model(path, &config.run) {
        Ok(engine) => engine,
        Err(e) => {
            return vec![Check {
                name: "model",
                ok: false,
                finding: e.to_string(),
            }];
        }
    };
    let card = engine.card().clone();
    let loaded = Check {
        name: "model",
        ok: true,
        finding: format!(
            "{}: {} {}, {} parameters, context {}, on {} with {} threads, attention {}, loaded in {:.1} s",
            card.model.name,
            card.model.arch,
            card.model.dtype,
            super::models::count(card.model.parameters),
            card.model.context,
            card.device,
            card.threads,
            card.attention,
            began.elapsed().as_secs_f64()
        ),
    };
    vec![loaded, round_trip(engine.as_mut()), trial(engine.as_mut())]
}

fn server_checks(server: &ServerOptions) -> Vec<Check> {
    let began = Instant::now();
    let check = |name, ok, finding| Check { name, ok, finding };
    let caps = remote::Caps {
        organizer: TRIAL as u64,
        worker: TRIAL as u64,
    };
    let mut engine = match remote::connect(server, caps) {
        Ok(engine) => engine,
        Err(e) => return vec![check("server", false, e.to_string())],
    };
    let took = began.elapsed();
    let url = engine.card().device.clone();
    let probe = engine.probe().clone();
    let context = match probe.context {
        0 => "context unknown".to_owned(),
        n => format!("context {n}"),
    };
    let template = serde_json::to_value(probe.template)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default();
    let found = format!(
        "{url}: {} {}, found in {} ms; prompts are written by the template `{template}`",
        probe.kind,
        probe.version.as_deref().unwrap_or("(no version)"),
        took.as_millis(),
    );
    let model = format!(
        "{}, {context}, probabilities {}; of {} there: {}",
        probe.model,
        if probe.logprobs { "given" } else { "not given" },
        probe.models.len(),
        probe.models.join(", ")
    );
    let key = match server.key_is_there() {
        Ok(true) => format!("from {}", server.key_source()),
        Ok(false) => "none; the server wants none, or reads none".to_owned(),
        Err(e) => e.to_string(),
    };
    vec![
        check("server", true, found),
        check("model", true, model),
        check("key", true, key),
        round_trip(&mut engine),
        trial(&mut engine),
    ]
}

fn round_trip(engine: &mut dyn Engine) -> Check {
    let text = "<FORK-1>a×b é 漢字 🧠</FORK-1>\n<JOIN-1> <|im_end|>";
    let (ok, finding) = match engine.encode(text) {
        Ok(ids) if engine.decode(&ids) == text.as_bytes() => (
            true,
            format!("{} tokens for {} bytes and back", ids.len(), text.len()),
        ),
        Ok(ids) => (
            false,
            format!(
                "text does not come back: {}",
                String::from_utf8_lossy(&engine.decode(&ids))
            ),
        ),
        Err(e) => (false, e.to_string()),
    };
    Check {
        name: "tokenizer",
        ok,
        finding,
    }
}

fn trial(engine: &mut dyn Engine) -> Check {
    let (ok, finding) = match decode_a_little(engine) {
        Ok((text, tok_per_s)) => (
            true,
            format!("{tok_per_s:.0} tok/s alone; it says {text:?}"),
        ),
        Err(e) => (false, e),
    };
    Check {
        name: "decoding",
        ok,
        finding,
    }
}

fn decode_a_little(engine: &mut dyn Engine) -> Result<(String, f64), String> {
    let ask = ChatMessage {
        role: ChatRole::User,
        content: "Say hello.".into(),
    };
    let prompt = engine.prompt(&[ask], false).map_err(|e| e.to_string())?;
    let seq = SeqId(0);
    let mut ops = vec![
        SeqOp::Open {
            seq,
            key: "doctor".into(),
            sampling: Sampling {
                temperature: 0.0,
                ..Sampling::default()
            },
            priority: Priority::Organizer,
            prefix: None,
        },
        SeqOp::Append {
            seq,
            tokens: prompt,
            decoded: false,
        },
        SeqOp::Run(seq),
    ];
    let mut text = Vec::new();
    let mut tokens = 0;
    let mut first = None;
    while tokens < TRIAL {
        let output = engine
            .advance(std::mem::take(&mut ops))
            .map_err(|e| e.to_string())?;
        if let Some((_, stop)) = output.stopped.first() {
            return Err(format!("it stopped: {stop:?}"));
        }
        let mut over = false;
        for token in output.decoded {
            tokens += 1;
            first.get_or_insert_with(Instant::now);
            text.extend(token.bytes);
            over |= token.eos;
        }
        if over {
            break;
        }
    }
    let seconds = first.map_or(f64::INFINITY, |f| f.elapsed().as_secs_f64());
    let tok_per_s = (tokens.saturating_sub(1)) as f64 / seconds.max(1e-9);
    Ok((String::from_utf8_lossy(&text).into_owned(), tok_per_s))
}

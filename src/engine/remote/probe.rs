//! What kind of server it is, its models, and what they can do.

use super::client::Client;
use super::error::{RemoteError, quote};
use super::options::ServerOptions;
use super::template::Template;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::time::{Duration, Instant};

/// How long a server may take to load its model, and between two looks.
const LOADING: (Duration, Duration) = (Duration::from_secs(60), Duration::from_millis(500));

/// The context asked of Ollama where nothing else was: it allocates what it is asked for.
const OLLAMA_CONTEXT: u32 = 8192;

/// First version of Ollama that gives probabilities.
const OLLAMA_LOGPROBS: (u32, u32, u32) = (0, 12, 11);

/// Kinds of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Kind {
    /// vLLM.
    #[serde(rename = "vllm")]
    Vllm,
    /// SGLang.
    #[serde(rename = "sglang")]
    Sglang,
    /// llama.cpp's server.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// Ollama.
    #[serde(rename = "ollama")]
    Ollama,
    /// Something else with `/v1/completions`.
    #[default]
    #[serde(rename = "other")]
    Other,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "Ollama",
            Self::Other => "a server with /v1/completions",
        })
    }
}

/// What was found out about a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Probe {
    /// What kind it is.
    pub kind: Kind,
    /// Its version, where it says.
    pub version: Option<String>,
    /// All its models.
    pub models: Vec<String>,
    /// The one that is used.
    pub model: String,
    /// Longest context in tokens; 0: unknown.
    pub context: u32,
    /// Whether it is asked for probabilities.
    pub logprobs: bool,
    /// How prompts are written.
    pub template: Template,
}

/// Asks a server what it is.
///
/// # Errors
/// Nobody there, no inference server, another model.
pub(super) async fn probe(client: &Client, options: &ServerOptions) -> Result<Probe, RemoteError> {
    let mut attempt = 0;
    let began = Instant::now();
    loop {
        match look(client, options).await {
            // A server that loads its model says so.
            Err(RemoteError::Failed { status: 503, .. }) if began.elapsed() < LOADING.0 => {
                tokio::time::sleep(LOADING.1).await;
            }
            // One that is not there will not come by itself.
            Err(error) if !matches!(error, RemoteError::Unreachable { .. }) => {
                let Some(wait) = client.wait_before(attempt, &error) else {
                    return Err(error);
                };
                attempt += 1;
                tokio::time::sleep(wait).await;
            }
            other => return other,
        }
    }
}

async fn look(client: &Client, options: &ServerOptions) -> Result<Probe, RemoteError> {
    let (listed, from_v1) = match client.get("v1/models").await {
        Ok(value) => (value, true),
        Err(error @ RemoteError::NotAServer { .. }) => {
            (client.get("api/tags").await.map_err(|_| error)?, false)
        }
        Err(error) => return Err(error),
    };
    let models = models(&listed);
    if listed
        .get("data")
        .or_else(|| listed.get("models"))
        .is_none()
    {
        return Err(RemoteError::NotAServer {
            url: client.url(),
            what: "no list of models at /v1/models".into(),
        });
    }
    let kind = match options.kind {
        Some(kind) => kind,
        None => kind(client, &listed, from_v1).await,
    };
    let model = choose(client, kind, options.model.as_deref(), &models)?;
    let mut probe = Probe {
        kind,
        version: None,
        logprobs: kind != Kind::Other,
        context: stated_context(&listed, &model),
        template: Template::for_model(&model),
        model,
        models,
    };
    match kind {
        Kind::LlamaCpp => look_at_llama(client, &mut probe).await,
        Kind::Ollama => look_at_ollama(client, &mut probe).await,
        Kind::Vllm => probe.version = version(client, "version").await,
        Kind::Sglang => {
            let info = client.get("get_server_info").await.ok();
            probe.version = info.as_ref().and_then(|v| words(v, "/version"));
        }
        Kind::Other => {}
    }
    if let Some(context) = options.context {
        probe.context = context;
    }
    if let Some(template) = options.template {
        probe.template = template;
    }
    Ok(probe)
}

/// Ids in either list.
fn models(listed: &Value) -> Vec<String> {
    let list = |at: &str| listed.get(at).and_then(Value::as_array).cloned();
    list("data")
        .or_else(|| list("models"))
        .unwrap_or_default()
        .iter()
        .filter_map(|m| m.get("id").or_else(|| m.get("name"))?.as_str())
        .map(str::to_owned)
        .collect()
}

async fn kind(client: &Client, listed: &Value, from_v1: bool) -> Kind {
    let owner = listed
        .pointer("/data/0/owned_by")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match owner {
        "vllm" => return Kind::Vllm,
        "sglang" => return Kind::Sglang,
        "llamacpp" => return Kind::LlamaCpp,
        _ if !from_v1 => return Kind::Ollama,
        _ => {}
    }
    if version(client, "api/version").await.is_some() {
        Kind::Ollama
    } else {
        Kind::Other
    }
}

async fn version(client: &Client, path: &str) -> Option<String> {
    words(&client.get(path).await.ok()?, "/version")
}

fn words(value: &Value, at: &str) -> Option<String> {
    value.pointer(at)?.as_str().map(quote)
}

fn choose(
    client: &Client,
    kind: Kind,
    asked: Option<&str>,
    models: &[String],
) -> Result<String, RemoteError> {
    let Some(asked) = asked else {
        return match models {
            [only] => Ok(only.clone()),
            several => Err(RemoteError::WhichModel {
                url: client.url(),
                has: several.to_vec(),
            }),
        };
    };
    let tagged = format!("{asked}:latest");
    let found = models
        .iter()
        .find(|m| *m == asked || (kind == Kind::Ollama && **m == tagged));
    match found {
        Some(model) => Ok(model.clone()),
        // It serves one model, whatever it is called.
        None if kind == Kind::LlamaCpp && models.len() == 1 && models[0].ends_with(asked) => {
            Ok(models[0].clone())
        }
        None => Err(RemoteError::NoSuchModel {
            url: client.url(),
            asked: quote(asked),
            has: models.to_vec(),
        }),
    }
}

fn stated_context(listed: &Value, model: &str) -> u32 {
    let stated = |m: &Value| {
        m.get("max_model_len")
            .or_else(|| m.pointer("/meta/n_ctx"))?
            .as_u64()
    };
    listed
        .get("data")
        .and_then(Value::as_array)
        .and_then(|list| list.iter().find(|m| m["id"] == model))
        .and_then(stated)
        .and_then(|n| u32::try_from(n).ok())
        .unwrap_or(0)
}

async fn look_at_llama(client: &Client, probe: &mut Probe) {
    // Without it the server still completes text.
    let Ok(props) = client.get("props").await else {
        return;
    };
    probe.version = words(&props, "/build_info");
    let slot = props
        .pointer("/default_generation_settings/n_ctx")
        .and_then(Value::as_u64);
    if let Some(n) = slot.and_then(|n| u32::try_from(n).ok()) {
        probe.context = n;
    }
    if props["chat_template"]
        .as_str()
        .is_some_and(|t| !t.is_empty())
    {
        probe.template = Template::Server;
    }
}

async fn look_at_ollama(client: &Client, probe: &mut Probe) {
    probe.version = version(client, "api/version").await;
    probe.logprobs = probe
        .version
        .as_deref()
        .and_then(numbers)
        .is_some_and(|v| v >= OLLAMA_LOGPROBS);
    probe.context = OLLAMA_CONTEXT;
    let Ok(shown) = client
        .post("api/show", &json!({ "model": probe.model }))
        .await
    else {
        return;
    };
    if let Some(template) = shown["template"].as_str().and_then(Template::in_text) {
        probe.template = template;
    }
    let longest = shown["model_info"]
        .as_object()
        .and_then(|info| info.iter().find(|(k, _)| k.ends_with(".context_length")))
        .and_then(|(_, n)| n.as_u64())
        .and_then(|n| u32::try_from(n).ok());
    if let Some(n) = longest {
        probe.context = n.min(OLLAMA_CONTEXT);
    }
}

fn numbers(version: &str) -> Option<(u32, u32, u32)> {
    let mut parts = version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|n| n.parse().ok());
    Some((parts.next()?, parts.next()?, parts.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_listed_in_either_shape() {
        let v1 = json!({"data": [{"id": "a"}, {"id": "b"}]});
        let tags = json!({"models": [{"name": "a"}, {"name": "b"}]});
        assert_eq!(models(&v1), ["a", "b"]);
        assert_eq!(models(&tags), ["a", "b"]);
        assert!(models(&json!({"data": [3]})).is_empty());
    }

    #[test]
    fn the_context_is_what_the_server_says_of_that_model() {
        let listed =
            json!({"data": [{"id": "a", "max_model_len": 10}, {"id": "b", "meta": {"n_ctx": 20}}]});
        assert_eq!(stated_context(&listed, "a"), 10);
        assert_eq!(stated_context(&listed, "b"), 20);
        assert_eq!(stated_context(&listed, "c"), 0);
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(numbers("0.13.0-rc1") > Some(OLLAMA_LOGPROBS));
        assert!(numbers("0.9.6") < Some(OLLAMA_LOGPROBS));
        assert_eq!(numbers("dev"), None);
    }
}

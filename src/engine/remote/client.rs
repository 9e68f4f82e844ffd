//! Asking a server: one HTTP client, and what its answers mean.

use super::address::Address;
use super::error::{RemoteError, quote};
use super::options::{Key, Patience, ServerOptions};
use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use std::time::Duration;

/// Longest answer that is read as a whole.
const LONGEST_ANSWER: usize = 8 << 20;

/// Longest explanation of a failure that is read.
const LONGEST_EXPLANATION: usize = 16 << 10;

/// First wait before trying again; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// Longest wait before trying again, also where the server asks for more.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long an answer that is no stream may take.
const WHOLE_ANSWER: Duration = Duration::from_secs(20);

/// A client of one server.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    address: Address,
    key: Option<Key>,
    key_source: String,
    pub patience: Patience,
    /// Models the server has, for messages.
    pub models: Vec<String>,
}

impl Client {
    /// # Errors
    /// No URL, no key where one was named, no TLS.
    pub fn new(options: &ServerOptions) -> Result<Self, RemoteError> {
        let address = Address::parse(&options.url)?;
        let key = options.key()?;
        let key_source = match &key {
            Some(_) => format!("from {}", options.key_source()),
            None => format!("none: put one into {}", options.key_source()),
        };
        let patience = options.patience();
        let http = reqwest::Client::builder()
            .user_agent(concat!("orgtop/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(patience.connect)
            // A request that was sent elsewhere would lose its body and show its key.
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .build()
            .map_err(|e| RemoteError::of_exchange(&address, &e))?;
        Ok(Self {
            http,
            address,
            key,
            key_source,
            patience,
            models: Vec::new(),
        })
    }

    /// The server's URL.
    pub fn url(&self) -> String {
        self.address.to_string()
    }

    /// A whole answer as JSON.
    ///
    /// # Errors
    /// Whatever keeps it from being had.
    pub async fn get(&self, path: &str) -> Result<Value, RemoteError> {
        self.whole(Method::GET, path, None).await
    }

    /// A whole answer to `body` as JSON.
    ///
    /// # Errors
    /// Whatever keeps it from being had.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, RemoteError> {
        self.whole(Method::POST, path, Some(body)).await
    }

    async fn whole(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, RemoteError> {
        let wait = self.patience.connect + WHOLE_ANSWER;
        let exchange = async {
            let response = self.exchange(method, path, body).await?;
            let text = self.read(response, LONGEST_ANSWER).await?;
            serde_json::from_str(&text).map_err(|_| self.not_a_server(path, &text))
        };
        match tokio::time::timeout(wait, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(RemoteError::Stalled {
                url: self.url(),
                after: wait,
                when: "before its answer",
            }),
        }
    }

    /// Begins an answer that is a stream. Whoever is turned away for a while tries again, as often as
    /// patience says.
    ///
    /// # Errors
    /// Whatever keeps it from beginning.
    pub async fn stream(&self, path: &str, body: &Value) -> Result<Response, RemoteError> {
        let exchange = self.exchange(Method::POST, path, Some(body));
        let wait = self.patience.first_byte;
        let response =
            tokio::time::timeout(wait, exchange)
                .await
                .map_err(|_| RemoteError::Stalled {
                    url: self.url(),
                    after: wait,
                    when: "before its answer",
                })??;
        if content_type(&response).starts_with("text/html") {
            let text = self.read(response, LONGEST_EXPLANATION).await?;
            return Err(self.not_a_server(path, &text));
        }
        Ok(response)
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response, RemoteError> {
        let mut request = self.http.request(method, self.address.at(path));
        if let Some(key) = &self.key
            && let Ok(mut value) = HeaderValue::from_str(&key.bearer())
        {
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|e| self.broken(&e))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.judge(path, response).await)
    }

    /// What an answer that is no success means.
    async fn judge(&self, path: &str, response: Response) -> RemoteError {
        let status = response.status();
        let html = content_type(&response).starts_with("text/html");
        let wait = retry_after(&response);
        let sent_to = response
            .headers()
            .get(reqwest::header::LOCATION)
            .and_then(|v| v.to_str().ok())
            .map(quote);
        let text = self
            .read(response, LONGEST_EXPLANATION)
            .await
            .unwrap_or_default();
        let (url, code) = (self.url(), status.as_u16());
        let message = quote(&self.hide(&explanation(&text)));
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => RemoteError::Key {
                url,
                status: code,
                source_of_key: self.key_source.clone(),
                message,
            },
            StatusCode::TOO_MANY_REQUESTS => RemoteError::Busy { url, message, wait },
            _ if status.is_server_error() => RemoteError::Failed {
                url,
                status: code,
                message,
                wait,
            },
            _ if status.is_redirection() => RemoteError::NotAServer {
                url,
                what: format!(
                    "it sends /{path} elsewhere, {code} to {}",
                    sent_to.unwrap_or_else(|| "nowhere".into())
                ),
            },
            _ if html => self.not_a_server(path, &text),
            _ if about_context(&text) => RemoteError::ContextFull { url, message },
            StatusCode::NOT_FOUND if text.to_lowercase().contains("model") => {
                RemoteError::Refused {
                    url,
                    status: code,
                    message: if self.models.is_empty() {
                        message
                    } else {
                        format!("{message}; it has `{}`", quote(&self.models.join("`, `")))
                    },
                }
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => RemoteError::NotAServer {
                url,
                what: format!("{code} for /{path}"),
            },
            _ => RemoteError::Refused {
                url,
                status: code,
                message,
            },
        }
    }

    /// Reads a whole body, up to a bound.
    async fn read(&self, mut response: Response, longest: usize) -> Result<String, RemoteError> {
        let mut bytes = Vec::new();
        loop {
            let more = tokio::time::timeout(self.patience.idle, response.chunk()).await;
            match more {
                Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
                Ok(Ok(None)) => break,
                Ok(Err(e)) => return Err(self.broken(&e)),
                Err(_) => {
                    return Err(RemoteError::Stalled {
                        url: self.url(),
                        after: self.patience.idle,
                        when: "in the middle of its answer",
                    });
                }
            }
            if bytes.len() > longest {
                bytes.truncate(longest);
                break;
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn broken(&self, error: &reqwest::Error) -> RemoteError {
        RemoteError::of_exchange(&self.address, error)
    }

    fn not_a_server(&self, path: &str, text: &str) -> RemoteError {
        let begins = text.trim_start();
        let what = if begins.starts_with('<') {
            "a web page"
        } else if begins.is_empty() {
            "an empty answer"
        } else {
            "no JSON"
        };
        RemoteError::NotAServer {
            url: self.url(),
            what: format!("{what} for /{path}"),
        }
    }

    /// A server's words without the key that it was sent.
    pub fn hide(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.hide_in(text),
            None => text.to_owned(),
        }
    }

    /// How long to wait before the next attempt; `None`: there is no point, or there were enough.
    pub fn wait_before(&self, attempt: u32, error: &RemoteError) -> Option<Duration> {
        let asked = error.try_again_after()?;
        let own = FIRST_WAIT.saturating_mul(1 << attempt.min(10));
        (attempt < self.patience.retries).then(|| asked.max(own).min(LONGEST_WAIT))
    }
}

fn content_type(response: &Response) -> String {
    response
        .headers()
        .get(reqwest::header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default()
        .to_lowercase()
}

/// Seconds; dates are not understood.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// What servers write about a failure, out of its JSON.
pub(super) fn explanation(text: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return text.to_owned();
    };
    ["/error/message", "/error", "/message", "/detail"]
        .into_iter()
        .find_map(|at| value.pointer(at)?.as_str())
        .map_or_else(|| text.to_owned(), str::to_owned)
}

/// Whether an explanation says that the context is full.
pub(super) fn about_context(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "exceed_context_size",
        "maximum context length",
        "context size",
        "longer than the model's context",
        "context length",
    ]
    .iter()
    .any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_explains_itself_in_several_shapes() {
        for text in [
            r#"{"error":{"message":"why","type":"x"}}"#,
            r#"{"error":"why"}"#,
            r#"{"object":"error","message":"why"}"#,
            r#"{"detail":"why"}"#,
            "why",
        ] {
            assert_eq!(explanation(text), "why");
        }
    }

    #[test]
    fn a_full_context_is_told_from_other_refusals() {
        assert!(about_context(
            "This model's maximum context length is 4096 tokens."
        ));
        assert!(about_context(
            r#"{"error":{"type":"exceed_context_size_error"}}"#
        ));
        assert!(!about_context("unknown field"));
    }
}

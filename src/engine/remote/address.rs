//! A server's URL as it is meant: its root, without `/v1`.

use super::error::RemoteError;
use reqwest::Url;
use std::fmt;

/// Where a server listens. Holds no user name and no password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address(Url);

impl Address {
    /// Reads what a person wrote: the scheme may be missing, `/v1` may be there.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        // A password must not come back in a message.
        let shown = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
        let wrong = |why: &str| RemoteError::Url {
            url: super::error::quote(shown),
            why: why.to_owned(),
        };
        let text = text.trim();
        let whole = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let mut url = Url::parse(&whole).map_err(|e| wrong(&e.to_string()))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(wrong("only http and https are spoken"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("it names no host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "keys do not belong into a URL, give them in the environment or a file",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("it must not have a query or a fragment"));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        let path = path.strip_suffix("/v1").unwrap_or(&path);
        url.set_path(&format!("{path}/"));
        Ok(Self(url))
    }

    /// The URL of `path` (without a leading slash) on this server.
    pub fn at(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.0.path()));
        url
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_for_a_server_means_its_root() {
        for (text, root) in [
            ("http://localhost:8080", "http://localhost:8080"),
            ("localhost:8080/", "http://localhost:8080"),
            ("https://box/v1", "https://box"),
            ("https://box/llm/v1/", "https://box/llm"),
            ("http://[::1]:1", "http://[::1]:1"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), root);
        }
        let url = Address::parse("box/llm").unwrap().at("v1/models");
        assert_eq!(url.as_str(), "http://box/llm/v1/models");
    }

    #[test]
    fn what_is_no_server_is_refused_and_a_password_does_not_come_back() {
        for text in ["", "ftp://x", "http://", "http://x?key=1", "http://a b"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
        let error = Address::parse("http://me:hunter2@x").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

//! Where the hub is, where its cache is, and who asks: from the environment, as other programs read it.

use super::error::HubError;
use super::patience::Patience;
use crate::engine::local::hub_folder;
use hf_hub::Cache;
use hf_hub::api::tokio::{Api, ApiBuilder};
use std::fmt;
use std::path::PathBuf;

const ENDPOINT: &str = "https://huggingface.co";

/// A hub and a cache.
#[derive(Clone)]
pub struct Place {
    /// Address of the hub, without a slash at its end.
    pub endpoint: String,
    /// The cache's `hub` folder.
    pub folder: PathBuf,
    /// Who asks; never shown.
    pub token: Option<String>,
    /// How long to wait for what.
    pub patience: Patience,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("endpoint", &self.endpoint)
            .field("folder", &self.folder)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .finish_non_exhaustive()
    }
}

impl Place {
    /// From `HF_ENDPOINT`, `HF_HUB_CACHE`, `HF_HOME`, `HF_TOKEN` (or the file that `hf auth login` leaves) and
    /// `HF_HUB_OFFLINE`.
    ///
    /// # Errors
    /// [`HubError::Setting`] when one of them makes no sense, [`HubError::Offline`].
    pub fn from_env() -> Result<Self, HubError> {
        let var = |name: &str| std::env::var(name).ok().filter(|v| !v.trim().is_empty());
        if var("HF_HUB_OFFLINE").is_some_and(|v| !["0", "false", "no"].contains(&v.trim())) {
            return Err(HubError::Offline);
        }
        let endpoint = var("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.into());
        let endpoint = endpoint.trim().trim_end_matches('/').to_owned();
        let host = endpoint
            .strip_prefix("https://")
            .or_else(|| endpoint.strip_prefix("http://"));
        if host.is_none_or(|h| h.is_empty() || h.contains(['?', '#', '@'])) {
            return Err(HubError::Setting(format!(
                "HF_ENDPOINT is `{endpoint}`; expected an address such as {ENDPOINT}"
            )));
        }
        let folder = hub_folder().ok_or_else(|| {
            HubError::Setting(
                "no home folder; set HF_HOME to the folder that checkpoints go to".into(),
            )
        })?;
        let token = match var("HF_TOKEN") {
            Some(token) => Some(token.trim().to_owned()),
            None => {
                let home = var("HF_HOME").map(|home| PathBuf::from(home).join("hub"));
                Cache::new(home.unwrap_or_else(|| folder.clone())).token()
            }
        };
        Ok(Self {
            endpoint,
            folder,
            token,
            patience: Patience::default(),
        })
    }

    pub(super) fn cache(&self) -> Cache {
        Cache::new(self.folder.clone())
    }

    pub(super) fn api(&self) -> Result<Api, HubError> {
        let sendable = |c: char| c.is_ascii_graphic();
        if self
            .token
            .as_ref()
            .is_some_and(|t| !t.chars().all(sendable))
        {
            return Err(HubError::Setting(
                "the hub's token (HF_TOKEN) holds characters that no token has".into(),
            ));
        }
        ApiBuilder::from_cache(self.cache())
            .with_endpoint(self.endpoint.clone())
            .with_token(self.token.clone())
            .with_user_agent("orgtop", env!("CARGO_PKG_VERSION"))
            .build()
            .map_err(|_| HubError::Setting("no secure connections on this machine".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let place = Place {
            endpoint: ENDPOINT.into(),
            folder: "x".into(),
            token: Some("hf_secret".into()),
            patience: Patience::default(),
        };
        assert!(!format!("{place:?}").contains("secret"));
        let odd = Place {
            token: Some("hf_sec\nret".into()),
            ..place
        };
        let error = odd.api().unwrap_err().to_string();
        assert!(
            error.contains("HF_TOKEN") && !error.contains("sec\n"),
            "{error}"
        );
    }
}

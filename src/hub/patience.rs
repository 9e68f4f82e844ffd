//! Waiting for a hub, and for how long.

use super::error::HubError;
use super::place::Place;
use reqwest::{RequestBuilder, Response};
use std::future::Future;
use std::time::Duration;

/// How long to wait for a hub, and how often to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For an answer to begin, or its next piece.
    pub silence: Duration,
    /// Times that a file may break off in a row without anything new arriving.
    pub tries: u32,
    /// Before asking again; twice as long each time.
    pub wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(60),
            tries: 5,
            wait: Duration::from_millis(500),
        }
    }
}

impl Patience {
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        place: &Place,
    ) -> Result<Response, HubError> {
        self.within(request.send(), place).await
    }

    pub(super) async fn chunk(
        &self,
        response: &mut Response,
        place: &Place,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, HubError> {
        self.within(response.chunk(), place).await
    }

    async fn within<T>(
        &self,
        work: impl Future<Output = reqwest::Result<T>>,
        place: &Place,
    ) -> Result<T, HubError> {
        let why = match tokio::time::timeout(self.silence, work).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(e)) => innermost(&e.without_url()),
            Err(_) => format!("nothing came for {} s", self.silence.as_secs()),
        };
        Err(HubError::Network {
            endpoint: place.endpoint.clone(),
            why,
        })
    }
}

/// The last of a chain of causes; addresses, which may hold signatures, are left out.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(cause) = at.source() {
        at = cause;
    }
    at.to_string()
}

//! What the hub says a repository holds, checked.

use super::error::HubError;
use super::name::{Wanted, is_id};
use super::place::Place;
use hf_hub::api::tokio::Api;
use hf_hub::{Repo, RepoType};
use reqwest::{Response, StatusCode};
use serde::Deserialize;

/// No listing is longer.
const MAX_LISTING: usize = 32 << 20;

/// The files of a repository at one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The commit.
    pub commit: String,
    /// The files.
    pub files: Vec<Listed>,
}

/// A file as listed. Names are as the server says, and only [`Listing::item`] gives them away checked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Listed {
    #[serde(rename = "rfilename")]
    name: String,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default, rename = "blobId")]
    blob: Option<String>,
    #[serde(default)]
    lfs: Option<Large>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Large {
    sha256: Option<String>,
    size: Option<u64>,
}

/// A file that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its path inside the repository.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Name of its blob in the cache.
    pub blob: String,
    /// SHA-256 of its content, where the hub knows it (all large files).
    pub sha256: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    sha: String,
    #[serde(default)]
    siblings: Vec<Listed>,
}

impl Listing {
    /// Ask the hub.
    ///
    /// # Errors
    /// Whatever keeps it from answering with a listing.
    pub async fn ask(api: &Api, place: &Place, wanted: &Wanted) -> Result<Self, HubError> {
        let repo = Repo::with_revision(
            wanted.repo.clone(),
            RepoType::Model,
            wanted.revision.clone(),
        );
        let request = api.repo(repo).info_request().query(&[("blobs", "true")]);
        let patience = place.patience;
        let mut response = patience.send(request, place).await?;
        check_status(&response, place, wanted)?;
        let mut body = Vec::new();
        while let Some(chunk) = patience.chunk(&mut response, place).await? {
            body.extend_from_slice(chunk.as_ref());
            if body.len() > MAX_LISTING {
                return Err(nonsense(wanted, "its listing has no end"));
            }
        }
        Self::read(&body).map_err(|why| nonsense(wanted, &why))
    }

    fn read(body: &[u8]) -> Result<Self, String> {
        let answer: Answer = serde_json::from_slice(body)
            .map_err(|e| format!("the listing cannot be read ({e}); is HF_ENDPOINT a hub?"))?;
        if !is_id(&answer.sha) {
            return Err("it names no commit".into());
        }
        Ok(Self {
            commit: answer.sha,
            files: answer.siblings,
        })
    }

    /// Names of all files.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.files.iter().map(|f| f.name.as_str()).collect()
    }

    /// A file that was chosen by its (plain) name.
    ///
    /// # Errors
    /// [`HubError::Answer`] when the listing says too little or nonsense about it.
    pub fn item(&self, wanted: &Wanted, name: &str) -> Result<Item, HubError> {
        let fail = |why: &str| nonsense(wanted, &format!("`{}`: {why}", name.escape_debug()));
        let file = self.files.iter().find(|f| f.name == name);
        let file = file.ok_or_else(|| fail("it is not in the listing"))?;
        super::name::check_file(name).map_err(|why| fail(&why))?;
        let large = file.lfs.as_ref();
        let sha256 = large.and_then(|l| l.sha256.clone());
        let blob = sha256.clone().or_else(|| file.blob.clone());
        let blob = blob.ok_or_else(|| fail("the listing has no hash of it"))?;
        if !is_id(&blob) {
            return Err(fail("its hash is none"));
        }
        let size = file.size.or(large.and_then(|l| l.size));
        Ok(Item {
            name: name.to_owned(),
            size: size.ok_or_else(|| fail("the listing has no size of it"))?,
            blob: blob.to_ascii_lowercase(),
            sha256: sha256.map(|hash| hash.to_ascii_lowercase()),
        })
    }
}

pub fn nonsense(wanted: &Wanted, why: &str) -> HubError {
    HubError::Answer {
        repo: wanted.repo.clone(),
        why: why.to_owned(),
    }
}

/// What a status says about a repository.
///
/// # Errors
/// Unless it is a success.
pub fn check_status(response: &Response, place: &Place, wanted: &Wanted) -> Result<(), HubError> {
    let code = |name: &str| {
        let code = response.headers().get("x-error-code");
        code.is_some_and(|c| c.as_bytes() == name.as_bytes())
    };
    let (repo, endpoint) = (wanted.repo.clone(), place.endpoint.clone());
    match response.status() {
        status if status.is_success() => Ok(()),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(HubError::Refused {
            repo,
            endpoint,
            gated: code("GatedRepo"),
            token: place.token.is_some(),
        }),
        StatusCode::NOT_FOUND => Err(HubError::NotFound {
            repo,
            revision: wanted.revision.clone(),
            endpoint,
        }),
        status => Err(HubError::Status {
            repo,
            status: status.as_u16(),
        }),
    }
}

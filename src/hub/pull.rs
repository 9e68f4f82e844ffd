//! Pulling a checkpoint: ask what there is, choose, check for room, fetch, put in place.
//!
//! Small files come first, so that a checkpoint that cannot be loaded is told before its weights are fetched.

use super::choose::{Choice, Weights, choose, shards};
use super::error::HubError;
use super::fetch::{Source, State, part_of};
use super::listing::{Item, Listing, nonsense};
use super::name::Wanted;
use super::place::Place;
use super::room;
use crate::engine::local::config::Config;
use hf_hub::api::tokio::Api;
use hf_hub::{CacheRepo, Repo, RepoType};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What happens meanwhile.
#[derive(Debug)]
pub enum News<'a> {
    /// So many bytes in so many files are known to be needed, this much of them is here.
    Plan {
        /// Files.
        files: usize,
        /// Bytes of all of them.
        bytes: u64,
        /// Bytes that need not be fetched.
        here: u64,
    },
    /// A file begins, or goes on at a byte.
    File {
        /// Its name.
        name: &'a str,
        /// Its bytes.
        size: u64,
        /// Bytes of it that are here.
        at: u64,
    },
    /// So many bytes arrived.
    Bytes(u64),
    /// The file begins anew.
    Restart,
    /// It broke off and is asked for again.
    Again {
        /// Why.
        why: &'a str,
    },
    /// A file is whole.
    Done {
        /// Its name.
        name: &'a str,
        /// Its bytes.
        size: u64,
        /// How it came.
        state: State,
    },
}

/// A pulled checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pulled {
    /// The repository.
    pub repo: String,
    /// The revision that was asked for.
    pub revision: String,
    /// Its commit.
    pub commit: String,
    /// What `--model` takes: a folder, or a gguf file.
    pub path: PathBuf,
    /// Its files.
    pub files: Vec<PulledFile>,
}

/// A file of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PulledFile {
    /// Its name in the repository.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// How it came.
    pub state: State,
}

/// Pull `wanted` into the cache.
///
/// # Errors
/// Whatever keeps it from being there, whole, in the end. What arrived is kept, and the next pull goes on.
pub async fn pull(
    wanted: &Wanted,
    place: &Place,
    news: &mut dyn FnMut(News<'_>),
) -> Result<Pulled, HubError> {
    let api = place.api()?;
    let listing = Listing::ask(&api, place, wanted).await?;
    let choice = choose(wanted, &listing.names())?;
    let mut pulling = Pulling::new(wanted, place, &api, &listing);
    let file = match choice {
        Choice::Gguf(file) => {
            pulling.all(std::slice::from_ref(&file), news).await?;
            Some(file)
        }
        Choice::Folder { small, weights } => {
            pulling.all(&small, news).await?;
            pulling.check_config()?;
            let weights = match weights {
                Weights::Files(files) => files,
                Weights::Index(index) => {
                    pulling.all(std::slice::from_ref(&index), news).await?;
                    let text = pulling.read(&index)?;
                    shards(&text).map_err(|why| nonsense(wanted, &why))?
                }
            };
            pulling.all(&weights, news).await?;
            None
        }
    };
    pulling.finish(file.as_deref())
}

struct Pulling<'a> {
    wanted: &'a Wanted,
    place: &'a Place,
    api: &'a Api,
    listing: &'a Listing,
    /// At the commit, so that a push meanwhile mixes nothing.
    repo: Repo,
    cache: CacheRepo,
    files: Vec<PulledFile>,
}

impl<'a> Pulling<'a> {
    fn new(wanted: &'a Wanted, place: &'a Place, api: &'a Api, listing: &'a Listing) -> Self {
        let at = |revision: &str| {
            Repo::with_revision(wanted.repo.clone(), RepoType::Model, revision.to_owned())
        };
        Self {
            wanted,
            place,
            api,
            listing,
            repo: at(&listing.commit),
            cache: place.cache().repo(at(&wanted.revision)),
            files: Vec::new(),
        }
    }

    fn snapshot(&self) -> PathBuf {
        self.cache.pointer_path(&self.listing.commit)
    }

    /// Fetch these files, after checking that there is room for them.
    async fn all(
        &mut self,
        names: &[String],
        news: &mut dyn FnMut(News<'_>),
    ) -> Result<(), HubError> {
        let item = |name: &String| self.listing.item(self.wanted, name);
        let items: Vec<Item> = names.iter().map(item).collect::<Result<_, _>>()?;
        let bytes: u64 = items.iter().map(|i| i.size).fold(0, u64::saturating_add);
        let here: u64 = items.iter().map(|i| self.here(i)).sum();
        let files = items.len();
        news(News::Plan { files, bytes, here });
        let need = bytes.saturating_sub(here);
        let folder = &self.place.folder;
        if let Some(free) = room::free(folder).filter(|free| *free < need) {
            return Err(HubError::Space {
                folder: folder.clone(),
                need,
                free,
            });
        }
        for item in items {
            let state = self.one(&item, news).await?;
            news(News::Done {
                name: &item.name,
                size: item.size,
                state,
            });
            self.files.push(PulledFile {
                name: item.name,
                bytes: item.size,
                state,
            });
        }
        Ok(())
    }

    /// Bytes of a file that need not be fetched.
    fn here(&self, item: &Item) -> u64 {
        let blob = self.cache.blob_path(&item.blob);
        let length = |path: &Path| path.metadata().map_or(0, |m| m.len());
        if length(&blob) == item.size {
            return item.size;
        }
        let part = length(&part_of(&blob));
        if part <= item.size { part } else { 0 }
    }

    async fn one(&self, item: &Item, news: &mut dyn FnMut(News<'_>)) -> Result<State, HubError> {
        let blob = self.cache.blob_path(&item.blob);
        let pointer = self.snapshot().join(&item.name);
        for path in [&blob, &pointer] {
            let parent = path.parent().unwrap_or(path);
            std::fs::create_dir_all(parent).map_err(HubError::io(parent))?;
        }
        let whole = |path: &Path| {
            path.metadata()
                .is_ok_and(|m| m.is_file() && m.len() == item.size)
        };
        let state = if whole(&blob) {
            State::Here
        } else {
            let url = self.api.repo(self.repo.clone()).url(&item.name);
            let source = Source {
                client: self.api.client(),
                place: self.place,
                wanted: self.wanted,
                url: &url,
            };
            source.fetch(item, &blob, news).await?
        };
        if !whole(&pointer) {
            point(&pointer, &blob, &item.name).map_err(HubError::io(&pointer))?;
        }
        Ok(state)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, HubError> {
        let path = self.snapshot().join(name);
        std::fs::read(&path).map_err(HubError::io(&path))
    }

    /// Whether the network can be computed at all.
    fn check_config(&self) -> Result<(), HubError> {
        let unsupported = |why: String| HubError::Unsupported {
            repo: self.wanted.repo.clone(),
            why,
        };
        let json = serde_json::from_slice(&self.read("config.json")?)
            .map_err(|e| unsupported(format!("config.json: {e}")))?;
        Config::from_hf(&json).map(drop).map_err(unsupported)
    }

    fn finish(self, file: Option<&str>) -> Result<Pulled, HubError> {
        self.cache
            .create_ref(&self.listing.commit)
            .map_err(HubError::io(&self.place.folder))?;
        let snapshot = self.snapshot();
        Ok(Pulled {
            repo: self.wanted.repo.clone(),
            revision: self.wanted.revision.clone(),
            commit: self.listing.commit.clone(),
            path: file.map_or_else(|| snapshot.clone(), |file| snapshot.join(file)),
            files: self.files,
        })
    }
}

/// Make `pointer` (the file `name` of a snapshot) show `blob`.
fn point(pointer: &Path, blob: &Path, name: &str) -> std::io::Result<()> {
    if pointer.symlink_metadata().is_ok() {
        std::fs::remove_file(pointer)?;
    }
    #[cfg(unix)]
    {
        // from `snapshots/COMMIT/NAME` to `blobs/BLOB`, so that the cache can be moved
        let up = "../".repeat(2 + name.matches('/').count());
        let blob = blob.file_name().unwrap_or_default();
        std::os::unix::fs::symlink(Path::new(&up).join("blobs").join(blob), pointer)
    }
    #[cfg(not(unix))]
    {
        let _ = name;
        std::fs::hard_link(blob, pointer).or_else(|_| std::fs::copy(blob, pointer).map(drop))
    }
}

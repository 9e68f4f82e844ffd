//! Fetching one file into the cache: by ranges, so that what was interrupted goes on; checked at its end.

use super::error::HubError;
use super::listing::{Item, check_status};
use super::name::Wanted;
use super::place::Place;
use super::pull::News;
use crate::engine::local::checkpoint::hex;
use reqwest::header::{CONTENT_RANGE, RANGE};
use reqwest::{Client, Response, StatusCode};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How a file came to be in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was there already.
    Here,
    /// Fetched from its beginning.
    Fetched,
    /// The rest of it was fetched.
    Resumed,
}

/// Where the bytes of a blob gather. A name of orgtop's own: other programs' parts may have holes.
pub fn part_of(blob: &Path) -> PathBuf {
    blob.with_extension("orgtop-part")
}

/// A file on its way: bytes so far are those of `item`, in order, from the first on.
struct Part<'a> {
    item: &'a Item,
    path: &'a Path,
    file: File,
    at: u64,
    hash: Sha256,
}

impl<'a> Part<'a> {
    fn open(path: &'a Path, item: &'a Item) -> Result<Self, HubError> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(HubError::io(path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(HubError::Busy {
                    file: item.name.clone(),
                });
            }
            // a disk without locks is written without one
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut part = Self {
            item,
            path,
            file,
            at: 0,
            hash: Sha256::new(),
        };
        part.take_in_what_is_there()?;
        Ok(part)
    }

    fn take_in_what_is_there(&mut self) -> Result<(), HubError> {
        let fail = || HubError::io(self.path);
        if self.file.metadata().map_err(fail())?.len() > self.item.size {
            return self.restart();
        }
        let mut buffer = vec![0; 1 << 20];
        loop {
            let read = self.file.read(&mut buffer).map_err(fail())?;
            if read == 0 {
                return Ok(());
            }
            self.hash.update(&buffer[..read]);
            self.at += read as u64;
        }
    }

    fn restart(&mut self) -> Result<(), HubError> {
        self.file.set_len(0).map_err(HubError::io(self.path))?;
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(HubError::io(self.path))?;
        self.at = 0;
        self.hash = Sha256::new();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), HubError> {
        if self.at + bytes.len() as u64 > self.item.size {
            let why = format!("more than its {} bytes", self.item.size);
            return Err(self.drop_it(why));
        }
        self.file
            .write_all(bytes)
            .map_err(HubError::io(self.path))?;
        self.hash.update(bytes);
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn drop_it(&self, why: String) -> HubError {
        // if it stays, the next pull finds the same and drops it again
        let _ = std::fs::remove_file(self.path);
        HubError::Mismatch {
            file: self.item.name.clone(),
            why,
        }
    }

    /// A part without a byte is worth nothing.
    fn drop_if_empty(&self) {
        if self.at == 0 {
            // if it stays, it does no harm
            let _ = std::fs::remove_file(self.path);
        }
    }

    /// Whole: check it and give it its name.
    fn finish(self, blob: &Path) -> Result<(), HubError> {
        let found = hex(&self.hash.clone().finalize());
        match &self.item.sha256 {
            Some(expected) if *expected != found => {
                Err(self.drop_it(format!("its SHA-256 is {found}, not {expected}")))
            }
            _ => {
                self.file.sync_all().map_err(HubError::io(self.path))?;
                std::fs::rename(self.path, blob).map_err(HubError::io(blob))
            }
        }
    }
}

/// One request's worth of what fetching needs to know.
pub(super) struct Source<'a> {
    pub client: &'a Client,
    pub place: &'a Place,
    pub wanted: &'a Wanted,
    pub url: &'a str,
}

impl Source<'_> {
    /// Fetch `item` to `blob`, going on with what an earlier pull left beside it.
    pub async fn fetch(
        &self,
        item: &Item,
        blob: &Path,
        news: &mut dyn FnMut(News<'_>),
    ) -> Result<State, HubError> {
        let path = part_of(blob);
        let mut part = Part::open(&path, item)?;
        let state = if part.at > 0 {
            State::Resumed
        } else {
            State::Fetched
        };
        news(News::File {
            name: &item.name,
            size: item.size,
            at: part.at,
        });
        let patience = self.place.patience;
        let (mut failures, mut wait) = (0, patience.wait);
        while part.at < item.size {
            let before = part.at;
            let Err(error) = self.go_on(&mut part, news).await else {
                continue;
            };
            if part.at > before {
                (failures, wait) = (0, patience.wait);
            }
            failures += 1;
            if !error.passes() || failures >= patience.tries {
                part.drop_if_empty();
                return Err(error);
            }
            news(News::Again {
                why: &error.to_string(),
            });
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        part.finish(blob)?;
        Ok(state)
    }

    /// One request for all that is missing.
    async fn go_on(
        &self,
        part: &mut Part<'_>,
        news: &mut dyn FnMut(News<'_>),
    ) -> Result<(), HubError> {
        let mut request = self.client.get(self.url);
        if part.at > 0 {
            request = request.header(RANGE, format!("bytes={}-", part.at));
        }
        let patience = self.place.patience;
        let mut response = patience.send(request, self.place).await?;
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            let why = format!("the hub has no more than {} bytes of it", part.at);
            return Err(part.drop_it(why));
        }
        check_status(&response, self.place, self.wanted)?;
        if part.at > 0 && !continues(&response, part.at) {
            // this server sends everything, whatever it is asked for
            part.restart()?;
            news(News::Restart);
        }
        while let Some(chunk) = patience.chunk(&mut response, self.place).await? {
            let bytes = chunk.as_ref();
            part.write(bytes)?;
            news(News::Bytes(bytes.len() as u64));
        }
        if part.at < part.item.size {
            return Err(HubError::Network {
                endpoint: self.place.endpoint.clone(),
                why: format!("{} broke off", part.item.name),
            });
        }
        Ok(())
    }
}

/// Whether an answer begins at byte `at`.
fn continues(response: &Response, at: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE);
    let begins = |range: &str| range.starts_with(&format!("bytes {at}-"));
    response.status() == StatusCode::PARTIAL_CONTENT
        && range.and_then(|r| r.to_str().ok()).is_some_and(begins)
}

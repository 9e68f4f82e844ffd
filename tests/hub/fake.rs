//! A small hub: lists repositories, serves files and ranges of them, and fails in whatever way it is told.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// How it fails.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// A status for every listing, with an `x-error-code`.
    pub listing: Option<(u16, &'static str)>,
    /// A status for every file, with an `x-error-code`.
    pub file: Option<(u16, &'static str)>,
    /// The body of every listing.
    pub body: Option<String>,
    /// Answers to requests for this file end after so many bytes, so many times.
    pub cut: Option<(&'static str, usize, usize)>,
    /// Ranges are not understood.
    pub no_ranges: bool,
    /// Large files arrive with a byte changed.
    pub corrupt: bool,
    /// Large files are said to be larger than they are.
    pub larger: u64,
    /// Files are served from another address.
    pub redirect: bool,
}

/// A request for a file or a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub path: String,
    pub range: Option<String>,
    pub authorization: Option<String>,
}

/// Names and contents.
type Files = Vec<(String, Vec<u8>)>;

#[derive(Default)]
struct Shared {
    files: Mutex<BTreeMap<String, Files>>,
    faults: Mutex<Faults>,
    asked: Mutex<Vec<Asked>>,
}

#[derive(Clone)]
pub struct Hub {
    pub url: String,
    shared: Arc<Shared>,
}

impl Hub {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let hub = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            shared: Arc::default(),
        };
        let serving = hub.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // a client that goes away in the middle is part of the tests
                let _ = serving.answer(stream);
            }
        });
        hub
    }

    /// A hub with one repository of these files.
    pub fn with(repo: &str, files: &[(&str, &[u8])]) -> Self {
        let hub = Self::new();
        let owned = files.iter().map(|(n, b)| ((*n).to_owned(), b.to_vec()));
        hub.shared
            .files
            .lock()
            .unwrap()
            .insert(repo.into(), owned.collect());
        hub
    }

    /// A hub with one repository of the files in a folder, and more.
    pub fn of_folder(repo: &str, folder: &Path, more: &[(&str, &[u8])]) -> Self {
        let mut files: Files = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap())
            .map(|e| {
                (
                    e.file_name().into_string().unwrap(),
                    std::fs::read(e.path()).unwrap(),
                )
            })
            .collect();
        files.sort();
        let mut all: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (&**n, &**b)).collect();
        all.extend(more);
        Self::with(repo, &all)
    }

    pub fn fail(&self, faults: Faults) {
        *self.shared.faults.lock().unwrap() = faults;
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// The ranges that were asked of a file, in order.
    pub fn ranges(&self, file: &str) -> Vec<Option<String>> {
        let asked = self.asked().into_iter();
        let of_file = asked.filter(|a| a.path.ends_with(&format!("/{file}")));
        of_file.map(|a| a.range).collect()
    }

    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let (mut range, mut authorization) = (None, None);
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':') {
                match name.to_ascii_lowercase().as_str() {
                    "range" => range = Some(value.trim().to_owned()),
                    "authorization" => authorization = Some(value.trim().to_owned()),
                    _ => {}
                }
            }
        }
        let path = target.split('?').next().unwrap_or_default().to_owned();
        self.shared.asked.lock().unwrap().push(Asked {
            path: path.clone(),
            range: range.clone(),
            authorization,
        });
        if let Some(rest) = path.strip_prefix("/api/models/") {
            return self.list(stream, rest.split("/revision/").next().unwrap_or_default());
        }
        match path.trim_start_matches('/').split_once("/resolve/") {
            Some((repo, rest)) => {
                let name = rest.split_once('/').map_or("", |(_, name)| name);
                self.serve(stream, repo, name, range.as_deref())
            }
            None => respond(stream, 404, "", b"no such page"),
        }
    }

    fn list(&self, stream: TcpStream, repo: &str) -> std::io::Result<()> {
        let faults = self.shared.faults.lock().unwrap().clone();
        if let Some((status, code)) = faults.listing {
            return respond(stream, status, &format!("x-error-code: {code}\r\n"), b"{}");
        }
        if let Some(body) = faults.body {
            return respond(stream, 200, "", body.as_bytes());
        }
        let files = self.shared.files.lock().unwrap();
        let Some(files) = files.get(repo) else {
            return respond(stream, 404, "x-error-code: RepoNotFound\r\n", b"{}");
        };
        let siblings: Vec<Value> = files
            .iter()
            .map(|(name, bytes)| {
                let hash = sha256(bytes);
                let size = bytes.len() as u64;
                if !large(name) {
                    return json!({"rfilename": name, "size": size, "blobId": hash[..40]});
                }
                let size = size + faults.larger;
                json!({"rfilename": name, "size": size, "blobId": hash[..40],
                       "lfs": {"sha256": hash, "size": size, "pointerSize": 134}})
            })
            .collect();
        let body = json!({"id": repo, "sha": COMMIT, "siblings": siblings}).to_string();
        respond(stream, 200, "", body.as_bytes())
    }

    fn serve(
        &self,
        mut stream: TcpStream,
        repo: &str,
        name: &str,
        range: Option<&str>,
    ) -> std::io::Result<()> {
        let mut faults = self.shared.faults.lock().unwrap();
        if let Some((status, code)) = faults.file {
            return respond(stream, status, &format!("x-error-code: {code}\r\n"), b"");
        }
        if faults.redirect {
            // `localhost` is another host to a client, and the same server
            let url = self.url.replace("127.0.0.1", "localhost");
            faults.redirect = false;
            let to = format!("location: {url}/{repo}/resolve/{COMMIT}/{name}\r\n");
            return respond(stream, 302, &to, b"");
        }
        let files = self.shared.files.lock().unwrap();
        let found = files
            .get(repo)
            .and_then(|f| f.iter().find(|(n, _)| n == name));
        let Some((_, bytes)) = found else {
            return respond(stream, 404, "x-error-code: EntryNotFound\r\n", b"");
        };
        let mut bytes = bytes.clone();
        if faults.corrupt && large(name) {
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        }
        let from = range.filter(|_| !faults.no_ranges).map(|r| {
            let from = r.trim_start_matches("bytes=").split('-').next();
            from.unwrap_or_default().parse::<usize>().unwrap()
        });
        let head = match from {
            Some(from) if from >= bytes.len() => return respond(stream, 416, "", b""),
            Some(from) => format!(
                "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {from}-{}/{}\r\n",
                bytes.len() - 1,
                bytes.len()
            ),
            None => "HTTP/1.1 200 OK\r\n".into(),
        };
        let mut body = &bytes[from.unwrap_or(0)..];
        let length = body.len();
        if let Some((file, after, times)) = &mut faults.cut
            && *file == name
            && *times > 0
        {
            *times -= 1;
            body = &body[..(*after).min(length)];
        }
        write!(
            stream,
            "{head}etag: \"{}\"\r\nx-repo-commit: {COMMIT}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n",
            sha256(&bytes)
        )?;
        stream.write_all(body)
    }
}

fn large(name: &str) -> bool {
    name.ends_with(".safetensors") || name.ends_with(".gguf")
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

fn respond(mut stream: TcpStream, status: u16, head: &str, body: &[u8]) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} X\r\n{head}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)
}

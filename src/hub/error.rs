//! What keeps a checkpoint from being pulled or found, in words that say what to do.

use std::path::PathBuf;

/// Why there is no checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// No plain name.
    #[error("`{name}` is no name on the hub: {why}; expected OWNER/NAME or OWNER/NAME:FILE.gguf")]
    Name {
        /// As it was given.
        name: String,
        /// What about it.
        why: String,
    },
    /// The environment asks for what cannot be.
    #[error("{0}")]
    Setting(String),
    /// Told to stay off the network.
    #[error("HF_HUB_OFFLINE is set, so nothing is pulled; unset it to pull")]
    Offline,
    /// The hub is not reached.
    #[error(
        "{endpoint} cannot be reached: {why}; is there a network? What was pulled so far is kept, pull again to go on"
    )]
    Network {
        /// Which hub.
        endpoint: String,
        /// What failed.
        why: String,
    },
    /// The hub knows no such repository, or no such revision.
    #[error(
        "{repo}: no such model at revision `{revision}`; check the name (capitals count) on {endpoint}"
    )]
    NotFound {
        /// The repository.
        repo: String,
        /// Branch, tag or commit.
        revision: String,
        /// Which hub.
        endpoint: String,
    },
    /// The hub wants to know who asks, or has said no.
    #[error("{repo}: {}", refusal(repo, endpoint, *gated, *token))]
    Refused {
        /// The repository.
        repo: String,
        /// Which hub.
        endpoint: String,
        /// Its owner wants a licence accepted first.
        gated: bool,
        /// A token was sent.
        token: bool,
    },
    /// The hub failed, or asks to wait.
    #[error("{repo}: the hub answers {status}; try again later")]
    Status {
        /// The repository.
        repo: String,
        /// HTTP status.
        status: u16,
    },
    /// An answer that makes no sense.
    #[error("{repo}: the hub's answer makes no sense: {why}")]
    Answer {
        /// The repository.
        repo: String,
        /// What about it.
        why: String,
    },
    /// The repository has no such file.
    #[error("{repo} has no file `{file}`{}", listed(have, "; it has"))]
    NoFile {
        /// The repository.
        repo: String,
        /// The file.
        file: String,
        /// Its gguf files.
        have: Vec<String>,
    },
    /// Only `.gguf` files can be named.
    #[error(
        "`{file}`: only a .gguf file can be named; without a file the safetensors of {repo} are pulled"
    )]
    NoGguf {
        /// The repository.
        repo: String,
        /// The file.
        file: String,
    },
    /// A pickled file was named.
    #[error(
        "`{file}` is a pickled file, which can run any code when it is read; orgtop never takes one. Name a .gguf \
         file, or a repository with safetensors"
    )]
    Pickle {
        /// The file.
        file: String,
    },
    /// Nothing but pickled weights.
    #[error(
        "{repo} has pickled weights only ({}), which can run any code when they are read; orgtop never takes them. \
         Look for a repository with safetensors or gguf files of the same model",
        files.join(", ")
    )]
    OnlyPickle {
        /// The repository.
        repo: String,
        /// Those weights.
        files: Vec<String>,
    },
    /// Nothing but gguf files, of which one has to be named.
    #[error("{repo} has no safetensors; name one of its gguf files, as in `orgtop models pull {repo}:{}`{}",
        files.first().map_or("FILE.gguf", String::as_str), listed(files, "; it has"))]
    OnlyGguf {
        /// The repository.
        repo: String,
        /// The gguf files that can be loaded.
        files: Vec<String>,
    },
    /// No weights that could be read.
    #[error("{repo} has neither safetensors nor gguf files that orgtop can load")]
    NoWeights {
        /// The repository.
        repo: String,
    },
    /// A file that loading needs is not there.
    #[error("{repo} has no {file}, which loading needs; look for a gguf file of the same model")]
    Incomplete {
        /// The repository.
        repo: String,
        /// The file.
        file: &'static str,
    },
    /// One part of several.
    #[error(
        "`{file}` is one part of a split gguf file, which orgtop does not load; name one in a single piece"
    )]
    Split {
        /// The file.
        file: String,
    },
    /// The network it describes cannot be computed here; told before its weights are pulled.
    #[error("{repo} cannot be loaded, so its weights are not pulled: {why}")]
    Unsupported {
        /// The repository.
        repo: String,
        /// What about it.
        why: String,
    },
    /// A file came out different from what the hub says it is.
    #[error("{file}: what arrived is not what the hub lists ({why}); it was dropped, pull again")]
    Mismatch {
        /// The file.
        file: String,
        /// Size or hash.
        why: String,
    },
    /// It does not fit.
    #[error(
        "{}: {} are needed and {} are free; make room, or set HF_HOME to a larger disk",
        folder.display(), size(*need), size(*free)
    )]
    Space {
        /// Where it would go.
        folder: PathBuf,
        /// Bytes still to be written.
        need: u64,
        /// Bytes free.
        free: u64,
    },
    /// Somebody else is pulling the same file.
    #[error("{file} is being pulled by another process; wait for it, then pull again")]
    Busy {
        /// The file.
        file: String,
    },
    /// The disk, the rights, or the like.
    #[error("{}: {}", path.display(), written(why))]
    Io {
        /// Which file.
        path: PathBuf,
        /// What failed.
        why: std::io::Error,
    },
    /// Not in the cache.
    #[error(
        "{name}: no such file or folder, and not pulled from the hub either; `{command}` gets it"
    )]
    NotPulled {
        /// As it was given.
        name: String,
        /// What pulls it.
        command: String,
    },
    /// In the cache, but not whole.
    #[error("{name}: what the cache has of it cannot be loaded: {why}; `{command}` completes it")]
    Unfinished {
        /// As it was given.
        name: String,
        /// What about it.
        why: String,
        /// What pulls it.
        command: String,
    },
}

impl HubError {
    pub(super) fn name(name: &str, why: String) -> Self {
        Self::Name {
            name: name.into(),
            why,
        }
    }

    pub(super) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |why| Self::Io { path, why }
    }

    /// Whether the same request may succeed a little later.
    pub(super) fn passes(&self) -> bool {
        matches!(self, Self::Network { .. } | Self::Status { .. })
    }
}

fn refusal(repo: &str, endpoint: &str, gated: bool, token: bool) -> String {
    match (gated, token) {
        (true, false) => format!(
            "gated by its owner; accept its licence at {endpoint}/{repo}, make a token at {endpoint}/settings/tokens, \
             and set HF_TOKEN to it"
        ),
        (true, true) => format!(
            "gated by its owner, and the token given has no access; accept its licence at {endpoint}/{repo} as the \
             token's user (it may take a while to be granted)"
        ),
        (false, false) => "no such model, or a private or gated one; check the name, or set HF_TOKEN to a token that \
                           may read it"
            .into(),
        (false, true) => "the hub refuses it with the token given; check the name, and that HF_TOKEN is valid and may \
                          read it"
            .into(),
    }
}

/// The first of them.
fn listed(files: &[String], before: &str) -> String {
    const SHOWN: usize = 12;
    if files.is_empty() {
        return String::new();
    }
    let mut text = format!("{before} {}", files[..files.len().min(SHOWN)].join(", "));
    if files.len() > SHOWN {
        text.push_str(&format!(" and {} more", files.len() - SHOWN));
    }
    text
}

fn size(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

fn written(why: &std::io::Error) -> String {
    match why.kind() {
        std::io::ErrorKind::StorageFull => {
            "the disk is full; make room and pull again, it goes on where it stopped".into()
        }
        _ => why.to_string(),
    }
}

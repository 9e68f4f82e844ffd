//! Checkpoints from a hub, which is a small server here: pulled whole, resumed, refused.

mod fake;
mod program;
mod pulling;
mod refusing;

use fake::Hub;
use orgtop::hub::{HubError, News, Patience, Place, Pulled, Wanted, pull};
use std::path::{Path, PathBuf};
use std::time::Duration;

const REPO: &str = "some/Model-1B";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/parity")
        .join(name)
}

/// Impatient, so that nothing takes long.
fn place(hub: &Hub, folder: &Path) -> Place {
    Place {
        endpoint: hub.url.clone(),
        folder: folder.join("hub"),
        token: None,
        patience: Patience {
            silence: Duration::from_secs(5),
            tries: 3,
            wait: Duration::from_millis(1),
        },
    }
}

fn pull_with(
    name: &str,
    place: &Place,
    news: &mut dyn FnMut(News<'_>),
) -> Result<Pulled, HubError> {
    let wanted: Wanted = name.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(pull(&wanted, place, news))
}

fn pull_from(name: &str, place: &Place) -> Result<Pulled, HubError> {
    pull_with(name, place, &mut |_| {})
}

/// Every file below a folder, links followed.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

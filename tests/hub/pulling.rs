//! What arrives, and how it goes on after being interrupted.

use crate::fake::{COMMIT, Faults, Hub, sha256};
use crate::{REPO, fixture, place, pull_from, pull_with};
use orgtop::engine::local::{Options, discover_in, open};
use orgtop::hub::{HubError, News, State, find};
use std::path::Path;

#[test]
fn a_repository_becomes_a_folder_that_loads() {
    let more: [(&str, &[u8]); 4] = [
        ("README.md", b"read me"),
        ("pytorch_model.bin", b"\x80\x04pickle"),
        ("original/model.safetensors", b"another"),
        ("training_args.pt", b"\x80\x04pickle"),
    ];
    for (model, weights) in [("qwen3", 1), ("llama", 2)] {
        let hub = Hub::of_folder(REPO, &fixture(model), &more);
        let cache = tempfile::tempdir().unwrap();
        let place = place(&hub, cache.path());
        let pulled = pull_from(REPO, &place).unwrap();
        assert_eq!(pulled.commit, COMMIT);
        let safetensors = |n: &str| n.ends_with(".safetensors");
        let names: Vec<&str> = pulled.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names.iter().filter(|n| safetensors(n)).count(), weights);
        assert!(pulled.files.iter().all(|f| f.state == State::Fetched));
        for unwanted in [
            "README.md",
            "pytorch_model.bin",
            "training_args.pt",
            "logits.f32",
        ] {
            assert!(!names.contains(&unwanted), "{names:?}");
            assert_eq!(hub.ranges(unwanted), []);
        }
        assert_eq!(hub.ranges("original/model.safetensors"), []);

        let engine = open(&pulled.path, &Options::default()).unwrap();
        assert_eq!(engine.card().model.name, REPO);
        assert_eq!(
            find(&REPO.parse().unwrap(), &place.folder),
            Some(pulled.path.clone())
        );
        let listed = discover_in(&place.folder);
        assert_eq!(listed.len(), 1);
        assert_eq!((&listed[0].path, &listed[0].problem), (&pulled.path, &None));
    }
}

#[test]
fn one_gguf_file_is_pulled_alone_also_out_of_a_folder() {
    let gguf = std::fs::read(fixture("llama.gguf")).unwrap();
    let hub = Hub::with(REPO, &[("q8/m.gguf", &gguf), ("m-f16.gguf", b"other")]);
    let cache = tempfile::tempdir().unwrap();
    let place = place(&hub, cache.path());
    let name = format!("{REPO}:q8/m.gguf");
    let pulled = pull_from(&name, &place).unwrap();
    assert_eq!(pulled.files.len(), 1);
    assert_eq!(std::fs::read(&pulled.path).unwrap(), gguf);
    assert!(open(&pulled.path, &Options::default()).is_ok());
    assert_eq!(
        find(&name.parse().unwrap(), &place.folder),
        Some(pulled.path.clone())
    );
    assert_eq!(discover_in(&place.folder)[0].path, pulled.path);
}

#[test]
fn what_is_there_is_not_pulled_again() {
    let hub = Hub::of_folder(REPO, &fixture("qwen3"), &[]);
    let cache = tempfile::tempdir().unwrap();
    let place = place(&hub, cache.path());
    let first = pull_from(REPO, &place).unwrap();
    let asked = hub.asked().len();
    let again = pull_from(REPO, &place).unwrap();
    assert!(again.files.iter().all(|f| f.state == State::Here));
    assert_eq!(
        hub.asked().len(),
        asked + 1,
        "only the listing is asked for"
    );
    assert_eq!(first.path, again.path);
}

/// Bytes that are all different from their neighbours.
fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 31 % 251) as u8).collect()
}

#[test]
fn a_download_that_breaks_off_goes_on_at_the_same_byte() {
    let weights = bytes(300_000);
    let hub = Hub::with(REPO, &[("m.gguf", &weights)]);
    hub.fail(Faults {
        cut: Some(("m.gguf", 100_000, 2)),
        ..Faults::default()
    });
    let cache = tempfile::tempdir().unwrap();
    let (mut arrived, mut again) = (0, 0);
    let pulled = pull_with(
        &format!("{REPO}:m.gguf"),
        &place(&hub, cache.path()),
        &mut |n| match n {
            News::Bytes(n) => arrived += n,
            News::Again { .. } => again += 1,
            _ => {}
        },
    )
    .unwrap();
    let range = |from: usize| Some(format!("bytes={from}-"));
    assert_eq!(hub.ranges("m.gguf"), [None, range(100_000), range(200_000)]);
    assert_eq!((arrived, again), (300_000, 2));
    assert_eq!(std::fs::read(pulled.path).unwrap(), weights);
}

#[test]
fn another_pull_goes_on_where_one_gave_up() {
    let weights = bytes(300_000);
    let hub = Hub::with(REPO, &[("m.gguf", &weights)]);
    hub.fail(Faults {
        cut: Some(("m.gguf", 0, usize::MAX)),
        ..Faults::default()
    });
    let cache = tempfile::tempdir().unwrap();
    let place = place(&hub, cache.path());
    let name = format!("{REPO}:m.gguf");
    let error = pull_from(&name, &place).unwrap_err();
    assert!(matches!(error, HubError::Network { .. }), "{error}");
    assert_eq!(hub.ranges("m.gguf").len(), 3, "it is asked three times");

    hub.fail(Faults {
        cut: Some(("m.gguf", 123_456, 1)),
        file: None,
        ..Faults::default()
    });
    let mut impatient = place.clone();
    impatient.patience.tries = 1;
    assert!(pull_from(&name, &impatient).is_err());
    assert_eq!(find(&name.parse().unwrap(), &place.folder), None);

    let pulled = pull_from(&name, &place).unwrap();
    assert_eq!(pulled.files[0].state, State::Resumed);
    let last = hub.ranges("m.gguf").pop().unwrap();
    assert_eq!(last.as_deref(), Some("bytes=123456-"));
    assert_eq!(std::fs::read(&pulled.path).unwrap(), weights);
}

#[test]
fn a_server_without_ranges_begins_anew() {
    let weights = bytes(200_000);
    let hub = Hub::with(REPO, &[("m.gguf", &weights)]);
    hub.fail(Faults {
        cut: Some(("m.gguf", 50_000, 1)),
        no_ranges: true,
        ..Faults::default()
    });
    let cache = tempfile::tempdir().unwrap();
    let mut restarts = 0;
    let pulled = pull_with(
        &format!("{REPO}:m.gguf"),
        &place(&hub, cache.path()),
        &mut |n| {
            restarts += usize::from(matches!(n, News::Restart));
        },
    )
    .unwrap();
    assert_eq!(restarts, 1);
    assert_eq!(std::fs::read(pulled.path).unwrap(), weights);
}

#[test]
fn what_arrives_damaged_is_dropped_and_pulled_anew() {
    let weights = bytes(50_000);
    let hub = Hub::with(REPO, &[("m.gguf", &weights)]);
    let cache = tempfile::tempdir().unwrap();
    let place = place(&hub, cache.path());
    let name = format!("{REPO}:m.gguf");
    hub.fail(Faults {
        corrupt: true,
        ..Faults::default()
    });
    let error = pull_from(&name, &place).unwrap_err().to_string();
    assert!(
        error.contains("SHA-256") && error.contains("dropped"),
        "{error}"
    );
    assert_eq!(
        crate::files_below(cache.path()),
        Vec::<std::path::PathBuf>::new()
    );

    hub.fail(Faults {
        larger: 1,
        ..Faults::default()
    });
    assert!(pull_from(&name, &place).is_err(), "a byte is missing");
    hub.fail(Faults::default());
    let pulled = pull_from(&name, &place).unwrap();
    assert_eq!(std::fs::read(pulled.path).unwrap(), weights);
}

#[test]
fn the_token_goes_to_the_hub_and_nowhere_else() {
    let hub = Hub::with(REPO, &[("m.gguf", b"weights")]);
    hub.fail(Faults {
        redirect: true,
        ..Faults::default()
    });
    let cache = tempfile::tempdir().unwrap();
    let mut place = place(&hub, cache.path());
    place.token = Some("hf_secret".into());
    pull_from(&format!("{REPO}:m.gguf"), &place).unwrap();
    let sent: Vec<bool> = hub
        .asked()
        .iter()
        .map(|a| a.authorization.is_some())
        .collect();
    assert_eq!(
        sent,
        [true, true, false],
        "listing, file, the host it redirects to"
    );
    assert_eq!(
        hub.asked()[0].authorization.as_deref(),
        Some("Bearer hf_secret")
    );
}

#[test]
fn two_pulls_of_one_file_do_not_mix() {
    let hub = Hub::with(REPO, &[("m.gguf", b"weights")]);
    let cache = tempfile::tempdir().unwrap();
    let place = place(&hub, cache.path());
    let blobs = place.folder.join("models--some--Model-1B/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    let part = blobs.join(format!("{}.orgtop-part", sha256(b"weights")));
    let other = std::fs::File::create(part).unwrap();
    other.lock().unwrap();
    let name = format!("{REPO}:m.gguf");
    let error = pull_from(&name, &place).unwrap_err();
    assert!(matches!(error, HubError::Busy { .. }), "{error}");
    drop(other);
    assert!(pull_from(&name, &place).is_ok());
}

#[cfg(unix)]
#[test]
fn a_cache_can_be_moved() {
    let hub = Hub::of_folder(REPO, &fixture("qwen3"), &[]);
    let cache = tempfile::tempdir().unwrap();
    pull_from(REPO, &place(&hub, cache.path())).unwrap();
    let moved = cache.path().join("moved");
    std::fs::rename(cache.path().join("hub"), &moved).unwrap();
    let path = find(&REPO.parse().unwrap(), &moved).unwrap();
    assert!(Path::new(&path).join("model.safetensors").is_file());
}

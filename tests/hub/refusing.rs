//! What is not pulled, and what is said about it.

use crate::fake::{Faults, Hub};
use crate::{REPO, files_below, fixture, place, pull_from};
use serde_json::json;

/// What pulling `name` says, which must leave nothing in the cache.
fn refusal(hub: &Hub, name: &str) -> String {
    let cache = tempfile::tempdir().unwrap();
    let error = pull_from(name, &place(hub, cache.path())).expect_err(name);
    assert_eq!(files_below(cache.path()), Vec::<std::path::PathBuf>::new());
    error.to_string()
}

fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

#[test]
fn an_unknown_repository_is_named() {
    let hub = Hub::new();
    holds(
        &refusal(&hub, "no/body"),
        &["no/body: no such model", "`main`"],
    );
}

#[test]
fn a_gated_repository_says_how_to_get_in() {
    let hub = Hub::with(REPO, &[("m.gguf", b"weights")]);
    let name = format!("{REPO}:m.gguf");
    for status in [401, 403] {
        let gated = Some((status, "GatedRepo"));
        for (listing, file) in [(gated, None), (None, gated)] {
            hub.fail(Faults {
                listing,
                file,
                ..Faults::default()
            });
            let cache = tempfile::tempdir().unwrap();
            let mut place = place(&hub, cache.path());
            let text = pull_from(&name, &place).unwrap_err().to_string();
            holds(&text, &["gated", "accept its licence", REPO, "HF_TOKEN"]);
            place.token = Some("hf_secret".into());
            let text = pull_from(&name, &place).unwrap_err().to_string();
            holds(&text, &["gated", "the token given has no access"]);
            assert!(!text.contains("secret"), "{text}");
        }
        hub.fail(Faults {
            listing: Some((status, "RepoNotFound")),
            ..Faults::default()
        });
        holds(
            &refusal(&hub, &name),
            &["no such model, or a private", "HF_TOKEN"],
        );
    }
}

#[test]
fn a_hub_that_is_not_there_or_fails_is_told_apart() {
    let hub = Hub::new();
    hub.fail(Faults {
        listing: Some((503, "")),
        ..Faults::default()
    });
    holds(&refusal(&hub, REPO), &["503", "later"]);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let cache = tempfile::tempdir().unwrap();
    let mut place = place(&hub, cache.path());
    place.endpoint = address.clone();
    let text = pull_from(REPO, &place).unwrap_err().to_string();
    holds(&text, &[&address, "cannot be reached", "network"]);
}

#[test]
fn pickled_weights_are_never_taken() {
    let hub = Hub::with(
        REPO,
        &[
            ("config.json", b"{}"),
            ("tokenizer.json", b"{}"),
            ("pytorch_model.bin", b"pickle"),
        ],
    );
    let text = refusal(&hub, REPO);
    holds(
        &text,
        &["pickled weights only", "pytorch_model.bin", "any code"],
    );
    let text = refusal(&hub, &format!("{REPO}:pytorch_model.bin"));
    holds(&text, &["pickled", "never"]);
    assert_eq!(hub.ranges("pytorch_model.bin"), []);
}

#[test]
fn a_repository_of_ggufs_lists_them() {
    let hub = Hub::with(REPO, &[("m-Q4_0.gguf", b"a"), ("m-Q8_0.gguf", b"b")]);
    let text = refusal(&hub, REPO);
    holds(&text, &[&format!("pull {REPO}:m-Q4_0.gguf"), "m-Q8_0.gguf"]);
}

#[test]
fn what_cannot_be_loaded_is_told_before_its_weights_are_pulled() {
    let config = br#"{"model_type": "gemma3"}"#;
    let files: [(&str, &[u8]); 3] = [
        ("config.json", config),
        ("tokenizer.json", b"{}"),
        ("model.safetensors", b"weights"),
    ];
    let hub = Hub::with(REPO, &files);
    let cache = tempfile::tempdir().unwrap();
    let text = pull_from(REPO, &place(&hub, cache.path()))
        .unwrap_err()
        .to_string();
    holds(&text, &["gemma3", "not pulled"]);
    assert_eq!(hub.ranges("model.safetensors"), []);
}

#[test]
fn more_than_the_disk_holds_is_not_begun() {
    let hub = Hub::with(REPO, &[("m.gguf", b"weights")]);
    hub.fail(Faults {
        larger: 1 << 60,
        ..Faults::default()
    });
    let text = refusal(&hub, &format!("{REPO}:m.gguf"));
    holds(&text, &["GiB", "free", "HF_HOME"]);
    assert_eq!(hub.ranges("m.gguf"), []);
}

/// A listing in which one file is what a hostile hub makes of it.
fn hostile(file: serde_json::Value, sha: &str) -> Hub {
    let hub = Hub::new();
    let blob = "a".repeat(40);
    let plain = |name: &str| json!({"rfilename": name, "size": 2, "blobId": blob});
    let listing =
        json!({"sha": sha, "siblings": [plain("config.json"), plain("tokenizer.json"), file]});
    hub.fail(Faults {
        body: Some(listing.to_string()),
        ..Faults::default()
    });
    hub
}

#[test]
fn hostile_names_and_hashes_lead_nowhere() {
    let blob = "a".repeat(40);
    let commit = "b".repeat(40);
    for name in [
        "../../evil.safetensors",
        "..\\..\\evil.safetensors",
        "/tmp/evil.safetensors",
        "C:evil.safetensors",
        "evil\u{1b}[2J.safetensors",
        "evil?x=.safetensors",
        ".evil.safetensors",
    ] {
        let file = json!({"rfilename": name, "size": 4, "blobId": blob});
        let cache = tempfile::tempdir().unwrap();
        let hub = hostile(file, &commit);
        let error = pull_from(REPO, &place(&hub, cache.path())).unwrap_err();
        assert!(!error.to_string().contains('\u{1b}'));
        for path in files_below(cache.path()) {
            let path = path.to_string_lossy().into_owned();
            assert!(!path.contains("evil"), "{path}");
        }
    }
    for (hash, sha) in [
        ("../../../../../tmp/evil", &*commit),
        ("", &commit),
        (&blob, "../../../../tmp/evil"),
        (&blob, ""),
    ] {
        let file = json!({"rfilename": "m.gguf", "size": 4, "blobId": hash});
        let text = refusal(&hostile(file, sha), &format!("{REPO}:m.gguf"));
        holds(&text, &["makes no sense"]);
    }
    for body in ["<html>", "{}", "[1]", "{\"sha\": 1}"] {
        let hub = Hub::new();
        hub.fail(Faults {
            body: Some(body.into()),
            ..Faults::default()
        });
        holds(&refusal(&hub, REPO), &["makes no sense"]);
    }
}

#[test]
fn an_index_that_names_files_elsewhere_is_refused() {
    let config = std::fs::read(fixture("qwen3").join("config.json")).unwrap();
    let index = br#"{"weight_map": {"a": "../../../evil.safetensors"}}"#;
    let files: [(&str, &[u8]); 3] = [
        ("config.json", &config),
        ("tokenizer.json", b"{}"),
        ("model.safetensors.index.json", index),
    ];
    let hub = Hub::with(REPO, &files);
    let cache = tempfile::tempdir().unwrap();
    let text = pull_from(REPO, &place(&hub, cache.path()))
        .unwrap_err()
        .to_string();
    holds(&text, &["evil.safetensors", "no safetensors file"]);
}

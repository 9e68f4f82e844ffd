//! Which files of a repository are pulled: those that the local engine would read.

use super::error::HubError;
use super::name::{Wanted, check_file};
use serde_json::Value;

const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";
const NEEDED: [&str; 2] = ["config.json", "tokenizer.json"];
const OPTIONAL: [&str; 3] = [
    "tokenizer_config.json",
    "generation_config.json",
    "chat_template.jinja",
];
/// Ends of names of weights that are, or may be, pickled.
const PICKLED: [&str; 8] = [
    ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".dill",
];

/// The files to pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// One gguf file, which has everything inside.
    Gguf(String),
    /// A folder.
    Folder {
        /// Everything but weights.
        small: Vec<String>,
        /// Weights.
        weights: Weights,
    },
}

/// Weights of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Weights {
    /// These files.
    Files(Vec<String>),
    /// Those that this file names.
    Index(String),
}

/// Choose among `names`.
///
/// # Errors
/// Why there is nothing to choose, and what could be asked for instead.
pub fn choose(wanted: &Wanted, names: &[&str]) -> Result<Choice, HubError> {
    match &wanted.file {
        Some(file) => one(wanted, file, names),
        None => folder(wanted, names),
    }
}

fn one(wanted: &Wanted, file: &str, names: &[&str]) -> Result<Choice, HubError> {
    let (repo, file) = (wanted.repo.clone(), file.to_owned());
    if pickled(&file) {
        return Err(HubError::Pickle { file });
    }
    if !file.ends_with(".gguf") {
        return Err(HubError::NoGguf { repo, file });
    }
    if !names.contains(&file.as_str()) {
        let have = ggufs(names);
        return Err(HubError::NoFile { repo, file, have });
    }
    if split(&file) {
        return Err(HubError::Split { file });
    }
    Ok(Choice::Gguf(file))
}

fn folder(wanted: &Wanted, names: &[&str]) -> Result<Choice, HubError> {
    let repo = wanted.repo.clone();
    let has = |name: &str| names.contains(&name);
    let top = |name: &&&str| name.ends_with(".safetensors") && !name.contains('/');
    let all: Vec<String> = names.iter().filter(top).map(|n| (*n).to_owned()).collect();
    let weights = if has(INDEX) {
        Weights::Index(INDEX.into())
    } else if has(SINGLE) {
        Weights::Files(vec![SINGLE.into()])
    } else if !all.is_empty() {
        Weights::Files(all)
    } else {
        let (files, pickles) = (ggufs(names), pickles(names));
        return Err(if !files.is_empty() {
            HubError::OnlyGguf { repo, files }
        } else if !pickles.is_empty() {
            HubError::OnlyPickle {
                repo,
                files: pickles,
            }
        } else {
            HubError::NoWeights { repo }
        });
    };
    if let Some(file) = NEEDED.into_iter().find(|name| !has(name)) {
        return Err(HubError::Incomplete { repo, file });
    }
    let small = NEEDED.into_iter().chain(OPTIONAL).filter(|n| has(n));
    Ok(Choice::Folder {
        small: small.map(str::to_owned).collect(),
        weights,
    })
}

/// The weight files that an index names, each once.
///
/// # Errors
/// A sentence, when it names none, or something that is no plain file name.
pub fn shards(index: &[u8]) -> Result<Vec<String>, String> {
    let json: Value = serde_json::from_slice(index).map_err(|e| format!("{INDEX}: {e}"))?;
    let map = json["weight_map"].as_object();
    let map = map.ok_or_else(|| format!("{INDEX} has no `weight_map`"))?;
    let mut names: Vec<&str> = map.values().filter_map(Value::as_str).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return Err(format!("{INDEX} names no files"));
    }
    for name in &names {
        let bad = check_file(name).err();
        if bad.is_some() || name.contains('/') || !name.ends_with(".safetensors") {
            let name = name.escape_debug();
            return Err(format!(
                "{INDEX} names `{name}`, which is no safetensors file"
            ));
        }
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

fn pickled(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PICKLED.iter().any(|end| name.ends_with(end))
}

/// Those with a plain name, in one piece.
fn ggufs(names: &[&str]) -> Vec<String> {
    let fits = |n: &&&str| n.ends_with(".gguf") && check_file(n).is_ok() && !split(n);
    names.iter().filter(fits).map(|n| (*n).to_owned()).collect()
}

/// A few of the pickled files, to be named.
fn pickles(names: &[&str]) -> Vec<String> {
    let fits = |n: &&&str| pickled(n) && check_file(n).is_ok();
    let few = names.iter().filter(fits).take(4);
    few.map(|n| (*n).to_owned()).collect()
}

/// `…-00001-of-00003.gguf`
fn split(name: &str) -> bool {
    let stem = name.trim_end_matches(".gguf");
    let number = |t: &str| t.len() == 5 && t.bytes().all(|b| b.is_ascii_digit());
    stem.rsplit_once("-of-").is_some_and(|(before, all)| {
        let part = before.rsplit_once('-').map(|(_, part)| part);
        number(all) && part.is_some_and(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, names: &[&str]) -> Result<Choice, HubError> {
        choose(&name.parse().unwrap(), names)
    }

    #[test]
    fn a_folder_is_what_the_engine_reads_and_nothing_else() {
        let names = [
            "README.md",
            "config.json",
            "tokenizer.json",
            "vocab.json",
            "chat_template.jinja",
            "model.safetensors",
            "onnx/model.safetensors",
            "consolidated.safetensors",
            "pytorch_model.bin",
        ];
        let expected = Choice::Folder {
            small: ["config.json", "tokenizer.json", "chat_template.jinja"]
                .map(str::to_owned)
                .into(),
            weights: Weights::Files(vec!["model.safetensors".into()]),
        };
        assert_eq!(of("a/b", &names).unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_pulled_says_what_can() {
        let both = ["config.json", "tokenizer.json"];
        for (name, names, expected) in [
            ("a/b", &["pytorch_model.bin"][..], "pickled weights only"),
            (
                "a/b",
                &["x-Q4_0.gguf", "x-Q8_0.gguf"],
                "pull a/b:x-Q4_0.gguf",
            ),
            ("a/b", &both, "neither safetensors nor gguf"),
            (
                "a/b",
                &["model.safetensors", "config.json"],
                "no tokenizer.json",
            ),
            ("a/b:x.bin", &["x.bin"], "any code"),
            ("a/b:x.PTH", &["x.PTH"], "any code"),
            ("a/b:x.safetensors", &["x.safetensors"], "only a .gguf"),
            ("a/b:y.gguf", &["x.gguf"], "it has x.gguf"),
            (
                "a/b:x-00001-of-00003.gguf",
                &["x-00001-of-00003.gguf"],
                "split",
            ),
        ] {
            let error = of(name, names).expect_err(name).to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    #[test]
    fn an_index_names_plain_files_only() {
        let good = br#"{"weight_map": {"a": "m-2.safetensors", "b": "m-1.safetensors", "c": "m-2.safetensors"}}"#;
        assert_eq!(
            shards(good).unwrap(),
            ["m-1.safetensors", "m-2.safetensors"]
        );
        for bad in [
            "[]",
            "{\"weight_map\": {}}",
            "{\"weight_map\": {\"a\": \"../m.safetensors\"}}",
            "{\"weight_map\": {\"a\": \"/etc/m.safetensors\"}}",
            "{\"weight_map\": {\"a\": \"m.bin\"}}",
            "nonsense",
        ] {
            assert!(shards(bad.as_bytes()).is_err(), "{bad} passed");
        }
    }
}

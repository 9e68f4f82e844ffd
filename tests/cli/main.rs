//! The command line from outside: help, messages, exit codes, the printed object, files that lie.

mod bad_files;
mod contract;
mod eval;
mod harness;
mod outcomes;
mod plain;
mod simulate;
mod steering;
mod train;
mod travel;

/// What the program says, word for word.
#[test]
fn transcripts() {
    trycmd::TestCases::new()
        .env("XDG_CONFIG_HOME", "no-such-folder")
        .env("XDG_DATA_HOME", "no-such-folder")
        .case("tests/cli/*.trycmd");
}

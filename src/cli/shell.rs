//! `orgtop completions` and `orgtop man`

use super::{Cli, Exit, output};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

/// Prints completions for a shell.
///
/// # Errors
/// When stdout takes nothing.
pub fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "orgtop", &mut text);
    print(&text)
}

/// Prints the manual page.
///
/// # Errors
/// When stdout takes nothing.
pub fn man() -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text)?;
    for verb in Cli::command().get_subcommands() {
        let name: &'static str = Box::leak(format!("orgtop-{}", verb.get_name()).into_boxed_str());
        clap_mangen::Man::new(verb.clone().name(name)).render(&mut text)?;
    }
    print(&text)
}

fn print(text: &[u8]) -> anyhow::Result<Exit> {
    let mut out = std::io::stdout().lock();
    output::taken(out.write_all(text).and_then(|()| out.flush()))?;
    Ok(Exit::Done)
}

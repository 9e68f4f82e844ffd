//! `orgtop tour`: a guided run of the small model inside orgtop, always the same one.

use super::Exit;
use super::args::{OutputArgs, PeopleArgs, RunArgs, TourArgs};
use super::asked::Asked;
use super::settings::{ConfigFile, RunOptions, ScreenOptions};
use crate::tui::demo::{Manner, Script};

/// What is said and done.
const SCRIPT: &str = include_str!("../../assets/tour.demo");

/// An instance on which the model forks, joins, waits and finds solutions.
const TASK: &str = "countdown 12 6 5 4 = 14";

/// Shows the tour.
///
/// # Errors
/// The terminal is gone.
pub fn run(args: TourArgs, config: &ConfigFile, screen: &ScreenOptions) -> anyhow::Result<Exit> {
    let script = Script::parse(SCRIPT, "tour.demo")?;
    let run = RunArgs {
        query: None,
        task: Some(TASK.into()),
        preset: None,
        options: RunOptions {
            capacity: Some(4),
            seed: Some(1),
            temperature: Some(0.0),
            ..RunOptions::default()
        },
        script: None,
        output: OutputArgs::on_screen(),
        no_record: args.record.is_none(),
        record: args.record,
        people: PeopleArgs::default(),
    };
    // Only what concerns the machine is taken from the config file: the tour is the same everywhere.
    let config = ConfigFile {
        run: RunOptions {
            device: config.run.device.clone(),
            threads: config.run.threads,
            cache_mib: config.run.cache_mib,
            ..RunOptions::default()
        },
        ..config.clone()
    };
    Asked::new(run, &config)?
        .with(script, Manner::Tour)
        .run(&config, screen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_one() {
        let script = Script::parse(SCRIPT, "tour.demo").unwrap();
        let longest = script.captions().map(str::len).max();
        // Three lines at 80 columns.
        assert!(longest.is_some_and(|bytes| bytes <= 3 * 76), "{longest:?}");
    }
}

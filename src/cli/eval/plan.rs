//! From arguments to what is evaluated, on what, by which models; everything that can be wrong with them.

use super::args::{EvalArgs, PolicyWord, SetWord};
use crate::cli::Usage;
use crate::cli::engine::{Embedded, Source, located};
use crate::cli::server;
use crate::cli::settings::{ConfigFile, RunOptions};
use crate::engine::embedded;
use crate::engine::local::inspect_model;
use crate::eval::{Contender, Role, Spec, contenders};
use crate::record::Policy;
use crate::task::sets::Set;
use crate::task::{Math, Task};
use std::path::{Path, PathBuf};

/// An evaluation, planned.
#[derive(Debug)]
pub struct Plan {
    /// The task's name, with its set.
    pub name: String,
    /// The whole set; the specification has the first of it.
    pub set: Vec<Task>,
    /// Whom to report, on what.
    pub spec: Spec,
    /// What has to be run for that.
    pub needed: Spec,
    /// Who plays which roles.
    pub players: Vec<Player>,
}

/// A model with its roles.
#[derive(Debug)]
pub struct Player {
    /// Which.
    pub source: Source,
    /// What it is for.
    pub roles: Vec<Role>,
    /// How many of it side by side.
    pub engines: usize,
}

impl Plan {
    /// Plans what was asked for.
    ///
    /// # Errors
    /// [`Usage`] that says what to give instead; a model that is none.
    pub fn new(args: &EvalArgs, options: &RunOptions, config: &ConfigFile) -> anyhow::Result<Self> {
        let (name, set) = read_set(&args.task, args.set)?;
        let n = args.n.map_or(set.len(), |n| n as usize);
        if n > set.len() {
            let message = format!("--n {n}: {name} has {} instances", set.len());
            return Err(Usage(message).into());
        }
        let mut asked: Vec<PolicyWord> = Vec::new();
        let policies = match &args.policies[..] {
            [] => default_policies(args, options, config)?,
            some => some,
        };
        for word in policies {
            if asked.contains(word) {
                return Err(Usage("--policies: each policy once".into()).into());
            }
            asked.push(*word);
        }
        let asked: Vec<Contender> = asked
            .into_iter()
            .map(|word| Contender::new(word.into(), args.capacity))
            .collect();
        let spec = Spec {
            tasks: set[..n].to_vec(),
            seeds: (0..u64::from(args.seeds))
                .map(|i| args.seed.wrapping_add(i))
                .collect(),
            contenders: asked.clone(),
            settings: args.settings(),
            width: usize::from(args.width),
        };
        check_temperatures(&spec)?;
        let mut needed = spec.clone();
        if args.frontier.is_some() {
            needed.contenders.extend(contenders(&asked));
        }
        Ok(Self {
            players: players(args, options, config, &asked)?,
            name,
            set,
            spec,
            needed,
        })
    }
}

/// All of them, unless nobody is there who thinks alone.
fn default_policies(
    args: &EvalArgs,
    options: &RunOptions,
    config: &ConfigFile,
) -> Result<&'static [PolicyWord], Usage> {
    use PolicyWord::{Asyncthink, Parallel, Sequential};
    let alone = args.script.is_some()
        || args.baseline.is_some()
        || options.model.is_some()
        || server::wanted(options, config)?.is_some();
    Ok(if alone {
        &[Asyncthink, Sequential, Parallel]
    } else {
        &[Asyncthink]
    })
}

/// Name and instances of a set.
fn read_set(words: &[String], which: SetWord) -> Result<(String, Vec<Task>), Usage> {
    let text = words.join(" ");
    let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let committed = |test: Set, dev: Option<Set>| match (which, dev) {
        _ if !rest.is_empty() => Err(Usage(format!(
            "{word} is a fixed set: {rest:?} is too much (`run --task` takes single instances)"
        ))),
        (SetWord::Test, _) => Ok((format!("{word} test"), test.tasks())),
        (SetWord::Dev, Some(dev)) => Ok((format!("{word} dev"), dev.tasks())),
        (SetWord::Dev, None) => Err(Usage(format!(
            "{word} has no set to choose by, only --set test"
        ))),
    };
    match word {
        "countdown" => committed(Set::CountdownTest, Some(Set::CountdownDev)),
        "countdown-large" => committed(Set::CountdownLarge, None),
        "sudoku" => committed(Set::SudokuTest, Some(Set::SudokuDev)),
        "math" if which == SetWord::Dev => Err(Usage(
            "a file of problems is one set: leave --set out and give another file".into(),
        )),
        "math" => read_math(Path::new(rest.trim())),
        other => Err(Usage(format!(
            "unknown task {:?}: expected `countdown`, `countdown-large`, `sudoku` or `math FILE`",
            other.chars().take(40).collect::<String>()
        ))),
    }
}

fn read_math(file: &Path) -> Result<(String, Vec<Task>), Usage> {
    if file.as_os_str().is_empty() {
        return Err(Usage(
            "`math` needs a file of JSON lines {\"question\": …, \"answer\": …}".into(),
        ));
    }
    let problems = Math::read(file).map_err(|e| Usage(format!("math: {e}")))?;
    if problems.is_empty() {
        return Err(Usage(format!("{}: no problems in it", file.display())));
    }
    let tasks = problems.into_iter().map(Task::Math).collect();
    Ok((format!("math {}", file.display()), tasks))
}

/// Repeating what always comes out alike measures nothing.
fn check_temperatures(spec: &Spec) -> Result<(), Usage> {
    let settings = &spec.settings;
    let temperature = |policy: Policy| match policy {
        Policy::Asyncthink => settings.temperature,
        Policy::Sequential | Policy::Parallel => settings.baseline_temperature,
    };
    let greedy = |c: &Contender| temperature(c.policy) == 0.0;
    if spec
        .contenders
        .iter()
        .any(|c| c.policy == Policy::Parallel && c.size > 1 && greedy(c))
    {
        return Err(Usage(
            "at temperature 0 all traces of parallel are the same: give --baseline-temperature above 0, or \
             leave parallel out (--policies asyncthink,sequential)"
                .into(),
        ));
    }
    if spec.seeds.len() > 1 && spec.contenders.iter().any(greedy) {
        return Err(Usage(
            "at temperature 0 every seed gives the same: leave --seeds out, or give a --temperature above 0"
                .into(),
        ));
    }
    Ok(())
}

/// Parameters up to which one engine leaves cores idle.
const SMALL: u64 = 50_000_000;

/// Who organizes, and who thinks alone; one player where it is the same.
fn players(
    args: &EvalArgs,
    options: &RunOptions,
    config: &ConfigFile,
    contenders: &[Contender],
) -> anyhow::Result<Vec<Player>> {
    let organized = contenders.iter().any(|c| c.policy == Policy::Asyncthink);
    let alone = contenders.iter().any(|c| c.policy != Policy::Asyncthink);
    let model = options.model.clone();
    let server = server::wanted(options, config)?.filter(|_| args.script.is_none());
    let mut sources: Vec<(Source, Vec<Role>)> = Vec::new();
    if organized {
        let knows = args.task.len() == 1 && args.task[0].trim() == "countdown";
        if !knows && model.is_none() && args.script.is_none() && server.is_none() {
            return Err(Usage(
                "the model inside orgtop only knows small countdowns (`eval countdown`): give --model PATH (a \
                 folder of safetensors or a .gguf file)"
                    .into(),
            )
            .into());
        }
        let source = Source::choose_with(
            server.clone(),
            model.clone(),
            args.script.clone(),
            Embedded::Serves,
        )?;
        sources.push((source, vec![Role::Model]));
    }
    if alone {
        let source = match server.filter(|_| args.baseline.is_none()) {
            Some(server) => Source::Server(Box::new(server)),
            None => lone_source(args, model)?,
        };
        match sources.iter_mut().find(|(other, _)| *other == source) {
            Some((_, roles)) => roles.push(Role::Baseline),
            None => sources.push((source, vec![Role::Baseline])),
        }
    }
    let player = |(source, roles)| {
        let small = parameters(&source)?.is_some_and(|count| count <= SMALL);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let engines = args
            .engines
            .map_or(if small { cores } else { 1 }, usize::from);
        anyhow::Ok(Player {
            source,
            roles,
            engines,
        })
    };
    sources.into_iter().map(player).collect()
}

/// Told before anything runs, so that a model that is none is not found out after hours.
fn parameters(source: &Source) -> anyhow::Result<Option<u64>> {
    match source {
        Source::Script(_) | Source::Server(_) => Ok(None),
        Source::Embedded => Ok(Some(embedded::PARAMETERS)),
        Source::Model(path) => {
            let summary = inspect_model(&located(path)?);
            if let Some(problem) = summary.problem {
                anyhow::bail!("{}: {problem}", path.display());
            }
            Ok(Some(summary.parameters).filter(|count| *count > 0))
        }
    }
}

fn lone_source(args: &EvalArgs, model: Option<PathBuf>) -> Result<Source, Usage> {
    let given = args.baseline.clone().or(model);
    match (&args.script, given) {
        (Some(script), _) => Ok(Source::Script(script.clone())),
        (None, Some(path)) => Ok(Source::Model(path)),
        (None, None) => Err(Usage(
            "sequential and parallel need a model that thinks alone, which the one inside orgtop does not: give \
             --baseline PATH (a checkpoint of `orgtop train sft FOLDER --traces alone`), or leave them out \
             (--policies asyncthink)"
                .into(),
        )),
    }
}

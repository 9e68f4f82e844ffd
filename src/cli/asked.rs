//! What `orgtop run` was asked to run, and what its screen asks for next.

use super::Exit;
use super::Usage;
use super::args::{OutputArgs, PeopleArgs, RunArgs};
use super::engine::{Embedded, Source};
use super::run::{
    Front, audience, check_seats, fresh_seed, read_orders, read_query, show, where_to_record,
};
use super::screen::Shown;
use super::settings::{ConfigFile, RunOptions, ScreenOptions};
use super::{demo, output, presets};
use super::{roster, server};
use crate::live::{Plan, RunConfig, Start};
use crate::record::{Header, Merge, Policy, store};
use crate::task::Task;
use crate::tui::app::{Accepts, Next};
use crate::tui::demo::{Manner, Script};
use std::path::PathBuf;

/// What is to be run.
pub struct Asked {
    question: Question,
    seed: u64,
    options: RunOptions,
    script: Option<PathBuf>,
    people: PeopleArgs,
    output: OutputArgs,
    record: Option<PathBuf>,
    no_record: bool,
    /// Played on the first run.
    demo: Option<(Script, Manner)>,
}

/// What is asked of the organization.
enum Question {
    /// A spec, which may leave the instance to the seed.
    Task(String),
    /// Plain text.
    Text(String),
}

impl Asked {
    /// From flags and config.
    ///
    /// # Errors
    /// An unknown preset, an unreadable query.
    pub fn new(args: RunArgs, config: &ConfigFile) -> anyhow::Result<Self> {
        let options = args.options.or(config.run.clone());
        let question = match (args.preset, args.task) {
            (Some(name), _) => preset(&name)?,
            (None, Some(spec)) => Question::Task(spec),
            (None, None) => Question::Text(read_query(args.query)?),
        };
        let demo = args.output.demo.as_deref().map(demo::read).transpose()?;
        Ok(Self {
            demo: demo.map(|script| (script, Manner::Demo)),
            question,
            seed: options.seed.unwrap_or_else(fresh_seed),
            options,
            script: args.script,
            people: args.people,
            output: args.output,
            record: args.record,
            no_record: args.no_record,
        })
    }

    /// What follows a session that was gone on with: its query, with what decoded it.
    #[must_use]
    pub fn after(
        header: &Header,
        source: &Source,
        script: Option<PathBuf>,
        roster: Option<PathBuf>,
        config: &ConfigFile,
    ) -> Self {
        let mut options = config.run.clone();
        match source {
            Source::Model(path) => options.model = Some(path.clone()),
            Source::Server(server) => {
                options.server = Some(server.url.clone());
                options.model = server.model.clone().map(PathBuf::from);
                options.template = server.template;
            }
            Source::Script(_) | Source::Embedded => {}
        }
        Self {
            question: match &header.task {
                Some(spec) => Question::Task(spec.clone()),
                None => Question::Text(header.query.clone()),
            },
            seed: header.sampling.seed,
            options,
            script,
            people: PeopleArgs {
                seat: header.seats.clone().into_iter().collect(),
                ask: header.ask.clone(),
                plan: header.plan,
                workers: Some(header.workers.clone()),
                roster,
            },
            output: OutputArgs::on_screen(),
            record: None,
            no_record: false,
            demo: None,
        }
    }

    /// Plays `script` on the first run.
    #[must_use]
    pub fn with(self, script: Script, manner: Manner) -> Self {
        Self {
            demo: Some((script, manner)),
            ..self
        }
    }

    /// After a session that was gone on with: done, or whatever its screen asks for.
    ///
    /// # Errors
    /// As [`super::run::run`].
    pub fn conclude(
        mut self,
        shown: Shown,
        config: &ConfigFile,
        screen: &ScreenOptions,
    ) -> anyhow::Result<Exit> {
        match shown {
            Shown::Left(exit) => Ok(exit),
            Shown::Again(next) => {
                self.change(next);
                self.run(config, screen)
            }
        }
    }

    /// Runs it, and then whatever is asked for from its screen.
    ///
    /// # Errors
    /// As [`super::run::run`].
    pub fn run(mut self, config: &ConfigFile, screen: &ScreenOptions) -> anyhow::Result<Exit> {
        loop {
            let (mut plan, loading) = self.plan(config, screen)?;
            let demo = self
                .demo
                .take()
                .map(|(script, manner)| demo::begin(script, manner, &mut plan.orders))
                .transpose()?;
            let front = Front {
                loading,
                accepts: self.accepts(),
                demo,
            };
            match show(plan, &self.output, screen, front)? {
                Shown::Left(exit) => return Ok(exit),
                Shown::Again(next) => self.change(next),
            }
        }
    }

    /// The plan, and what it loads.
    fn plan(&self, config: &ConfigFile, screen: &ScreenOptions) -> anyhow::Result<(Plan, String)> {
        let (task, query) = match &self.question {
            Question::Text(text) => (None, text.clone()),
            Question::Task(spec) => {
                let task =
                    Task::parse(spec, self.seed).map_err(|e| Usage(format!("--task: {e}")))?;
                let query = task.query();
                (Some(task.to_string()), query)
            }
        };
        if self.options.merge == Some(Merge::Rule) && task.is_none() {
            return Err(Usage(
                "--merge rule needs --task: only answers to a task can be compared by a rule"
                    .into(),
            )
            .into());
        }
        let organizes = self.options.policy.unwrap_or_default() == Policy::Asyncthink;
        if self.options.depth.is_some_and(|depth| depth > 1) && !organizes {
            return Err(Usage(
                "--depth above 1 needs --policy asyncthink: nobody else organizes (--depth 1)"
                    .into(),
            )
            .into());
        }
        let serves = Embedded::for_query(&query);
        let source = Source::choose_with(
            server::wanted(&self.options, config)?,
            self.options.model.clone(),
            self.script.clone(),
            serves,
        )?;
        let roster = roster::read(self.people.roster.as_deref(), config, &self.options)?;
        check_seats(&self.people, &roster)?;
        if matches!(source, Source::Server(_)) && self.options.guard == Some(true) {
            output::say("orgtop: the guard is left aside: a server draws its tokens itself");
        }
        let orders = read_orders(&self.output)?;
        let open = source.open(&self.options)?;
        let now = jiff::Zoned::now();
        let id = store::new_id(&now);
        let file = where_to_record(self.record.clone(), self.no_record, config, &id)?;
        let plan = Plan {
            open,
            start: Start::Fresh {
                config: RunConfig {
                    task,
                    seats: self.people.seat.iter().cloned().collect(),
                    workers: self.people.workers.clone().unwrap_or(roster.workers),
                    roster: roster.seats,
                    ask: self.people.ask.clone(),
                    plan: self.people.plan,
                    ..self.options.config(query, self.seed)
                },
                created: now.timestamp().to_string(),
                id,
            },
            file,
            orders,
            audience: audience(&self.output, screen),
            tools: roster.tools,
            servers: roster.servers,
        };
        Ok((plan, source.to_string()))
    }

    /// Whether a query has a model that serves it.
    pub fn accepts(&self) -> Accepts {
        let (model, script) = (self.options.model.clone(), self.script.clone());
        let served = self.options.server.is_some();
        Box::new(move |query| {
            if served {
                return Ok(());
            }
            let serves = Embedded::for_query(query);
            match Source::choose(model.clone(), script.clone(), serves) {
                Ok(_) => Ok(()),
                Err(_) => Err(
                    "the model inside orgtop only knows countdown, as in `countdown 10 6 5 3 = 30`"
                        .into(),
                ),
            }
        })
    }

    /// What follows. A file that was named for the first run is not overwritten by the next.
    fn change(&mut self, next: Next) {
        self.seed = fresh_seed();
        self.options.seed = None;
        self.record = None;
        match next {
            Next::Seed => {}
            Next::Instance => {
                if let Question::Task(spec) = &mut self.question {
                    let kind = spec.split_whitespace().next().unwrap_or_default();
                    let preset = spec.split_whitespace().nth(1);
                    *spec = match (kind, preset) {
                        ("countdown", Some("large")) => "countdown large".into(),
                        ("math", _) => spec.clone(),
                        (kind, _) => kind.to_owned(),
                    };
                }
            }
            Next::Query(text) => {
                self.question = if Task::parse(&text, self.seed).is_ok() {
                    Question::Task(text)
                } else {
                    Question::Text(text)
                };
            }
        }
    }
}

/// A preset by its name.
fn preset(name: &str) -> anyhow::Result<Question> {
    match presets::find(name) {
        Some(preset) => Ok(match preset.task {
            Some(spec) => Question::Task(spec.to_owned()),
            None => Question::Text(preset.query.to_owned()),
        }),
        None => Err(Usage(format!(
            "--preset {name}: there is none of this name; `orgtop run --preset list` shows them"
        ))
        .into()),
    }
}

//! `orgtop resume`

use super::args::ResumeArgs;
use super::asked::Asked;
use super::inspect::fold;
use super::roster;
use super::run::{Front, audience, read_orders, show};
use super::settings::{ConfigFile, ScreenOptions};
use super::{Exit, demo, output};
use crate::live::{Plan, Start};
use crate::org::RunEnd;
use crate::tui::demo::Manner;
use crate::tui::plain::run_end_words;
use anyhow::bail;

/// Goes on with an interrupted session.
///
/// # Errors
/// When there is nothing to go on with, or the model is another one.
pub fn run(args: ResumeArgs, config: &ConfigFile, screen: &ScreenOptions) -> anyhow::Result<Exit> {
    let folded = fold(&args.file)?;
    if let Some(end) = folded.organization.end
        && end != RunEnd::Interrupted
    {
        bail!(
            "{}: this session is over ({}); only interrupted ones go on. Watch it with `orgtop replay`",
            args.file.display(),
            run_end_words(end)
        );
    }
    if folded.organization.threads().len() == 0 {
        bail!(
            "{}: it was cut off before its organizer began, so there is nothing to go on from; ask again with \
             `orgtop run`",
            args.file.display()
        );
    }
    for line in folded.report.to_string().lines() {
        output::say(&format!("orgtop: {line}"));
    }
    let source = args.with.source(&folded.header, config)?;
    let asked = Asked::after(
        &folded.header,
        &source,
        args.with.script.clone(),
        args.roster.clone(),
        config,
    );
    let roster = roster::read(args.roster.as_deref(), config, &config.run)?;
    let open = args.with.open(&source, &folded.header, config)?;
    let demo = args.output.demo.as_deref().map(demo::read).transpose()?;
    let mut plan = Plan {
        tools: roster.tools,
        servers: roster.servers,
        open,
        start: Start::Resumed(args.file.clone()),
        file: Some(args.file),
        orders: read_orders(&args.output)?,
        audience: audience(&args.output, screen),
    };
    let demo = demo
        .map(|script| demo::begin(script, Manner::Demo, &mut plan.orders))
        .transpose()?;
    let front = Front {
        loading: source.to_string(),
        accepts: asked.accepts(),
        demo,
    };
    let shown = show(plan, &args.output, screen, front)?;
    asked.conclude(shown, config, screen)
}

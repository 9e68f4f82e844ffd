//! A demo where there is no screen: its commands are given, its captions printed, its keys left out.

use super::demo::{Deed, Demo};
use super::source::LiveSource;
use super::text::safe_line;
use super::view::frame::fill;
use crate::org::{Event, Organization};
use crate::record::Header;
use std::io::{self, Write};
use std::time::Instant;

/// Cells of a printed caption.
const WIDTH: usize = 96;

/// A demo that is told in lines.
pub struct Recital<'a> {
    demo: Demo,
    organization: Option<Organization>,
    source: &'a LiveSource,
    began: Instant,
}

impl<'a> Recital<'a> {
    /// Begins; the session waits for what may be asked as long as it goes on.
    #[must_use]
    pub fn begin(demo: Demo, source: &'a LiveSource) -> Self {
        source.mailbox.listen();
        Self {
            demo,
            organization: None,
            source,
            began: Instant::now(),
        }
    }

    /// What session it is.
    pub fn about(&mut self, header: &Header) {
        self.organization
            .get_or_insert_with(|| Organization::new(header.capacity, header.tau));
    }

    /// Takes in an event.
    pub fn hear(&mut self, event: &Event) {
        if let Some(organization) = &mut self.organization {
            organization.apply(event);
            self.demo.note(event, organization);
        }
    }

    /// Does what is due; whether it is at its end, which is also where it waits for what a run that is over
    /// cannot bring.
    ///
    /// # Errors
    /// Whatever writing to `out` gives.
    pub fn go_on(&mut self, over: bool, out: &mut impl Write) -> io::Result<bool> {
        let Some(organization) = &self.organization else {
            return Ok(over);
        };
        let mut takes = true;
        loop {
            self.demo.without_keys();
            let Some(deed) = self.demo.next(self.began.elapsed(), organization) else {
                break;
            };
            match deed {
                Deed::Say(text) if text.is_empty() => {}
                Deed::Say(text) => {
                    for line in fill(&safe_line(&text), WIDTH) {
                        writeln!(out, "| {line}")?;
                    }
                }
                Deed::Ask(command) => {
                    takes = self.source.commands.send(command).is_ok();
                    self.demo.carried_out(usize::from(takes), 0);
                }
                // There is nothing that they could be pressed on.
                Deed::Key(_) => {}
            }
        }
        Ok(!takes || self.demo.is_over() || (over && self.demo.waits_for_event()))
    }

    /// When it goes on by itself.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.demo.due().map(|at| self.began + at)
    }
}

impl Drop for Recital<'_> {
    fn drop(&mut self) {
        self.source.mailbox.hang_up();
    }
}

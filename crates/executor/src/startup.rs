//! Startup predicates: they read no column of the input. They are evaluated before the input is started, and again when it restarts.
//!
//! A predicate that fails (a division by zero) is evaluated for each row like any other. Without a row there is no error.

use plan_ir::physical::plan::BoolNode;
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::operations::Test;
use super::simple::Filter;

/// Starts the input.
type Start<'p> = Box<dyn Fn(&Runtime<'_>) -> Result<Box<dyn RowSource + 'p>, SqlError> + 'p>;

pub(super) struct Startup<'p> {
    predicate: &'p BoolNode,
    start: Start<'p>,
    /// The input as it was started; it is kept while the predicate is not true.
    started: Option<Started<'p>>,
    /// It has been true, or could not be told.
    gives: bool,
}

struct Started<'p> {
    source: Box<dyn RowSource + 'p>,
    /// The rows pass through a filter.
    is_judging: bool,
}

impl<'p> Startup<'p> {
    pub(super) fn open(
        predicate: &'p BoolNode,
        start: Start<'p>,
        runtime: &Runtime<'_>,
    ) -> Result<Startup<'p>, SqlError> {
        let mut opened = Startup { predicate, start, started: None, gives: false };
        opened.begin(runtime)?;
        Ok(opened)
    }

    fn begin(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let (gives, is_judging) = match self.predicate.test(runtime, &[]) {
            Ok(held) => (held == Some(true), false),
            Err(_) => (true, true),
        };
        self.gives = gives;
        if !gives {
            return Ok(());
        }
        if let Some(started) = &mut self.started
            && started.is_judging == is_judging
            && started.source.again(runtime)?
        {
            return Ok(());
        }
        self.started = None;
        let source = (self.start)(runtime)?;
        let source: Box<dyn RowSource + 'p> = match is_judging {
            true => Box::new(Filter { input: source, predicate: self.predicate }),
            false => source,
        };
        self.started = Some(Started { source, is_judging });
        Ok(())
    }

    /// What gives the rows, if anything does.
    fn source(&mut self) -> Option<&mut (dyn RowSource + 'p)> {
        debug_assert!(!self.gives || self.started.is_some(), "what gives rows is started");
        let started = self.started.as_mut().filter(|_| self.gives)?;
        Some(&mut *started.source)
    }
}

impl RowSource for Startup<'_> {
    fn again(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        self.begin(runtime)?;
        Ok(true)
    }

    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        self.source().map_or(Ok(false), |source| source.next(runtime, row))
    }

    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        self.source().map_or(Ok(false), |source| source.next_batch(runtime, batch))
    }
}

//! An operator that counts its rows and executions: `SET STATISTICS PROFILE`.

use std::rc::Rc;

use plan_ir::physical::plan::Plan;
use plan_ir::profile::Profile;
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

/// Another source with a count.
pub(super) struct Measured<'p> {
    plan: &'p Plan,
    profile: Rc<Profile>,
    source: Box<dyn RowSource + 'p>,
}

impl<'p> Measured<'p> {
    /// The operator begins; `open` opens it.
    pub(super) fn open(
        plan: &'p Plan,
        profile: &Rc<Profile>,
        open: impl FnOnce() -> Result<Box<dyn RowSource + 'p>, SqlError>,
    ) -> Result<Box<dyn RowSource + 'p>, SqlError> {
        profile.note_begun(plan);
        Ok(Box::new(Measured { plan, profile: profile.clone(), source: open()? }))
    }
}

impl Measured<'_> {
    fn note(&self, rows: u64) {
        match rows {
            0 => self.profile.note_ended(self.plan),
            rows => self.profile.note_rows(self.plan, rows),
        }
    }
}

impl RowSource for Measured<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let found = self.source.next(runtime, row)?;
        self.note(u64::from(found));
        Ok(found)
    }

    fn again(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let begins = self.source.again(runtime)?;
        if begins {
            self.profile.note_begun(self.plan);
        }
        Ok(begins)
    }

    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        let found = self.source.next_batch(runtime, batch)?;
        self.note(if found { batch.rows as u64 } else { 0 });
        Ok(found)
    }
}

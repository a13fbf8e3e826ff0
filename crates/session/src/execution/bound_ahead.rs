//! Binding of a whole program before its first statement runs, so that name errors of all statements are reported first; and once more when a
//! missing object may exist now.

use std::cell::Cell as Slot;
use std::sync::Arc;

use engine::Lookup;
use query::{BindContext, Missing, NoNames, SessionNames};
use types::SqlError;

use crate::batch::ahead::Waits;
use crate::batch::cell::Cell;
use crate::batch::program::Program;
use crate::errors::UNDECLARED_VARIABLE;
use crate::session::Session;

/// The session's temporary tables without table variables: a text does not see the table variables of its caller.
struct TablesAlone<'a>(&'a dyn SessionNames);

impl SessionNames for TablesAlone<'_> {
    fn temp_table(&self, name: &str) -> Option<String> {
        if is_table_variable(name) { None } else { self.0.temp_table(name) }
    }

    fn version(&self) -> u64 {
        self.0.version()
    }

    fn add_temp_table(&self, name: &str) -> Result<String, SqlError> {
        self.0.add_temp_table(name)
    }

    fn remove_temp_table(&self, name: &str) {
        self.0.remove_temp_table(name);
    }
}

fn is_table_variable(name: &str) -> bool {
    name.starts_with('@')
}

/// The result of binding one cell.
enum Bound {
    Sound,
    /// An object is missing: one that the run itself creates (`None`), or another.
    Deferred(Option<Missing>),
    Unsettled,
    Wrong(SqlError),
}

impl Session {
    /// Binds every cell whose objects exist. Missing objects wait for execution (deferred name resolution); other errors are the
    /// batch's. Behind a USE names mean something else: those cells wait, too. All columns that do not exist are told, of whatever statement, and
    /// so are variables, which are looked for first, for they stand in the text itself; anything else ends it.
    pub(crate) fn bind_ahead(&self, program: &Program) -> Result<(), Vec<SqlError>> {
        self.bind_with(program, &TablesAlone(&self.names), |missing| {
            missing.temporary_names().iter().any(|name| is_table_variable(name))
        })
    }

    /// `comes_late`: whatever happens before the program runs, that will not be there.
    fn bind_with(
        &self,
        program: &Program,
        names: &dyn SessionNames,
        comes_late: impl Fn(&Missing) -> bool,
    ) -> Result<(), Vec<SqlError>> {
        let mut waits = Waits { is_own: self.transactions.has_changed_catalog(), ..Waits::default() };
        let mut errors: Vec<SqlError> = Vec::new();
        for (cell, visible, line) in program.cells_before_use() {
            match self.bind_one(program, names, (cell, visible), !waits.is_own) {
                Bound::Sound => {}
                Bound::Unsettled => waits.is_unsettled = true,
                Bound::Deferred(missing) => waits.missing.extend(missing.filter(|one| !comes_late(one))),
                Bound::Wrong(error) => {
                    let is_about_name = NAME_NUMBERS.contains(&error.number);
                    let mut error = error.at_line(line);
                    errors.append(&mut error.earlier);
                    errors.push(error);
                    if !is_about_name {
                        break;
                    }
                }
            }
        }
        if errors.iter().any(|error| error.number == UNDECLARED_VARIABLE) {
            errors.retain(|error| error.number == UNDECLARED_VARIABLE);
        }
        if errors.is_empty() {
            program.ahead.note(waits);
            return Ok(());
        }
        Err(errors)
    }

    fn bind_one(
        &self,
        program: &Program,
        names: &dyn SessionNames,
        (cell, visible): (Cell, usize),
        may_keep: bool,
    ) -> Bound {
        if self.is_kept(program, cell) {
            return Bound::Sound;
        }
        let missing = Slot::new(None);
        // For a name that another is changing the statement itself waits, under the options that are then in force.
        let lookup = Lookup::without_waiting(&self.transactions);
        let own = self.bind_context(program, visible);
        let context = BindContext { lookup, names, missing: Some(&missing), ..own };
        match program.bind_cell(cell, &context) {
            Ok(compiled) => {
                if may_keep && compiled.is_shareable() {
                    program.keep(cell, &Arc::new(compiled));
                }
                Bound::Sound
            }
            Err(error) if error.number == UNSETTLED => Bound::Unsettled,
            Err(error) if DEFERRED.contains(&error.number) => Bound::Deferred(missing.take()),
            Err(error) => Bound::Wrong(error),
        }
    }

    /// Is the cell bound, and does that hold?
    fn is_kept(&self, program: &Program, cell: Cell) -> bool {
        let kept = program.cells[cell].lock().clone();
        kept.is_some_and(|compiled| compiled.is_valid(self.name_scope()))
    }

    /// A program that has been bound ahead is to run again. If something that it waits for may be there now, all of it is bound ahead
    /// again, so that it tells what a fresh text would tell.
    #[inline]
    pub(crate) fn bind_ahead_again(&self, program: &Program) -> Result<(), Vec<SqlError>> {
        if program.ahead.is_complete() || program.parse_only == Some(true) {
            return Ok(());
        }
        let names = TablesAlone(&self.names);
        self.bind_what_waits(program, |name| names.temp_table(name).is_some(), || self.bind_ahead(program))
    }

    /// The same when a procedure is called, whose text is not bound before. Its temporary tables are those that it makes, or its caller's: they
    /// come late.
    pub(crate) fn bind_module_ahead(&self, program: &Program, name: &str) -> Result<(), Vec<SqlError>> {
        if program.ahead.is_complete() {
            return Ok(());
        }
        let comes_late = |missing: &Missing| !missing.temporary_names().is_empty();
        let bind = || self.bind_with(program, &NoNames, comes_late);
        self.bind_what_waits(program, |_| false, bind)
            .map_err(|errors| errors.into_iter().map(|error| error.in_procedure(Some(name))).collect())
    }

    #[cold]
    fn bind_what_waits(
        &self,
        program: &Program,
        has_temporary: impl Fn(&str) -> bool,
        bind: impl FnOnce() -> Result<(), Vec<SqlError>>,
    ) -> Result<(), Vec<SqlError>> {
        if let Some(waits) = program.ahead.waits() {
            // What this session's own transaction has defined it sees as well as before.
            let is_own = waits.is_own && !self.transactions.has_changed_catalog();
            let lasts = |missing: &Missing| missing.lasts(&self.instance, &has_temporary);
            if !is_own && !waits.is_unsettled && waits.missing.iter().all(lasts) {
                return Ok(());
            }
            self.programs.note_bound(true);
        }
        let held_bytes = os::memory::thread_bytes();
        let bound = bind();
        program.note_made(held_bytes);
        bound
    }
}

/// Names of columns and variables that mean nothing, or several things.
const NAME_NUMBERS: [i32; 4] = [207, 209, 4104, UNDECLARED_VARIABLE];

/// Another transaction is changing what a name means.
const UNSETTLED: i32 = 1222;

/// Errors that only mean "not there yet".
const DEFERRED: [i32; 15] =
    [208, 315, 470, 911, 922, 926, 942, 945, 1087, 2702, 2812, 4121, 4701, 4902, 5313];

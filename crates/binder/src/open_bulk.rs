//! OPENROWSET(BULK 'file', SINGLE_...): a file as one value. `sysviews/src/file_rowsets.rs` reads it.

use plan_ir::bound::tree::Rel;
use plan_ir::kinds::CatalogReading;
use tsql::ast;
use types::{SqlError, SqlType};

use super::{Binder, coerce};

/// The list of its options in the table of clauses.
const PLACE: &str = "OPENROWSET option";
const FORMS: [&str; 3] = ["SINGLE_BLOB", "SINGLE_CLOB", "SINGLE_NCLOB"];

impl Binder<'_> {
    /// One row with the column BulkColumn. Error 491 without an alias.
    pub(super) fn open_bulk(&mut self, open: &ast::OpenRowset) -> Result<Rel, SqlError> {
        let mut form = None;
        for option in &open.options {
            crate::clauses::check_option(PLACE, &option.name.value, None)?;
            form = FORMS.into_iter().find(|form| option.name.is(form)).or(form);
        }
        let Some(form) = form else {
            return Err(plan_ir::errors::unsupported(
                "OPENROWSET(BULK ...) without SINGLE_BLOB, SINGLE_CLOB or SINGLE_NCLOB",
            ));
        };
        if !open.columns.is_empty() {
            return Err(plan_ir::errors::unsupported("OPENROWSET(BULK ...) WITH columns"));
        }
        super::hints::scan_hints(&open.hints)?;
        let Some(alias) = &open.alias else { return Err(SqlError::new(491, &[])) };
        let file = self.value(&open.args[0])?;
        let file = coerce::implicit(file, &SqlType::NVARCHAR_MAX)?;
        let database = self.current_database();
        let name = format!("OPENROWSET {form}");
        let view =
            self.built_ins.view(&database, Some("dbo"), &name).expect("it stands in the table of rowsets");
        let rel =
            self.add_system(view, database, vec![file], (&alias.value, true), CatalogReading::Settled)?;
        if let Some(name) = open.column_aliases.first() {
            let table = self.scope().tables.last_mut().expect("added above");
            table.columns[0].name.clone_from(&name.value);
        }
        Ok(rel)
    }
}

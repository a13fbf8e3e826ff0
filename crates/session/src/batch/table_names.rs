//! The table variables and table parameters of a program while it is compiled.

use std::sync::Arc;

use query::VariableDef;
use rustc_hash::FxHashMap;
use tsql::ast::{self, DmlTargetKind, StatementKind};
use types::{SqlError, SqlResult};

use crate::table_types::{TableType, parameter_of_slot};

/// Their names in lower case.
#[derive(Default)]
pub(crate) struct TableNames {
    parameters: Vec<String>,
    declared: FxHashMap<String, Option<Arc<TableType>>>,
}

impl TableNames {
    /// Those among the parameters.
    pub(crate) fn of(parameters: &[VariableDef]) -> TableNames {
        let tables = parameters.iter().filter_map(|parameter| parameter_of_slot(&parameter.name));
        TableNames { parameters: tables.map(str::to_lowercase).collect(), declared: FxHashMap::default() }
    }

    /// Adds a table variable. Error 134 when a parameter has its name.
    pub(crate) fn declare(&mut self, name: &str, table_type: Option<Arc<TableType>>) -> SqlResult<()> {
        let key = name.to_lowercase();
        if self.parameters.contains(&key) {
            return Err(SqlError::new(134, &[&name]));
        }
        self.declared.insert(key, table_type);
        Ok(())
    }

    /// Is there a table of that name?
    pub(crate) fn has(&self, name: &str) -> bool {
        let key = name.to_lowercase();
        self.declared.contains_key(&key) || self.parameters.contains(&key)
    }

    /// Is a table type in use?
    pub(crate) fn has_types(&self) -> bool {
        !self.parameters.is_empty() || self.declared.values().any(Option::is_some)
    }

    /// The variables that have a table type.
    pub(crate) fn into_types(self) -> FxHashMap<String, Arc<TableType>> {
        self.declared.into_iter().filter_map(|(name, table_type)| Some((name, table_type?))).collect()
    }

    /// Error 10700 when the statement changes a parameter that it names itself. The binder finds changes through aliases and queries.
    pub(crate) fn check_changes(&self, kind: &StatementKind) -> SqlResult<()> {
        if self.parameters.is_empty() {
            return Ok(());
        }
        let (target, output): (_, &[ast::Output]) = match kind {
            StatementKind::Insert(insert) => (&insert.target, &insert.output),
            StatementKind::Update(update) => (&update.target, &update.output),
            StatementKind::Delete(delete) => (&delete.target, &delete.output),
            StatementKind::Merge(merge) => (&merge.target, &merge.output),
            _ => return Ok(()),
        };
        let into = output.iter().filter_map(|output| output.into.as_ref()).map(|into| &into.target);
        for changed in std::iter::once(&target.kind).chain(into) {
            if let DmlTargetKind::Variable(name, _) = changed
                && self.parameters.contains(&name.to_lowercase())
            {
                return Err(query::errors::read_only_parameter(name));
            }
        }
        Ok(())
    }
}

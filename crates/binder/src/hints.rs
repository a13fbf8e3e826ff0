//! Table hints: their effects, and conflicts between them.
//!
//! ROWLOCK and PAGLOCK change nothing: rows and keys are locked, which is never coarser than asked. TABLOCK and TABLOCKX lock the table.

use engine::IsolationLevel;
use plan_ir::bound::tree::Rel;
use plan_ir::kinds::{CatalogReading, HintedIndex, ScanHints};
use plan_ir::names::same_name;
use tsql::ast;
use types::SqlError;

use super::Binder;

/// The effects of hints; hints without a case here are in the table of clauses. Errors 321, 650 and 1047.
pub fn scan_hints(hints: &[ast::TableHint]) -> Result<ScanHints, SqlError> {
    let mut result = ScanHints::default();
    let mut granularity: Option<String> = None;
    for hint in hints {
        let name = hint.name.value.to_ascii_uppercase();
        match name.as_str() {
            "NOLOCK" | "READUNCOMMITTED" => isolate(&mut result, IsolationLevel::ReadUncommitted)?,
            "READCOMMITTED" => isolate(&mut result, IsolationLevel::ReadCommitted)?,
            "READCOMMITTEDLOCK" => {
                isolate(&mut result, IsolationLevel::ReadCommitted)?;
                result.locks_committed = true;
            }
            "REPEATABLEREAD" => isolate(&mut result, IsolationLevel::RepeatableRead)?,
            "HOLDLOCK" | "SERIALIZABLE" => isolate(&mut result, IsolationLevel::Serializable)?,
            "UPDLOCK" => result.update_lock = true,
            "XLOCK" => result.exclusive_lock = true,
            "TABLOCK" => result.table_lock = true,
            "TABLOCKX" => {
                result.table_lock = true;
                result.exclusive_lock = true;
            }
            "READPAST" => result.read_past = true,
            "NOWAIT" => result.no_wait = true,
            "INDEX" => {
                result.indexes = hint.args.iter().map(hinted_index).collect::<Result<_, _>>()?;
            }
            "FORCESEEK" if !hint.args.is_empty() => {
                let columns = hint.columns.iter().map(|column| column.value.clone()).collect();
                result.seek = Some((hinted_index(&hint.args[0])?, columns));
            }
            _ if !crate::clauses::is_known("table hint", &name) => {
                return Err(plan_ir::errors::unknown_hint(&hint.name.value));
            }
            _ => crate::clauses::check_option("table hint", &name, None)?,
        }
        if matches!(name.as_str(), "ROWLOCK" | "PAGLOCK" | "TABLOCK" | "TABLOCKX" | "NOLOCK") {
            if granularity.as_ref().is_some_and(|other| *other != name) {
                return Err(plan_ir::errors::conflicting_hints());
            }
            granularity = Some(name);
        }
    }
    let has = |name: &str| hints.iter().any(|hint| hint.name.is(name));
    if has("FORCESCAN") && has("FORCESEEK") {
        return Err(SqlError::new(10746, &[]));
    }
    check(&result)?;
    Ok(result)
}

/// A name or number inside INDEX (..).
fn hinted_index(argument: &ast::Expr) -> Result<HintedIndex, SqlError> {
    match &argument.kind {
        ast::ExprKind::Column(column) => Ok(HintedIndex::Name(column.name.value.clone())),
        ast::ExprKind::Literal(ast::Literal::Int(number)) => Ok(HintedIndex::Number(*number)),
        _ => Err(plan_ir::errors::syntax_near("INDEX")),
    }
}

/// How a catalog view is read under these hints.
pub fn catalog_reading(hints: &ScanHints) -> CatalogReading {
    if hints.isolation == Some(IsolationLevel::ReadUncommitted) {
        CatalogReading::Uncommitted
    } else if hints.read_past {
        CatalogReading::SkipUnsettled
    } else {
        CatalogReading::Settled
    }
}

/// Hints of a table that is changed: 1065 when they ask to read what is not committed; 1069, 10724, 10745 when they say how to find its rows,
/// which FROM may.
pub fn target_hints(hints: &[ast::TableHint]) -> Result<ScanHints, SqlError> {
    refuse_access_hints(hints)?;
    let hints = scan_hints(hints)?;
    for_target(hints, &ScanHints::default())
}

fn refuse_access_hints(hints: &[ast::TableHint]) -> Result<(), SqlError> {
    for (name, number) in [("INDEX", 1069), ("FORCESEEK", 10724), ("FORCESCAN", 10745)] {
        if hints.iter().any(|hint| hint.name.is(name)) {
            return Err(SqlError::new(number, &[]));
        }
    }
    Ok(())
}

fn isolate(hints: &mut ScanHints, level: IsolationLevel) -> Result<(), SqlError> {
    if hints.isolation.is_some_and(|other| other != level) {
        return Err(plan_ir::errors::conflicting_hints());
    }
    hints.isolation = Some(level);
    Ok(())
}

fn check(hints: &ScanHints) -> Result<(), SqlError> {
    if hints.isolation == Some(IsolationLevel::ReadUncommitted)
        && (hints.update_lock || hints.exclusive_lock || hints.table_lock)
    {
        return Err(plan_ir::errors::conflicting_hints());
    }
    match hints.isolation {
        Some(level) => hints.check_level(level, hints.update_lock || hints.exclusive_lock),
        None => Ok(()),
    }
}

/// Those of a TABLE HINT that choose how a table is read, and nothing else.
const OF_ACCESS: [&str; 3] = ["INDEX", "FORCESEEK", "FORCESCAN"];

fn is_of_access(hint: &ast::TableHint) -> bool {
    OF_ACCESS.iter().any(|word| hint.name.is(word))
}

impl Binder<'_> {
    /// The hints of a table in FROM: those written behind it. A TABLE HINT in OPTION for the name in sight takes the place of those that choose how
    /// it is read; the others, which change what is read, are to be the same in both. Error 8722.
    pub fn hints_of(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        written: &[ast::TableHint],
    ) -> Result<ScanHints, SqlError> {
        let is_here = |wanted: &ast::ObjectName| match alias {
            Some(alias) => wanted.is_simple() && same_name(&wanted.name.value, &alias.value),
            None => {
                let fits = |one: &Option<ast::Ident>, other: &Option<ast::Ident>| match (one, other) {
                    (Some(one), Some(other)) => same_name(&one.value, &other.value),
                    (None, None) => true,
                    _ => false,
                };
                same_name(&wanted.name.value, &name.name.value)
                    && fits(&wanted.schema, &name.schema)
                    && fits(&wanted.database, &name.database)
            }
        };
        let is_own = self.is_in_statement();
        let found = self.table_hints.iter_mut().find(|entry| is_own && is_here(&entry.table));
        let Some(found) = found else { return scan_hints(written) };
        found.is_met = true;
        let lacks = |hints: &[ast::TableHint], others: &[ast::TableHint]| {
            let is_there = |hint: &ast::TableHint| others.iter().any(|other| other.name.is(&hint.name.value));
            hints
                .iter()
                .find(|hint| !is_of_access(hint) && !is_there(hint))
                .map(|hint| hint.name.value.to_uppercase())
        };
        let table = plan_ir::names::written(&found.table);
        if let Some(word) = lacks(&found.hints, written) {
            return Err(SqlError::new(8722, &[&word, &"OPTION", &table, &"WITH"]));
        }
        if let Some(word) = lacks(written, &found.hints) {
            return Err(SqlError::new(8722, &[&word, &"WITH", &table, &"OPTION"]));
        }
        let kept = written.iter().filter(|hint| !is_of_access(hint));
        let chosen = found.hints.iter().filter(|hint| is_of_access(hint));
        scan_hints(&kept.chain(chosen).cloned().collect::<Vec<_>>())
    }

    /// The same of a table that is changed: how to find its rows only OPTION says. Errors 1065, 1069, 10724, 10745.
    pub fn target_hints_of(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        written: &[ast::TableHint],
    ) -> Result<ScanHints, SqlError> {
        refuse_access_hints(written)?;
        for_target(self.hints_of(name, alias, written)?, &ScanHints::default())
    }

    /// Every TABLE HINT has met its table. Error 8723.
    pub fn check_table_hints(&self) -> Result<(), SqlError> {
        match self.table_hints.iter().find(|entry| !entry.is_met) {
            Some(entry) => Err(SqlError::new(8723, &[&plan_ir::names::written(&entry.table)])),
            None => Ok(()),
        }
    }
}

/// Hints behind the name of a view or common table expression hold for all tables of its query (documentation of table hints). An index is
/// that of one table and is not handed on.
pub fn hint_tables(rel: &mut Rel, hints: &ScanHints) -> Result<(), SqlError> {
    match rel {
        Rel::Table(scan) => {
            let own = std::mem::take(&mut scan.hints);
            scan.hints = ScanHints {
                isolation: own.isolation.or(hints.isolation),
                locks_committed: own.locks_committed || hints.locks_committed,
                update_lock: own.update_lock || hints.update_lock,
                exclusive_lock: own.exclusive_lock || hints.exclusive_lock,
                table_lock: own.table_lock || hints.table_lock,
                read_past: own.read_past || hints.read_past,
                no_wait: own.no_wait || hints.no_wait,
                indexes: own.indexes,
                seek: own.seek,
            };
            check(&scan.hints)
        }
        Rel::System(scan) => {
            if scan.reading == CatalogReading::Settled {
                scan.reading = catalog_reading(hints);
            }
            Ok(())
        }
        Rel::OneRow | Rel::Values { .. } | Rel::FunctionTable { .. } | Rel::WorkTable { .. } => Ok(()),
        Rel::Filter { input, .. }
        | Rel::Project { input, .. }
        | Rel::Aggregate { input, .. }
        | Rel::Window { input, .. }
        | Rel::NextValue { input, .. }
        | Rel::Formatted { input, .. }
        | Rel::Distinct { input }
        | Rel::Sort { input, .. }
        | Rel::Top { input, .. }
        | Rel::Offset { input, .. } => hint_tables(input, hints),
        Rel::Join { left, right, .. }
        | Rel::Apply { left, right, .. }
        | Rel::SetOp { left, right, .. }
        | Rel::Recursive { anchor: left, step: right, .. } => {
            hint_tables(left, hints)?;
            hint_tables(right, hints)
        }
    }
}

/// These hints of a table in FROM that is the target, together with those written behind the target's name.
pub fn for_target(own: ScanHints, target: &ScanHints) -> Result<ScanHints, SqlError> {
    let both = ScanHints {
        isolation: own.isolation.or(target.isolation),
        locks_committed: own.locks_committed || target.locks_committed,
        update_lock: own.update_lock || target.update_lock,
        exclusive_lock: own.exclusive_lock || target.exclusive_lock,
        table_lock: own.table_lock || target.table_lock,
        read_past: own.read_past || target.read_past,
        no_wait: own.no_wait || target.no_wait,
        indexes: if own.indexes.is_empty() { target.indexes.clone() } else { own.indexes },
        seek: own.seek,
    };
    if both.isolation == Some(IsolationLevel::ReadUncommitted) {
        return Err(plan_ir::errors::uncommitted_target());
    }
    check(&both)?;
    Ok(both)
}

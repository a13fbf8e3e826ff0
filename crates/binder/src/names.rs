//! Name resolution: columns in scope, tables, views, databases.

use std::sync::Arc;

use engine::{Database, ModuleDef, ModuleKind, ObjectDef};
use plan_ir::bound::tree::Expr;
use plan_ir::kinds::{Coercibility, ColumnId};
use plan_ir::names::{same_name, written};
use plan_ir::view::View;
use tsql::ast::{self, Ident, ObjectName};
use types::SqlError;

use super::{Binder, ScopeColumn, ScopeTable};

/// Objects and databases that are missing or not to be had now.
const OUTRANKING: [i32; 11] = [208, 315, 470, 911, 922, 926, 942, 945, 1087, 1222, 5313];

/// Does it count more than columns that cannot be found?
fn outranks(error: &SqlError) -> bool {
    OUTRANKING.contains(&error.number) || error.severity > 16
}

/// A variable that is not declared.
const UNDECLARED_VARIABLE: i32 = 137;

/// Is it that the name of a column or variable means nothing, or several things?
fn is_about_name(error: &SqlError) -> bool {
    [207, 209, 4104, UNDECLARED_VARIABLE].contains(&error.number)
}

/// Several errors as one that is told last. Variables are looked for first: what else means nothing is not told beside them.
pub fn all_of(mut errors: Vec<SqlError>) -> Option<SqlError> {
    if errors.iter().any(|error| error.number == UNDECLARED_VARIABLE) {
        errors.retain(|error| error.number == UNDECLARED_VARIABLE);
    }
    let last = errors.pop()?;
    Some(last.after_all(errors))
}

/// The object that a table name resolves to.
pub enum Resolved {
    /// A table, view or other object of a database's catalog.
    Object(Arc<Database>, ObjectDef),
    System(&'static View, Arc<Database>),
}

impl Binder<'_> {
    /// A column reference. Errors 207, 209, 4104.
    pub fn column(&mut self, column: &ast::ColumnRef) -> Result<Expr, SqlError> {
        match self.find_column(column) {
            Ok((found, _)) => {
                self.check_no_node(found.id, &found.name)?;
                Ok(self.named_column(found.id))
            }
            Err(error) => self.unknown_name(std::ptr::from_ref(column).addr(), error),
        }
    }

    /// A column that IS NULL asks about: one of `nodes`, too.
    pub(super) fn tested_column(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        match &expr.kind {
            ast::ExprKind::Column(column) => match self.find_column(column) {
                Ok((found, _)) if self.node_columns.contains_key(&found.id) => Ok(self.column_expr(found.id)),
                _ => self.value(expr),
            },
            _ => self.value(expr),
        }
    }

    /// Replaces an unknown column by NULL, so that the other names of the statement are looked up, too, and all unknown names
    /// are reported at once. `place`: the position of the name; text that is bound several times (a common table expression) is reported once.
    pub fn unknown_name(&mut self, place: usize, error: SqlError) -> Result<Expr, SqlError> {
        if !self.tells_all_names || !is_about_name(&error) {
            return Err(error);
        }
        if self.unknown_names.iter().all(|known| (known.0, &known.1) != (place, &error)) {
            self.unknown_names.push((place, error));
        }
        Ok(Expr::null())
    }

    /// What a clause is, or `instead`: what is wrong with it may come of what stands in the place of a column that has not been found.
    pub(super) fn or_instead<T>(&self, clause: Result<T, SqlError>, instead: T) -> Result<T, SqlError> {
        match clause {
            Err(error) if !self.unknown_names.is_empty() && !outranks(&error) => Ok(instead),
            clause => clause,
        }
    }

    /// The result of binding a statement, or all names that it could not find. Other errors may come of what stood in their place; only an object
    /// that is missing altogether (its statement waits for it) and what is wrong with the server count more.
    pub fn with_unknown_names<T>(&mut self, result: Result<T, SqlError>) -> Result<T, SqlError> {
        let unknown = std::mem::take(&mut self.unknown_names);
        let mut unknown: Vec<SqlError> = unknown.into_iter().map(|one| one.1).collect();
        match result {
            Err(mut error) if is_about_name(&error) => {
                unknown.append(&mut error.earlier);
                unknown.push(error);
                Err(all_of(unknown).expect("one is there at least"))
            }
            Err(error) if outranks(&error) => Err(error),
            result => all_of(unknown).map_or(result, Err),
        }
    }

    /// Runs `f` where the first name that is not found ends it: what it is about is stored, or its error is made into another one.
    pub fn telling_first_name<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let outer = std::mem::replace(&mut self.tells_all_names, false);
        let result = f(self);
        self.tells_all_names = outer;
        result
    }

    /// The expression of a column name.
    pub fn named_column(&self, id: ColumnId) -> Expr {
        let mut column = self.column_expr(id);
        // Whatever COLLATE stands in the query behind it; a literal there stays what it is.
        if column.coercibility == Coercibility::Explicit {
            column.coercibility = Coercibility::Implicit;
        }
        if self.untyped_nulls.contains(&id) && !self.names_columns { Expr::null() } else { column }
    }

    /// A value by which rows are grouped or ordered: a column is no constant, whatever is in it.
    pub fn key_value(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        let before = std::mem::replace(&mut self.names_columns, true);
        let value = self.value(expr);
        self.names_columns = before;
        value
    }

    /// The column a reference means; the second value tells whether it is one of the innermost scope.
    pub fn find_column(&self, column: &ast::ColumnRef) -> Result<(ScopeColumn, bool), SqlError> {
        let name = column.name.value.as_str();
        let mut qualifier_seen = false;
        for (depth, scope) in self.scopes.iter().rev().enumerate() {
            let mut found: Option<&ScopeColumn> = None;
            for (at, table) in scope.tables.iter().enumerate() {
                if let Some(qualifier) = &column.qualifier {
                    if !names_table(qualifier, table) {
                        continue;
                    }
                    qualifier_seen = true;
                } else if at < scope.qualified_only {
                    continue;
                }
                for candidate in table.columns.iter().filter(|candidate| is_column(candidate, name)) {
                    if found.is_some() {
                        return Err(plan_ir::errors::ambiguous_column(name));
                    }
                    found = Some(candidate);
                }
            }
            if let Some(found) = found {
                if scope.refuses_columns {
                    return Err(SqlError::new(4115, &[&name]));
                }
                return Ok((found.clone(), depth == 0));
            }
        }
        match &column.qualifier {
            Some(qualifier) if !qualifier_seen => {
                Err(plan_ir::errors::multi_part_not_bound(&format!("{}.{name}", written(qualifier))))
            }
            _ => Err(plan_ir::errors::invalid_column(name)),
        }
    }

    /// The tables of the innermost scope that `*` or `t.*` stands for.
    pub fn star_columns(&self, qualifier: Option<&ObjectName>) -> Result<Vec<ScopeColumn>, SqlError> {
        let scope = self.scopes.last().expect("a select list is bound inside a scope");
        match qualifier {
            None if scope.tables.is_empty() => Err(plan_ir::errors::star_without_from()),
            None => Ok(scope.tables.iter().flat_map(|table| table.columns.iter().cloned()).collect()),
            Some(name) => match scope.tables.iter().find(|table| names_table(name, table)) {
                Some(table) => Ok(table.columns.clone()),
                None => Err(plan_ir::errors::star_prefix_unknown(&written(name))),
            },
        }
    }

    /// Resolves a table name; a synonym is its base object. Errors 208 when nothing of the name exists, be it that its database does not,
    /// 5313 when the base object does not exist, 470 when it is a synonym.
    pub fn resolve_table(&mut self, name: &ObjectName) -> Result<Resolved, SqlError> {
        Ok(self.resolve_base(name)?.0)
    }

    /// The same, with the synonym of that name and its database.
    pub fn resolve_base(
        &mut self,
        name: &ObjectName,
    ) -> Result<(Resolved, Option<(Arc<Database>, Arc<ModuleDef>)>), SqlError> {
        let resolved = self.resolve_own(name)?;
        let Resolved::Object(database, ObjectDef::Module(module)) = &resolved else {
            return Ok((resolved, None));
        };
        if module.kind != ModuleKind::Synonym {
            return Ok((resolved, None));
        }
        let base = plan_ir::synonym::base_of(module, database);
        // The schema of a name without one is the default schema, not that of the view or function that names the synonym.
        let schema = std::mem::take(&mut self.schema);
        let found = self.look_up_table(&base);
        self.schema = schema;
        let found = found.map_err(|error| match error.number {
            208 => plan_ir::synonym::invalid(&written(name)),
            _ => error,
        })?;
        if let Resolved::Object(base_database, object) = &found {
            if matches!(object, ObjectDef::Module(base) if base.kind == ModuleKind::Synonym) {
                return Err(plan_ir::synonym::chained(&written(name), &written(&base)));
            }
            if let (Some(observed), 0) = (&self.observed, self.view_depth) {
                let named = (base_database.id(), object.object_id(), database.clone(), module.clone());
                observed.borrow_mut().synonyms.push(named);
            }
        }
        Ok((found, Some((database.clone(), module.clone()))))
    }

    /// Resolves a table name; a synonym stays one.
    pub fn resolve_own(&mut self, name: &ObjectName) -> Result<Resolved, SqlError> {
        let resolved = self.look_up_table(name);
        if let (Some(observed), 0, Err(error)) = (&self.observed, self.view_depth, &resolved)
            && error.number == 208
        {
            observed.borrow_mut().missing.push(name.clone());
        }
        let resolved = resolved?;
        if let (Some(observed), 0) = (&self.observed, self.view_depth) {
            let mut observed = observed.borrow_mut();
            match &resolved {
                Resolved::Object(_, object) => observed.written.push((name.clone(), object.clone())),
                Resolved::System(..) => observed.system.push(name.clone()),
            }
        }
        Ok(resolved)
    }

    fn look_up_table(&mut self, name: &ObjectName) -> Result<Resolved, SqlError> {
        if name.server.is_some() {
            return Err(plan_ir::errors::no_such_server(
                &name.server.as_ref().map_or(String::new(), |server| server.value.clone()),
            ));
        }
        let table = name.name.value.as_str();
        if table.starts_with('#') {
            if self.makes_function && name.database.is_none() {
                return Err(SqlError::new(2772, &[]));
            }
            if self.refuses_temporary {
                return Err(SqlError::new(4508, &[]));
            }
            let real = self
                .dependencies
                .temporary(self.context.names, table)
                .ok_or_else(|| plan_ir::errors::invalid_object(&written(name)))?;
            let tempdb = self.named_database("tempdb")?;
            return self
                .catalog_object(&tempdb, "dbo", &real)?
                .ok_or_else(|| plan_ir::errors::invalid_object(&written(name)));
        }
        let database = match &name.database {
            Some(database) => self.named_database(&database.value).map_err(|error| match error.number {
                911 => plan_ir::errors::invalid_object(&written(name)),
                _ => error,
            })?,
            None => self.current_database(),
        };
        let own = self.schema.clone();
        let own = own.as_deref().unwrap_or(self.context.default_schema);
        let schemas: &[&str] = match &name.schema {
            Some(schema) => &[schema.value.as_str()],
            None if own.eq_ignore_ascii_case("dbo") => &["dbo"],
            None => &[own, "dbo"],
        };
        for schema in schemas {
            if let Some(found) = self.catalog_object(&database, schema, table)? {
                return Ok(found);
            }
        }
        let schema = name.schema.as_ref().map(|schema| schema.value.as_str());
        match self.built_ins.view(&database, schema, table) {
            Some(view) => Ok(Resolved::System(view, database)),
            None => Err(plan_ir::errors::invalid_object(&written(name))),
        }
    }

    /// A database by name; error 911, or why it cannot be used (922, 926, 942, 945).
    pub fn named_database(&mut self, name: &str) -> Result<Arc<Database>, SqlError> {
        let found = self.context.instance.database(name);
        let database = found.inspect_err(|_| self.dependencies.note_missing_database(name))?;
        self.dependencies.of(&database);
        Ok(database)
    }

    /// Waits while another is changing what has the name.
    fn catalog_object(
        &mut self,
        database: &Arc<Database>,
        schema: &str,
        name: &str,
    ) -> Result<Option<Resolved>, SqlError> {
        // Begun before the question: what changes meanwhile makes the statement be bound again.
        self.dependencies.of(database);
        let holder = self.context.lookup.holder(database, schema, name)?;
        self.dependencies.of(database).note_name(schema, name, holder.as_ref());
        // A constraint's name is no table's.
        let object = holder.filter(|object| same_name(object.name(), name));
        Ok(object.map(|object| Resolved::Object(database.clone(), object)))
    }
}

/// Does a qualifier mean a table of the scope?
pub(super) fn names_table(qualifier: &ObjectName, table: &ScopeTable) -> bool {
    if !same_name(&qualifier.name.value, &table.alias) {
        return false;
    }
    let part_matches = |written: &Option<Ident>, actual: &Option<String>| match (written, actual) {
        (None, _) => true,
        (Some(written), Some(actual)) => same_name(&written.value, actual),
        (Some(_), None) => false,
    };
    part_matches(&qualifier.schema, &table.schema) && part_matches(&qualifier.database, &table.database)
}

/// What the identity column, and the one with ROWGUIDCOL, may be called in every table.
const IDENTITY_WORDS: [&str; 2] = ["$IDENTITY", "IDENTITYCOL"];
const ROWGUID_WORDS: [&str; 2] = ["$ROWGUID", "ROWGUIDCOL"];

fn means(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// The ordinal of a table's column by its name, or by what its property calls it.
pub fn ordinal_of(table: &engine::TableDef, name: &str) -> Option<usize> {
    let by_property = || match () {
        () if means(name, &IDENTITY_WORDS) => table.identity_ordinal(),
        () if means(name, &ROWGUID_WORDS) => table.columns.iter().position(|column| column.is_rowguidcol),
        () => None,
    };
    table.column_ordinal(name).or_else(by_property)
}

fn is_column(candidate: &ScopeColumn, name: &str) -> bool {
    same_name(&candidate.name, name)
        || (candidate.identity && means(name, &IDENTITY_WORDS))
        || (candidate.rowguid && means(name, &ROWGUID_WORDS))
}

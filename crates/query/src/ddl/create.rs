//! CREATE TABLE, CREATE SCHEMA.

use binder::identity::identity_definition;
use binder::{Binder, Clause, Scope, ScopeColumn, ScopeTable};
use engine::{ComputedDef, IdentityDef, NewColumn, NewConstraint, NewForeignKey, NewTable};
use plan_ir::data_type::{Declared, TypePlace, declared_in};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::written;
use plan_ir::stored::expression_text;
use tsql::ast::{self, ColumnConstraintKind, TableConstraintKind, TableElement};
use types::{Collation, SqlError, SqlType};

use super::index::{inline_index, key_columns, new_settings};
use super::subject::{
    bind_context, database_of, find_object, find_table, home_of, schema_of, with_transaction,
};

/// Characters of a temporary table's name: the server appends the others.
const TEMPORARY_CHARACTERS_MAX: usize = 116;

/// CREATE TABLE.
pub(super) fn table(
    create: &ast::CreateTable,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let database = home_of(&create.name, context)?;
    let mut new = definition(&create.elements, text, context, &database, &create.name)?;
    new.schema = schema_of(&create.name);
    new.name = create.name.name.value.clone();
    let temporary = new.name.starts_with('#');
    if temporary && !new.name.starts_with("##") && new.name.chars().count() > TEMPORARY_CHARACTERS_MAX {
        return Err(SqlError::new(193, &[&new.name, &TEMPORARY_CHARACTERS_MAX]));
    }
    if temporary {
        new.name = context.names.add_temp_table(&create.name.name.value)?;
    }
    let shared = defaults_of(&create.elements)
        .try_for_each(|value| super::sequence::share_in_default(value, &database, context));
    let result = shared.and_then(|()| {
        with_transaction(context, &database, |transaction| database.create_table(transaction, &new))
    });
    match &result {
        Ok(made) if temporary => context.names.note_made(&new.name, made.object_id),
        Err(_) if temporary => context.names.remove_temp_table(&create.name.name.value),
        _ => {}
    }
    result.map(drop)
}

/// The expressions of the defaults in a table definition.
pub(super) fn defaults_of(elements: &[TableElement]) -> impl Iterator<Item = &ast::Expr> {
    elements.iter().flat_map(|element| {
        let of_column = match element {
            TableElement::Column(column) => column.constraints.as_slice(),
            _ => &[],
        };
        let of_table = match element {
            TableElement::Constraint(ast::TableConstraint {
                kind: TableConstraintKind::Default { value, .. },
                ..
            }) => Some(value),
            _ => None,
        };
        let values = of_column.iter().filter_map(|constraint| match &constraint.kind {
            ColumnConstraintKind::Default { value, .. } => Some(value),
            _ => None,
        });
        values.chain(of_table)
    })
}

/// DECLARE @t TABLE.
pub(super) fn table_variable(
    declare: &ast::DeclareTable,
    real_name: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let database = context.instance.database("tempdb")?;
    let types_in = context.database.clone();
    let name = ast::ObjectName::simple(declare.name.clone());
    let mut new = definition(&declare.elements, "", context, &types_in, &name)?;
    // Alias types of another database have no id in tempdb.
    new.columns.iter_mut().for_each(|column| column.user_type_id = 0);
    new.schema = "dbo".to_string();
    new.name = real_name.to_string();
    let transaction = context.transactions.for_table_variables(context.options.isolation)?;
    let made = database.create_table(transaction, &new)?;
    assert!(made.is_table_variable(), "the session names it so that it is known as one");
    Ok(())
}

/// Columns, constraints and indexes of a table definition.
pub(super) fn definition(
    elements: &[TableElement],
    text: &str,
    context: &ExecContext<'_>,
    database: &engine::Database,
    table: &ast::ObjectName,
) -> Result<NewTable, SqlError> {
    let mut new = NewTable {
        ansi_nulls: context.options.ansi_nulls,
        schema: String::new(),
        name: String::new(),
        columns: Vec::new(),
        constraints: Vec::new(),
        indexes: Vec::new(),
    };
    let home = (database, table.name.value.as_str());
    let stored = nameable_columns(elements, text, context, home)?;
    for element in elements {
        match element {
            TableElement::Column(column) => {
                let position = new.columns.len() + 1;
                let made = self::column((column, position), text, context, home, &stored)?;
                new.columns.push(made);
                column_constraints(column, table, text, context, &mut new)?;
            }
            TableElement::Constraint(ast::TableConstraint {
                kind: TableConstraintKind::ForeignKey { .. },
                ..
            }) if is_skipped(table, "FOREIGN")? => {}
            TableElement::Constraint(constraint) => {
                new.constraints.push(table_constraint(constraint, text, context, table)?)
            }
            TableElement::Index(index) => new.indexes.push(inline_index(index, None)?),
            TableElement::Period(..) => return Err(crate::errors::unsupported("PERIOD FOR SYSTEM_TIME")),
        }
    }
    // Columns of a primary key are NOT NULL.
    let keys: Vec<String> = new
        .constraints
        .iter()
        .filter_map(|constraint| match constraint {
            NewConstraint::Key { primary: true, columns, .. } => {
                Some(columns.iter().map(|column| column.0.clone()))
            }
            _ => None,
        })
        .flatten()
        .collect();
    for column in &mut new.columns {
        let says_null = |element: &TableElement| matches!(element, TableElement::Column(written) if written.nullable == Some(true) && written.name.value == column.name);
        // A column that says NULL stays as it is: the key is refused.
        if keys.iter().any(|key| plan_ir::names::same_name(key, &column.name))
            && !elements.iter().any(says_null)
        {
            column.nullable = false;
        }
    }
    check_row_versions(&new, table)?;
    check_expressions(elements, &new, &database_of(table, context)?, context)?;
    super::index::add_filters(&mut new, elements, table, context)?;
    Ok(new)
}

/// A table has one rowversion column at most. Error 2738.
fn check_row_versions(new: &NewTable, table: &ast::ObjectName) -> Result<(), SqlError> {
    let mut versions = new.columns.iter().filter(|column| column.sql_type == SqlType::RowVersion);
    match (versions.next(), versions.next()) {
        (Some(_), Some(second)) => Err(SqlError::new(2738, &[&table.name.value, &second.name])),
        _ => Ok(()),
    }
}

/// A computed column of which only the name is known.
fn named_only(column: &ast::ColumnDefinition) -> NewColumn {
    NewColumn {
        name: column.name.value.clone(),
        sql_type: SqlType::Int,
        nullable: true,
        collation: Collation::default(),
        identity: None,
        default: None,
        computed: Some(ComputedDef { text: "".into(), persisted: false, is_deterministic: true }),
        is_rowguidcol: false,
        user_type_id: 0,
    }
}

/// The columns that a computed column may name: all stored ones, later ones included; other computed columns only by name, for error 1759.
fn nameable_columns(
    elements: &[TableElement],
    text: &str,
    context: &ExecContext<'_>,
    home: (&engine::Database, &str),
) -> Result<Vec<NewColumn>, SqlError> {
    let mut stored = Vec::new();
    for element in elements {
        if let TableElement::Column(column) = element {
            let place = (column, stored.len() + 1);
            stored.push(match column.computed {
                Some(_) => named_only(column),
                None => self::column(place, text, context, home, &[])?,
            });
        }
    }
    Ok(stored)
}

/// One column of a table, with its position. `others`: the columns that a computed one may name.
pub(super) fn column(
    (column, position): (&ast::ColumnDefinition, usize),
    text: &str,
    context: &ExecContext<'_>,
    (database, table): (&engine::Database, &str),
    others: &[NewColumn],
) -> Result<NewColumn, SqlError> {
    if let Some(computed) = &column.computed {
        return computed_column((column, computed), text, context, table, others);
    }
    let declared = match &column.data_type {
        Some(data_type) => {
            let lookup = engine::Lookup::new(context.transactions);
            declared_in(data_type, TypePlace::Column(position), database, lookup)?
        }
        None => Declared { sql_type: SqlType::RowVersion, alias_id: 0, nullable: None },
    };
    let sql_type = declared.sql_type;
    check_padding(&sql_type, context)?;
    check_rowguidcol(column, &sql_type)?;
    let collation = collation_of(column)?;
    if column.collation.is_some() && !sql_type.is_character() {
        return Err(crate::errors::collate_not_character(sql_type.name()));
    }
    let identity = identity_of(column, &sql_type)?;
    let primary = column
        .constraints
        .iter()
        .any(|constraint| matches!(&constraint.kind, ColumnConstraintKind::Key(key) if key.primary));
    let default_null = context.options.takes_null_by_default(context.database)
        && sql_type != SqlType::SysName
        && sql_type != SqlType::RowVersion
        && identity.is_none()
        && !primary;
    let nullable =
        column.nullable.or(declared.nullable.filter(|_| identity.is_none())).unwrap_or(default_null);
    if nullable && identity.is_some() {
        return Err(crate::errors::identity_nullable(&column.name.value, table));
    }
    let default = column.constraints.iter().find_map(|constraint| match &constraint.kind {
        ColumnConstraintKind::Default { value, .. } => {
            Some((constraint.name.as_ref().map(|name| name.value.clone()), default_text(value, text)))
        }
        _ => None,
    });
    if default.is_some() && (identity.is_some() || sql_type == SqlType::RowVersion) {
        let number = if identity.is_some() { 1754 } else { 1755 };
        return Err(SqlError::new(number, &[&table, &column.name.value]));
    }
    Ok(NewColumn {
        name: column.name.value.clone(),
        sql_type,
        nullable,
        collation,
        identity,
        default,
        computed: None,
        is_rowguidcol: column.is_rowguidcol,
        user_type_id: declared.alias_id,
    })
}

/// A computed column. Errors 1759, 2761, 4936.
fn computed_column(
    (column, computed): (&ast::ColumnDefinition, &ast::Computed),
    text: &str,
    context: &ExecContext<'_>,
    table: &str,
    others: &[NewColumn],
) -> Result<NewColumn, SqlError> {
    let (sql_type, is_deterministic) = computed_type(computed, context, table, others)?;
    if computed.persisted && !is_deterministic {
        return Err(SqlError::new(4936, &[&column.name.value, &table]));
    }
    if column.is_rowguidcol {
        return Err(SqlError::new(2761, &[]));
    }
    let text = format!("({})", without_parentheses(&expression_text(&computed.expr, text)));
    Ok(NewColumn {
        sql_type,
        nullable: column.nullable != Some(false),
        computed: Some(ComputedDef { text: text.into(), persisted: computed.persisted, is_deterministic }),
        ..named_only(column)
    })
}

/// ROWGUIDCOL requires type uniqueidentifier. Error 2761.
fn check_rowguidcol(column: &ast::ColumnDefinition, sql_type: &SqlType) -> Result<(), SqlError> {
    let fits = !column.is_rowguidcol || *sql_type == SqlType::UniqueIdentifier;
    if fits { Ok(()) } else { Err(SqlError::new(2761, &[])) }
}

/// SET ANSI_PADDING OFF asks that new columns lose trailing blanks and zeros, which is not supported here.
pub(super) fn check_padding(sql_type: &SqlType, context: &ExecContext<'_>) -> Result<(), SqlError> {
    let is_padded = matches!(
        sql_type,
        SqlType::Char(_) | SqlType::VarChar(_) | SqlType::Binary(_) | SqlType::VarBinary(_)
    );
    if is_padded && !context.options.ansi_padding {
        return Err(crate::errors::unsupported(
            "a char, varchar, binary or varbinary column under SET ANSI_PADDING OFF",
        ));
    }
    Ok(())
}

fn collation_of(column: &ast::ColumnDefinition) -> Result<Collation, SqlError> {
    match &column.collation {
        Some(name) if !name.is("database_default") => {
            Collation::by_name(&name.value).ok_or_else(|| crate::errors::invalid_collation(&name.value))
        }
        _ => Ok(Collation::default()),
    }
}

/// Text of a default as the catalog shows it: in parentheses.
pub(super) fn default_text(value: &ast::Expr, text: &str) -> String {
    if let ast::ExprKind::NextValueFor(next) = &value.kind {
        let schema = next.sequence.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
        let quoted = |name: &str| format!("[{}]", name.replace(']', "]]"));
        return format!("(NEXT VALUE FOR {}.{})", quoted(schema), quoted(&next.sequence.name.value));
    }
    if let Some(normal) = tsql::normal_expression(value) {
        return format!("({normal})");
    }
    let text = expression_text(value, text);
    let text = without_parentheses(&text);
    match &value.kind {
        ast::ExprKind::Literal(ast::Literal::Float(_)) => format!("(({text}))"),
        _ => format!("({text})"),
    }
}

/// An expression's text without the parentheses around all of it.
fn without_parentheses(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inner) = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        // `(a) + (b)` also begins and ends with parentheses: the rest must be an expression by itself.
        if tsql::parse_expression(inner, &tsql::ParseOptions::default()).is_err() {
            break;
        }
        text = inner.trim();
    }
    text
}

/// The type of a computed column over the stored ones. Error 1759 when it names another computed column.
fn computed_type(
    computed: &ast::Computed,
    context: &ExecContext<'_>,
    table: &str,
    others: &[NewColumn],
) -> Result<(SqlType, bool), SqlError> {
    let bind = bind_context(context, &[]);
    let bound = |columns: &[NewColumn]| {
        let mut binder = crate::registry::binder(&bind);
        let table = scope_of(&mut binder, columns);
        binder.scopes.push(Scope { tables: vec![table], clause: Clause::Rows, ..Scope::default() });
        binder.next_values.refuse_in_definition();
        binder.refuses_subqueries = true;
        binder.value(&computed.expr).map(|expr| (expr.sql_type, expr.is_deterministic()))
    };
    let (derived, stored): (Vec<NewColumn>, Vec<NewColumn>) =
        others.iter().cloned().partition(|column| column.computed.is_some());
    let result = bound(&stored);
    match &result {
        Err(error) if error.number == 207 && !derived.is_empty() => {
            let named = derived.iter().position(|column| {
                let mut more = stored.clone();
                more.push(column.clone());
                bound(&more).map_or_else(|other| other.message != error.message, |_| true)
            });
            match named {
                Some(named) => Err(SqlError::new(1759, &[&derived[named].name, &table])),
                None => result,
            }
        }
        _ => result,
    }
}

pub(super) fn scope_of(binder: &mut Binder<'_>, columns: &[NewColumn]) -> ScopeTable {
    let columns = columns
        .iter()
        .map(|column| {
            let id = binder.new_column(column.sql_type, column.nullable, column.collation);
            ScopeColumn { name: column.name.clone(), id, identity: false, rowguid: false, base: true }
        })
        .collect();
    ScopeTable { alias: String::new(), schema: None, database: None, columns }
}

/// CHECK and DEFAULT expressions must bind at creation, so that their errors are reported then (207, 1046), with NOCHECK, too.
pub(super) fn check_expressions(
    elements: &[TableElement],
    new: &NewTable,
    database: &std::sync::Arc<engine::Database>,
    context: &ExecContext<'_>,
) -> Result<(), SqlError> {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    for element in elements {
        match element {
            TableElement::Column(column) => {
                for constraint in &column.constraints {
                    match &constraint.kind {
                        ColumnConstraintKind::Check { condition, .. } => conditions.push(condition),
                        ColumnConstraintKind::Default { value, .. } => {
                            let made = new.columns.iter().find(|made| column.name.is(&made.name));
                            made.map_or(Ok(()), |made| check_sequential_id(value, &made.sql_type))?;
                            values.push(value);
                        }
                        _ => {}
                    }
                }
            }
            TableElement::Constraint(constraint) => {
                if let TableConstraintKind::Check { condition, .. } = &constraint.kind {
                    conditions.push(condition);
                }
            }
            TableElement::Index(_) | TableElement::Period(..) => {}
        }
    }
    let bind = bind_context(context, &[]);
    let mut binder = crate::registry::binder(&bind);
    binder.scopes.push(Scope::default());
    binder.refuses_subqueries = true;
    // A sequence is one of the table's own database.
    binder.database = database.clone();
    for value in values {
        binder.next_values.allow_in_default(value);
        binder.value(value)?;
    }
    binder.database = context.database.clone();
    binder.next_values.refuse_in_definition();
    let table = scope_of(&mut binder, &new.columns);
    binder.scopes.push(Scope { tables: vec![table], clause: Clause::Rows, ..Scope::default() });
    for condition in conditions {
        binder.condition(condition)?;
    }
    Ok(())
}

/// NEWSEQUENTIALID is a default of columns of its own type alone: else 302.
pub(super) fn check_sequential_id(value: &ast::Expr, sql_type: &SqlType) -> Result<(), SqlError> {
    let is_one = matches!(&value.kind, ast::ExprKind::Function(call) if call.name.name.is("NEWSEQUENTIALID"));
    if is_one && *sql_type != SqlType::UniqueIdentifier { Err(SqlError::new(302, &[])) } else { Ok(()) }
}

/// IDENTITY of a column, if it has one.
fn identity_of(column: &ast::ColumnDefinition, sql_type: &SqlType) -> Result<Option<IdentityDef>, SqlError> {
    let Some(identity) = &column.identity else { return Ok(None) };
    let numbers = identity_definition((&identity.seed, &identity.increment), &column.name.value, sql_type)?;
    Ok(Some(IdentityDef { is_not_for_replication: identity.not_for_replication, ..numbers }))
}

/// Constraints and the index in a column's definition.
pub(super) fn column_constraints(
    column: &ast::ColumnDefinition,
    table: &ast::ObjectName,
    text: &str,
    context: &ExecContext<'_>,
    new: &mut NewTable,
) -> Result<(), SqlError> {
    for constraint in &column.constraints {
        let name = constraint.name.as_ref().map(|name| name.value.clone());
        match &constraint.kind {
            ColumnConstraintKind::Default { .. } => {}
            ColumnConstraintKind::Check { condition, not_for_replication } => {
                new.constraints.push(NewConstraint::Check {
                    name,
                    text: check_text(condition, text),
                    is_not_trusted: false,
                    is_not_for_replication: *not_for_replication,
                });
            }
            ColumnConstraintKind::Key(key) => {
                let columns = if key.columns.is_empty() {
                    vec![(column.name.value.clone(), false)]
                } else {
                    key_columns(&key.columns)
                };
                new.constraints.push(NewConstraint::Key {
                    name,
                    primary: key.primary,
                    clustered: key.clustered,
                    columns,
                    settings: new_settings(&key.options),
                });
            }
            ColumnConstraintKind::References(_) if is_skipped(table, "REFERENCES")? => {}
            ColumnConstraintKind::References(references) => {
                let columns = vec![column.name.value.clone()];
                new.constraints
                    .push(NewConstraint::Foreign(foreign_key(name, columns, references, context, table)?));
            }
        }
    }
    if let Some(index) = &column.index {
        new.indexes.push(inline_index(index, Some(&column.name.value))?);
    }
    Ok(())
}

/// A table constraint.
pub(super) fn table_constraint(
    constraint: &ast::TableConstraint,
    text: &str,
    context: &ExecContext<'_>,
    table: &ast::ObjectName,
) -> Result<NewConstraint, SqlError> {
    let name = constraint.name.as_ref().map(|name| name.value.clone());
    Ok(match &constraint.kind {
        TableConstraintKind::Key(key) => NewConstraint::Key {
            name,
            primary: key.primary,
            clustered: key.clustered,
            columns: key_columns(&key.columns),
            settings: new_settings(&key.options),
        },
        TableConstraintKind::ForeignKey { columns, references } => {
            let columns = columns.iter().map(|column| column.value.clone()).collect();
            NewConstraint::Foreign(foreign_key(name, columns, references, context, table)?)
        }
        TableConstraintKind::Check { condition, not_for_replication } => NewConstraint::Check {
            name,
            text: check_text(condition, text),
            is_not_trusted: false,
            is_not_for_replication: *not_for_replication,
        },
        TableConstraintKind::Default { value, column, .. } => {
            NewConstraint::Default { name, column: column.value.clone(), text: default_text(value, text) }
        }
        TableConstraintKind::Connection(..) => return Err(crate::errors::unsupported("edge constraints")),
    })
}

fn check_text(condition: &ast::Expr, text: &str) -> String {
    format!("({})", expression_text(condition, text))
}

fn foreign_key(
    name: Option<String>,
    columns: Vec<String>,
    references: &ast::References,
    context: &ExecContext<'_>,
    table: &ast::ObjectName,
) -> Result<NewForeignKey, SqlError> {
    let key = name.clone().unwrap_or_default();
    let invalid = || crate::errors::foreign_key_table(&key, &written(&references.table));
    if references.table.name.value.starts_with('#') {
        return Err(invalid());
    }
    let own_database = database_of(table, context)?;
    let referenced_object_id = if is_itself(table, references, context)? {
        None
    } else {
        let Some((database, other)) = find_table(&references.table, context)? else {
            let database = database_of(&references.table, context)?;
            let other = find_object(&database, &references.table, context)?;
            return Err(match other {
                Some(_) => SqlError::new(1768, &[&key, &written(&references.table)]),
                None => invalid(),
            });
        };
        if !std::sync::Arc::ptr_eq(&database, &own_database) {
            return Err(SqlError::new(1763, &[&key]));
        }
        Some(other.object_id)
    };
    Ok(NewForeignKey {
        name,
        columns,
        referenced_object_id,
        referenced_columns: references.columns.iter().map(|column| column.value.clone()).collect(),
        delete_action: action_number(references.on_delete),
        update_action: action_number(references.on_update),
        is_not_trusted: false,
        is_not_for_replication: references.not_for_replication,
    })
}

/// Does the foreign key refer to the table being created?
fn is_itself(
    table: &ast::ObjectName,
    references: &ast::References,
    context: &ExecContext<'_>,
) -> Result<bool, SqlError> {
    use plan_ir::names::same_name;
    let other = &references.table;
    Ok(same_name(&table.name.value, &other.name.value)
        && same_name(&schema_of(table), &schema_of(other))
        && std::sync::Arc::ptr_eq(&database_of(table, context)?, &database_of(other, context)?))
}

/// Foreign keys of temporary tables are ignored (with the message of `notices`); table variables cannot have any.
pub(super) fn is_skipped(table: &ast::ObjectName, keyword: &str) -> Result<bool, SqlError> {
    match table.name.value.as_bytes().first() {
        Some(b'@') => Err(crate::errors::syntax_near_keyword(keyword)),
        first => Ok(first == Some(&b'#')),
    }
}

/// Messages of a successful CREATE TABLE: 1766 for each ignored foreign key.
pub(super) fn notices(create: &ast::CreateTable) -> Vec<SqlError> {
    if !create.name.name.value.starts_with('#') {
        return Vec::new();
    }
    let name = |name: &Option<ast::Ident>| name.as_ref().map_or("", |name| name.value.as_str()).to_string();
    let mut names = Vec::new();
    for element in &create.elements {
        match element {
            TableElement::Column(column) => {
                let keys = column.constraints.iter();
                let keys = keys.filter(|key| matches!(key.kind, ColumnConstraintKind::References(_)));
                names.extend(keys.map(|key| name(&key.name)));
            }
            TableElement::Constraint(key) if matches!(key.kind, TableConstraintKind::ForeignKey { .. }) => {
                names.push(name(&key.name));
            }
            _ => {}
        }
    }
    names.iter().map(|name| SqlError::new(1766, &[name])).collect()
}

/// The action's number in the catalog.
fn action_number(action: Option<ast::ReferentialAction>) -> u8 {
    match action {
        None | Some(ast::ReferentialAction::NoAction) => 0,
        Some(ast::ReferentialAction::Cascade) => 1,
        Some(ast::ReferentialAction::SetNull) => 2,
        Some(ast::ReferentialAction::SetDefault) => 3,
    }
}

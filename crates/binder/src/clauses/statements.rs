//! Clauses with fields of their own in the syntax tree, checked field by field: a new field does not compile before it is handled here.

use plan_ir::errors::{invalid_filegroup, sparse_column, unsupported};
use tsql::ast::{
    self, AlterIndexAction, AlterTableAction, AlterTableDrop, NamedOption, StatementKind, TableElement,
};
use types::SqlError;

use super::check_options;
use super::index_options::{IndexStatement, check as check_index_options};

fn refuse_if(refused: bool, what: &str) -> Result<(), SqlError> {
    if refused { Err(unsupported(what)) } else { Ok(()) }
}

/// Clauses of a CREATE, ALTER or DROP of what lives in a database.
pub fn check_definition(statement: &ast::Statement) -> Result<(), SqlError> {
    match &statement.kind {
        StatementKind::CreateTable(table) => create_table(table),
        StatementKind::AlterTable(alter) => alter_table(&alter.name.name.value, &alter.action),
        StatementKind::CreateIndex(index) => create_index(index),
        StatementKind::AlterIndex(alter) => alter_index(&alter.action),
        StatementKind::DropIndex(drop) => drop
            .indexes
            .iter()
            .try_for_each(|item| check_index_options(IndexStatement::Definition, &item.options)),
        StatementKind::CreateStatistics(statistics) => {
            check_options("statistics option", &statistics.options)
        }
        StatementKind::UpdateStatistics(statistics) => {
            check_options("statistics option", &statistics.options)
        }
        StatementKind::CreateView(view) => create_view(view),
        StatementKind::CreateProcedure(procedure) => create_procedure(procedure),
        StatementKind::CreateTrigger(trigger) => create_trigger(trigger),
        StatementKind::CreateFunction(function) => {
            function.options.iter().try_for_each(module_option)?;
            function.parameters.iter().try_for_each(parameter)
        }
        StatementKind::CreateSchema(schema) => {
            let owner = schema.authorization.as_ref();
            refuse_if(owner.is_some_and(|owner| !owner.is("dbo")), "AUTHORIZATION of anyone but dbo")
        }
        _ => Ok(()),
    }
}

fn create_table(table: &ast::CreateTable) -> Result<(), SqlError> {
    let ast::CreateTable { name: _, kind, elements, on, textimage_on, filestream_on, options } = table;
    match kind {
        ast::TableKind::Plain => {}
        ast::TableKind::FileTable => return Err(unsupported("CREATE TABLE ... AS FILETABLE")),
        ast::TableKind::GraphNode => return Err(unsupported("CREATE TABLE ... AS NODE")),
        ast::TableKind::GraphEdge => return Err(unsupported("CREATE TABLE ... AS EDGE")),
        ast::TableKind::External => return Err(unsupported("CREATE EXTERNAL TABLE")),
    }
    storage(on.as_ref())?;
    if let Some(name) = textimage_on {
        filegroup(name)?;
        if !elements.iter().any(has_large_values) {
            return Err(SqlError::new(1709, &[]));
        }
    }
    refuse_if(filestream_on.is_some(), "FILESTREAM_ON")?;
    check_table_options(options)?;
    check_table_elements(elements, &table.name.name.value)
}

/// Checks the WITH clause of a table definition. Errors 1039 and 7711 for repeated options, and the refusal.
pub fn check_table_options(options: &[NamedOption]) -> Result<(), SqlError> {
    super::index_options::check_repeated(options)?;
    check_options("table option", options)
}

/// The one filegroup that databases have, under its name or as the default.
///
/// # Errors
/// 1921 for any other.
pub fn filegroup(name: &ast::Ident) -> Result<(), SqlError> {
    if name.is("PRIMARY") || name.is("DEFAULT") { Ok(()) } else { Err(invalid_filegroup(&name.value)) }
}

fn storage(storage: Option<&ast::Storage>) -> Result<(), SqlError> {
    let Some(ast::Storage { name, column }) = storage else { return Ok(()) };
    refuse_if(column.is_some(), "a partition scheme")?;
    filegroup(name)
}

/// Checks the elements in the parentheses of a table definition.
pub fn check_table_elements(elements: &[TableElement], table: &str) -> Result<(), SqlError> {
    elements.iter().try_for_each(|element| match element {
        TableElement::Column(definition) => column(definition, table),
        TableElement::Constraint(constraint) => match &constraint.kind {
            ast::TableConstraintKind::Key(key) if key.columns.is_empty() => {
                Err(SqlError::new(8135, &[&table]))
            }
            ast::TableConstraintKind::Key(key) => key_constraint(key),
            ast::TableConstraintKind::ForeignKey { .. }
            | ast::TableConstraintKind::Check { .. }
            | ast::TableConstraintKind::Default { .. } => Ok(()),
            ast::TableConstraintKind::Connection(..) => Err(unsupported("edge constraints")),
        },
        TableElement::Index(index) => inline_index(index),
        TableElement::Period(..) => Err(unsupported("PERIOD FOR SYSTEM_TIME")),
    })
}

/// Has the column a type whose values may be stored outside their rows (TEXTIMAGE_ON), or an alias type, which is unknown here?
fn has_large_values(element: &TableElement) -> bool {
    let TableElement::Column(ast::ColumnDefinition { data_type: Some(data_type), .. }) = element else {
        return false;
    };
    let declared = plan_ir::data_type::declared(data_type, plan_ir::data_type::TypePlace::Column(1));
    declared.map_or(true, |sql_type| sql_type.is_large_object())
}

fn column(definition: &ast::ColumnDefinition, table: &str) -> Result<(), SqlError> {
    let ast::ColumnDefinition {
        name,
        data_type,
        computed,
        collation: _,
        nullable,
        is_nullable_said_again,
        identity,
        is_rowguidcol,
        is_sparse,
        is_filestream,
        is_hidden,
        is_column_set,
        generated,
        masked,
        encrypted,
        constraints,
        index,
        span: _,
    } = definition;
    if *is_sparse {
        let never = ["text", "ntext", "image", "timestamp", "rowversion", "geometry", "geography"];
        let wrong_type = data_type.as_ref().is_none_or(|data_type| {
            let written = &data_type.name.name;
            never.iter().any(|word| written.is(word))
        });
        if wrong_type || *nullable == Some(false) || identity.is_some() || *is_rowguidcol || *is_filestream {
            return Err(sparse_column(&name.value, table));
        }
        return Err(unsupported("SPARSE"));
    }
    refuse_if(*is_filestream, "FILESTREAM")?;
    refuse_if(*is_hidden, "HIDDEN")?;
    refuse_if(*is_column_set, "COLUMN_SET FOR ALL_SPARSE_COLUMNS")?;
    refuse_if(generated.is_some(), "GENERATED ALWAYS AS")?;
    refuse_if(masked.is_some(), "MASKED")?;
    refuse_if(!encrypted.is_empty(), "ENCRYPTED WITH")?;
    for constraint in constraints {
        if let ast::ColumnConstraintKind::Key(key) = &constraint.kind {
            key_constraint(key)?;
        }
    }
    if *is_nullable_said_again {
        return Err(SqlError::new(8150, &[&name.value, &table]));
    }
    if *nullable == Some(false) && computed.as_ref().is_some_and(|computed| !computed.persisted) {
        return Err(SqlError::new(8183, &[]));
    }
    constraints_of_column(constraints, &name.value, table)?;
    index.as_ref().map_or(Ok(()), inline_index)
}

/// A column has one constraint of each kind (8148), and not both keys (8151).
fn constraints_of_column(
    constraints: &[ast::ColumnConstraint],
    name: &str,
    table: &str,
) -> Result<(), SqlError> {
    let count = |of_kind: fn(&ast::ColumnConstraintKind) -> bool| {
        constraints.iter().filter(|one| of_kind(&one.kind)).count()
    };
    let defaults = count(|kind| matches!(kind, ast::ColumnConstraintKind::Default { .. }));
    let unique = count(|kind| matches!(kind, ast::ColumnConstraintKind::Key(key) if !key.primary));
    let primary = count(|kind| matches!(kind, ast::ColumnConstraintKind::Key(key) if key.primary));
    let checks = count(|kind| matches!(kind, ast::ColumnConstraintKind::Check { .. }));
    let counts = [("DEFAULT", defaults), ("CHECK", checks), ("UNIQUE", unique), ("PRIMARY KEY", primary)];
    if let Some((word, _)) = counts.iter().find(|(_, count)| *count > 1) {
        return Err(SqlError::new(8148, &[word, &name, &table]).with_state(0));
    }
    if unique > 0 && primary > 0 {
        return Err(SqlError::new(8151, &[&name, &table]));
    }
    Ok(())
}

fn key_constraint(key: &ast::KeyConstraint) -> Result<(), SqlError> {
    let ast::KeyConstraint { primary: _, clustered: _, hash, columns: _, options, on, not_enforced } = key;
    refuse_if(*hash, "HASH keys")?;
    refuse_if(*not_enforced, "NOT ENFORCED")?;
    check_index_options(IndexStatement::Definition, options)?;
    storage(on.as_ref())
}

fn inline_index(index: &ast::InlineIndex) -> Result<(), SqlError> {
    let ast::InlineIndex {
        name: _,
        unique: _,
        clustered: _,
        hash,
        columnstore,
        columns: _,
        include: _,
        filter: _,
        options,
        on,
        filestream_on,
    } = index;
    refuse_if(*hash || *columnstore, "columnstore and hash indexes")?;
    refuse_if(filestream_on.is_some(), "FILESTREAM_ON")?;
    check_index_options(IndexStatement::Definition, options)?;
    storage(on.as_ref())
}

fn create_index(index: &ast::CreateIndex) -> Result<(), SqlError> {
    let ast::CreateIndex {
        name: _,
        table: _,
        unique: _,
        clustered: _,
        kind,
        columns: _,
        include: _,
        filter: _,
        order,
        options,
        on,
        filestream_on,
    } = index;
    refuse_if(*kind != ast::IndexKind::Rows, "columnstore, XML and special indexes")?;
    refuse_if(!order.is_empty(), "ORDER of an index")?;
    refuse_if(filestream_on.is_some(), "FILESTREAM_ON")?;
    check_index_options(IndexStatement::Definition, options)?;
    storage(on.as_ref())
}

fn alter_index(action: &AlterIndexAction) -> Result<(), SqlError> {
    match action {
        AlterIndexAction::Rebuild { partition: _, options } => {
            check_index_options(IndexStatement::Rebuild, options)
        }
        AlterIndexAction::Reorganize { partition: _, options } => {
            check_index_options(IndexStatement::Reorganize, options)
        }
        AlterIndexAction::Set(options) => check_index_options(IndexStatement::Set, options),
        AlterIndexAction::Disable => Ok(()),
        AlterIndexAction::Resume(_) | AlterIndexAction::Pause | AlterIndexAction::Abort => {
            Err(unsupported("a resumable index operation"))
        }
        AlterIndexAction::Other(_) => Err(unsupported("this ALTER INDEX")),
    }
}

fn alter_table(table: &str, action: &AlterTableAction) -> Result<(), SqlError> {
    match action {
        AlterTableAction::Add { check: _, elements } => check_table_elements(elements, table),
        AlterTableAction::AlterColumn(change) => alter_column(change),
        AlterTableAction::Drop(items) => items.iter().try_for_each(|item| match item {
            AlterTableDrop::Constraint { if_exists: _, name: _, options } => {
                check_index_options(IndexStatement::Definition, options)
            }
            AlterTableDrop::Column { .. } | AlterTableDrop::Index { .. } => Ok(()),
            AlterTableDrop::Period => Err(unsupported("PERIOD FOR SYSTEM_TIME")),
        }),
        AlterTableAction::Set(options) => {
            options.iter().try_for_each(lock_escalation)?;
            check_options("ALTER TABLE SET", options)
        }
        AlterTableAction::Rebuild { partition: _, options } => {
            check_index_options(IndexStatement::Definition, options)
        }
        AlterTableAction::CheckConstraint { .. } => Ok(()),
        AlterTableAction::Trigger { .. } => Ok(()),
        AlterTableAction::ChangeTracking { .. } => Err(unsupported("CHANGE_TRACKING")),
        AlterTableAction::Switch { .. } => Err(unsupported("SWITCH")),
        AlterTableAction::FileTableNamespace { .. } => Err(unsupported("FILETABLE_NAMESPACE")),
        AlterTableAction::Other(_) => Err(unsupported("this ALTER TABLE")),
    }
}

/// LOCK_ESCALATION is AUTO, TABLE or DISABLE: else 102.
fn lock_escalation(option: &ast::NamedOption) -> Result<(), SqlError> {
    if !option.name.is("LOCK_ESCALATION") {
        return Ok(());
    }
    let said = option.value.as_ref().map_or_else(|| option.name.value.clone(), super::value_text);
    let is_known = option.value.is_some() && ["AUTO", "TABLE", "DISABLE"].contains(&said.as_str());
    if is_known { Ok(()) } else { Err(plan_ir::errors::syntax_near(&said)) }
}

fn alter_column(change: &ast::AlterColumn) -> Result<(), SqlError> {
    check_index_options(IndexStatement::Definition, &change.options)?;
    match &change.change {
        ast::AlterColumnChange::Type {
            data_type: _,
            collation,
            nullable: _,
            is_sparse,
            encrypted,
            masked,
        } => {
            if let Some(name) = collation.as_ref().filter(|name| !name.is("database_default")) {
                let known = types::Collation::by_name(&name.value)
                    .ok_or_else(|| plan_ir::errors::invalid_collation(&name.value))?;
                refuse_if(known != types::Collation::default(), "ALTER COLUMN ... COLLATE")?;
            }
            refuse_if(*is_sparse, "SPARSE")?;
            refuse_if(!encrypted.is_empty(), "ENCRYPTED WITH")?;
            refuse_if(masked.is_some(), "MASKED")
        }
        ast::AlterColumnChange::Property { add: _, property, mask: _ } => {
            let is_done = property.is("ROWGUIDCOL") || property.is("NOT FOR REPLICATION");
            refuse_if(!is_done, &format!("ALTER COLUMN ADD and DROP {}", property.value.to_uppercase()))
        }
    }
}

fn create_view(view: &ast::CreateView) -> Result<(), SqlError> {
    let ast::CreateView { action: _, name: _, columns: _, options, query: _, check_option: _, materialized } =
        view;
    refuse_if(*materialized, "CREATE MATERIALIZED VIEW")?;
    options.iter().try_for_each(|option| super::check_option("module option", &option.value, None))
}

fn create_procedure(procedure: &ast::CreateProcedure) -> Result<(), SqlError> {
    let ast::CreateProcedure { action: _, name: _, number, parameters, options, for_replication, body: _ } =
        procedure;
    refuse_if(number.is_some_and(|number| number != 1), "a numbered procedure")?;
    refuse_if(*for_replication, "FOR REPLICATION")?;
    // SQL Server takes NOT NULL in natively compiled procedures alone.
    if !options.contains(&ast::ModuleOption::NativeCompilation) {
        parameters.iter().try_for_each(parameter)?;
    }
    options.iter().try_for_each(|option| match option {
        ast::ModuleOption::NativeCompilation => {
            super::check_option("procedure option", "NATIVE_COMPILATION", None)
        }
        ast::ModuleOption::SchemaBinding => super::check_option("procedure option", "SCHEMABINDING", None),
        other => module_option(other),
    })
}

fn create_trigger(trigger: &ast::CreateTrigger) -> Result<(), SqlError> {
    let ast::CreateTrigger { action: _, name: _, on, options, timing: _, events, with_append, .. } = trigger;
    match on {
        ast::TriggerScope::Object(_) | ast::TriggerScope::Database => {}
        ast::TriggerScope::AllServer if events.iter().any(|event| event.is("LOGON")) => {
            return Err(unsupported("a LOGON trigger"));
        }
        ast::TriggerScope::AllServer => return Err(unsupported("a trigger ON ALL SERVER")),
    }
    refuse_if(*with_append, "WITH APPEND")?;
    options.iter().try_for_each(module_option)
}

fn parameter(parameter: &ast::Parameter) -> Result<(), SqlError> {
    refuse_if(parameter.nullable == Some(false), "NOT NULL of a parameter")
}

fn module_option(option: &ast::ModuleOption) -> Result<(), SqlError> {
    use ast::ModuleOption::{
        CalledOnNullInput, Encryption, ExecuteAs, Inline, NativeCompilation, Recompile,
        ReturnsNullOnNullInput, SchemaBinding, ViewMetadata,
    };
    let word = match option {
        Encryption => "ENCRYPTION",
        Recompile => "RECOMPILE",
        SchemaBinding => "SCHEMABINDING",
        NativeCompilation => "NATIVE_COMPILATION",
        ReturnsNullOnNullInput => "RETURNS NULL ON NULL INPUT",
        CalledOnNullInput => "CALLED ON NULL INPUT",
        Inline(_) => "INLINE",
        ViewMetadata => "VIEW_METADATA",
        ExecuteAs(context) => match context {
            ast::ExecuteAsClause::Caller => "EXECUTE AS CALLER",
            ast::ExecuteAsClause::SelfUser => "EXECUTE AS SELF",
            ast::ExecuteAsClause::Owner => "EXECUTE AS OWNER",
            ast::ExecuteAsClause::User(name) if name.eq_ignore_ascii_case("dbo") => "EXECUTE AS OWNER",
            ast::ExecuteAsClause::User(_) => "EXECUTE AS USER",
        },
    };
    super::check_option("module option", word, None)
}

/// Clauses of a table in FROM.
pub fn check_table_reference(table: &ast::TableRef) -> Result<(), SqlError> {
    let ast::TableRef { name: _, alias: _, hints: _, sample, system_time, for_path } = table;
    refuse_if(sample.is_some(), "TABLESAMPLE")?;
    refuse_if(system_time.is_some(), "FOR SYSTEM_TIME")?;
    refuse_if(*for_path, "FOR PATH")
}

/// Clauses of a function in FROM.
pub fn check_row_function(function: &ast::TableFunction, call: &ast::FunctionCall) -> Result<(), SqlError> {
    let ast::TableFunction { call: _, double_colon: _, alias: _, columns: _, hints: _, schema } = function;
    let name = &call.name.name;
    refuse_if(name.is("CHANGETABLE") || name.is("PREDICT"), &name.value.to_uppercase())?;
    refuse_if(!schema.is_empty(), "WITH (columns) of a function")
}

/// The word between INNER, LEFT or the like and JOIN.
pub fn check_join_hint(hint: Option<ast::JoinHint>) -> Result<(), SqlError> {
    let word = match hint {
        None => return Ok(()),
        Some(ast::JoinHint::Loop) => "LOOP",
        Some(ast::JoinHint::Hash) => "HASH",
        Some(ast::JoinHint::Merge) => "MERGE",
        Some(ast::JoinHint::Remote) => "REMOTE",
        Some(ast::JoinHint::Redistribute) => "REDISTRIBUTE",
        Some(ast::JoinHint::Reduce) => "REDUCE",
        Some(ast::JoinHint::Replicate) => "REPLICATE",
    };
    super::check_option("join hint", word, None)
}

/// Checks the parts of WITH other than common tables.
pub fn check_common_tables(with: &ast::With) -> Result<(), SqlError> {
    let ast::With { xml_namespaces: _, tables, change_tracking_context } = with;
    let mut names: Vec<_> = tables.iter().map(|table| &table.name.value).collect();
    names.sort_by_cached_key(|name| name.to_lowercase());
    if let Some(twice) = names.windows(2).find(|pair| plan_ir::names::same_name(pair[0], pair[1])) {
        return Err(SqlError::new(239, &[twice[1]]));
    }
    refuse_if(change_tracking_context.is_some(), "WITH CHANGE_TRACKING_CONTEXT")
}

/// Clauses of EXECUTE.
///
/// # Errors
/// The refusal by name.
pub fn check_execute(execute: &ast::Execute) -> Result<(), SqlError> {
    let ast::Execute { return_variable: _, target, args: _, options, bare: _, odbc: _ } = execute;
    match target {
        ast::ExecuteTarget::Procedure(_, number) | ast::ExecuteTarget::Variable(_, number) => {
            refuse_if(number.is_some_and(|number| number != 1), "a numbered procedure")?;
        }
        ast::ExecuteTarget::Text { text: _, run_as, at } => {
            refuse_if(at.is_some(), "EXECUTE ... AT")?;
            refuse_if(run_as.is_some(), "EXECUTE ... AS")?;
        }
    }
    options.iter().try_for_each(|option| match option {
        ast::ExecuteOption::Recompile | ast::ExecuteOption::ResultSetsUndefined => Ok(()),
        ast::ExecuteOption::ResultSetsNone => Ok(()),
        ast::ExecuteOption::ResultSets(sets) => sets.iter().try_for_each(|set| match set {
            ast::ResultSet::Columns(columns) => refuse_if(
                columns.iter().any(|column| column.collation.is_some()),
                "COLLATE in WITH RESULT SETS",
            ),
            ast::ResultSet::AsObject(_) | ast::ResultSet::AsType(_) | ast::ResultSet::AsForXml => {
                Err(unsupported("WITH RESULT SETS (AS ...)"))
            }
        }),
    })
}

/// Clauses of BEGIN TRANSACTION.
///
/// # Errors
/// The refusal by name.
pub fn check_begin(begin: &ast::BeginTransaction) -> Result<(), SqlError> {
    let ast::BeginTransaction { distributed, name: _, mark, mark_description: _ } = begin;
    refuse_if(*distributed, "BEGIN DISTRIBUTED TRANSACTION")?;
    refuse_if(*mark, "WITH MARK")
}

/// Clauses of CREATE DATABASE.
///
/// # Errors
/// The refusal by name; 448 for a collation that is not known.
pub fn check_create_database(create: &ast::CreateDatabase) -> Result<(), SqlError> {
    let ast::CreateDatabase {
        name: _,
        containment,
        filegroups,
        log_files: _,
        collation,
        options,
        attach,
        snapshot_of,
        copy_of,
    } = create;
    refuse_if(attach.is_some(), "CREATE DATABASE ... FOR ATTACH")?;
    refuse_if(snapshot_of.is_some(), "CREATE DATABASE ... AS SNAPSHOT OF")?;
    refuse_if(copy_of.is_some(), "CREATE DATABASE ... AS COPY OF")?;
    let contained = containment.as_ref().is_some_and(|containment| !containment.is("NONE"));
    refuse_if(contained, "CONTAINMENT = PARTIAL")?;
    for ast::FilegroupSpec { name, primary: _, is_default: _, contains_memory_optimized, files: _ } in
        filegroups
    {
        refuse_if(name.is_some(), "FILEGROUP")?;
        refuse_if(contains_memory_optimized.is_some(), "CONTAINS FILESTREAM and MEMORY_OPTIMIZED_DATA")?;
    }
    collation.as_ref().map_or(Ok(()), database_collation)?;
    check_options("CREATE DATABASE option", options)
}

/// Every database has the server's collation.
///
/// # Errors
/// 448 for a collation that is not known; the refusal of another one.
pub fn database_collation(name: &ast::Ident) -> Result<(), SqlError> {
    if name.is("database_default") {
        return Ok(());
    }
    let known = types::Collation::by_name(&name.value)
        .ok_or_else(|| plan_ir::errors::invalid_collation(&name.value))?;
    let what = format!("a database of collation {}", known.name());
    refuse_if(known != types::Collation::default(), &what)
}

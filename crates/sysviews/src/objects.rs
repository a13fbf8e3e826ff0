//! Catalog views of objects: sys.objects, tables, views, procedures, sql_modules, parameters, schemas, types.

use std::sync::Arc;

use engine::{ModuleDef, ModuleKind, ObjectDef, TableDef};
use plan_ir::data_type::CLR_TYPES;
use plan_ir::view::{Cell, SystemView, ViewContext};
use plan_ir::view_shape::system_object_id;
use types::{SqlError, SqlType, Value};

use super::type_list::all_types;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

const OBJECT_COLUMNS: &str = "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, \
     type char(2), type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
     is_schema_published bit";

/// Columns of sys.views and sys.all_views.
const VIEW_COLUMNS: &str = "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, is_replicated bit, has_replication_filter bit, has_opaque_metadata bit, has_unchecked_assembly_data bit, \
         with_check_option bit, is_date_correlation_view bit, is_tracked_by_cdc bit, has_snapshot bit, ledger_view_type tinyint, \
         ledger_view_type_desc nvarchar(60), is_dropped_ledger_view bit";

pub(super) const MODULE_LIST: &str = "object_id int not null, definition nvarchar, uses_ansi_nulls bit, uses_quoted_identifier bit, is_schema_bound bit, \
     uses_database_collation bit, is_recompiled bit, null_on_null_input bit, execute_as_principal_id int, uses_native_compilation bit, \
     inline_type bit, is_inlineable bit";

pub(super) const PARAMETER_LIST: &str = "object_id int not null, name nvarchar(128), parameter_id int not null, system_type_id tinyint not null, user_type_id int not null, \
     max_length smallint not null, precision tinyint not null, scale tinyint not null, is_output bit, is_cursor_ref bit, \
     has_default_value bit, is_xml_document bit, default_value sql_variant, xml_collection_id int not null, is_readonly bit, \
     is_nullable bit, encryption_type int, encryption_type_desc nvarchar(64), encryption_algorithm_name nvarchar(128), \
     column_encryption_key_id int, column_encryption_key_database_name nvarchar(128)";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new("objects", OBJECT_COLUMNS, |context| objects(context, true, false)),
    SystemView::new("all_objects", OBJECT_COLUMNS, |context| objects(context, true, true)),
    SystemView::new("system_objects", OBJECT_COLUMNS, |context| objects(context, false, true)),
    SystemView::new(
        "tables",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, lob_data_space_id int not null, filestream_data_space_id int, max_column_id_used int not null, \
         lock_on_bulk_load bit, uses_ansi_nulls bit, is_replicated bit, has_replication_filter bit, is_merge_published bit, \
         is_sync_tran_subscribed bit, has_unchecked_assembly_data bit, text_in_row_limit int, large_value_types_out_of_row bit, \
         is_tracked_by_cdc bit, lock_escalation tinyint, lock_escalation_desc nvarchar(60), is_filetable bit, is_memory_optimized bit, \
         durability tinyint, durability_desc nvarchar(60), temporal_type tinyint, temporal_type_desc nvarchar(60), history_table_id int, \
         is_remote_data_archive_enabled bit, is_external bit, history_retention_period int, history_retention_period_unit int, \
         history_retention_period_unit_desc nvarchar(10), is_node bit, is_edge bit, ledger_type tinyint, ledger_type_desc nvarchar(60), \
         ledger_view_id int, is_dropped_ledger_table bit",
        tables,
    ),
    SystemView::new("views", VIEW_COLUMNS, |context| modules_of(context, &[ModuleKind::View])),
    SystemView::new("all_views", VIEW_COLUMNS, all_views),
    SystemView::new("system_views", OBJECT_COLUMNS, |context| {
        view_rows(context);
        Ok(())
    }),
    SystemView::new(
        "procedures",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, is_auto_executed bit, is_execution_replicated bit, is_repl_serializable_only bit, \
         skips_repl_constraints bit",
        |context| modules_of(context, &[ModuleKind::Procedure]),
    ),
    SystemView::new(
        "synonyms",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, base_object_name nvarchar(1035)",
        |context| modules_of(context, &[ModuleKind::Synonym]),
    ),
    SystemView::new("sql_modules", MODULE_LIST, sql_modules),
    SystemView::new("all_sql_modules", MODULE_LIST, |context| {
        sql_modules(context)?;
        system_modules(context)
    }),
    SystemView::new("system_sql_modules", MODULE_LIST, system_modules),
    SystemView::new(
        "syscomments",
        "id int not null, number smallint, colid smallint not null, status smallint, ctext varbinary(8000), texttype smallint, \
         language smallint, encrypted bit, compressed bit, text nvarchar(4000)",
        comments,
    ),
    SystemView::new("schemas", "name sysname, schema_id int not null, principal_id int", schemas),
    SystemView::new(
        "types",
        "name sysname, system_type_id tinyint not null, user_type_id int not null, schema_id int not null, principal_id int, \
         max_length smallint not null, precision tinyint not null, scale tinyint not null, collation_name nvarchar(128), is_nullable bit, \
         is_user_defined bit, is_assembly_type bit, default_object_id int not null, rule_object_id int not null, is_table_type bit",
        types,
    ),
    SystemView::new(
        "table_types",
        "name sysname, system_type_id tinyint not null, user_type_id int not null, schema_id int not null, principal_id int, \
         max_length smallint not null, precision tinyint not null, scale tinyint not null, collation_name nvarchar(128), is_nullable bit, \
         is_user_defined bit, is_assembly_type bit, default_object_id int not null, rule_object_id int not null, is_table_type bit, \
         type_table_object_id int not null, is_memory_optimized bit",
        table_types,
    ),
    SystemView::new("parameters", PARAMETER_LIST, parameters),
    SystemView::new("system_parameters", PARAMETER_LIST, system_parameters),
    SystemView::new(
        "sysobjects",
        "name sysname, id int not null, xtype char(2), uid smallint, info smallint, status int, base_schema_ver int, replinfo int, \
         parent_obj int not null, crdate datetime not null, ftcatid smallint, schema_ver int, stats_schema_ver int, type char(2), \
         userstat smallint, sysstat smallint, indexdel smallint, refdate datetime not null, version int, deltrig int, instrig int, \
         updtrig int, seltrig int, category int, cache smallint",
        sys_objects,
    ),
];

/// `system_type_id` of every CLR type.
const CLR_SYSTEM_TYPE_ID: i32 = 240;

/// `type_desc` of a type code.
fn type_description(code: &str) -> &'static str {
    match code.trim() {
        "U" => "USER_TABLE",
        "S" => "SYSTEM_TABLE",
        "V" => "VIEW",
        "P" => "SQL_STORED_PROCEDURE",
        "FN" => "SQL_SCALAR_FUNCTION",
        "IF" => "SQL_INLINE_TABLE_VALUED_FUNCTION",
        "TF" => "SQL_TABLE_VALUED_FUNCTION",
        "TR" => "SQL_TRIGGER",
        "PK" => "PRIMARY_KEY_CONSTRAINT",
        "UQ" => "UNIQUE_CONSTRAINT",
        "X" => "EXTENDED_STORED_PROCEDURE",
        "C" => "CHECK_CONSTRAINT",
        "D" => "DEFAULT_CONSTRAINT",
        "F" => "FOREIGN_KEY_CONSTRAINT",
        "SO" => "SEQUENCE_OBJECT",
        "TT" => "TYPE_TABLE",
        "SN" => "SYNONYM",
        _ => "OTHER",
    }
}

/// The table or view of a trigger; other objects have none.
fn parent_of(object: &ObjectDef) -> i32 {
    match object {
        ObjectDef::Module(module) => module.parent_object_id,
        _ => 0,
    }
}

/// Cells that all objects share.
pub(super) fn object_cells(object: &ObjectDef) -> Vec<(&'static str, Cell)> {
    let code = object.type_code();
    vec![
        ("name", object.name().to_string().into()),
        ("object_id", object.object_id().into()),
        ("schema_id", object.schema_id().into()),
        ("parent_object_id", parent_of(object).into()),
        ("type", code.into()),
        ("type_desc", type_description(code).into()),
        ("create_date", Value::DateTime(object.create_date()).into()),
        ("modify_date", Value::DateTime(object.modify_date()).into()),
        ("is_ms_shipped", (code.trim() == "S").into()),
    ]
}

fn objects(context: Context<'_, '_, '_>, user: bool, system: bool) -> Result<(), SqlError> {
    if user {
        for object in context.runtime.objects_of(context.database) {
            if matches!(&object, ObjectDef::Module(module) if !module.kind.is_in_schema()) {
                continue;
            }
            context.row(&object_cells(&object));
            if let ObjectDef::Table(table) = &object {
                for (id, name, code) in table.constraints() {
                    let mut cells = object_cells(&object);
                    cells.retain(|cell| {
                        !matches!(cell.0, "name" | "object_id" | "parent_object_id" | "type" | "type_desc")
                    });
                    cells.extend([
                        ("name", name.to_string().into()),
                        ("object_id", id.into()),
                        ("parent_object_id", table.object_id.into()),
                        ("type", code.into()),
                        ("type_desc", type_description(code).into()),
                    ]);
                    context.row(&cells);
                }
            }
        }
    }
    if system {
        system_rows(context);
    }
    Ok(())
}

/// The server's own objects: views and procedures.
fn system_rows(context: Context<'_, '_, '_>) {
    view_rows(context);
    for procedure in context.runtime.state.system_procedures() {
        shipped_row(context, procedure.name, "sys", procedure.type_code);
    }
}

fn shipped_row(context: &mut ViewContext<'_, '_>, name: &str, schema: &str, code: &'static str) {
    let date = Value::DateTime(types::DateTime { days: 42_400, ticks: 0 });
    context.row(&[
        ("name", name.into()),
        ("object_id", system_object_id(schema, name).into()),
        ("schema_id", if schema == "sys" { 4 } else { 3 }.into()),
        ("parent_object_id", 0.into()),
        ("type", code.into()),
        ("type_desc", type_description(code).into()),
        ("create_date", date.clone().into()),
        ("modify_date", date.into()),
        ("is_ms_shipped", true.into()),
    ]);
}

/// The texts of the system procedures in T-SQL.
fn system_modules(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for procedure in context.runtime.state.system_procedures() {
        if let Some(definition) = procedure.definition {
            context.row(&[
                ("object_id", system_object_id("sys", procedure.name).into()),
                ("definition", definition.into()),
                ("uses_ansi_nulls", true.into()),
                ("uses_quoted_identifier", true.into()),
            ]);
        }
    }
    Ok(())
}

/// The system views as objects.
fn view_rows(context: Context<'_, '_, '_>) {
    for view in context.runtime.front_end.views().into_iter().filter(|view| !view.schema.ends_with("dbo")) {
        shipped_row(context, view.name, view.schema, if view.parameters > 0 { "IF" } else { "V " });
    }
}

fn all_views(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    modules_of(context, &[ModuleKind::View])?;
    view_rows(context);
    Ok(())
}

/// All tables of the view's database, system tables included.
pub(super) fn all_tables(context: &ViewContext<'_, '_>) -> Vec<Arc<TableDef>> {
    let tables = context.runtime.objects_of(context.database).into_iter().filter_map(|object| match object {
        ObjectDef::Table(table) => Some(table),
        ObjectDef::Module(_) | ObjectDef::Sequence(_) => None,
    });
    tables.collect()
}

/// User tables.
pub(super) fn user_tables(context: &ViewContext<'_, '_>) -> Vec<Arc<TableDef>> {
    all_tables(context).into_iter().filter(|table| !table.is_system).collect()
}

fn tables(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in user_tables(context) {
        let mut cells = object_cells(&ObjectDef::Table(table.clone()));
        cells.extend([
            ("lob_data_space_id", 0.into()),
            ("max_column_id_used", (table.next_column_id - 1).into()),
            ("uses_ansi_nulls", table.ansi_nulls.into()),
            ("text_in_row_limit", 0.into()),
            ("lock_escalation", 0.into()),
            ("lock_escalation_desc", "TABLE".into()),
            ("durability", 0.into()),
            ("durability_desc", "SCHEMA_AND_DATA".into()),
            ("temporal_type", 0.into()),
            ("temporal_type_desc", "NON_TEMPORAL_TABLE".into()),
            ("ledger_type", 0.into()),
            ("ledger_type_desc", "NON_LEDGER_TABLE".into()),
        ]);
        context.row(&cells);
    }
    Ok(())
}

fn modules_of(context: Context<'_, '_, '_>, kinds: &[ModuleKind]) -> Result<(), SqlError> {
    for object in context.runtime.objects_of(context.database) {
        if let ObjectDef::Module(module) = &object
            && kinds.contains(&module.kind)
        {
            let mut cells = object_cells(&object);
            if module.kind == ModuleKind::View {
                cells.push(("with_check_option", has_check_option(module).into()));
            }
            if module.kind == ModuleKind::Synonym {
                cells.push(("base_object_name", module.definition.to_string().into()));
            }
            context.row(&cells);
        }
    }
    Ok(())
}

/// Does the view have WITH CHECK OPTION?
pub(super) fn has_check_option(module: &engine::ModuleDef) -> bool {
    match module_statement(module) {
        Some(tsql::ast::StatementKind::CreateView(view)) => view.check_option,
        _ => false,
    }
}

fn sql_modules(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for object in context.runtime.objects_of(context.database) {
        if let ObjectDef::Module(module) = &object
            && module.kind.has_module_text()
        {
            let is_inlineable = is_inlineable(context, module);
            context.row(&[
                ("object_id", module.object_id.into()),
                ("definition", module.definition.to_string().into()),
                ("uses_ansi_nulls", module.ansi_nulls.into()),
                ("uses_quoted_identifier", module.quoted_identifier.into()),
                ("is_schema_bound", module.is_schema_bound.into()),
                ("uses_native_compilation", module.uses_native_compilation.into()),
                ("null_on_null_input", is_strict(module).into()),
                ("inline_type", is_inlined(module).into()),
                ("is_inlineable", is_inlineable.into()),
            ]);
        }
    }
    Ok(())
}

/// The options of a scalar function; none of another module.
fn scalar_options(module: &ModuleDef) -> Vec<tsql::ast::ModuleOption> {
    match module_statement(module).filter(|_| module.kind == ModuleKind::ScalarFunction) {
        Some(tsql::ast::StatementKind::CreateFunction(function)) => function.options,
        _ => Vec::new(),
    }
}

/// RETURNS NULL ON NULL INPUT.
fn is_strict(module: &ModuleDef) -> bool {
    scalar_options(module).contains(&tsql::ast::ModuleOption::ReturnsNullOnNullInput)
}

/// Is inlining turned on: for a scalar function, unless INLINE = OFF.
fn is_inlined(module: &ModuleDef) -> bool {
    module.kind == ModuleKind::ScalarFunction
        && !scalar_options(module).contains(&tsql::ast::ModuleOption::Inline(false))
}

fn is_inlineable(context: Context<'_, '_, '_>, module: &Arc<ModuleDef>) -> bool {
    let runtime = context.runtime;
    module.kind == ModuleKind::ScalarFunction
        && runtime.look_over(|lookup| {
            let bind = super::binding::context_of(runtime, context.database, lookup);
            runtime.front_end.is_inlineable(&bind, module)
        })
}

/// Texts of modules, of constraints that have one and, under their table's number, of computed columns, in pieces of 4,000 characters.
fn comments(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for object in context.runtime.objects_of(context.database) {
        match &object {
            ObjectDef::Module(module) if !module.kind.has_module_text() => {}
            ObjectDef::Module(module) => {
                // Only procedures can belong to a numbered group.
                let number = i32::from(module.kind == ModuleKind::Procedure);
                comment(context, module.object_id, number, &module.definition);
            }
            ObjectDef::Table(table) => comments_of_table(context, table),
            _ => {}
        }
    }
    Ok(())
}

fn comments_of_table(context: Context<'_, '_, '_>, table: &TableDef) {
    for check in &table.checks {
        comment(context, check.object_id, 0, &check.text);
    }
    for column in &table.columns {
        if let Some(default) = &column.default {
            comment(context, default.object_id, 0, &default.text);
        }
        if let Some(computed) = &column.computed {
            comment(context, table.object_id, column.column_id, &computed.text);
        }
    }
}

fn comment(context: Context<'_, '_, '_>, id: i32, number: i32, text: &str) {
    let text: Vec<char> = text.chars().collect();
    for (index, part) in text.chunks(4000).enumerate() {
        context.row(&[
            ("id", id.into()),
            ("number", number.into()),
            ("colid", (index as i32 + 1).into()),
            ("status", 0.into()),
            ("texttype", 2.into()),
            ("language", 0.into()),
            ("encrypted", false.into()),
            ("compressed", false.into()),
            ("text", part.iter().collect::<String>().into()),
        ]);
    }
}

fn schemas(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for schema in context.runtime.schemas_of(context.database) {
        let owner = if schema.schema_id <= 4 { schema.schema_id } else { 1 };
        context.row(&[
            ("name", schema.name.to_string().into()),
            ("schema_id", schema.schema_id.into()),
            ("principal_id", owner.into()),
        ]);
    }
    Ok(())
}

fn types(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for sql_type in all_types() {
        let collation = sql_type.is_character().then(|| types::Collation::DEFAULT.name());
        context.row(&[
            ("name", sql_type.name().into()),
            ("system_type_id", i32::from(sql_type.system_type_id()).into()),
            ("user_type_id", sql_type.user_type_id().into()),
            ("schema_id", 4.into()),
            ("max_length", i32::from(sql_type.max_length()).into()),
            ("precision", i32::from(sql_type.precision()).into()),
            ("scale", i32::from(sql_type.scale()).into()),
            ("collation_name", collation.into()),
            ("is_nullable", (*sql_type != SqlType::SysName && *sql_type != SqlType::RowVersion).into()),
            ("default_object_id", 0.into()),
            ("rule_object_id", 0.into()),
        ]);
    }
    for (name, user_type_id, max_length) in CLR_TYPES {
        context.row(&[
            ("name", name.into()),
            ("system_type_id", CLR_SYSTEM_TYPE_ID.into()),
            ("user_type_id", user_type_id.into()),
            ("schema_id", 4.into()),
            ("max_length", max_length.into()),
            ("precision", 0.into()),
            ("scale", 0.into()),
            ("is_nullable", true.into()),
            ("is_assembly_type", true.into()),
            ("default_object_id", 0.into()),
            ("rule_object_id", 0.into()),
        ]);
    }
    for entry in context.runtime.entries_of(context.database) {
        if let engine::Entry::Type(def) = &*entry {
            context.row(&type_row(def));
        }
    }
    Ok(())
}

/// The cells of a type of users in `sys.types`.
fn type_row(def: &engine::TypeDef) -> Vec<(&'static str, Cell)> {
    let sql_type = def.sql_type;
    let collation = sql_type.is_character().then(|| types::Collation::DEFAULT.name());
    let (system_type_id, max_length, precision) = match def.is_table() {
        true => (engine::TABLE_SYSTEM_TYPE_ID, -1, 0),
        false => (sql_type.system_type_id(), i32::from(sql_type.max_length()), sql_type.precision()),
    };
    vec![
        ("name", def.name.to_string().into()),
        ("system_type_id", i32::from(system_type_id).into()),
        ("user_type_id", def.user_type_id.into()),
        ("schema_id", def.schema_id.into()),
        ("max_length", max_length.into()),
        ("precision", i32::from(precision).into()),
        ("scale", if def.is_table() { 0 } else { i32::from(sql_type.scale()) }.into()),
        ("collation_name", collation.into()),
        ("is_nullable", def.nullable.into()),
        ("is_user_defined", true.into()),
        ("default_object_id", 0.into()),
        ("rule_object_id", 0.into()),
        ("is_table_type", def.is_table().into()),
    ]
}

fn table_types(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for entry in context.runtime.entries_of(context.database) {
        if let engine::Entry::Type(def) = &*entry
            && def.is_table()
        {
            let mut cells = type_row(def);
            cells.push(("type_table_object_id", def.table_object_id.into()));
            context.row(&cells);
        }
    }
    Ok(())
}

fn parameters(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for object in context.runtime.objects_of(context.database) {
        let ObjectDef::Module(module) = &object else {
            continue;
        };
        let result = module_result(context.database, module);
        let first = if result.is_some() { 0 } else { 1 };
        let parameters = module_parameters(context.database, module);
        for (index, parameter) in result.into_iter().chain(parameters).enumerate() {
            parameter_row(context, module.object_id, index as i32 + first, parameter);
        }
    }
    Ok(())
}

fn parameter_row(context: Context<'_, '_, '_>, object_id: i32, number: i32, parameter: ModuleParameter) {
    let sql_type = parameter.sql_type;
    let (system_type_id, max_length, precision) = match (parameter.is_table, parameter.is_cursor) {
        (true, _) => (engine::TABLE_SYSTEM_TYPE_ID, -1, 0),
        (_, true) => (0, 0, 0),
        _ => (sql_type.system_type_id(), i32::from(sql_type.max_length()), sql_type.precision()),
    };
    context.row(&[
        ("object_id", object_id.into()),
        ("name", parameter.name.into()),
        ("parameter_id", number.into()),
        ("system_type_id", i32::from(system_type_id).into()),
        ("user_type_id", parameter.user_type_id.into()),
        ("max_length", max_length.into()),
        ("precision", i32::from(precision).into()),
        (
            "scale",
            if parameter.is_table || parameter.is_cursor { 0 } else { i32::from(sql_type.scale()) }.into(),
        ),
        ("is_output", parameter.output.into()),
        ("is_cursor_ref", parameter.is_cursor.into()),
        ("xml_collection_id", 0.into()),
        ("is_readonly", parameter.is_table.into()),
        ("is_nullable", true.into()),
    ]);
}

/// Parameters of system procedures: from their text, or from their declared list if they have no text.
fn system_parameters(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for procedure in context.runtime.state.system_procedures() {
        let object_id = system_object_id("sys", procedure.name);
        let text = match procedure.definition {
            Some(definition) => definition.to_string(),
            None => format!("CREATE PROCEDURE sys.{} {} AS RETURN", procedure.name, procedure.parameters),
        };
        let options = tsql::ParseOptions { quoted_identifier: true };
        let batch = tsql::parse_batch(&text, &options)
            .unwrap_or_else(|errors| panic!("{}: {errors:?}", procedure.name));
        let declared = batch.statements.into_iter().find_map(|statement| match statement.kind {
            tsql::ast::StatementKind::CreateProcedure(created) => Some(created.parameters),
            _ => None,
        });
        for (index, parameter) in declared.into_iter().flatten().enumerate() {
            let known = typed(context.database, parameter.name, &parameter.data_type, parameter.output);
            if let Some(known) = known {
                parameter_row(context, object_id, index as i32 + 1, known);
            }
        }
    }
    Ok(())
}

/// A parameter of a procedure or function.
pub struct ModuleParameter {
    /// Its name with the leading `@`.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Number of its alias type, or of the type.
    pub user_type_id: i32,
    /// OUTPUT.
    pub output: bool,
    /// Its type is a table type; `sql_type` says nothing then.
    pub is_table: bool,
    /// It is a cursor; `sql_type` says nothing then.
    pub is_cursor: bool,
}

fn module_statement(module: &engine::ModuleDef) -> Option<tsql::ast::StatementKind> {
    plan_ir::stored::parse_module(module).ok()
}

fn typed(
    database: &engine::Database,
    name: String,
    written: &tsql::ast::DataType,
    output: bool,
) -> Option<ModuleParameter> {
    if written.name.name.is("cursor") {
        let (sql_type, user_type_id) = (SqlType::Int, 0);
        return Some(ModuleParameter {
            name,
            sql_type,
            user_type_id,
            output,
            is_table: false,
            is_cursor: true,
        });
    }
    if let Some(def) = plan_ir::data_type::table_type_now(written, database) {
        let (sql_type, user_type_id) = (def.sql_type, def.user_type_id);
        return Some(ModuleParameter {
            name,
            sql_type,
            user_type_id,
            output,
            is_table: true,
            is_cursor: false,
        });
    }
    let declared = plan_ir::data_type::declared_now(written, database).ok()?;
    let sql_type = declared.sql_type;
    let user_type_id = if declared.alias_id == 0 { sql_type.user_type_id() } else { declared.alias_id };
    Some(ModuleParameter { name, sql_type, user_type_id, output, is_table: false, is_cursor: false })
}

/// Parameters of a module from its text.
pub fn module_parameters(database: &engine::Database, module: &engine::ModuleDef) -> Vec<ModuleParameter> {
    use tsql::ast::StatementKind;
    let parameters = match module_statement(module) {
        Some(StatementKind::CreateProcedure(procedure)) => procedure.parameters,
        Some(StatementKind::CreateFunction(function)) => function.parameters,
        _ => Vec::new(),
    };
    let known = |parameter: tsql::ast::Parameter| {
        typed(database, parameter.name, &parameter.data_type, parameter.output)
    };
    parameters.into_iter().filter_map(known).collect()
}

/// The result of a scalar function: parameter 0, without a name.
pub(super) fn module_result(
    database: &engine::Database,
    module: &engine::ModuleDef,
) -> Option<ModuleParameter> {
    if module.kind != ModuleKind::ScalarFunction {
        return None;
    }
    let Some(tsql::ast::StatementKind::CreateFunction(function)) = module_statement(module) else {
        return None;
    };
    match &function.returns {
        tsql::ast::FunctionReturns::Scalar(data_type) => typed(database, String::new(), data_type, true),
        _ => None,
    }
}

fn sys_objects(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for object in context.runtime.objects_of(context.database) {
        let code = object.type_code();
        let date = Value::DateTime(object.create_date());
        // The low four bits of sysstat are the object kind; scripts test them.
        let kind = |code: &str| match code.trim() {
            "S" => 1,
            "V" => 2,
            "U" => 3,
            "P" => 4,
            "TR" => 8,
            "D" => 6,
            "C" => 7,
            _ => 0,
        };
        let mut emit = |id: i32, name: String, code: &str, parent: i32| {
            context.row(&[
                ("name", name.into()),
                ("id", id.into()),
                ("xtype", code.into()),
                ("type", if code == "PK" || code == "UQ" { "K " } else { code }.into()),
                ("uid", object.schema_id().into()),
                ("parent_obj", parent.into()),
                ("crdate", date.clone().into()),
                ("refdate", date.clone().into()),
                ("info", 0.into()),
                ("status", 0.into()),
                ("category", 0.into()),
                ("sysstat", kind(code).into()),
            ]);
        };
        emit(object.object_id(), object.name().to_string(), code, 0);
        if let ObjectDef::Table(table) = &object {
            for (id, name, code) in table.constraints() {
                emit(id, name.to_string(), code, table.object_id);
            }
        }
    }
    Ok(())
}

//! Catalog views of columns, indexes and constraints.

use engine::{IndexKind, ObjectDef, TableDef};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, SqlType, Value};

use super::objects::all_tables;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) const COLUMN_LIST: &str = "object_id int not null, name nvarchar(128), column_id int not null, system_type_id tinyint not null, \
     user_type_id int not null, max_length smallint not null, precision tinyint not null, scale tinyint not null, \
     collation_name nvarchar(128), is_nullable bit, is_ansi_padded bit, is_rowguidcol bit, is_identity bit, is_computed bit, \
     is_filestream bit, is_replicated bit, is_non_sql_subscribed bit, is_merge_published bit, is_dts_replicated bit, is_xml_document bit, \
     xml_collection_id int not null, default_object_id int not null, rule_object_id int not null, is_sparse bit, is_column_set bit, \
     generated_always_type tinyint, generated_always_type_desc nvarchar(60), encryption_type int, encryption_type_desc nvarchar(64), \
     encryption_algorithm_name nvarchar(128), column_encryption_key_id int, column_encryption_key_database_name nvarchar(128), \
     is_hidden bit, is_masked bit, graph_type int, graph_type_desc nvarchar(60), is_data_deletion_filter_column bit, \
     ledger_view_column_type tinyint, ledger_view_column_type_desc nvarchar(60), is_dropped_ledger_column bit";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new("columns", COLUMN_LIST, |context| columns(context, false)),
    SystemView::new("all_columns", COLUMN_LIST, |context| columns(context, true)),
    SystemView::new(
        "identity_columns",
        "object_id int not null, name nvarchar(128), column_id int not null, system_type_id tinyint not null, user_type_id int not null, \
         max_length smallint not null, precision tinyint not null, scale tinyint not null, collation_name nvarchar(128), is_nullable bit, \
         is_identity bit, is_computed bit, seed_value sql_variant, increment_value sql_variant, last_value sql_variant, \
         is_not_for_replication bit",
        identity_columns,
    ),
    SystemView::new(
        "computed_columns",
        "object_id int not null, name nvarchar(128), column_id int not null, system_type_id tinyint not null, user_type_id int not null, \
         max_length smallint not null, precision tinyint not null, scale tinyint not null, collation_name nvarchar(128), is_nullable bit, \
         is_identity bit, is_computed bit, definition nvarchar, uses_database_collation bit, is_persisted bit",
        computed_columns,
    ),
    SystemView::new(
        "indexes",
        "object_id int not null, name nvarchar(128), index_id int not null, type tinyint not null, type_desc nvarchar(60), is_unique bit, \
         data_space_id int, ignore_dup_key bit, is_primary_key bit, is_unique_constraint bit, fill_factor tinyint not null, is_padded bit, \
         is_disabled bit, is_hypothetical bit, is_ignored_in_optimization bit, allow_row_locks bit, allow_page_locks bit, has_filter bit, \
         filter_definition nvarchar, compression_delay int, suppress_dup_key_messages bit, auto_created bit, optimize_for_sequential_key bit",
        indexes,
    ),
    SystemView::new(
        "index_columns",
        "object_id int not null, index_id int not null, index_column_id int not null, column_id int not null, \
         key_ordinal tinyint not null, partition_ordinal tinyint not null, is_descending_key bit, is_included_column bit, \
         column_store_order_ordinal tinyint not null",
        index_columns,
    ),
    SystemView::new(
        "key_constraints",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, unique_index_id int, is_system_named bit, is_enforced bit",
        key_constraints,
    ),
    SystemView::new(
        "check_constraints",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, is_disabled bit, is_not_for_replication bit, is_not_trusted bit, parent_column_id int not null, \
         definition nvarchar, uses_database_collation bit, is_system_named bit",
        check_constraints,
    ),
    SystemView::new(
        "default_constraints",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, parent_column_id int not null, definition nvarchar, is_system_named bit",
        default_constraints,
    ),
    SystemView::new(
        "foreign_keys",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, referenced_object_id int, key_index_id int, is_disabled bit, is_not_for_replication bit, \
         is_not_trusted bit, delete_referential_action tinyint, delete_referential_action_desc nvarchar(60), \
         update_referential_action tinyint, update_referential_action_desc nvarchar(60), is_system_named bit",
        foreign_keys,
    ),
    SystemView::new(
        "foreign_key_columns",
        "constraint_object_id int not null, constraint_column_id int not null, parent_object_id int not null, parent_column_id int not null, \
         referenced_object_id int not null, referenced_column_id int not null",
        foreign_key_columns,
    ),
];

fn type_cells(sql_type: &SqlType, collation: types::Collation) -> Vec<(&'static str, Cell)> {
    vec![
        ("system_type_id", i32::from(sql_type.system_type_id()).into()),
        ("user_type_id", sql_type.user_type_id().into()),
        ("max_length", i32::from(sql_type.max_length()).into()),
        ("precision", i32::from(sql_type.precision()).into()),
        ("scale", i32::from(sql_type.scale()).into()),
        ("collation_name", sql_type.is_character().then(|| collation.name()).into()),
    ]
}

/// `user_type_id` of a column: its alias type's, or that of its type.
fn column_type_id(column: &engine::ColumnDef) -> i32 {
    if column.user_type_id == 0 { column.sql_type.user_type_id() } else { column.user_type_id }
}

fn column_cells(table: &TableDef, ordinal: usize) -> Vec<(&'static str, Cell)> {
    let column = &table.columns[ordinal];
    let mut cells = type_cells(&column.sql_type, column.collation);
    cells.extend([
        ("object_id", Cell::from(table.object_id)),
        ("user_type_id", column_type_id(column).into()),
        ("name", column.name.to_string().into()),
        ("column_id", column.column_id.into()),
        ("is_nullable", column.nullable.into()),
        ("is_identity", column.identity.is_some().into()),
        ("is_computed", column.computed.is_some().into()),
    ]);
    cells
}

fn columns(context: Context<'_, '_, '_>, system: bool) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for (ordinal, column) in table.columns.iter().enumerate() {
            let mut cells = column_cells(&table, ordinal);
            cells.extend([
                ("is_ansi_padded", Cell::from(column.sql_type.is_character())),
                ("is_rowguidcol", column.is_rowguidcol.into()),
                ("xml_collection_id", 0.into()),
                ("default_object_id", column.default.as_ref().map_or(0, |default| default.object_id).into()),
                ("rule_object_id", 0.into()),
                ("generated_always_type", 0.into()),
                ("generated_always_type_desc", "NOT_APPLICABLE".into()),
            ]);
            context.row(&cells);
        }
    }
    type_columns(context);
    view_columns(context)?;
    if system {
        for view in context.runtime.front_end.views().into_iter().filter(|view| !view.schema.ends_with("dbo"))
        {
            for (index, column) in view.columns.iter().enumerate() {
                let mut cells = type_cells(&column.sql_type, types::Collation::default());
                cells.extend([
                    ("object_id", Cell::from(view.object_id())),
                    ("name", column.name.as_str().into()),
                    ("column_id", (index as i32 + 1).into()),
                    ("is_nullable", column.nullable.into()),
                    ("xml_collection_id", 0.into()),
                    ("default_object_id", 0.into()),
                    ("rule_object_id", 0.into()),
                ]);
                context.row(&cells);
            }
        }
    }
    Ok(())
}

/// Columns of table types.
fn type_columns(context: Context<'_, '_, '_>) {
    for (object_id, columns) in super::type_columns::of_types(context) {
        for (index, column) in columns.iter().enumerate() {
            let mut cells = type_cells(&column.sql_type, types::Collation::default());
            cells.extend([
                ("object_id", Cell::from(object_id)),
                ("user_type_id", column.user_type_id.into()),
                ("name", column.name.as_str().into()),
                ("column_id", (index as i32 + 1).into()),
                ("is_nullable", column.nullable.into()),
                ("is_identity", column.is_identity.into()),
                ("is_computed", column.is_computed.into()),
                ("is_ansi_padded", column.sql_type.is_character().into()),
                ("is_rowguidcol", column.is_rowguidcol.into()),
                ("xml_collection_id", 0.into()),
                ("default_object_id", 0.into()),
                ("rule_object_id", 0.into()),
                ("generated_always_type", 0.into()),
                ("generated_always_type_desc", "NOT_APPLICABLE".into()),
            ]);
            context.row(&cells);
        }
    }
}

/// Columns of the database's views, which are bound again; a view that no longer binds has none.
fn view_columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for (object_id, columns) in super::dependencies::bound_views(context.runtime, context.database) {
        for (index, column) in columns.iter().enumerate() {
            let mut cells = view_column_cells(object_id, index, column);
            cells.extend([
                ("xml_collection_id", Cell::from(0)),
                ("default_object_id", 0.into()),
                ("rule_object_id", 0.into()),
            ]);
            context.row(&cells);
        }
    }
    Ok(())
}

fn view_column_cells(
    view: engine::ObjectId,
    index: usize,
    column: &plan_ir::view_shape::ViewColumn,
) -> Vec<(&'static str, Cell)> {
    let mut cells = type_cells(&column.sql_type, types::Collation::default());
    cells.extend([
        ("object_id", Cell::from(view)),
        ("name", column.name.as_str().into()),
        ("column_id", (index as i32 + 1).into()),
        ("is_nullable", column.nullable.into()),
        ("is_identity", column.identity.into()),
    ]);
    cells
}

fn identity_columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        let Some(ordinal) = table.identity_ordinal() else {
            continue;
        };
        let identity = table.columns[ordinal].identity.expect("found by its identity");
        // In the type of the column.
        let variant = |number: i128| {
            let value = engine::identity_value(number, &table.columns[ordinal].sql_type);
            plan_ir::values::variant(
                value.unwrap_or_else(|_| Value::Decimal(types::Decimal::new(number, 38, 0))),
            )
        };
        let last = context.database.table(&table).last_identity();
        let mut cells = column_cells(&table, ordinal);
        cells.extend([
            ("is_not_for_replication", Cell::from(identity.is_not_for_replication)),
            ("seed_value", variant(identity.seed).into()),
            ("increment_value", variant(identity.increment).into()),
            ("last_value", last.map(variant).into()),
        ]);
        context.row(&cells);
    }
    // A view's column over an identity column is listed as well, without seed and increment.
    for (object_id, columns) in super::dependencies::bound_views(context.runtime, context.database) {
        for (index, column) in columns.iter().enumerate().filter(|(_, column)| column.identity) {
            context.row(&view_column_cells(object_id, index, column));
        }
    }
    Ok(())
}

fn computed_columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for (ordinal, column) in table.columns.iter().enumerate() {
            if let Some(computed) = &column.computed {
                let mut cells = column_cells(&table, ordinal);
                cells.extend([
                    ("definition", Cell::from(computed.text.to_string())),
                    ("is_persisted", computed.persisted.into()),
                ]);
                context.row(&cells);
            }
        }
    }
    Ok(())
}

fn indexes(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for index in &table.indexes {
            let settings = index.settings;
            let (number, name) = match index.kind {
                IndexKind::Heap => (0, "HEAP"),
                IndexKind::Clustered => (1, "CLUSTERED"),
                IndexKind::Nonclustered => (2, "NONCLUSTERED"),
            };
            context.row(&[
                ("object_id", table.object_id.into()),
                ("name", index.name.as_ref().map(|name| name.to_string()).into()),
                ("index_id", index.index_id.into()),
                ("type", number.into()),
                ("type_desc", name.into()),
                ("is_unique", index.unique.into()),
                ("data_space_id", 1.into()),
                ("is_primary_key", index.primary_key.into()),
                ("is_unique_constraint", index.unique_constraint.into()),
                ("fill_factor", i32::from(settings.fill_factor).into()),
                ("is_padded", settings.is_padded.into()),
                ("is_disabled", index.is_disabled.into()),
                ("allow_row_locks", settings.allow_row_locks.into()),
                ("allow_page_locks", settings.allow_page_locks.into()),
                ("ignore_dup_key", settings.ignore_dup_key.into()),
                ("suppress_dup_key_messages", settings.suppress_dup_key_messages.into()),
                ("optimize_for_sequential_key", settings.optimize_for_sequential_key.into()),
                ("has_filter", index.filter.is_some().into()),
                ("filter_definition", index.filter.as_ref().map(|filter| filter.text.to_string()).into()),
            ]);
        }
    }
    Ok(())
}

fn index_columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for index in &table.indexes {
            let keys = index
                .key
                .iter()
                .enumerate()
                .map(|(position, key)| (key.ordinal, position as i32 + 1, key.descending, false));
            let included = index.included.iter().map(|ordinal| (*ordinal, 0, false, true));
            for (position, (ordinal, key_ordinal, descending, is_included)) in
                keys.chain(included).enumerate()
            {
                context.row(&[
                    ("object_id", table.object_id.into()),
                    ("index_id", index.index_id.into()),
                    ("index_column_id", (position as i32 + 1).into()),
                    ("column_id", table.columns[ordinal].column_id.into()),
                    ("key_ordinal", key_ordinal.into()),
                    ("partition_ordinal", 0.into()),
                    ("is_descending_key", descending.into()),
                    ("is_included_column", is_included.into()),
                    ("column_store_order_ordinal", 0.into()),
                ]);
            }
        }
    }
    Ok(())
}

fn constraint_cells(
    table: &TableDef,
    object_id: i32,
    name: &str,
    code: &str,
    description: &str,
) -> Vec<(&'static str, Cell)> {
    vec![
        ("name", name.into()),
        ("object_id", object_id.into()),
        ("schema_id", table.schema_id.into()),
        ("parent_object_id", table.object_id.into()),
        ("type", code.into()),
        ("type_desc", description.into()),
        ("create_date", Value::DateTime(table.create_date).into()),
        ("modify_date", Value::DateTime(table.modify_date).into()),
    ]
}

fn key_constraints(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for index in table.indexes.iter().filter(|index| index.constraint_id != 0) {
            let (code, description) = if index.primary_key {
                ("PK", "PRIMARY_KEY_CONSTRAINT")
            } else {
                ("UQ", "UNIQUE_CONSTRAINT")
            };
            let name = index.name.as_deref().unwrap_or("");
            let mut cells = constraint_cells(&table, index.constraint_id, name, code, description);
            cells.extend([
                ("unique_index_id", Cell::from(index.index_id)),
                ("is_system_named", index.is_system_named.into()),
                ("is_enforced", true.into()),
            ]);
            context.row(&cells);
        }
    }
    Ok(())
}

fn check_constraints(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for check in &table.checks {
            let mut cells = constraint_cells(&table, check.object_id, &check.name, "C ", "CHECK_CONSTRAINT");
            cells.extend([
                ("parent_column_id", Cell::from(0)),
                ("definition", check.text.to_string().into()),
                ("is_system_named", check.is_system_named.into()),
                ("is_disabled", check.state.is_disabled.into()),
                ("is_not_trusted", check.state.is_not_trusted.into()),
                ("is_not_for_replication", check.state.is_not_for_replication.into()),
            ]);
            context.row(&cells);
        }
    }
    Ok(())
}

fn default_constraints(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for column in &table.columns {
            if let Some(default) = &column.default {
                let mut cells =
                    constraint_cells(&table, default.object_id, &default.name, "D ", "DEFAULT_CONSTRAINT");
                cells.extend([
                    ("parent_column_id", Cell::from(column.column_id)),
                    ("definition", default.text.to_string().into()),
                    ("is_system_named", default.is_system_named.into()),
                ]);
                context.row(&cells);
            }
        }
    }
    Ok(())
}

fn action_name(action: u8) -> &'static str {
    match action {
        1 => "CASCADE",
        2 => "SET_NULL",
        3 => "SET_DEFAULT",
        _ => "NO_ACTION",
    }
}

/// Number of the index in the referenced table by which the key finds its rows.
fn referenced_index(context: Context<'_, '_, '_>, key: &engine::ForeignKeyDef) -> i32 {
    match context.database.catalog().object(key.referenced_object_id) {
        Some(ObjectDef::Table(table)) => table.referenced_index(key).map_or(0, |index| index.index_id),
        _ => 0,
    }
}

fn foreign_keys(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for key in &table.foreign_keys {
            let mut cells =
                constraint_cells(&table, key.object_id, &key.name, "F ", "FOREIGN_KEY_CONSTRAINT");
            cells.extend([
                ("referenced_object_id", Cell::from(key.referenced_object_id)),
                ("key_index_id", referenced_index(context, key).into()),
                ("delete_referential_action", i32::from(key.delete_action).into()),
                ("delete_referential_action_desc", action_name(key.delete_action).into()),
                ("update_referential_action", i32::from(key.update_action).into()),
                ("update_referential_action_desc", action_name(key.update_action).into()),
                ("is_system_named", key.is_system_named.into()),
                ("is_disabled", key.state.is_disabled.into()),
                ("is_not_trusted", key.state.is_not_trusted.into()),
                ("is_not_for_replication", key.state.is_not_for_replication.into()),
            ]);
            context.row(&cells);
        }
    }
    Ok(())
}

fn foreign_key_columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        for key in &table.foreign_keys {
            for (position, (column, referenced)) in
                key.column_ids.iter().zip(&key.referenced_column_ids).enumerate()
            {
                context.row(&[
                    ("constraint_object_id", key.object_id.into()),
                    ("constraint_column_id", (position as i32 + 1).into()),
                    ("parent_object_id", table.object_id.into()),
                    ("parent_column_id", (*column).into()),
                    ("referenced_object_id", key.referenced_object_id.into()),
                    ("referenced_column_id", (*referenced).into()),
                ]);
            }
        }
    }
    Ok(())
}

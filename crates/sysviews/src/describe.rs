//! `sys.dm_exec_describe_first_result_set`: the columns of a text's first result set, with the wire types for sp_describe_first_result_set.

use plan_ir::context::{BindContext, ColumnDescription};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, SqlType, Value};

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[SystemView::new(
    "dm_exec_describe_first_result_set",
    "is_hidden bit, column_ordinal int, name nvarchar(128), is_nullable bit, system_type_id int, system_type_name nvarchar(256), \
     max_length smallint, precision tinyint, scale tinyint, collation_name nvarchar(128), user_type_id int, \
     user_type_database nvarchar(128), user_type_schema nvarchar(128), user_type_name nvarchar(128), \
     assembly_qualified_type_name nvarchar(4000), xml_collection_id int, xml_collection_database nvarchar(128), \
     xml_collection_schema nvarchar(128), xml_collection_name nvarchar(128), is_xml_document bit, is_case_sensitive bit, \
     is_fixed_length_clr_type bit, source_server nvarchar(128), source_database nvarchar(128), source_schema nvarchar(128), \
     source_table nvarchar(128), source_column nvarchar(128), is_identity_column bit, is_part_of_unique_key bit, is_updateable bit, \
     is_computed_column bit, is_sparse_column_set bit, ordinal_in_order_by_list smallint, order_by_list_length smallint, \
     order_by_is_descending smallint, tds_type_id int, tds_length int, tds_collation_id int, tds_collation_sort_id tinyint, \
     error_number int, error_severity int, error_state int, error_message nvarchar(4096), error_type int, error_type_desc nvarchar(60)",
    describe,
)
.with_parameters(3)];

/// A text without a result set has no rows; one that cannot be bound has one row with the error.
fn describe(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let text = context.arguments.first().and_then(Value::as_text).unwrap_or_default();
    let parameters = context.arguments.get(1).and_then(Value::as_text).unwrap_or_default();
    let declared = context.runtime.look_up(|lookup| {
        context.runtime.front_end.declared_parameters(&parameters, context.database, lookup)
    });
    let found = declared.and_then(|variables| {
        context.runtime.look_up(|lookup| {
            let bind = BindContext {
                instance: context.runtime.instance,
                database: context.database,
                default_schema: "dbo",
                variables: &variables,
                options: context.runtime.options,
                names: context.runtime.names,
                lookup,
                undeclared: None,
                missing: None,
                in_function: false,
                trigger: None,
            };
            context.runtime.front_end.first_result_set(&text, &bind)
        })
    });
    match found {
        Ok(columns) => {
            for (at, column) in columns.unwrap_or_default().iter().enumerate() {
                let cells = column_cells(at, column);
                context.row(&cells);
            }
        }
        Err(error) => context.row(&[
            ("error_number", error.number.into()),
            ("error_severity", i32::from(error.severity).into()),
            ("error_state", i32::from(error.state).into()),
            ("error_message", error.message.as_str().into()),
            ("error_type", if error.severity == 15 { 2 } else { 1 }.into()),
            ("error_type_desc", if error.severity == 15 { "SYNTAX" } else { "MISC" }.into()),
        ]),
    }
    Ok(())
}

fn column_cells(at: usize, column: &ColumnDescription) -> Vec<(&'static str, Cell)> {
    let sql_type = column.sql_type;
    let base = sql_type.base();
    let is_text = sql_type.is_character();
    let (tds_type, tds_length) = tds_type(&base, column.nullable);
    let collation = is_text.then(|| types::Collation::DEFAULT.tds_bytes());
    vec![
        ("column_ordinal", (at as i32 + 1).into()),
        ("name", (!column.name.is_empty()).then(|| column.name.clone()).into()),
        ("is_nullable", column.nullable.into()),
        ("system_type_id", i32::from(sql_type.system_type_id()).into()),
        ("system_type_name", base.to_string().into()),
        ("max_length", i32::from(sql_type.max_length()).into()),
        ("precision", i32::from(sql_type.precision()).into()),
        ("scale", i32::from(sql_type.scale()).into()),
        ("collation_name", is_text.then(|| types::Collation::DEFAULT.name()).into()),
        ("is_identity_column", column.identity.into()),
        ("is_updateable", column.updatable.into()),
        ("is_computed_column", column.computed.into()),
        ("tds_type_id", tds_type.into()),
        ("tds_length", tds_length.into()),
        ("tds_collation_id", collation.map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).into()),
        ("tds_collation_sort_id", collation.map(|b| i32::from(b[4])).into()),
    ]
}

/// Type and length on the wire: fixed forms for what cannot be NULL.
pub fn tds_type(sql_type: &SqlType, nullable: bool) -> (i32, i32) {
    let bytes = i32::from(sql_type.max_length());
    let limited = if bytes < 0 { 65535 } else { bytes };
    let pick = |fixed: i32, variable: i32| (if nullable { variable } else { fixed }, bytes);
    match sql_type {
        SqlType::Bit => pick(50, 104),
        SqlType::TinyInt => pick(48, 38),
        SqlType::SmallInt => pick(52, 38),
        SqlType::Int => pick(56, 38),
        SqlType::BigInt => pick(127, 38),
        SqlType::Real => pick(59, 109),
        SqlType::Float => pick(62, 109),
        SqlType::Money => pick(60, 110),
        SqlType::SmallMoney => pick(122, 110),
        SqlType::DateTime => pick(61, 111),
        SqlType::SmallDateTime => pick(58, 111),
        SqlType::Decimal { .. } => (106, 17),
        SqlType::Numeric { .. } => (108, 17),
        SqlType::Char(_) => (175, bytes),
        SqlType::VarChar(_) => (167, limited),
        SqlType::NChar(_) => (239, bytes),
        SqlType::NVarChar(_) | SqlType::SysName => (231, limited),
        SqlType::Binary(_) | SqlType::RowVersion => (173, bytes),
        SqlType::VarBinary(_) => (165, limited),
        SqlType::Text => (35, i32::MAX),
        SqlType::NText => (99, i32::MAX - 1),
        SqlType::Image => (34, i32::MAX),
        SqlType::Xml => (241, 65535),
        SqlType::SqlVariant => (98, 8009),
        SqlType::UniqueIdentifier => (36, 16),
        SqlType::Date => (40, 3),
        SqlType::Time(_) => (41, bytes),
        SqlType::DateTime2(_) => (42, bytes),
        SqlType::DateTimeOffset(_) => (43, bytes),
    }
}

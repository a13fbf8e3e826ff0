//! sp_describe_first_result_set, which raises errors or returns the rows of the equivalent function; sp_describe_undeclared_parameters.

use query::VariableDef;
use types::{SqlError, SqlType, Value};

use super::arguments::{int_argument, text_argument};
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

const COLUMNS: &str = "is_hidden, column_ordinal, name, is_nullable, system_type_id, system_type_name, max_length, [precision], scale, \
    collation_name, user_type_id, user_type_database, user_type_schema, user_type_name, assembly_qualified_type_name, xml_collection_id, \
    xml_collection_database, xml_collection_schema, xml_collection_name, is_xml_document, is_case_sensitive, is_fixed_length_clr_type, \
    source_server, source_database, source_schema, source_table, source_column, is_identity_column, is_part_of_unique_key, is_updateable, \
    is_computed_column, is_sparse_column_set, ordinal_in_order_by_list, order_by_list_length, order_by_is_descending, tds_type_id, \
    tds_length, tds_collation_id, tds_collation_sort_id";

/// `sp_describe_first_result_set @tsql [, @params [, @browse_information_mode]]`
pub(super) fn sp_describe_first_result_set(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let Some(text) = text_argument(&arguments, 0, "@tsql") else {
        return Err(SqlError::new(201, &[&"sp_describe_first_result_set", &"@tsql"]).into());
    };
    let parameters = text_argument(&arguments, 1, "@params").unwrap_or_default();
    let mode = int_argument(&arguments, 2, "@browse_information_mode")?.unwrap_or(0);
    if !(0..=2).contains(&mode) {
        return Err(SqlError::new(15600, &[&"sp_describe_first_result_set"]).into());
    }
    let declared =
        query::describe::declared_parameters(&parameters, &session.database, session.types_in().1)?;
    query::describe::first_result_set(&text, &context_of(session, &declared))?;
    let wide = |value: &str| Value::nvarchar(value);
    let statement = format!(
        "SELECT {COLUMNS} FROM sys.dm_exec_describe_first_result_set(@tsql, @params, 0) ORDER BY column_ordinal"
    );
    let named = |name: &str| VariableDef { name: name.to_string(), sql_type: SqlType::NVARCHAR_MAX };
    session.run_text(
        &statement,
        &[named("@tsql"), named("@params")],
        vec![wide(&text), wide(&parameters)],
        sink,
    )?;
    Ok(CallResult::default())
}

fn context_of<'a>(session: &'a Session, declared: &'a [VariableDef]) -> query::BindContext<'a> {
    query::BindContext {
        instance: &session.instance,
        database: &session.database,
        default_schema: "dbo",
        variables: declared,
        options: &session.options,
        names: &session.names,
        lookup: engine::Lookup::new(&session.transactions),
        undeclared: None,
        missing: None,
        in_function: false,
        trigger: None,
    }
}

/// Columns of sp_describe_undeclared_parameters over its internal rows. Columns about CLR types and XML schema collections are NULL or 0, as
/// there are none; alias types are shown as their base types.
const PARAMETER_COLUMNS: &str = "parameter_ordinal = CAST(p.ordinal AS int), name = CAST(p.name AS sysname), \
    suggested_system_type_id = CAST(p.type_id AS int), suggested_system_type_name = CAST(p.type_name AS nvarchar(256)), \
    suggested_max_length = CAST(p.max_length AS smallint), suggested_precision = CAST(p.type_precision AS tinyint), \
    suggested_scale = CAST(p.type_scale AS tinyint), suggested_user_type_id = CAST(NULL AS int), \
    suggested_user_type_database = CAST(NULL AS sysname), suggested_user_type_schema = CAST(NULL AS sysname), \
    suggested_user_type_name = CAST(NULL AS sysname), suggested_assembly_qualified_type_name = CAST(NULL AS nvarchar(4000)), \
    suggested_xml_collection_id = CAST(NULL AS int), suggested_xml_collection_database = CAST(NULL AS sysname), \
    suggested_xml_collection_schema = CAST(NULL AS sysname), suggested_xml_collection_name = CAST(NULL AS sysname), \
    suggested_is_xml_document = CAST(0 AS bit), suggested_is_case_sensitive = CAST(0 AS bit), \
    suggested_is_fixed_length_clr_type = CAST(0 AS bit), suggested_is_input = CAST(1 AS bit), suggested_is_output = CAST(p.is_output AS bit), \
    formal_parameter_name = CAST(p.formal AS sysname), suggested_tds_type_id = CAST(p.tds_type AS int), \
    suggested_tds_length = CAST(p.tds_length AS int)";

/// `sp_describe_undeclared_parameters @tsql [, @params]`
pub(super) fn sp_describe_undeclared_parameters(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let Some(text) = text_argument(&arguments, 0, "@tsql") else {
        return Err(SqlError::new(201, &[&"sp_describe_undeclared_parameters", &"@tsql"]).into());
    };
    let parameters = text_argument(&arguments, 1, "@params").unwrap_or_default();
    let declared =
        query::describe::declared_parameters(&parameters, &session.database, session.types_in().1)?;
    let found = query::describe::undeclared_parameters(&text, &context_of(session, &declared))?;
    let quoted = |name: &str| format!("N'{}'", name.replace('\'', "''"));
    let row = |(at, parameter): (usize, &std::sync::Arc<query::Undeclared>)| {
        let sql_type = parameter.sql_type().expect("`finish` gives none without a type").base();
        let (tds_type, tds_length) = query::describe::tds_type_of(&sql_type);
        let (formal, is_output) = match parameter.formal() {
            Some((name, is_output)) => (quoted(name), i32::from(is_output)),
            None => ("CAST(NULL AS sysname)".to_string(), 0),
        };
        format!(
            "({}, {}, {}, N'{sql_type}', {}, {}, {}, {is_output}, {formal}, {tds_type}, {tds_length})",
            at + 1,
            quoted(parameter.name()),
            sql_type.system_type_id(),
            sql_type.max_length(),
            sql_type.precision(),
            sql_type.scale(),
        )
    };
    let mut rows: Vec<String> = found.iter().enumerate().map(row).collect();
    let wanted = rows.len();
    // Without parameters the result has all its columns, but no row.
    rows.push("(0, N'', 0, N'', 0, 0, 0, 0, CAST(NULL AS sysname), 0, 0)".to_string());
    let statement = format!(
        "SELECT {PARAMETER_COLUMNS} FROM (VALUES {}) AS p(ordinal, name, type_id, type_name, max_length, type_precision, type_scale, \
         is_output, formal, tds_type, tds_length) WHERE p.ordinal BETWEEN 1 AND {wanted} ORDER BY p.ordinal",
        rows.join(", ")
    );
    session.run_text(&statement, &[], Vec::new(), sink)?;
    Ok(CallResult::default())
}

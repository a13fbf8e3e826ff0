//! sp_describe_first_result_set: errors as errors, then the rows of the function of that purpose.

use query::VariableDef;
use types::{SqlError, SqlType, Value};

use super::{int_argument, text_argument};
use crate::execute::{Argument, CallResult};
use crate::run::Interruption;
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
    let context = query::BindContext {
        instance: &session.instance,
        database: &session.database,
        default_schema: "dbo",
        variables: &declared,
        options: &session.options,
        names: &session.names,
        lookup: engine::Lookup::new(&session.transactions),
    };
    query::describe::first_result_set(&text, &context)?;
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

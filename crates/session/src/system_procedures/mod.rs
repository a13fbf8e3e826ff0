//! The catalog of system procedures: those in Rust by name and parameters (`procs` implements them), those in T-SQL
//! with their texts.

mod msdb;

use std::sync::LazyLock;

/// Those in Rust, with their parameters.
pub(crate) const NATIVE: &[(&str, &str)] = &[
    ("sp_executesql", ""),
    ("sp_prepare", "@handle int OUTPUT, @params ntext, @stmt ntext, @options int"),
    ("sp_execute", "@handle int"),
    ("sp_prepexec", "@handle int OUTPUT, @params ntext, @stmt ntext"),
    ("sp_prepexecrpc", "@handle int OUTPUT, @rpccall ntext"),
    ("sp_unprepare", "@handle int"),
    ("sp_cursor", "@cursor int, @optype int, @rownum int, @table nvarchar(1035)"),
    (
        "sp_cursoropen",
        "@cursor int OUTPUT, @stmt ntext, @scrollopt int OUTPUT, @ccopt int OUTPUT, @rows int OUTPUT, @paramdef ntext",
    ),
    (
        "sp_cursorprepare",
        "@handle int OUTPUT, @params ntext, @stmt ntext, @options int, @scrollopt int OUTPUT, @ccopt int OUTPUT",
    ),
    (
        "sp_cursorexecute",
        "@handle int, @cursor int OUTPUT, @scrollopt int OUTPUT, @ccopt int OUTPUT, @rows int OUTPUT",
    ),
    (
        "sp_cursorprepexec",
        "@handle int OUTPUT, @cursor int OUTPUT, @params ntext, @stmt ntext, @scrollopt int OUTPUT, @ccopt int OUTPUT, @rows int OUTPUT",
    ),
    ("sp_cursorunprepare", "@handle int"),
    ("sp_cursorfetch", "@cursor int, @fetchtype int, @rownum int OUTPUT, @nrows int OUTPUT"),
    ("sp_cursoroption", "@cursor int, @code int, @value int OUTPUT"),
    ("sp_cursorclose", "@cursor int"),
    ("sp_cursor_list", "@cursor_return int OUTPUT, @cursor_scope int"),
    (
        "sp_describe_cursor",
        "@cursor_return int OUTPUT, @cursor_source nvarchar(30), @cursor_identity nvarchar(128)",
    ),
    (
        "sp_describe_cursor_columns",
        "@cursor_return int OUTPUT, @cursor_source nvarchar(30), @cursor_identity nvarchar(128)",
    ),
    (
        "sp_describe_cursor_tables",
        "@cursor_return int OUTPUT, @cursor_source nvarchar(30), @cursor_identity nvarchar(128)",
    ),
    ("sp_flush_log", ""),
    ("sp_log_doctor", "@seconds int"),
    ("sp_reset_connection", ""),
    ("sp_set_session_context", "@key sysname, @value sql_variant, @read_only bit"),
    ("sp_rename", "@objname nvarchar(1035), @newname sysname, @objtype varchar(13)"),
    (
        "sp_addextendedproperty",
        "@name sysname, @value sql_variant, @level0type varchar(128), @level0name sysname, @level1type varchar(128), @level1name sysname, @level2type varchar(128), @level2name sysname",
    ),
    (
        "sp_updateextendedproperty",
        "@name sysname, @value sql_variant, @level0type varchar(128), @level0name sysname, @level1type varchar(128), @level1name sysname, @level2type varchar(128), @level2name sysname",
    ),
    (
        "sp_dropextendedproperty",
        "@name sysname, @level0type varchar(128), @level0name sysname, @level1type varchar(128), @level1name sysname, @level2type varchar(128), @level2name sysname",
    ),
    ("sp_recompile", "@objname nvarchar(776)"),
    ("sp_refreshview", "@viewname nvarchar(776)"),
    ("sp_refreshsqlmodule", "@name nvarchar(776), @namespace nvarchar(20)"),
    ("sp_tableoption", "@TableNamePattern nvarchar(776), @OptionName varchar(35), @OptionValue varchar(12)"),
    ("sp_configure", "@configname varchar(35), @configvalue int"),
    (
        "sp_addmessage",
        "@msgnum int, @severity smallint, @msgtext nvarchar(255), @lang sysname, @with_log varchar(5), @replace varchar(7)",
    ),
    ("sp_altermessage", "@message_id int, @parameter sysname, @parameter_value varchar(5)"),
    ("sp_dropmessage", "@msgnum int, @lang sysname"),
    (
        "sp_describe_first_result_set",
        "@tsql nvarchar(max), @params nvarchar(max), @browse_information_mode tinyint",
    ),
    ("sp_describe_undeclared_parameters", "@tsql nvarchar(max), @params nvarchar(max)"),
    (
        "sp_getapplock",
        "@Resource nvarchar(255), @LockMode varchar(32), @LockOwner varchar(32), @LockTimeout int, @DbPrincipal sysname",
    ),
    ("sp_releaseapplock", "@Resource nvarchar(255), @LockOwner varchar(32), @DbPrincipal sysname"),
    ("sp_autostats", "@tblname nvarchar(776), @flagc varchar(10), @indname sysname"),
    (
        "sp_sequence_get_range",
        "@sequence_name nvarchar(776), @range_size bigint, @range_first_value sql_variant OUTPUT, @range_last_value sql_variant OUTPUT, @range_cycle_count int OUTPUT, @sequence_increment sql_variant OUTPUT, @sequence_min_value sql_variant OUTPUT, @sequence_max_value sql_variant OUTPUT",
    ),
    (
        "sp_settriggerorder",
        "@triggername nvarchar(517), @order varchar(10), @stmttype varchar(50), @namespace varchar(10)",
    ),
    ("sp_xml_preparedocument", "@hdoc int OUTPUT, @xmltext ntext, @xpath_namespaces ntext"),
    ("sp_xml_removedocument", "@hdoc int"),
];

/// Extended procedures in SQL Server, which have no text there either.
const EXTENDED: &[&str] = &[
    "sp_executesql",
    "sp_prepare",
    "sp_execute",
    "sp_prepexec",
    "sp_prepexecrpc",
    "sp_unprepare",
    "sp_cursor",
    "sp_cursoropen",
    "sp_cursorprepare",
    "sp_cursorexecute",
    "sp_cursorprepexec",
    "sp_cursorunprepare",
    "sp_cursorfetch",
    "sp_cursoroption",
    "sp_cursorclose",
    "sp_getapplock",
    "sp_reset_connection",
    "sp_set_session_context",
    "sp_describe_first_result_set",
    "sp_describe_undeclared_parameters",
];

/// All of them, as the catalog views show them: name, type, text.
pub(crate) fn listed() -> Vec<query::SystemProcedure> {
    let native = NATIVE.iter().map(|(name, parameters)| query::SystemProcedure {
        name,
        parameters,
        type_code: if EXTENDED.contains(name) { "X " } else { "P " },
        definition: None,
    });
    let in_sql = texts().map(|(name, text)| query::SystemProcedure {
        name,
        parameters: "",
        type_code: "P ",
        definition: Some(text),
    });
    native.chain(in_sql).collect()
}

/// The source of the procedure of that lower-case name, if it is one of those in T-SQL.
pub(crate) fn in_sql(name: &str) -> Option<&'static str> {
    let of_name = |wanted: &str| texts().find(|(known, _)| *known == wanted).map(|(_, text)| text);
    let without_version = || name.strip_suffix("_100").or_else(|| name.strip_suffix("_90"));
    of_name(name).or_else(|| without_version().and_then(of_name))
}

/// The source of the procedure of that lower-case name, if it is one of msdb's own.
pub(crate) fn in_msdb(name: &str) -> Option<&'static str> {
    let at = msdb::IN_MSDB.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(msdb::IN_MSDB[at].1)
}

/// Name and text of all in T-SQL.
fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let versions = VERSIONS.iter().map(|(name, text)| (*name, text.as_str()));
    IN_SQL.iter().copied().chain(versions)
}

/// Procedures whose results have more columns in later ODBC versions: one text for all versions, see [`version_of`].
static VERSIONS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let columns = include_str!("sql/sp_columns.sql");
    let parameters = include_str!("sql/sp_sproc_columns.sql");
    [
        ("sp_columns", "80", columns),
        ("sp_columns_90", "90", columns),
        ("sp_columns_100", "100", columns),
        ("sp_sproc_columns", "80", parameters),
        ("sp_sproc_columns_100", "100", parameters),
    ]
    .map(|(name, version, text)| (name, version_of(text, name, version)))
    .into()
});

/// The text of one version: `{name}` is its name; a line that begins with `[90,100]` is in those versions only.
fn version_of(text: &str, name: &str, version: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        let (is_in, line) = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((versions, rest)) => (versions.split(',').any(|one| one == version), rest),
            None => (true, line),
        };
        if is_in {
            kept.push_str(&line.replace("{name}", name));
            kept.push('\n');
        }
    }
    kept
}

const IN_SQL: &[(&str, &str)] = &[
    ("sp_datatype_info", include_str!("sql/sp_datatype_info.sql")),
    ("sp_tables", include_str!("sql/sp_tables.sql")),
    ("sp_pkeys", include_str!("sql/sp_pkeys.sql")),
    ("sp_fkeys", include_str!("sql/sp_fkeys.sql")),
    ("sp_statistics", include_str!("sql/sp_statistics.sql")),
    ("sp_special_columns", include_str!("sql/sp_special_columns.sql")),
    ("sp_stored_procedures", include_str!("sql/sp_stored_procedures.sql")),
    ("sp_table_privileges", include_str!("sql/sp_table_privileges.sql")),
    ("sp_column_privileges", include_str!("sql/sp_column_privileges.sql")),
    ("sp_table_type_columns_100", include_str!("sql/sp_table_type_columns_100.sql")),
    ("sp_tablecollations", include_str!("sql/sp_tablecollations.sql")),
    ("sp_databases", include_str!("sql/sp_databases.sql")),
    ("sp_help", include_str!("sql/sp_help.sql")),
    ("sp_helptext", include_str!("sql/sp_helptext.sql")),
    ("sp_helptrigger", include_str!("sql/sp_helptrigger.sql")),
    ("sp_helpindex", include_str!("sql/sp_helpindex.sql")),
    ("sp_helpstats", include_str!("sql/sp_helpstats.sql")),
    ("sp_updatestats", include_str!("sql/sp_updatestats.sql")),
    ("sp_createstats", include_str!("sql/sp_createstats.sql")),
    ("sp_helpconstraint", include_str!("sql/sp_helpconstraint.sql")),
    ("sp_helpdb", include_str!("sql/sp_helpdb.sql")),
    ("sp_helpfile", include_str!("sql/sp_helpfile.sql")),
    ("sp_helpuser", include_str!("sql/sp_helpuser.sql")),
    ("sp_helprole", include_str!("sql/sp_helprole.sql")),
    ("sp_helplogins", include_str!("sql/sp_helplogins.sql")),
    ("sp_linkedservers", include_str!("sql/sp_linkedservers.sql")),
    ("sp_helpserver", include_str!("sql/sp_helpserver.sql")),
    ("xp_msver", include_str!("sql/xp_msver.sql")),
    ("sp_spaceused", include_str!("sql/sp_spaceused.sql")),
    ("sp_helprolemember", include_str!("sql/sp_helprolemember.sql")),
    ("sp_helpsrvrolemember", include_str!("sql/sp_helpsrvrolemember.sql")),
    ("sp_helpfilegroup", include_str!("sql/sp_helpfilegroup.sql")),
    ("sp_helpsort", include_str!("sql/sp_helpsort.sql")),
    ("sp_depends", include_str!("sql/sp_depends.sql")),
    ("sp_renamedb", include_str!("sql/sp_renamedb.sql")),
    ("sp_msforeachtable", include_str!("sql/sp_msforeachtable.sql")),
    ("sp_msforeachdb", include_str!("sql/sp_msforeachdb.sql")),
    ("sp_procedure_params_100_managed", include_str!("sql/sp_procedure_params_100_managed.sql")),
    ("sp_who", include_str!("sql/sp_who.sql")),
    ("sp_who2", include_str!("sql/sp_who2.sql")),
    ("sp_lock", include_str!("sql/sp_lock.sql")),
    ("sp_addtype", include_str!("sql/sp_addtype.sql")),
    ("sp_droptype", include_str!("sql/sp_droptype.sql")),
    ("sp_server_info", include_str!("sql/sp_server_info.sql")),
    ("sp_helprotect", include_str!("sql/sp_helprotect.sql")),
];

//! Documented system procedures that this server cannot support: refused by name, so that no user takes them for forgotten or mistyped.

use types::SqlError;

use super::arguments::text_argument;
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::refusal::not_supported;
use crate::session::Session;
use crate::sink::ResultSink;

/// In the order of the alphabet.
const REFUSED: &[&str] = &[
    "sp_add_alert",
    "sp_add_notification",
    "sp_add_operator",
    "sp_add_proxy",
    "sp_addlinkedserver",
    "sp_addlinkedsrvlogin",
    "sp_addlogin",
    "sp_addrole",
    "sp_addrolemember",
    "sp_addsrvrolemember",
    "sp_adduser",
    "sp_attach_db",
    "sp_attach_single_file_db",
    "sp_bindefault",
    "sp_bindrule",
    "sp_bindsession",
    "sp_changedbowner",
    "sp_create_plan_guide",
    "sp_detach_db",
    "sp_droplogin",
    "sp_droprole",
    "sp_droprolemember",
    "sp_dropserver",
    "sp_dropsrvrolemember",
    "sp_dropuser",
    "sp_estimate_data_compression_savings",
    "sp_execute_external_script",
    "sp_fulltext_catalog",
    "sp_fulltext_database",
    "sp_grantdbaccess",
    "sp_grantlogin",
    "sp_indexoption",
    "sp_oacreate",
    "sp_oadestroy",
    "sp_oagetproperty",
    "sp_oamethod",
    "sp_oasetproperty",
    "sp_password",
    "sp_procoption",
    "sp_revokedbaccess",
    "sp_revokelogin",
    "sp_send_dbmail",
    "sp_serveroption",
    "sp_setapprole",
    "sp_start_job",
    "sp_stop_job",
    "sp_trace_create",
    "sp_trace_setevent",
    "sp_trace_setstatus",
    "sp_unbindefault",
    "sp_unbindrule",
    "xp_cmdshell",
];

/// 40517 for the procedure of that lower-case name, if it is one of those.
pub(crate) fn refusal(name: &str) -> Option<SqlError> {
    REFUSED.binary_search(&name).ok().map(|_| not_supported(name))
}

/// Options of tables that are always off here.
const TABLE_OPTIONS: [&str; 4] =
    ["table lock on bulk load", "text in row", "vardecimal storage format", "large value types out of row"];

/// `sp_tableoption @TableNamePattern, @OptionName, @OptionValue`: OFF is accepted without effect, since the options are off; ON is refused.
/// Errors 15388 (no such table), 15600 (no such option or value), 40517.
pub(super) fn sp_tableoption(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let given = |at: usize, name: &str| {
        text_argument(&arguments, at, name).ok_or_else(|| SqlError::new(201, &[&"sp_tableoption", &name]))
    };
    let (table, option) = (given(0, "@TableNamePattern")?, given(1, "@OptionName")?);
    let value = given(2, "@OptionValue")?.trim().to_ascii_lowercase();
    session.change_definitions(sink, |context| match query::ddl::named_object(context, &table) {
        Ok(engine::ObjectDef::Table(_)) => Ok(()),
        Err(error) if error.number != 15165 => Err(error),
        _ => Err(SqlError::new(15388, &[&table])),
    })?;
    let option = option.trim().to_ascii_lowercase();
    if !TABLE_OPTIONS.contains(&option.as_str()) {
        return Err(SqlError::new(15600, &[&"sp_tableoption"]).into());
    }
    let takes_size =
        option == "text in row" && value.parse::<u16>().is_ok_and(|size| (24..=7000).contains(&size));
    match value.as_str() {
        "off" | "false" | "0" => Ok(CallResult::default()),
        "on" | "true" | "1" => Err(not_supported(&format!("sp_tableoption '{option}'")).into()),
        _ if takes_size => Err(not_supported(&format!("sp_tableoption '{option}'")).into()),
        _ => Err(SqlError::new(15600, &[&"sp_tableoption"]).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_names_none_that_is_there() {
        assert!(REFUSED.is_sorted());
        for name in REFUSED {
            assert!(refusal(name).is_some() && super::super::native(name).is_none(), "{name}");
            assert!(crate::system_procedures::in_sql(name).is_none(), "{name}");
        }
        assert_eq!(refusal("sp_nosuch"), None);
        assert!(
            crate::system_procedures::in_msdb("sp_add_job").is_some_and(|text| text.contains("sp_add_job"))
        );
        assert!(crate::system_procedures::in_msdb("sp_update_jobstep").is_some());
        assert_eq!(crate::system_procedures::in_msdb("sp_start_job"), None);
    }
}

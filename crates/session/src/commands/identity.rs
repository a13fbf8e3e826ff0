//! Administration of identity columns: DBCC CHECKIDENT and ALTER DATABASE SCOPED CONFIGURATION SET IDENTITY_CACHE.

use engine::OptionChange;
use query::ddl::IdentityCheck;
use tsql::ast::{self, OptionValue, ScopedConfiguration};
use types::{SqlError, SqlResult, SqlType, Value};

use crate::interruption::Interruption;
use crate::refusal::not_supported;
use crate::session::Session;
use crate::sink::ResultSink;

impl Session {
    /// ALTER DATABASE SCOPED CONFIGURATION: only IDENTITY_CACHE; every other option is refused by name.
    pub(crate) fn scoped_configuration(
        &mut self,
        alter: &ast::AlterDatabaseScopedConfiguration,
    ) -> SqlResult<()> {
        self.refuse_in_transaction("ALTER DATABASE")?;
        let ScopedConfiguration::Set(option) = &alter.action else {
            return Err(not_supported("ALTER DATABASE SCOPED CONFIGURATION CLEAR"));
        };
        let refused = || {
            let name = option.name.value.to_uppercase();
            not_supported(&format!("ALTER DATABASE SCOPED CONFIGURATION SET {name}"))
        };
        match &option.value {
            Some(OptionValue::Switch(on, _)) if option.name.is("IDENTITY_CACHE") && !alter.for_secondary => {
                let change = OptionChange::Switch("IDENTITY_CACHE".to_string(), *on);
                self.instance.alter_database(self.database.name(), &[change])
            }
            _ => Err(refused()),
        }
    }

    /// DBCC CHECKIDENT (table [, NORESEED | RESEED [, value]]).
    pub(crate) fn check_identity(
        &mut self,
        dbcc: &ast::Dbcc,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let mut arguments =
            dbcc.args.iter().map(crate::commands::dbcc_check::argument).collect::<SqlResult<Vec<Value>>>()?;
        if arguments.is_empty() || arguments.len() > 3 {
            return Err(SqlError::new(2526, &[]).into());
        }
        let (database, table) = self.table_for_check(&arguments.remove(0))?;
        let word = arguments.first().and_then(Value::as_text).map(|word| word.to_uppercase());
        let reseeds = match word.as_deref() {
            None | Some("RESEED") => true,
            Some("NORESEED") if arguments.len() == 1 => false,
            Some(_) => return Err(SqlError::new(2560, &[&2]).into()),
        };
        let to = match arguments.get(1) {
            Some(value) => {
                let whole = SqlType::Decimal { precision: 38, scale: 0 };
                let value = crate::values::pass(value, &value.natural_type(), &whole)?;
                Some(engine::identity_number(&value).ok_or_else(|| SqlError::new(2560, &[&3]))?)
            }
            None => None,
        };
        let check = if reseeds { IdentityCheck::Reseed(to) } else { IdentityCheck::Look };
        let said = std::cell::RefCell::new(None);
        self.change_definitions(sink, |context| {
            *said.borrow_mut() = Some(query::ddl::check_identity(context, &database, &table, check)?);
            Ok(())
        })?;
        let says_all = !dbcc.options.iter().any(|option| option.name.is("NO_INFOMSGS"));
        if let Some(message) = said.into_inner().filter(|_| says_all) {
            sink.message(&message);
        }
        Ok(())
    }
}

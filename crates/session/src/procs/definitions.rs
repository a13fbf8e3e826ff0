//! Procedures that change definitions: sp_rename and the extended properties.

use query::ExecContext;
use query::ddl::PropertyChange;
use types::{SqlError, SqlResult};

use super::arguments::{argument, text_argument};
use crate::batch::call::{Argument, CallResult};
use crate::batch::cell::STALE_PLANS_MAX;
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

impl Session {
    /// Runs a change of definitions as a statement of its own: it is undone alone when it fails, and retried when an object that it names changed
    /// while it waited.
    pub(crate) fn change_definitions(
        &mut self,
        sink: &mut dyn ResultSink,
        change: impl Fn(&mut ExecContext<'_>) -> SqlResult<()>,
    ) -> Result<(), Interruption> {
        if self.state.doomed {
            return Err(SqlError::new(3930, &[]).into());
        }
        self.settle_before_more(sink)?;
        self.begin_implicit(sink)?;
        let mut result = Err(SqlError::new(2801, &[]));
        for _ in 0..STALE_PLANS_MAX {
            self.transactions.statement_begin();
            let mut context = ExecContext {
                instance: &self.instance,
                database: &self.database,
                variables: &mut [],
                transactions: &mut self.transactions,
                state: &self.state,
                functions: &self.state,
                options: &self.options,
                names: &self.names,
                front_end: query::FRONT_END,
                trigger: None,
            };
            result = change(&mut context);
            self.end_statement(result.is_ok())?;
            if !result.as_ref().is_err_and(|error| error.is_stale_plan()) {
                break;
            }
            result = Err(SqlError::new(2801, &[]));
        }
        Ok(result?)
    }
}

/// `sp_rename @objname, @newname [, @objtype]`
pub(super) fn sp_rename(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    for (position, name) in ["@objname", "@newname"].into_iter().enumerate() {
        if argument(&arguments, position, name).is_none() {
            return Err(SqlError::new(201, &[&"sp_rename", &name]).into());
        }
    }
    let old = text_argument(&arguments, 0, "@objname").unwrap_or_default();
    let new = text_argument(&arguments, 1, "@newname").unwrap_or_default();
    let kind = text_argument(&arguments, 2, "@objtype");
    if kind.as_ref().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("database")) {
        session.rename_database(&old, &new)?;
    } else {
        session
            .change_definitions(sink, |context| query::ddl::rename(context, &old, &new, kind.as_deref()))?;
    }
    sink.message(&SqlError::new(15477, &[]));
    Ok(CallResult::default())
}

/// Type and name of the three levels, from argument `first` on.
fn levels(arguments: &[Argument], first: usize) -> [(Option<String>, Option<String>); 3] {
    std::array::from_fn(|level| {
        let kind = text_argument(arguments, first + 2 * level, &format!("@level{level}type"));
        let name = text_argument(arguments, first + 2 * level + 1, &format!("@level{level}name"));
        (kind, name)
    })
}

fn change_property(
    session: &mut Session,
    arguments: &[Argument],
    sink: &mut dyn ResultSink,
    procedure: &str,
    first_level: usize,
    change: impl Fn(&Argument) -> PropertyChange,
) -> Result<CallResult, Interruption> {
    let Some(given) = argument(arguments, 0, "@name") else {
        return Err(SqlError::new(201, &[&procedure, &"@name"]).into());
    };
    let name = crate::values::to_text(&given.or_null()).unwrap_or_default();
    let nothing = Argument {
        name: None,
        sql_type: types::SqlType::Int,
        value: None,
        output: false,
        table: None,
        is_cursor: false,
    };
    let value = if first_level == 2 { argument(arguments, 1, "@value") } else { None };
    let change = change(value.unwrap_or(&nothing));
    let levels = levels(arguments, first_level);
    session.change_definitions(sink, |context| {
        query::ddl::change_property(context, procedure, &name, change.clone(), &levels)
    })?;
    Ok(CallResult::default())
}

/// `sp_addextendedproperty @name, @value, @level0type, @level0name, ...`
pub(super) fn sp_addextendedproperty(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    change_property(session, &arguments, sink, "sp_addextendedproperty", 2, |value| {
        PropertyChange::Add(value.sql_type, value.or_null())
    })
}

/// `sp_updateextendedproperty @name, @value, @level0type, @level0name, ...`
pub(super) fn sp_updateextendedproperty(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    change_property(session, &arguments, sink, "sp_updateextendedproperty", 2, |value| {
        PropertyChange::Update(value.sql_type, value.or_null())
    })
}

/// `sp_dropextendedproperty @name, @level0type, @level0name, ...`
pub(super) fn sp_dropextendedproperty(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    change_property(session, &arguments, sink, "sp_dropextendedproperty", 1, |_| PropertyChange::Drop)
}

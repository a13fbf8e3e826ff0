//! Procedures that recompile modules: sp_recompile, sp_refreshview, sp_refreshsqlmodule.

use engine::{ModuleDef, ModuleKind, ObjectDef};
use types::{SqlError, SqlResult};

use super::arguments::text_argument;
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

impl Session {
    /// Drops the plans of a module, or of everything that may read a table or view; the next use makes them again.
    fn forget_plans_of(&self, object: &ObjectDef) {
        let text = match object {
            ObjectDef::Module(module)
                if matches!(module.kind, ModuleKind::Procedure | ModuleKind::Trigger) =>
            {
                Some(&*module.definition)
            }
            _ => None,
        };
        self.programs.forget_of(self.database.incarnation(), text);
    }

    /// Resolves an object's name in a text and passes the object to the caller's function.
    fn look_at_named(
        &mut self,
        name: &str,
        sink: &mut dyn ResultSink,
        look: impl Fn(&mut query::ExecContext<'_>, &ObjectDef) -> SqlResult<()>,
    ) -> Result<ObjectDef, Interruption> {
        let found = std::cell::RefCell::new(None);
        self.change_definitions(sink, |context| {
            let object = query::ddl::named_object(context, name)?;
            look(context, &object)?;
            *found.borrow_mut() = Some(object);
            Ok(())
        })?;
        Ok(found.into_inner().expect("it succeeded"))
    }
}

fn missing_argument(procedure: &str, name: &str) -> SqlError {
    SqlError::new(201, &[&procedure, &name])
}

/// `sp_recompile @objname`: a procedure; or a table, view or function, with everything that reads it. Error 15165.
pub(super) fn sp_recompile(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let name = text_argument(&arguments, 0, "@objname")
        .ok_or_else(|| missing_argument("sp_recompile", "@objname"))?;
    let object = session.look_at_named(&name, sink, |_, object| match object {
        ObjectDef::Sequence(_) => Err(SqlError::new(15165, &[&name])),
        _ => Ok(()),
    })?;
    session.forget_plans_of(&object);
    sink.message(&SqlError::new(15070, &[&name]));
    Ok(CallResult::default())
}

/// Binds a module again: objects that its text names may have changed or been dropped. `*` in it stands for the current columns.
fn refresh(
    session: &mut Session,
    name: &str,
    is_kind: fn(&ModuleDef) -> bool,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let object = session.look_at_named(name, sink, |context, object| match object {
        ObjectDef::Module(module) if is_kind(module) => query::ddl::bind_again(context, module),
        _ => Err(SqlError::new(15165, &[&name])),
    })?;
    session.forget_plans_of(&object);
    Ok(CallResult::default())
}

/// `sp_refreshview @viewname`. Errors 15165 and those of binding.
pub(super) fn sp_refreshview(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let name = text_argument(&arguments, 0, "@viewname")
        .ok_or_else(|| missing_argument("sp_refreshview", "@viewname"))?;
    refresh(session, &name, |module| module.kind == ModuleKind::View, sink)
}

/// `sp_refreshsqlmodule @name [, @namespace]`. Errors 15165 and those of binding; database and server triggers cannot exist here.
pub(super) fn sp_refreshsqlmodule(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let name = text_argument(&arguments, 0, "@name")
        .ok_or_else(|| missing_argument("sp_refreshsqlmodule", "@name"))?;
    let namespace = text_argument(&arguments, 1, "@namespace").unwrap_or_default();
    if !matches!(namespace.to_ascii_uppercase().as_str(), "" | "OBJECT") {
        return Err(SqlError::new(15165, &[&name]).into());
    }
    refresh(session, &name, |_| true, sink)
}

//! The cache key of a program: which texts share one program.

use std::fmt::Write;

use query::{SetOptions, VariableDef};

/// Stands in place of the parameters in a module's key.
const MODULE: &str = "module";
/// The same of a trigger's.
const TRIGGER: &str = "trigger";

/// The settings on which a text's meaning depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProgramConditions {
    /// Incarnation of the database: unlike a database number, it is never reused.
    incarnation: u64,
    quoted_identifier: bool,
    ansi_nulls: bool,
}

impl ProgramConditions {
    pub(crate) fn new(incarnation: u64, options: &SetOptions) -> ProgramConditions {
        let SetOptions { quoted_identifier, ansi_nulls, .. } = *options;
        ProgramConditions { incarnation, quoted_identifier, ansi_nulls }
    }
}

/// The cache key of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProgramKey {
    text: Box<str>,
    conditions: ProgramConditions,
    /// Parameters as declared.
    parameters: Box<str>,
}

impl ProgramKey {
    /// Incarnation of the database to whose names the program is bound.
    pub(crate) fn incarnation(&self) -> u64 {
        self.conditions.incarnation
    }

    /// `objtype` of `sys.dm_exec_cached_plans`.
    pub(crate) fn kind(&self) -> query::CachedPlanKind {
        match &*self.parameters {
            "" => query::CachedPlanKind::Adhoc,
            MODULE => query::CachedPlanKind::Procedure,
            TRIGGER => query::CachedPlanKind::Trigger,
            _ => query::CachedPlanKind::Prepared,
        }
    }

    /// Key for the text of a stored module. As a batch, this text would mean something else: it would create the module.
    pub(crate) fn module(text: &str, conditions: ProgramConditions) -> ProgramKey {
        ProgramKey { text: text.into(), conditions, parameters: MODULE.into() }
    }

    /// Key for the text of a trigger.
    pub(crate) fn trigger(text: &str, conditions: ProgramConditions) -> ProgramKey {
        ProgramKey { text: text.into(), conditions, parameters: TRIGGER.into() }
    }

    pub(crate) fn new(text: &str, conditions: ProgramConditions, parameters: &[VariableDef]) -> ProgramKey {
        let mut declared = String::new();
        for parameter in parameters {
            write!(declared, "{} {:?},", parameter.name, parameter.sql_type).expect("a String takes all");
        }
        ProgramKey { text: text.into(), conditions, parameters: declared.into() }
    }

    /// Is it the key of the text of a stored module?
    pub(crate) fn is_module(&self, text: &str) -> bool {
        matches!(&*self.parameters, MODULE | TRIGGER) && *self.text == *text
    }
}

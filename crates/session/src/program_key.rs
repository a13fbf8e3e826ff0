//! What makes two texts the same program.

use std::fmt::Write;

use query::{SetOptions, VariableDef};

/// In the parameters' place of a module's key.
const MODULE: &str = "module";

/// What a text's meaning hangs on, besides the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProgramConditions {
    /// Which database: a number would be given to another one, too.
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

/// What makes two texts the same program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProgramKey {
    text: Box<str>,
    conditions: ProgramConditions,
    /// Parameters as declared.
    parameters: Box<str>,
}

impl ProgramKey {
    /// Whose names it was bound to.
    pub(crate) fn incarnation(&self) -> u64 {
        self.conditions.incarnation
    }

    /// `objtype` of `sys.dm_exec_cached_plans`.
    pub(crate) fn kind(&self) -> query::CachedPlanKind {
        match &*self.parameters {
            "" => query::CachedPlanKind::Adhoc,
            MODULE => query::CachedPlanKind::Procedure,
            _ => query::CachedPlanKind::Prepared,
        }
    }

    /// For the text of a stored module, which as a batch would mean something else: it would create the module.
    pub(crate) fn module(text: &str, conditions: ProgramConditions) -> ProgramKey {
        ProgramKey { text: text.into(), conditions, parameters: MODULE.into() }
    }

    pub(crate) fn new(text: &str, conditions: ProgramConditions, parameters: &[VariableDef]) -> ProgramKey {
        let mut declared = String::new();
        for parameter in parameters {
            write!(declared, "{} {:?},", parameter.name, parameter.sql_type).expect("a String takes all");
        }
        ProgramKey { text: text.into(), conditions, parameters: declared.into() }
    }

    /// Is it that of the text of a stored module?
    pub(crate) fn is_module(&self, text: &str) -> bool {
        *self.parameters == *MODULE && *self.text == *text
    }
}

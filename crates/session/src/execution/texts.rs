//! Programs for texts: from the cache, or parsed, compiled and bound as far as possible before execution.

use std::sync::Arc;

use engine::Lookup;
use types::SqlError;

use crate::batch::cache::ProgramCache;
use crate::batch::compile;
use crate::batch::program::Program;
use crate::batch::program_key::ProgramKey;
use crate::refusal::syntax_error;
use crate::session::Session;

impl Session {
    /// The program of a text, from the cache or compiled now. All cells that can be bound are bound at once, so that compilation errors of
    /// the batch come before any statement has run.
    pub(crate) fn program_for(
        &self,
        text: &str,
        parameters: &[query::VariableDef],
        in_procedure: bool,
    ) -> Result<Arc<Program>, Vec<SqlError>> {
        let key = ProgramCache::may_keep(text)
            .then(|| ProgramKey::new(text, self.program_conditions(), parameters));
        if let Some(program) = key.as_ref().and_then(|key| self.programs.get(key)) {
            self.bind_ahead_again(&program)?;
            return Ok(program);
        }
        let (era, held_bytes) = (self.programs.era(), os::memory::thread_bytes());
        let program = Arc::new(self.compiled_text(text, parameters, in_procedure)?);
        self.programs.note_compiled();
        if program.parse_only != Some(true) {
            self.bind_ahead(&program)?;
        }
        program.statistics.made(self.now_ticks());
        program.note_made(held_bytes);
        if let Some(key) = key {
            self.programs.put(key, program.clone(), era);
        }
        Ok(program)
    }

    /// The database whose alias types a text names.
    pub(crate) fn types_in(&self) -> compile::TypesIn<'_> {
        (&self.database, Lookup::new(&self.transactions))
    }

    /// A text parsed and compiled, no names looked up.
    pub(crate) fn parsed_program(&self, text: &str) -> Result<Program, Vec<SqlError>> {
        self.compiled_text(text, &[], false)
    }

    fn compiled_text(
        &self,
        text: &str,
        parameters: &[query::VariableDef],
        in_procedure: bool,
    ) -> Result<Program, Vec<SqlError>> {
        let options = tsql::ParseOptions { quoted_identifier: self.options.quoted_identifier };
        let batch = tsql::parse_batch_while(text, &options, os::memory::is_spent)
            .map_err(|errors| errors.into_iter().map(syntax_error).collect::<Vec<SqlError>>())?;
        let types_in = Some(self.types_in());
        compile::compile(text.into(), &batch.statements, parameters.to_vec(), in_procedure, types_in)
            .map_err(|e| vec![e])
    }
}

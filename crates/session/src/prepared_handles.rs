//! The prepared handles of a session: the text and parameters of each.

use std::sync::{Arc, Weak};

use query::VariableDef;
use rustc_hash::FxHashMap;
use tsql::ast;
use types::{SqlError, SqlResult, Value};

use crate::batch::call::{Argument, BoundTable, CallResult};
use crate::batch::compile::CURSOR_PARAMETER;
use crate::batch::program::Program;
use crate::batch::program_key::ProgramConditions;
use crate::table_types::{TableType, parameter_of_slot};
use crate::values;

/// Limit of a session's handles.
const HANDLES_MAX: usize = 100_000;

/// Handles of cursors' statements begin so high that they are no others.
const FIRST_CURSOR_HANDLE: i32 = 0x4000_0001;

/// The handles of one session.
#[derive(Default)]
pub(crate) struct Prepared {
    last_handle: i32,
    pub(crate) statements: FxHashMap<i32, Statement>,
    last_cursor_handle: i32,
    /// The statements of cursors; their handles are other ones.
    pub(crate) cursors: FxHashMap<i32, Statement>,
    /// The last parameter declarations and their parsed form: most clients send equal ones with each call of `sp_executesql`.
    pub(crate) declared: Option<(String, Arc<Parameters>)>,
}

/// The statement of a handle.
#[derive(Clone)]
pub(crate) struct Statement {
    pub(crate) text: Arc<str>,
    pub(crate) parameters: Arc<Parameters>,
    /// The program of its last execution, if the cache still keeps it, and the conditions under which it is valid.
    pub(crate) program: Option<(ProgramConditions, Weak<Program>)>,
}

/// Parameters as declared.
#[derive(Default)]
pub(crate) struct Parameters {
    pub(crate) definitions: Vec<VariableDef>,
    /// For each parameter its table type, if it has one.
    pub(crate) tables: Vec<Option<Arc<TableType>>>,
    /// Default of each parameter, if it has one.
    pub(crate) defaults: Vec<Option<ast::Expr>>,
}

/// Arguments converted to the parameters' values.
pub(crate) struct Passed {
    pub(crate) values: Vec<Value>,
    /// For each OUTPUT argument: its index in the call, and its parameter.
    pub(crate) targets: Vec<(usize, usize)>,
    /// The parameters that are tables.
    pub(crate) tables: Vec<BoundTable>,
}

impl Prepared {
    pub(crate) fn keep(&mut self, statement: Statement) -> SqlResult<i32> {
        self.check_room(&statement)?;
        self.last_handle += 1;
        self.statements.insert(self.last_handle, statement);
        Ok(self.last_handle)
    }

    /// The same for the statement of cursors.
    pub(crate) fn keep_cursor(&mut self, statement: Statement) -> SqlResult<i32> {
        self.check_room(&statement)?;
        self.last_cursor_handle = (self.last_cursor_handle + 1).max(FIRST_CURSOR_HANDLE);
        self.cursors.insert(self.last_cursor_handle, statement);
        Ok(self.last_cursor_handle)
    }

    fn check_room(&self, statement: &Statement) -> SqlResult<()> {
        // Handles outlive the request that made them: a quarter of all memory stays free for later requests.
        let left_bytes =
            os::memory::total_bytes_max().map_or(0, |max| usize::try_from(max / 4).unwrap_or(usize::MAX));
        let has_room = os::memory::has_room_for(left_bytes.saturating_add(2 * statement.text.len()));
        if self.statements.len() + self.cursors.len() >= HANDLES_MAX || !has_room {
            return Err(SqlError::new(701, &[&"internal"]));
        }
        Ok(())
    }
}

impl Parameters {
    /// Binds a call's arguments after the first `skipped` to the parameters of `text`: by position, by name, defaults for the rest.
    pub(crate) fn pass(&self, text: &str, arguments: &[Argument], skipped: usize) -> SqlResult<Passed> {
        let mut given: Vec<Option<Value>> = vec![None; self.definitions.len()];
        let (mut targets, mut tables) = (Vec::new(), Vec::new());
        for (index, argument) in arguments.iter().enumerate().skip(skipped) {
            let slot = match &argument.name {
                None => Some(index - skipped).filter(|slot| *slot < given.len()),
                Some(name) => self.slot_of(name, index - skipped),
            };
            let Some(slot) = slot else {
                let name = argument.name.as_deref().unwrap_or_default();
                return Err(SqlError::new(8178, &[&beginning_of(text), &name]));
            };
            if let Some(table_type) = &self.tables[slot] {
                tables.push(argument.bind_table(self.name_of(slot), table_type)?);
                given[slot] = Some(Value::Null);
                continue;
            }
            argument.refuse_table(&self.definitions[slot].sql_type)?;
            argument.check_kind(&self.definitions[slot])?;
            if let Some(value) = &argument.value {
                let target = &self.definitions[slot].sql_type;
                given[slot] = Some(values::pass(value, &argument.sql_type, target)?);
            }
            if argument.output {
                targets.push((index, slot));
            }
        }
        for (slot, table_type) in self.tables.iter().enumerate() {
            if let (Some(table_type), None) = (table_type, &given[slot]) {
                tables.push(BoundTable::empty(self.name_of(slot), table_type));
                given[slot] = Some(Value::Null);
            }
        }
        let each = given.into_iter().enumerate();
        let values = each.map(|(slot, value)| value.map_or_else(|| self.default_of(slot, text), Ok));
        Ok(Passed { values: values.collect::<SqlResult<_>>()?, targets, tables })
    }

    /// The name of a parameter as declared.
    fn name_of(&self, slot: usize) -> &str {
        let name = self.definitions[slot].name.as_str();
        parameter_of_slot(name).or_else(|| name.strip_prefix(CURSOR_PARAMETER)).unwrap_or(name)
    }

    /// The parameter of a name; `expected` is tried first, as most clients name parameters in order.
    fn slot_of(&self, name: &str, expected: usize) -> Option<usize> {
        let is_it = |slot: usize| self.name_of(slot).eq_ignore_ascii_case(name);
        match expected < self.definitions.len() && is_it(expected) {
            true => Some(expected),
            false => (0..self.definitions.len()).find(|slot| is_it(*slot)),
        }
    }

    fn default_of(&self, slot: usize, text: &str) -> SqlResult<Value> {
        let definition = &self.definitions[slot];
        if let Some(default) = &self.defaults[slot] {
            return values::constant(default, &definition.sql_type);
        }
        let declared: Vec<String> =
            self.definitions.iter().map(|d| format!("{} {}", d.name, d.sql_type.name())).collect();
        let shown = format!("({}){}", declared.join(","), beginning_of(text));
        Err(SqlError::new(8178, &[&shown, &definition.name]))
    }

    /// The results of a call whose parameters end with the values `last`.
    pub(crate) fn result(&self, targets: &[(usize, usize)], last: &[Value]) -> CallResult {
        let outputs = targets.iter().map(|&(index, slot)| {
            let VariableDef { name, sql_type } = &self.definitions[slot];
            (index, name.clone(), *sql_type, last[slot].clone())
        });
        CallResult { status: 0, outputs: outputs.collect(), returned: None }
    }
}

/// The beginning of a text, as long as messages show it.
fn beginning_of(text: &str) -> String {
    text.chars().take(100).collect()
}

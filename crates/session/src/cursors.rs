//! The cursors of a session: by name in the session and in each batch or procedure, and by cursor variables. A cursor lives as long as one of
//! them refers to it.

use std::sync::Arc;

use engine::Database;
use query::{ColumnDescription, CursorRow};
use types::{SqlError, SqlResult, Value};

use crate::batch::cell::Compiled;
use crate::batch::compile::CURSOR_PARAMETER;
use crate::batch::cursor::{CursorName, CursorPlan, Keyed, Sensitivity};
use crate::fetch_buffer::{ApiCursor, BufferRow, Place};

/// Number of a cursor in its session.
pub(crate) type CursorId = usize;

/// One cursor.
pub(crate) struct Cursor {
    pub(crate) plan: Arc<CursorPlan>,
    pub(crate) compiled: Arc<Compiled>,
    /// The values of the query's variables when it was declared.
    pub(crate) variables: Vec<Value>,
    /// The database in which its names count.
    pub(crate) database: Arc<Database>,
    /// The schema of the procedure that declares it.
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) opened: Option<Box<Opened>>,
    /// What a client's procedure calls need of it; `None` for a cursor of T-SQL.
    pub(crate) api: Option<Box<ApiCursor>>,
    /// Declared by the running request.
    is_of_request: bool,
    references: u32,
    /// When it was declared, 100 ns ticks.
    created_ticks: u64,
    /// `@@FETCH_STATUS` after its last FETCH; -9 before the first one.
    pub(crate) fetch_status: i32,
    /// The last operation on it as sp_describe_cursor tells it (1 OPEN, 2 FETCH, 3 INSERT, 4 UPDATE, 5 DELETE, 6 CLOSE), and its number of rows.
    pub(crate) last_operation: (u8, i64),
}

/// A name or variable by which the running batch or procedure reaches a cursor.
pub(crate) struct CursorReference {
    pub(crate) name: String,
    pub(crate) is_variable: bool,
    pub(crate) is_global: bool,
    pub(crate) id: CursorId,
}

/// `fetch_status` of a cursor without a FETCH.
const NEVER_FETCHED: i32 = -9;

/// CURSOR_STATUS of a name without a cursor.
pub(crate) const NO_CURSOR: i16 = -3;

/// The position behind the last row of a cursor that seeks its rows.
pub(crate) const BEHIND_ALL: usize = usize::MAX;

/// The rows of an open cursor.
pub(crate) struct Opened {
    pub(crate) columns: Vec<ColumnDescription>,
    /// The values of all rows, or of their keys, one row behind the other.
    pub(crate) values: Vec<Value>,
    /// Number of values of each row.
    pub(crate) width: usize,
    pub(crate) count: usize,
    /// From 1; 0 is before the first row, `count + 1` behind the last. Of a cursor that seeks its rows: 0, 1 for a row, whose key `values` holds
    /// then, or [`BEHIND_ALL`].
    pub(crate) position: usize,
    /// The rows are read again by their keys.
    pub(crate) keyed: Option<Arc<Keyed>>,
    /// The last FETCH has found a row.
    pub(crate) has_row: bool,
    /// The checksum of that row, by which a change by others is noticed; NULL after the cursor's own change.
    pub(crate) checksum: Value,
    pub(crate) bytes: u64,
}

impl Opened {
    /// The values of the row at the position.
    pub(crate) fn current(&self) -> &[Value] {
        if self.is_seeking() {
            return &self.values;
        }
        self.row_at(self.position)
    }

    pub(crate) fn is_seeking(&self) -> bool {
        self.keyed.as_ref().is_some_and(|keyed| keyed.is_seeking())
    }

    /// The values of the row at a position from 1.
    pub(crate) fn row_at(&self, position: usize) -> &[Value] {
        &self.values[(position - 1) * self.width..position * self.width]
    }

    /// One row more, behind all others.
    pub(crate) fn add_row(&mut self, row: Vec<Value>) {
        if self.is_seeking() {
            return;
        }
        self.bytes += bytes_of(&row);
        self.values.extend(row);
        self.count += 1;
    }

    /// The row becomes that of WHERE CURRENT OF.
    pub(crate) fn make_current(&mut self, row: &BufferRow) {
        if self.is_seeking() {
            self.values.clone_from(&row.key);
        }
        self.position = row.position;
        self.has_row = !row.is_missing;
        self.checksum = row.checksum.clone();
    }

    pub(crate) fn is_dynamic(&self) -> bool {
        self.keyed.as_ref().is_some_and(|keyed| keyed.is_dynamic)
    }
}

impl Cursor {
    pub(crate) fn new(
        plan: Arc<CursorPlan>,
        compiled: Arc<Compiled>,
        variables: Vec<Value>,
        (database, schema): (Arc<Database>, Option<Arc<str>>),
        created_ticks: u64,
    ) -> Cursor {
        Cursor {
            plan,
            compiled,
            variables,
            database,
            schema,
            opened: None,
            api: None,
            is_of_request: true,
            references: 0,
            created_ticks,
            fetch_status: NEVER_FETCHED,
            last_operation: (0, 0),
        }
    }

    /// Its type as the views call it.
    pub(crate) fn shown_type(&self) -> &'static str {
        let keyed = self.opened.as_ref().map(|opened| opened.keyed.as_ref());
        match (self.plan.properties.sensitivity, keyed) {
            (Sensitivity::FastForward, _) => "Fast_Forward",
            (Sensitivity::Static, _) | (_, Some(None)) => "Snapshot",
            (Sensitivity::Dynamic, Some(Some(keyed))) if !keyed.is_dynamic => "Keyset",
            (Sensitivity::Dynamic, _) => "Dynamic",
            (Sensitivity::Keyset, _) => "Keyset",
        }
    }

    /// Interface, type, concurrency and scope as `sys.dm_exec_cursors` shows them.
    fn properties(&self, scope: &str) -> String {
        let properties = &self.plan.properties;
        let kind = self.shown_type();
        let concurrency = match properties.locks {
            _ if properties.is_read_only || kind == "Snapshot" => "Read Only",
            true => "Scroll Locks",
            false => "Optimistic",
        };
        let interface = if self.api.is_some() { "API" } else { "TSQL" };
        format!("{interface} | {kind} | {concurrency} | {scope}")
    }

    /// The number of the first row of its buffer, as `sys.dm_exec_cursors` shows it.
    fn buffer_start(&self) -> i32 {
        let Some(opened) = &self.opened else { return 0 };
        let place = self.api.as_ref().map(|api| api.place);
        let at = match place {
            None => opened.position,
            Some(Place::BeforeFirst) => 0,
            Some(Place::AfterLast) => BEHIND_ALL,
            Some(Place::Rows(first, _)) => first,
        };
        let is_numbered =
            !opened.is_dynamic() && self.plan.properties.sensitivity != Sensitivity::FastForward;
        match at {
            0 => 0,
            at if is_numbered && at <= opened.count => i32::try_from(at).unwrap_or(i32::MAX),
            _ => -1,
        }
    }

    fn row(&self, cursor_id: i32, scope: &str, name: &str, is_close_on_commit: bool) -> CursorRow {
        let buffer = self.api.as_ref().map_or(1, |api| api.buffer.len());
        let stands = self.opened.as_ref().is_some_and(|opened| opened.has_row);
        CursorRow {
            cursor_id,
            name: name.to_string(),
            properties: self.properties(scope),
            creation_ticks: self.created_ticks,
            is_open: self.opened.is_some(),
            is_close_on_commit,
            fetch_status: self.fetch_status,
            fetch_buffer_size: i32::try_from(buffer).unwrap_or(i32::MAX),
            fetch_buffer_start: self.buffer_start(),
            ansi_position: i32::from(stands),
        }
    }

    /// A positioned statement has changed the row: it may do so again.
    pub(crate) fn current_changed(&mut self) {
        let Some(opened) = &mut self.opened else { return };
        opened.checksum = Value::Null;
        let buffer = self.api.iter_mut().flat_map(|api| &mut api.buffer);
        for row in buffer.filter(|row| row.position == opened.position) {
            row.checksum = Value::Null;
        }
    }

    /// The cursor itself has changed a row of its fetch buffer, and may change it again. `key`: its key, when that may be another one now; the row
    /// keeps its place if the cursor updates in place, and is a new one behind all others if not.
    pub(crate) fn row_changed(&mut self, at: Option<usize>, row: &BufferRow, key: Option<Vec<Value>>) {
        let (Some(opened), Some(api)) = (&mut self.opened, &mut self.api) else { return };
        let buffered = at.and_then(|at| api.buffer.get_mut(at));
        if opened.position == row.position {
            opened.checksum = Value::Null;
        }
        match key.filter(|key| *key != row.key) {
            None => {
                if let Some(buffered) = buffered {
                    buffered.checksum = Value::Null;
                }
            }
            Some(key) if api.updates_in_place => {
                if !opened.is_seeking() {
                    let start = (row.position - 1) * opened.width;
                    opened.values[start..start + opened.width].clone_from_slice(&key);
                } else if opened.position == row.position {
                    opened.values.clone_from(&key);
                }
                if let Some(buffered) = buffered {
                    (buffered.key, buffered.checksum) = (key, Value::Null);
                }
            }
            Some(key) => opened.add_row(key),
        }
    }

    /// The open cursor is not of the type that its declaration names.
    pub(crate) fn is_converted(&self) -> bool {
        match (self.plan.properties.sensitivity, self.opened.as_ref().map(|opened| &opened.keyed)) {
            (Sensitivity::Keyset | Sensitivity::Dynamic, Some(None)) => true,
            (Sensitivity::Dynamic, Some(Some(keyed))) => !keyed.is_dynamic,
            _ => false,
        }
    }

    /// 1 open, 0 open without rows, -1 closed, as CURSOR_STATUS tells it.
    pub(crate) fn status(&self) -> i16 {
        match &self.opened {
            None => -1,
            Some(opened) => i16::from(opened.count > 0 || opened.is_dynamic()),
        }
    }
}

/// One running batch, procedure or dynamic text.
#[derive(Default)]
struct Scope {
    /// Local cursors by name in lower case.
    names: Vec<(String, CursorId)>,
    /// Cursor variables by name in lower case.
    variables: Vec<(String, Option<CursorId>)>,
}

impl Scope {
    fn has(&self, id: CursorId) -> bool {
        self.names.iter().any(|(_, own)| *own == id) || self.variables.iter().any(|(_, own)| *own == Some(id))
    }
}

/// All of them.
pub(crate) struct Cursors {
    slots: Vec<Option<Box<Cursor>>>,
    globals: Vec<(String, CursorId)>,
    /// Those that the client has opened by procedure calls, by their handles.
    handles: Vec<(i32, CursorId)>,
    last_handle: i32,
    /// The batch first; never empty.
    scopes: Vec<Scope>,
    /// The cursor variables of the scope that has ended last.
    returned: Vec<(String, Option<CursorId>)>,
    /// `@@FETCH_STATUS`.
    pub(crate) fetch_status: i32,
    last_opened: Option<CursorId>,
    /// SET CURSOR_CLOSE_ON_COMMIT has been executed: the database option does not count.
    pub(crate) is_closing_set: bool,
}

/// The handles of a session's API cursors begin and go on as SQL Server's do.
const FIRST_HANDLE: i32 = 180_150_003;
const HANDLE_STEP: i32 = 2;

impl Default for Cursors {
    fn default() -> Cursors {
        Cursors {
            slots: Vec::new(),
            globals: Vec::new(),
            handles: Vec::new(),
            last_handle: FIRST_HANDLE - HANDLE_STEP,
            scopes: vec![Scope::default()],
            returned: Vec::new(),
            fetch_status: 0,
            last_opened: None,
            is_closing_set: false,
        }
    }
}

fn find(names: &[(String, CursorId)], key: &str) -> Option<usize> {
    names.iter().position(|(name, _)| name == key)
}

impl Cursors {
    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("the batch's scope is never left")
    }

    pub(crate) fn enter_scope(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Ends the innermost scope with its local cursors; its cursor variables stay for the caller's OUTPUT arguments.
    pub(crate) fn leave_scope(&mut self) {
        let Some(ended) = self.scopes.pop() else { return };
        ended.names.iter().for_each(|(_, id)| self.release(*id));
        let before = std::mem::replace(&mut self.returned, ended.variables);
        before.iter().filter_map(|(_, id)| *id).for_each(|id| self.release(id));
    }

    /// Ends the scope of the batch.
    pub(crate) fn end_batch(&mut self) {
        if self.slots.is_empty() {
            self.scope().variables.clear();
            return;
        }
        self.leave_scope();
        self.enter_scope();
        let returned = std::mem::take(&mut self.returned);
        returned.iter().filter_map(|(_, id)| *id).for_each(|id| self.release(id));
        self.slots.iter_mut().flatten().for_each(|cursor| cursor.is_of_request = false);
        if self.slots.iter().all(Option::is_none) {
            self.slots.clear();
        }
    }

    fn release(&mut self, id: CursorId) {
        let Some(cursor) = self.slots[id].as_mut() else { return };
        cursor.references -= 1;
        if cursor.references == 0 {
            self.slots[id] = None;
            self.last_opened.take_if(|last| *last == id);
        }
    }

    fn add(&mut self, mut cursor: Cursor) -> CursorId {
        cursor.references = 1;
        let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if free == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[free] = Some(Box::new(cursor));
        free
    }

    /// Adds a cursor with its name; error 16915 when the name is taken.
    pub(crate) fn declare(&mut self, cursor: Cursor, is_global: bool) -> SqlResult<()> {
        let key = cursor.plan.name.to_lowercase();
        let names = if is_global { &self.globals } else { &self.scope().names };
        if find(names, &key).is_some() {
            return Err(SqlError::new(16915, &[&cursor.plan.name]));
        }
        let id = self.add(cursor);
        let names = if is_global { &mut self.globals } else { &mut self.scope().names };
        names.push((key, id));
        Ok(())
    }

    /// Adds a cursor that a client opens by a procedure call; returns its number and handle.
    pub(crate) fn add_for_client(&mut self, cursor: Cursor) -> (CursorId, i32) {
        let id = self.add(cursor);
        self.last_handle = self.last_handle.checked_add(HANDLE_STEP).unwrap_or(FIRST_HANDLE);
        self.handles.push((self.last_handle, id));
        (id, self.last_handle)
    }

    /// The cursor of a handle. Error 16909.
    pub(crate) fn id_of_handle(&self, handle: i32, procedure: &str) -> SqlResult<CursorId> {
        let found = self.handles.iter().find(|(known, _)| *known == handle);
        found.map(|(_, id)| *id).ok_or_else(|| SqlError::new(16909, &[&procedure, &format!("{handle:x}")]))
    }

    /// The handle and the names of the cursor are gone.
    pub(crate) fn close_handle(&mut self, handle: i32) {
        let Some(at) = self.handles.iter().position(|(known, _)| *known == handle) else { return };
        let (_, id) = self.handles.swap_remove(at);
        let names = self.globals.len();
        self.globals.retain(|(_, named)| *named != id);
        for _ in self.globals.len()..=names {
            self.release(id);
        }
    }

    /// Those that the client has opened by procedure calls are gone.
    pub(crate) fn close_handles(&mut self) {
        while let Some((handle, _)) = self.handles.last() {
            self.close_handle(*handle);
        }
    }

    /// Gives the cursor of a handle a name, which T-SQL knows in all batches. Error 16915.
    pub(crate) fn name(&mut self, id: CursorId, name: &str) -> SqlResult<()> {
        let key = name.to_lowercase();
        if find(&self.globals, &key).is_some() {
            return Err(SqlError::new(16915, &[&name]));
        }
        self.globals.push((key, id));
        self.get(id).references += 1;
        Ok(())
    }

    pub(crate) fn declare_variable(&mut self, key: &str) {
        // A declaration in a loop leaves the variable as it is.
        if self.variable(key).is_none() {
            self.scope().variables.push((key.to_string(), None));
        }
    }

    fn variable(&mut self, key: &str) -> Option<&mut Option<CursorId>> {
        self.scope().variables.iter_mut().find(|(name, _)| name == key).map(|(_, id)| id)
    }

    /// Has the variable a cursor?
    pub(crate) fn holds(&self, key: &str) -> bool {
        let scope = self.scopes.last().expect("the batch's scope is never left");
        scope.variables.iter().any(|(name, id)| name == key && id.is_some())
    }

    fn assign(&mut self, key: &str, id: Option<CursorId>) {
        self.declare_variable(key);
        let before = self.variable(key).and_then(|variable| std::mem::replace(variable, id));
        if let Some(before) = before {
            self.release(before);
        }
    }

    /// `SET @c = CURSOR ...`
    pub(crate) fn assign_new(&mut self, key: &str, cursor: Cursor) {
        let id = self.add(cursor);
        self.assign(key, Some(id));
    }

    /// `SET @c = name`: the same cursor, one reference more. From a variable without a cursor it has none, either.
    pub(crate) fn assign_other(&mut self, key: &str, name: &CursorName) -> SqlResult<()> {
        let id = match name {
            CursorName::Variable(other) => self.variable(other).and_then(|id| *id),
            CursorName::Name { .. } => Some(self.id_of(name)?),
        };
        if let Some(cursor) = id.and_then(|id| self.slots[id].as_mut()) {
            cursor.references += 1;
        }
        self.assign(key, id);
        Ok(())
    }

    /// The caller's variable takes the cursor of an OUTPUT parameter.
    pub(crate) fn take_returned(&mut self, parameter: &str, key: &str) {
        let name = parameter.trim_start_matches(CURSOR_PARAMETER).to_lowercase();
        let found = self.returned.iter_mut().find(|(returned, _)| *returned == name);
        if let Some(id) = found.and_then(|(_, id)| id.take()) {
            self.assign(key, Some(id));
        }
    }

    /// A name means the local cursor before the global one. Errors 16916, 16950.
    pub(crate) fn id_of(&self, name: &CursorName) -> SqlResult<CursorId> {
        let scope = self.scopes.last().expect("the batch's scope is never left");
        match name {
            CursorName::Variable(key) => {
                let found = scope.variables.iter().find(|(name, _)| name == key).and_then(|(_, id)| *id);
                found.ok_or_else(|| without_cursor(key))
            }
            CursorName::Name { key, written, is_global } => {
                let local =
                    if *is_global { None } else { find(&scope.names, key).map(|at| scope.names[at].1) };
                let found = local.or_else(|| find(&self.globals, key).map(|at| self.globals[at].1));
                found.ok_or_else(|| SqlError::new(16916, &[written]))
            }
        }
    }

    pub(crate) fn get(&mut self, id: CursorId) -> &mut Cursor {
        self.slots[id].as_mut().expect("what refers to a cursor keeps it")
    }

    /// DEALLOCATE: the name or variable refers to it no longer.
    pub(crate) fn deallocate(&mut self, name: &CursorName) -> SqlResult<()> {
        let id = self.id_of(name)?;
        match name {
            CursorName::Variable(key) => {
                if let Some(variable) = self.variable(key) {
                    *variable = None;
                }
            }
            CursorName::Name { key, is_global, .. } => {
                let scope = self.scopes.last_mut().expect("the batch's scope is never left");
                let local = if *is_global { None } else { find(&scope.names, key) };
                match (local, find(&self.globals, key)) {
                    (Some(at), _) => drop(scope.names.swap_remove(at)),
                    (None, Some(at)) => drop(self.globals.swap_remove(at)),
                    (None, None) => {}
                }
            }
        }
        self.release(id);
        Ok(())
    }

    /// What the running batch or procedure calls its cursors.
    pub(crate) fn references(&self) -> Vec<CursorReference> {
        let scope = self.scopes.last().expect("the batch's scope is never left");
        let of = |name: &String, id: CursorId, is_variable: bool, is_global: bool| {
            let declared = self.slots[id].as_ref().map_or("", |cursor| cursor.plan.name.as_str());
            let is_own = !is_variable && declared.to_lowercase() == *name;
            let name = if is_own { declared.to_string() } else { name.clone() };
            CursorReference { name, is_variable, is_global, id }
        };
        let local = scope.names.iter().map(|(name, id)| of(name, *id, false, false));
        let variables = scope.variables.iter().filter_map(|(name, id)| Some(of(name, (*id)?, true, false)));
        local
            .chain(variables)
            .chain(self.globals.iter().map(|(name, id)| of(name, *id, false, true)))
            .collect()
    }

    /// Adds a cursor that a procedure hands to the cursor variable of its caller.
    pub(crate) fn add_returned(&mut self, parameter: &str, cursor: Cursor) -> CursorId {
        let id = self.add(cursor);
        self.returned.push((parameter.to_lowercase(), Some(id)));
        id
    }

    pub(crate) fn note_opened(&mut self, id: CursorId) {
        self.last_opened = Some(id);
    }

    /// `@@CURSOR_ROWS`: of the cursor opened last; -1 when its number is not fixed.
    pub(crate) fn row_count(&self) -> i32 {
        let last = self.last_opened.and_then(|id| self.slots[id].as_ref());
        match last.and_then(|cursor| cursor.opened.as_deref()) {
            Some(opened) if opened.is_dynamic() => -1,
            Some(opened) => i32::try_from(opened.count).unwrap_or(i32::MAX),
            None => 0,
        }
    }

    /// CURSOR_STATUS: -2 for a variable without a cursor, -3 when there is no such cursor or variable.
    pub(crate) fn status(&self, kind: &str, name: &str) -> i16 {
        let scope = self.scopes.last().expect("the batch's scope is never left");
        let key = name.to_lowercase();
        let id = match kind.to_lowercase().as_str() {
            "local" => find(&scope.names, &key).map(|at| scope.names[at].1),
            "global" => find(&self.globals, &key).map(|at| self.globals[at].1),
            "variable" => match scope.variables.iter().find(|(name, _)| *name == key) {
                Some((_, None)) => return -2,
                Some((_, id)) => *id,
                None => None,
            },
            _ => None,
        };
        id.and_then(|id| self.slots[id].as_ref()).map_or(NO_CURSOR, |cursor| cursor.status())
    }

    pub(crate) fn close_all(&mut self) {
        self.slots.iter_mut().flatten().for_each(|cursor| cursor.opened = None);
    }

    /// An error has ended the batch and its transaction: the cursors that the batch has declared are gone.
    pub(crate) fn forget_of_request(&mut self) {
        let of_request: Vec<bool> =
            self.slots.iter().map(|slot| slot.as_ref().is_some_and(|cursor| cursor.is_of_request)).collect();
        self.globals.retain(|(_, id)| !of_request[*id]);
        self.handles.retain(|(_, id)| !of_request[*id]);
        for scope in &mut self.scopes {
            scope.names.retain(|(_, id)| !of_request[*id]);
            for (_, id) in &mut scope.variables {
                id.take_if(|id| of_request[*id]);
            }
        }
        for (_, id) in &mut self.returned {
            id.take_if(|id| of_request[*id]);
        }
        for (slot, _) in self.slots.iter_mut().zip(of_request).filter(|(_, gone)| *gone) {
            *slot = None;
        }
        self.last_opened.take_if(|id| self.slots[*id].is_none());
    }

    /// All of them for `sys.dm_exec_cursors`.
    pub(crate) fn rows(&self, is_close_on_commit: bool) -> Vec<CursorRow> {
        let each = self.slots.iter().enumerate();
        let each = each.filter_map(|(id, slot)| slot.as_deref().map(|cursor| (id, cursor)));
        let row = |(id, cursor): (CursorId, &Cursor)| {
            let name = self.globals.iter().find(|(_, named)| *named == id).map(|(name, _)| name.as_str());
            let level = self.scopes.iter().position(|scope| scope.has(id));
            let scope = match level {
                Some(level) => format!("Local ({level})"),
                None => "Global (0)".to_string(),
            };
            let name = if cursor.plan.name.is_empty() { name.unwrap_or("") } else { &cursor.plan.name };
            let own = i32::try_from(id).unwrap_or(i32::MAX).saturating_add(1);
            let number = cursor.api.as_ref().map_or(own, |api| api.handle);
            cursor.row(number, &scope, name, is_close_on_commit)
        };
        each.map(row).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Memory of the rows of open cursors.
    pub(crate) fn held_bytes(&self) -> u64 {
        let open = self.slots.iter().flatten().filter_map(|cursor| cursor.opened.as_deref());
        open.map(|opened| opened.bytes).sum()
    }
}

/// Memory of the values of a row.
pub(crate) fn bytes_of(row: &[Value]) -> u64 {
    row.iter().map(|value| (size_of::<Value>() + value.long_bytes()) as u64).sum()
}

/// 16950 as an error.
fn without_cursor(variable: &str) -> SqlError {
    let mut error = SqlError::new(16950, &[&variable]);
    error.severity = 16;
    error
}

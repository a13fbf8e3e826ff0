//! The state of one running statement that expressions and operators share: variables, parameters of inner plans, the transaction,
//! values that are constant for the statement.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use engine::{CatalogImage, Database, Instance, Lookup, ObjectDef, SchemaDef, TransactionSet};
use rustc_hash::{FxHashMap, FxHashSet};
use types::{ConvertContext, SqlError, Value};

use crate::context::{
    Fired, FunctionRunner, RowSink, RunningTrigger, SessionNames, SessionState, SetOptions,
};
use crate::exec_context::ExecContext;
use crate::front_end::BindAnew;
use crate::kinds::ColumnId;
use crate::measure::MemoryUse;
use crate::profile::Profile;
use crate::row::Row;
use crate::table::SequenceSource;
use crate::workspace::Workspace;

thread_local! {
    /// One row buffer a thread: a loop of single-row statements allocates none.
    static SPARE_ROW: Cell<Row> = const { Cell::new(Row::new()) };
}

/// How many rows pass between two looks at the interrupt flag.
const ROWS_PER_CANCEL_CHECK: u32 = 256;

/// Shared by everything that runs in one statement. Cheap to make: scalar programs make one for each evaluation.
pub struct Runtime<'a> {
    pub instance: &'a Arc<Instance>,
    pub database: &'a Arc<Database>,
    pub state: &'a dyn SessionState,
    pub functions: &'a dyn FunctionRunner,
    pub options: &'a SetOptions,
    pub names: &'a dyn SessionNames,
    pub front_end: &'static dyn BindAnew,
    /// The trigger in whose body the statement is.
    pub trigger: Option<&'a RunningTrigger>,
    pub variables: RefCell<&'a mut [Value]>,
    pub transactions: RefCell<&'a mut TransactionSet>,
    /// Columns of outer rows, by column id.
    params: RefCell<Vec<Value>>,
    now_utc: Cell<Option<i64>>,
    /// The values of RAND() at its places in the statement.
    randoms: RefCell<Vec<(i64, f64)>>,
    convert: OnceCell<ConvertContext>,
    rows_until_check: Cell<u32>,
    null_eliminated: Cell<bool>,
    /// Rows whose key was there have been left out.
    duplicate_ignored: Cell<bool>,
    overflowed: Cell<bool>,
    divided_by_zero: Cell<bool>,
    max_recursion: Cell<u32>,
    /// How the system views show what others are changing in a catalog; and whether they have looked into one.
    pub catalog_image: Cell<CatalogImage>,
    pub saw_catalog: Cell<bool>,
    /// Views of catalogs are read as this shows them, and wait for nothing: `executor/src/catalog.rs` does.
    pub read_as: Cell<Option<CatalogImage>>,
    last_identity: Cell<Option<Value>>,
    /// The first places of the plan that have noted what they use, by their addresses; 0 for none. This is made for each scalar program, too: more
    /// would cost those.
    noted: [Cell<usize>; 2],
    /// State that only statements with plans need.
    extra: OnceCell<Box<Extra>>,
    /// The profile of operators, if it is gathered.
    profile: Option<Rc<Profile>>,
}

#[derive(Default)]
struct Extra {
    /// The places after the first two that have noted what they use.
    noted: RefCell<Vec<usize>>,
    work_tables: RefCell<FxHashMap<u32, Vec<Row>>>,
    subqueries: RefCell<FxHashMap<u32, KeptSubquery>>,
    /// Rows that several operators read; only operators know their form.
    rows: RefCell<FxHashMap<u32, Rc<dyn Any>>>,
    /// The next values of sequences for the current row.
    drawn: RefCell<Vec<(Arc<SequenceSource>, Value)>>,
    workspace: OnceCell<Rc<Workspace>>,
    /// Rows that are tested when all rows of the statement stand in their table, with the addresses of their conditions.
    deferred: RefCell<Vec<(usize, Row)>>,
    /// The triggers that the statement fires.
    fired: RefCell<Vec<Fired>>,
    /// Parsed values of type xml, and the compiled texts of their methods.
    xml_documents: RefCell<types::xml::Documents>,
}

/// The result of a subquery that does not depend on the row.
#[derive(Clone)]
pub enum KeptSubquery {
    Value(Value),
    Exists(bool),
    /// Values of its column, for ANY and ALL.
    List(Arc<Vec<Value>>),
    /// Their keys, for IN.
    Keys(Arc<FxHashSet<Vec<u8>>>, bool),
}

impl<'a> Runtime<'a> {
    /// The runtime of a context; `context` is usable again when it is dropped.
    #[inline]
    pub fn new(context: &'a mut ExecContext<'_>) -> Runtime<'a> {
        Runtime {
            instance: context.instance,
            database: context.database,
            state: context.state,
            functions: context.functions,
            options: context.options,
            names: context.names,
            front_end: context.front_end.0,
            trigger: context.trigger,
            variables: RefCell::new(&mut *context.variables),
            transactions: RefCell::new(&mut *context.transactions),
            params: RefCell::new(Vec::new()),
            now_utc: Cell::new(None),
            randoms: RefCell::new(Vec::new()),
            convert: OnceCell::new(),
            rows_until_check: Cell::new(ROWS_PER_CANCEL_CHECK),
            null_eliminated: Cell::new(false),
            duplicate_ignored: Cell::new(false),
            overflowed: Cell::new(false),
            divided_by_zero: Cell::new(false),
            max_recursion: Cell::new(100),
            catalog_image: Cell::new(CatalogImage::Settled),
            saw_catalog: Cell::new(false),
            read_as: Cell::new(None),
            last_identity: Cell::new(None),
            noted: [const { Cell::new(0) }; 2],
            extra: OnceCell::new(),
            profile: context.options.counts_operators().then(Rc::default),
        }
    }

    /// Where operators count what they do; `None`: they do not.
    #[inline]
    pub fn profile(&self) -> Option<&Rc<Profile>> {
        self.profile.as_ref()
    }

    /// Looks names up; waits for uncommitted definitions of other transactions.
    pub fn look_up<T>(&self, look: impl FnOnce(Lookup<'_>) -> T) -> T {
        look(Lookup::new(&self.transactions.borrow()))
    }

    /// Reads a catalog for system views; does not wait.
    pub fn look_over<T>(&self, look: impl FnOnce(Lookup<'_>) -> T) -> T {
        self.saw_catalog.set(true);
        look(Lookup::of_image(&self.transactions.borrow(), self.catalog_image.get()))
    }

    /// All objects that system views show of a database.
    pub fn objects_of(&self, database: &Database) -> Vec<ObjectDef> {
        self.look_over(|lookup| lookup.objects(database, self.catalog_image.get()))
    }

    /// Everything of it that is neither an object nor a schema.
    pub fn entries_of(&self, database: &Database) -> Vec<Arc<engine::Entry>> {
        self.look_over(|lookup| lookup.entries(database, self.catalog_image.get()))
    }

    /// All its schemas.
    pub fn schemas_of(&self, database: &Database) -> Vec<Arc<SchemaDef>> {
        self.look_over(|lookup| lookup.schemas(database, self.catalog_image.get()))
    }

    /// The memory of the statement's operators.
    pub fn workspace(&self) -> Rc<Workspace> {
        self.extra().workspace.get_or_init(|| Rc::new(Workspace::new(self.instance))).clone()
    }

    /// The memory that its operators have used.
    pub fn memory_use(&self) -> MemoryUse {
        let workspace = self.extra.get().and_then(|extra| extra.workspace.get());
        workspace.map_or(MemoryUse::default(), |workspace| workspace.used())
    }

    fn extra(&self) -> &Extra {
        self.extra.get_or_init(Box::default)
    }

    /// Has this place of the plan not noted yet what it uses?
    #[inline]
    pub fn is_first_use<P>(&self, place: &P) -> bool {
        let address = std::ptr::from_ref(place).addr();
        for noted in &self.noted {
            if noted.get() == 0 {
                noted.set(address);
                return true;
            }
            if noted.get() == address {
                return false;
            }
        }
        self.is_first_use_of_many(address)
    }

    #[cold]
    fn is_first_use_of_many(&self, address: usize) -> bool {
        let mut noted = self.extra().noted.borrow_mut();
        let is_first = !noted.contains(&address);
        if is_first {
            noted.push(address);
        }
        is_first
    }

    /// Keeps a row for a condition that is tested when all rows of the statement stand in their table.
    pub fn defer_check<C>(&self, check: &C, row: &Row) {
        let address = std::ptr::from_ref(check).addr();
        self.extra().deferred.borrow_mut().push((address, row.clone()));
    }

    /// The rows that wait for the condition; they wait no longer.
    pub fn take_deferred<C>(&self, check: &C) -> Vec<Row> {
        let Some(extra) = self.extra.get() else { return Vec::new() };
        let address = std::ptr::from_ref(check).addr();
        let mut deferred = extra.deferred.borrow_mut();
        deferred.extract_if(.., |waiting| waiting.0 == address).map(|waiting| waiting.1).collect()
    }

    /// The statement fires triggers: behind those that it has fired so far.
    pub fn fire(&self, fired: Fired) {
        self.extra().fired.borrow_mut().push(fired);
    }

    /// What it fires, in order.
    pub fn take_fired(&self) -> Vec<Fired> {
        self.extra.get().map(|extra| extra.fired.take()).unwrap_or_default()
    }

    /// Parsed values of type xml, and the compiled texts of their methods.
    pub fn xml_documents(&self) -> &RefCell<types::xml::Documents> {
        &self.extra().xml_documents
    }

    /// Value of a variable.
    #[inline]
    pub fn variable(&self, slot: usize) -> Value {
        self.variables.borrow()[slot].clone()
    }

    /// Integer value of a variable, `None` for NULL.
    #[inline]
    pub fn variable_i64(&self, slot: usize) -> Option<i64> {
        self.variables.borrow()[slot].as_i64()
    }

    /// Value of an outer row's column.
    #[inline]
    pub fn param(&self, id: usize) -> Value {
        self.params.borrow().get(id).cloned().unwrap_or(Value::Null)
    }

    /// Hands columns of a row to inner plans.
    pub fn set_params(&self, pass: &[(usize, ColumnId)], row: &[Value]) {
        let mut params = self.params.borrow_mut();
        for (position, id) in pass {
            let index = id.0 as usize;
            if params.len() <= index {
                params.resize(index + 1, Value::Null);
            }
            params[index] = row[*position].clone();
        }
    }

    /// UTC in ticks of 100 ns since 0001-01-01, the same for the whole statement.
    pub fn now_utc_ticks(&self) -> i64 {
        match self.now_utc.get() {
            Some(now) => now,
            None => {
                let now = self.instance.os().clock().utc_100ns();
                self.now_utc.set(Some(now));
                now
            }
        }
    }

    /// The statement's time if it has been read, otherwise an approximate time: for records of each statement.
    pub fn about_now_utc_ticks(&self) -> i64 {
        self.now_utc.get().unwrap_or_else(|| self.instance.os().clock().about_utc_100ns())
    }

    /// RAND()'s number at a place where it is written, drawn when it is asked for first.
    pub fn random_of(&self, place: i64, draw: impl FnOnce() -> f64) -> f64 {
        let mut randoms = self.randoms.borrow_mut();
        if let Some((_, number)) = randoms.iter().find(|(of, _)| *of == place) {
            return *number;
        }
        let number = draw();
        randoms.push((place, number));
        number
    }

    /// Settings of conversions.
    #[inline]
    pub fn convert_context(&self) -> &ConvertContext {
        self.convert.get_or_init(|| crate::values::convert_context(self.options))
    }

    /// How many rows the statement returns or changes at most: SET ROWCOUNT.
    #[inline]
    pub fn rows_max(&self) -> u64 {
        if self.options.row_count == 0 { u64::MAX } else { self.options.row_count }
    }

    /// The row limit of a statement that changes rows: a statement with TOP ignores it.
    pub fn changes_max(&self, has_top: bool) -> u64 {
        if has_top { u64::MAX } else { self.rows_max() }
    }

    /// Ends the statement when its memory is used up (701), or after an attention, KILL or shutdown. Cheap: it looks for interrupts only once in
    /// so many calls. Operators that keep rows call it for each row.
    #[inline]
    pub fn check_cancelled(&self) -> Result<(), SqlError> {
        self.check_cancelled_after(1)
    }

    /// The same for so many rows that have been worked through since the last call. A loop over rows counts all of them, also those that it
    /// passes over: what is counted once for a batch, or for an outer row, lets the client wait for hundreds of them.
    #[inline]
    pub fn check_cancelled_after(&self, rows: usize) -> Result<(), SqlError> {
        os::memory::check().map_err(crate::errors::out_of_memory)?;
        if let Some(left) = self.rows_until_check.get().checked_sub(u32::try_from(rows).unwrap_or(u32::MAX)) {
            self.rows_until_check.set(left);
            return Ok(());
        }
        self.rows_until_check.set(ROWS_PER_CANCEL_CHECK);
        if os::task::interrupt_pending() { Err(crate::errors::cancelled()) } else { Ok(()) }
    }

    /// Remembers that an aggregate met NULL (message 8153).
    pub fn note_null_eliminated(&self) {
        self.null_eliminated.set(true);
    }

    /// Remembers that a row was left out whose key was there (message 3604).
    pub fn note_duplicate_ignored(&self) {
        self.duplicate_ignored.set(true);
    }

    /// Did an aggregate meet NULL?
    fn null_was_eliminated(&self) -> bool {
        self.null_eliminated.get()
    }

    /// The result of an arithmetic operation; `null` instead of an arithmetic error when both SET ARITHABORT and SET ANSI_WARNINGS are
    /// OFF.
    #[inline]
    pub fn forgive<T>(&self, result: Result<T, SqlError>, null: T) -> Result<T, SqlError> {
        match result {
            Err(error) => self.forgive_error(error).map(|()| null),
            result => result,
        }
    }

    #[cold]
    fn forgive_error(&self, error: SqlError) -> Result<(), SqlError> {
        if self.options.arithabort
            || self.options.ansi_warnings
            || !crate::errors::is_arithmetic(error.number)
        {
            return Err(error);
        }
        let kind = if error.number == 8134 { &self.divided_by_zero } else { &self.overflowed };
        kind.set(true);
        Ok(())
    }

    /// Tells what the statement has to say when it has succeeded: 3604, 8153, 3606, 3607.
    #[inline]
    pub fn tell_warnings(&self, sink: &mut dyn RowSink) {
        if self.null_was_eliminated()
            || self.duplicate_ignored.get()
            || self.divided_by_zero.get()
            || self.overflowed.get()
        {
            self.warnings().iter().for_each(|warning| sink.message(warning));
        }
    }

    #[cold]
    fn warnings(&self) -> Vec<SqlError> {
        let mut warnings = Vec::new();
        if self.duplicate_ignored.get() {
            warnings.push(SqlError::new(3604, &[]));
        }
        if self.null_was_eliminated() && self.options.ansi_warnings {
            warnings.push(crate::errors::null_eliminated());
        }
        let speaks = !self.options.arithignore;
        if self.divided_by_zero.get() && speaks {
            warnings.push(crate::errors::division_occurred());
        }
        if self.overflowed.get() && speaks {
            warnings.push(crate::errors::overflow_occurred());
        }
        warnings
    }

    /// A row buffer to fill.
    #[inline]
    pub fn take_row(&self) -> Row {
        let mut row = SPARE_ROW.take();
        row.clear();
        row
    }

    /// Gives the buffer back for the next row, of this statement or of the thread's next one.
    #[inline]
    pub fn give_back(&self, mut row: Row) {
        row.clear();
        SPARE_ROW.set(row);
    }

    /// Remembers the identity value just given out.
    pub fn note_identity(&self, value: Value) {
        self.last_identity.set(Some(value));
    }

    /// The last identity value given out in this statement.
    pub fn last_identity(&self) -> Option<Value> {
        self.last_identity.take()
    }

    /// OPTION (MAXRECURSION n), 0 = unlimited.
    pub fn max_recursion(&self) -> u32 {
        self.max_recursion.get()
    }

    /// Sets it.
    pub fn set_max_recursion(&self, rounds: u32) {
        self.max_recursion.set(rounds);
    }

    /// Gives the step of a recursion its input.
    pub fn set_work_table(&self, work: u32, rows: Vec<Row>) {
        self.extra().work_tables.borrow_mut().insert(work, rows);
    }

    /// Copies a row of that input.
    pub fn work_table_row(&self, work: u32, index: usize, row: &mut Row) -> bool {
        let tables = self.extra().work_tables.borrow();
        match tables.get(&work).and_then(|rows| rows.get(index)) {
            Some(found) => {
                row.clone_from(found);
                true
            }
            None => false,
        }
    }

    /// A kept subquery result.
    pub fn kept_subquery(&self, number: u32) -> Option<KeptSubquery> {
        self.extra().subqueries.borrow().get(&number).cloned()
    }

    /// Keeps one.
    pub fn keep_subquery(&self, number: u32, result: KeptSubquery) {
        self.extra().subqueries.borrow_mut().insert(number, result);
    }

    /// Discards all kept results: the next read computes them again.
    pub fn forget_kept(&self) {
        if let Some(extra) = self.extra.get() {
            extra.subqueries.borrow_mut().clear();
            extra.rows.borrow_mut().clear();
        }
    }

    /// Rows kept under a number.
    pub fn kept_rows(&self, number: u32) -> Option<Rc<dyn Any>> {
        self.extra().rows.borrow().get(&number).cloned()
    }

    /// Keeps them.
    pub fn keep_rows(&self, number: u32, rows: Rc<dyn Any>) {
        let before = self.extra().rows.borrow_mut().insert(number, rows);
        assert!(before.is_none(), "rows are made once");
    }

    /// Keeps the sequences of a statement as they are until it ends.
    pub fn hold_sequences(&self, sequences: &[Arc<SequenceSource>]) -> Result<(), SqlError> {
        for source in sequences {
            let mut transactions = self.transactions.borrow_mut();
            let transaction = transactions.in_database(&source.database, self.options.isolation)?;
            transaction.hold_sequence(&source.def)?;
        }
        Ok(())
    }

    /// Another row begins: sequences give new values.
    pub fn begin_row(&self) {
        if let Some(extra) = self.extra.get() {
            extra.drawn.borrow_mut().clear();
        }
    }

    /// The row's value of a sequence.
    pub fn next_value(&self, sequence: &Arc<SequenceSource>) -> Result<Value, SqlError> {
        let mut drawn = self.extra().drawn.borrow_mut();
        if let Some((_, value)) = drawn.iter().find(|known| known.0.is(sequence)) {
            return Ok(value.clone());
        }
        let value = sequence.database.next_value(&sequence.def)?;
        drawn.push((sequence.clone(), value.clone()));
        Ok(value)
    }

    /// The row brings a value of the sequence with it.
    pub fn has_drawn(&self, sequence: &Arc<SequenceSource>, value: Value) {
        self.extra().drawn.borrow_mut().push((sequence.clone(), value));
    }
}

/// Asks for bytes for the methods of xml, which take long for long values: an interrupt stops them.
///
/// # Errors
/// 701, and that of the interrupt.
pub fn xml_room(bytes: usize) -> Result<(), SqlError> {
    if os::task::interrupt_pending() {
        return Err(crate::errors::cancelled());
    }
    os::memory::ask(bytes).map_err(crate::errors::out_of_memory)
}

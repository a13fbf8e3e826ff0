//! Rows that are read later or several times: as many as fit are in memory, the rest is on disk.

use std::rc::Rc;

use engine::Run;
use plan_ir::physical::plan::Plan;
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::{Held, RowWriter, RunRows, row_bytes};
use crate::operations::Open;
use crate::room::Room;

/// All rows of a plan.
pub(crate) struct RowStore {
    rows: Vec<Row>,
    behind: Option<Rc<Run>>,
    _held: Held,
}

/// A cursor over the rows.
#[derive(Default)]
pub(crate) struct Walk {
    at: usize,
    behind: Option<RunRows<Rc<Run>>>,
    row: Row,
}

impl RowStore {
    /// Reads a plan to its end.
    pub(crate) fn read(plan: &Plan, runtime: &Runtime<'_>) -> Result<RowStore, SqlError> {
        let mut source = plan.open(runtime)?;
        let mut held = Held::new(runtime);
        let mut rows: Vec<Row> = Vec::new();
        let mut behind: Option<RowWriter> = None;
        let mut row = Row::new();
        while source.next(runtime, &mut row)? {
            runtime.check_cancelled()?;
            if let Some(writer) = &mut behind {
                writer.push(&row)?;
                continue;
            }
            rows.room_for_one()?;
            if held.add(runtime, row_bytes(&row))? {
                behind = Some(RowWriter::new(held.workspace(), runtime)?);
            }
            rows.push(std::mem::take(&mut row));
        }
        let behind = behind.map(RowWriter::finish).transpose()?.map(Rc::new);
        Ok(RowStore { rows, behind, _held: held })
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() + self.behind.as_ref().map_or(0, |run| run.records() as usize)
    }
}

impl Walk {
    /// How many rows it has given.
    pub(crate) fn passed(&self) -> usize {
        self.at
    }

    /// The next row and its number.
    #[inline]
    pub(crate) fn next<'a>(
        &'a mut self,
        runtime: &Runtime<'_>,
        store: &'a RowStore,
    ) -> Result<Option<(usize, &'a Row)>, SqlError> {
        runtime.check_cancelled()?;
        let number = self.at;
        if let Some(row) = store.rows.get(number) {
            self.at += 1;
            return Ok(Some((number, row)));
        }
        debug_assert!(number <= store.len(), "a walk ends behind the last row");
        let Some(run) = &store.behind else { return Ok(None) };
        let behind = self.behind.get_or_insert_with(|| RunRows::new(run.reader()));
        if !behind.next(runtime, &mut self.row)? {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some((number, &self.row)))
    }
}

/// The rows of a store, once.
pub(crate) struct StoredRows {
    store: Rc<RowStore>,
    walk: Walk,
}

impl StoredRows {
    pub(crate) fn new(store: RowStore) -> StoredRows {
        StoredRows { store: Rc::new(store), walk: Walk::default() }
    }
}

/// The rows that are kept under a number; the first read computes them.
pub(crate) struct KeptRows<'p> {
    plan: &'p Plan,
    number: u32,
    rows: Option<StoredRows>,
}

impl<'p> KeptRows<'p> {
    pub(crate) fn new(plan: &'p Plan, number: u32) -> KeptRows<'p> {
        KeptRows { plan, number, rows: None }
    }

    fn find(&self, runtime: &Runtime<'_>) -> Result<StoredRows, SqlError> {
        let known = runtime.kept_rows(self.number).and_then(|kept| kept.downcast::<RowStore>().ok());
        let store = match known {
            Some(store) => store,
            None => {
                let store = Rc::new(RowStore::read(self.plan, runtime)?);
                runtime.keep_rows(self.number, store.clone());
                store
            }
        };
        Ok(StoredRows { store, walk: Walk::default() })
    }
}

impl RowSource for KeptRows<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => {
                let found = self.find(runtime)?;
                self.rows.insert(found)
            }
        };
        rows.next(runtime, row)
    }
}

impl RowSource for StoredRows {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        match self.walk.next(runtime, &self.store)? {
            Some((_, found)) => {
                row.clone_from(found);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

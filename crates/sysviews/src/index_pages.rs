//! `sys.dm_db_index_physical_stats`: the layout, fragmentation and contents of the pages of heaps and indexes.

use std::sync::Arc;

use engine::{Database, IndexDef, IndexKind, LevelFigures, LookAt, ObjectDef, TableDef};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, Value};

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[SystemView::new(
    "dm_db_index_physical_stats",
    "database_id smallint, object_id int, index_id int, partition_number int, index_type_desc nvarchar(60), alloc_unit_type_desc nvarchar(60), \
     index_depth tinyint, index_level tinyint, avg_fragmentation_in_percent float, fragment_count bigint, avg_fragment_size_in_pages float, \
     page_count bigint, avg_page_space_used_in_percent float, record_count bigint, ghost_record_count bigint, \
     version_ghost_record_count bigint, min_record_size_in_bytes int, max_record_size_in_bytes int, avg_record_size_in_bytes float, \
     forwarded_record_count bigint, compressed_page_count bigint, hobt_id bigint, columnstore_delete_buffer_state tinyint, \
     columnstore_delete_buffer_state_desc nvarchar(60), version_record_count bigint, inrow_version_record_count bigint, \
     inrow_diff_version_record_count bigint, total_inrow_version_payload_size_in_bytes bigint, \
     offrow_regular_version_record_count bigint, offrow_long_term_version_record_count bigint",
    physical_stats,
)
.with_parameters(5)];

/// The objects that the arguments name.
pub(super) struct Asked {
    pub(super) databases: Vec<Arc<Database>>,
    object_id: Option<i32>,
    index_id: Option<i32>,
    partition: Option<i32>,
}

/// A numeric argument; `None` for NULL and for the number that means "all". A number outside int matches nothing.
fn given(context: &ViewContext<'_, '_>, at: usize, means_all: i64) -> Option<i32> {
    let number = context.integer_argument(at).filter(|number| *number != means_all)?;
    Some(i32::try_from(number).unwrap_or(i32::MAX))
}

impl Asked {
    /// All databases and objects.
    pub(super) fn everything() -> Asked {
        Asked { databases: Vec::new(), object_id: None, index_id: None, partition: None }
    }

    /// The first four arguments: database, object, index, partition. Error 2561 for one that is given without those before it, 2521 for a
    /// database that does not exist.
    pub(super) fn new(context: &ViewContext<'_, '_>) -> Result<Asked, SqlError> {
        let database_id = given(context, 0, 0);
        let (object_id, index_id) = (given(context, 1, 0), given(context, 2, -1));
        let partition = given(context, 3, 0);
        let all = [database_id, object_id, index_id.filter(|_| object_id.is_none()), partition];
        if database_id.is_none() || object_id.is_none() {
            let behind = if database_id.is_none() { 1 } else { 2 };
            // An index 0 without an object means no heap in particular: it counts as "all", as programs write it.
            let stray = (behind..all.len()).find(|at| all[*at].is_some_and(|number| *at != 2 || number != 0));
            if let Some(at) = stray {
                return Err(SqlError::new(2561, &[&(at + 1)]));
            }
        }
        let instance = context.runtime.instance;
        let databases = match database_id {
            None => instance.databases(),
            Some(id) => {
                let found = i16::try_from(id).ok().and_then(|id| instance.database_by_id(id));
                vec![found.ok_or_else(|| SqlError::new(2521, &[&id]))?]
            }
        };
        Ok(Asked { databases, object_id, index_id, partition })
    }

    /// The selected tables of a database: error 2573 when there is none with that id. An object without pages, such as a view without indexes,
    /// gives none.
    pub(super) fn tables(
        &self,
        context: &ViewContext<'_, '_>,
        database: &Database,
    ) -> Result<Vec<Arc<TableDef>>, SqlError> {
        let mut objects = context.runtime.objects_of(database);
        if let Some(id) = self.object_id {
            objects.retain(|object| object.object_id() == id);
            if objects.is_empty() {
                return Err(SqlError::new(2573, &[&id]));
            }
        }
        let tables = objects.into_iter().filter_map(|object| match object {
            ObjectDef::Table(table) => Some(table),
            ObjectDef::Module(_) | ObjectDef::Sequence(_) => None,
        });
        Ok(tables.collect())
    }

    /// The selected heap and indexes of a table: errors 2591, 7722 when an index or partition does not exist.
    pub(super) fn indexes<'t>(&self, table: &'t TableDef) -> Result<Vec<&'t IndexDef>, SqlError> {
        let wanted = self.index_id.filter(|_| self.object_id.is_some());
        if let Some(id) = wanted
            && table.index(id).is_none()
        {
            return Err(SqlError::new(2591, &[&id, &table.name]));
        }
        if let Some(partition) = self.partition.filter(|partition| *partition != 1) {
            return Err(SqlError::new(7722, &[&partition, &"table", &table.name, &1, &1]));
        }
        let is_wanted = |index: &&IndexDef| wanted.is_none_or(|id| id == index.index_id);
        Ok(table.indexes.iter().filter(|index| index.has_unit()).filter(is_wanted).collect())
    }
}

fn mode(context: &ViewContext<'_, '_>) -> Result<LookAt, SqlError> {
    let word = context.arguments.get(4).and_then(Value::as_text).map(|word| word.trim().to_ascii_uppercase());
    match word.as_deref() {
        None | Some("LIMITED" | "DEFAULT") => Ok(LookAt::Order),
        Some("SAMPLED") => Ok(LookAt::Some),
        Some("DETAILED") => Ok(LookAt::All),
        Some(_) => Err(SqlError::new(2561, &[&5])),
    }
}

fn physical_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let (look, asked) = (mode(context)?, Asked::new(context)?);
    for database in &asked.databases {
        let mut pages = None;
        for table in asked.tables(context, database)? {
            let opened = database.table(&table);
            for index in asked.indexes(&table)? {
                context.runtime.check_cancelled()?;
                if pages.is_none() {
                    pages = Some(database.pages_of_units()?);
                }
                let of_unit = pages.as_ref().and_then(|pages| pages.get(&index.unit)).copied().unwrap_or(0);
                let found = opened.unit_figures(index, of_unit, look)?;
                // Levels above the leaves are shown in DETAILED mode only.
                let levels = found.levels.iter().filter(|level| level.level == 0 || look == LookAt::All);
                for level in levels {
                    let unit =
                        Unit { database, table: &table, index, kind: "IN_ROW_DATA", depth: found.depth };
                    unit.row(context, level);
                }
                if let Some(lobs) = &found.lobs {
                    Unit { database, table: &table, index, kind: "LOB_DATA", depth: 1 }.row(context, lobs);
                }
            }
        }
    }
    Ok(())
}

/// The allocation unit of a row.
struct Unit<'a> {
    database: &'a Database,
    table: &'a TableDef,
    index: &'a IndexDef,
    kind: &'static str,
    depth: u8,
}

fn float(number: f64) -> Cell {
    Cell::Value(Value::Float(number))
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Unit<'_> {
    fn row(&self, context: Context<'_, '_, '_>, level: &LevelFigures) {
        let kind = match self.index.kind {
            IndexKind::Heap => "HEAP",
            IndexKind::Clustered => "CLUSTERED INDEX",
            IndexKind::Nonclustered => "NONCLUSTERED INDEX",
        };
        let mut cells: Vec<(&str, Cell)> = vec![
            ("database_id", i32::from(self.database.id()).into()),
            ("object_id", self.table.object_id.into()),
            ("index_id", self.index.index_id.into()),
            ("partition_number", 1.into()),
            ("index_type_desc", kind.into()),
            ("alloc_unit_type_desc", self.kind.into()),
            ("index_depth", i32::from(self.depth).into()),
            ("index_level", i32::from(level.level).into()),
            ("page_count", level.pages.into()),
            ("hobt_id", i64::from(self.index.unit).into()),
            ("columnstore_delete_buffer_state", 0.into()),
            ("columnstore_delete_buffer_state_desc", "NOT VALID".into()),
        ];
        let is_in_row = self.kind == "IN_ROW_DATA";
        match &level.order {
            Some(order) => {
                let percent = 100.0 * ratio(order.out_of_order, level.pages);
                cells.push(("avg_fragmentation_in_percent", float(percent)));
                if level.level == 0 {
                    cells.push(("fragment_count", order.fragments.into()));
                    let pages = ratio(level.pages, order.fragments);
                    cells.push(("avg_fragment_size_in_pages", float(pages)));
                }
            }
            None if !is_in_row => cells.push(("avg_fragmentation_in_percent", float(0.0))),
            None => {}
        }
        if let Some(content) = &level.content {
            let in_all = |count: u64| Cell::from(content.in_all(count, level.pages));
            cells.extend([
                ("avg_page_space_used_in_percent", float(100.0 * content.fill())),
                ("record_count", in_all(content.records)),
                ("ghost_record_count", in_all(content.ghosts)),
                ("version_ghost_record_count", 0.into()),
                ("min_record_size_in_bytes", i64::from(content.shortest).into()),
                ("max_record_size_in_bytes", i64::from(content.longest).into()),
                ("avg_record_size_in_bytes", float(ratio(content.record_bytes, content.records))),
                ("compressed_page_count", 0.into()),
                ("version_record_count", 0.into()),
                ("inrow_version_record_count", 0.into()),
                ("inrow_diff_version_record_count", 0.into()),
                ("total_inrow_version_payload_size_in_bytes", 0.into()),
                ("offrow_regular_version_record_count", 0.into()),
                ("offrow_long_term_version_record_count", 0.into()),
            ]);
            if is_in_row && self.index.kind == IndexKind::Heap {
                cells.push(("forwarded_record_count", in_all(content.forwarded)));
            }
        }
        context.row(&cells);
    }
}

//! Disk usage of tables: partitions, allocation units, their rows and pages.

use std::sync::Arc;

use engine::{Database, IndexDef, PageType, TableDef, UnitUsage};
use plan_ir::runtime::Runtime;
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, Value};

use super::objects::all_tables;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "partitions",
        "partition_id bigint not null, object_id int not null, index_id int not null, partition_number int not null, hobt_id bigint not null, \
         rows bigint, filestream_filegroup_id smallint not null, data_compression tinyint not null, data_compression_desc nvarchar(60), \
         xml_compression bit, xml_compression_desc varchar(3)",
        partitions,
    ),
    SystemView::new(
        "dm_db_partition_stats",
        "partition_id bigint, object_id int not null, index_id int not null, partition_number int not null, in_row_data_page_count bigint, \
         in_row_used_page_count bigint, in_row_reserved_page_count bigint, lob_used_page_count bigint, lob_reserved_page_count bigint, \
         row_overflow_used_page_count bigint, row_overflow_reserved_page_count bigint, used_page_count bigint, reserved_page_count bigint, \
         row_count bigint",
        partition_stats,
    ),
    // Hardpan's own, for sp_spaceused: page counts without counting rows.
    SystemView::new(
        "spt_unit_pages",
        "object_id int not null, index_id int not null, row_pages bigint not null, interior_pages bigint not null, lob_pages bigint not null",
        |context| {
            each_unit(context, |context, table, index, usage| {
                context.row(&[
                    ("object_id", table.object_id.into()),
                    ("index_id", index.index_id.into()),
                    ("row_pages", usage.row_pages.into()),
                    ("interior_pages", usage.interior_pages.into()),
                    ("lob_pages", usage.lob_pages.into()),
                ]);
                Ok(())
            })
        },
    ),
    SystemView::new(
        "allocation_units",
        "allocation_unit_id bigint not null, type tinyint not null, type_desc nvarchar(60), container_id bigint not null, data_space_id int, \
         total_pages bigint not null, used_pages bigint not null, data_pages bigint not null",
        |context| allocation_units(context, false),
    ),
    SystemView::new(
        "system_internals_allocation_units",
        "allocation_unit_id bigint not null, type tinyint not null, type_desc nvarchar(60), container_id bigint not null, \
         filegroup_id smallint not null, total_pages bigint not null, used_pages bigint not null, data_pages bigint not null, \
         first_page binary(6), root_page binary(6), first_iam_page binary(6)",
        |context| allocation_units(context, true),
    ),
];

/// The number of rows of a heap or index: committed ones, and the session's own.
pub(crate) fn count_rows(
    runtime: &Runtime<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    index: &IndexDef,
) -> Result<i64, SqlError> {
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.in_database(database, runtime.options.isolation)?;
    let rows =
        database.table(table).count_rows(transaction, index.index_id, &mut || runtime.check_cancelled())?;
    Ok(i64::try_from(rows).unwrap_or(i64::MAX))
}

/// The rows of an index: all rows of the table, or those that satisfy its filter.
fn rows_of_index(
    context: Context<'_, '_, '_>,
    table: &Arc<TableDef>,
    index: &IndexDef,
    all: i64,
) -> Result<i64, SqlError> {
    match index.filter {
        Some(_) => count_rows(context.runtime, context.database, table, index),
        None => Ok(all),
    }
}

fn partitions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for table in all_tables(context) {
        let all = count_rows(context.runtime, context.database, &table, table.base())?;
        for index in table.indexes.iter().filter(|index| index.has_unit()) {
            let rows = rows_of_index(context, &table, index, all)?;
            let hobt = i64::from(index.unit);
            context.row(&[
                ("partition_id", hobt.into()),
                ("object_id", table.object_id.into()),
                ("index_id", index.index_id.into()),
                ("partition_number", 1.into()),
                ("hobt_id", hobt.into()),
                ("rows", rows.into()),
                ("filestream_filegroup_id", 0.into()),
                ("data_compression", 0.into()),
                ("data_compression_desc", "NONE".into()),
                ("xml_compression_desc", "OFF".into()),
            ]);
        }
    }
    Ok(())
}

/// Every heap and index that has pages, with their counts. Pages are counted in the allocation maps: all reserved pages count as used, since space
/// is allocated page by page.
fn each_unit(
    context: Context<'_, '_, '_>,
    mut body: impl FnMut(Context<'_, '_, '_>, &Arc<TableDef>, &IndexDef, UnitUsage) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let pages = context.database.pages_of_units()?;
    for table in all_tables(context) {
        let opened = context.database.table(&table);
        for index in table.indexes.iter().filter(|index| index.has_unit()) {
            context.runtime.check_cancelled()?;
            let usage = opened.usage(index, pages.get(&index.unit).copied().unwrap_or(0))?;
            body(&mut *context, &table, index, usage)?;
        }
    }
    Ok(())
}

fn partition_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let mut counted: Option<(i32, i64)> = None;
    each_unit(context, |context, table, index, usage| {
        let all = match counted {
            Some((object_id, rows)) if object_id == table.object_id => rows,
            _ => count_rows(context.runtime, context.database, table, table.base())?,
        };
        counted = Some((table.object_id, all));
        let rows = rows_of_index(&mut *context, table, index, all)?;
        let in_row = usage.row_pages + usage.interior_pages;
        context.row(&[
            ("partition_id", i64::from(index.unit).into()),
            ("object_id", table.object_id.into()),
            ("index_id", index.index_id.into()),
            ("partition_number", 1.into()),
            ("in_row_data_page_count", usage.row_pages.into()),
            ("in_row_used_page_count", in_row.into()),
            ("in_row_reserved_page_count", in_row.into()),
            ("lob_used_page_count", usage.lob_pages.into()),
            ("lob_reserved_page_count", usage.lob_pages.into()),
            ("row_overflow_used_page_count", 0.into()),
            ("row_overflow_reserved_page_count", 0.into()),
            ("used_page_count", usage.pages().into()),
            ("reserved_page_count", usage.pages().into()),
            ("row_count", rows.into()),
        ]);
        Ok(())
    })
}

fn unit_number(unit: i64, kind: i64) -> i64 {
    unit * 4 + kind
}

/// `allocation_unit_id` of the unit to which a page of that type belongs.
pub(super) fn allocation_unit_id(unit: u32, page_type: PageType) -> i64 {
    let is_large = page_type == PageType::Lob;
    unit_number(i64::from(unit), if is_large { 2 } else { 1 })
}

/// In-row pages of every heap and index, and those of large values if it can have any. SQL Server's row-overflow data is stored with
/// the large values here.
fn allocation_units(context: Context<'_, '_, '_>, is_internal: bool) -> Result<(), SqlError> {
    each_unit(context, |context, table, index, usage| {
        let unit = i64::from(index.unit);
        let may_have_lobs = context.database.table(table).may_have_lobs(index);
        let in_row = (1, "IN_ROW_DATA", usage.row_pages + usage.interior_pages, usage.row_pages);
        let lob = (2, "LOB_DATA", usage.lob_pages, usage.lob_pages);
        for (kind, name, pages, data) in std::iter::once(in_row).chain(may_have_lobs.then_some(lob)) {
            let mut cells: Vec<(&str, Cell)> = vec![
                ("allocation_unit_id", unit_number(unit, kind).into()),
                ("type", kind.into()),
                ("type_desc", name.into()),
                ("container_id", unit.into()),
                ("total_pages", pages.into()),
                ("used_pages", pages.into()),
                ("data_pages", data.into()),
            ];
            match is_internal {
                true => cells.push(("filegroup_id", 1.into())),
                false => cells.push(("data_space_id", 1.into())),
            }
            if is_internal && kind == 1 {
                let root = Value::binary(&index.root.to_bytes());
                cells.push(("first_page", root.clone().into()));
                cells.push(("root_page", root.clone().into()));
            }
            context.row(&cells);
        }
        Ok(())
    })
}

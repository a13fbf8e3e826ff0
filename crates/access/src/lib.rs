//! Heaps, B+trees and allocation over pages inside transactions, with their redo and undo.
//!
//! [`AccessMethods`] belongs to one database; it makes [`Heap`] and [`BTree`] handles. [`RowFormat`] turns values into rows and
//! [`KeyFormat`] into keys; heaps and trees themselves handle only bytes. Every change follows this order: lock the row, latch the page, append
//! the log record, change the page. redo.rs has the redo and undo of each record.

mod alloc;
mod allocator;
mod btree;
mod error;
mod handles;
mod heap;
mod hints;
mod ids;
mod key;
mod lob;
mod lost_maps;
mod map_page;
mod methods;
mod number_set;
mod number_steps;
mod options;
mod patch;
mod physical;
mod prefetch;
mod redo;
mod row;
mod row_change;
mod row_number;
mod row_test;
mod row_value;
mod row_view;
mod sample;
mod turns;
mod unit_uses;
mod usage;
mod verify;
mod visibility;

pub use alloc::{SYSTEM_UNITS_END, Tail};
pub use btree::{BTree, BTreeCursor, BTreeDef, BTreeKind, BuildFill, Inserted, TreeLoader};
pub use error::{AccessError, AccessResult};
pub use heap::{Heap, HeapCursor, HeapDef};
pub use ids::{Rid, UnitId};
pub use key::{ENTRY_BYTES_MAX, KEY_BYTES_MAX, KeyColumn, KeyFormat, KeyRange};
pub use lob::LOB_PIECE_BYTES;
pub use methods::{AccessMethods, AccessOptions, Logging};
pub use number_set::NumberSet;
pub use number_steps::{NumberStep, NumberSteps};
pub use options::{RowLock, ScanOptions, Selection};
pub use physical::{LevelFigures, LookAt, PageContent, PageOrder, UnitFigures};
pub use row::{ColumnValue, LobPointer, ROW_BYTES_MAX, RowColumn, RowFormat};
pub use row_test::{
    Accepted, Condition, ConditionKind, NumberTest, RowTest, compare_as_numbers, is_fixed_length,
};
pub use row_value::{decode_variable, encode_variable, fixed_bytes};
pub use row_view::RowView;
pub use sample::SampledPages;
pub use unit_uses::{UnitUse, UnitUses};
pub use usage::UnitUsage;
pub use verify::{Damage, Problem, UnitKind, UnitToVerify, VerifyReport};

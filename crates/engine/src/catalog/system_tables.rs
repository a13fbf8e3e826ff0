//! The tables in which a database stores its own catalog. Their definitions are in code, because they are needed to read definitions.
//!
//! Each is a clustered index on its key with the allocation unit of its position here; the boot page has the roots. Add a new column
//! at the end and let it allow NULL; add a new table at the end of [`ALL`].

use std::sync::Arc;

use pages::PageId;
use types::{Collation, DateTime, Length, SqlType};

use crate::index_settings::IndexSettings;
use crate::index_uses::IndexUses;
use crate::schema::{ColumnDef, IndexColumn, IndexDef, IndexKind, SCHEMA_SYS, TableDef};

/// The definition of a system table.
pub struct SystemTable {
    /// Name in `sys`.
    pub name: &'static str,
    /// Name, type, may be NULL.
    columns: &'static [(&'static str, SqlType, bool)],
    /// The number of leading columns that are the key.
    key_columns: usize,
}

const TEXT: SqlType = SqlType::NVarChar(Length::Max);
const BYTES: SqlType = SqlType::VarBinary(Length::Max);
/// A number too large for bigint, in 16 bytes, big endian; the bigint column beside it is NULL then.
const BEYOND_BIGINT: SqlType = SqlType::VarBinary(Length::N(16));

/// Schemas made by users.
pub const SCHEMAS: usize = 0;
/// Tables and modules.
pub const OBJECTS: usize = 1;
/// Columns.
pub const COLUMNS: usize = 2;
/// Heaps and indexes.
pub const INDEXES: usize = 3;
/// Columns of indexes.
pub const INDEX_COLUMNS: usize = 4;
/// Constraints and texts: DEFAULT, CHECK, computed columns, modules.
pub const TEXTS: usize = 5;
/// Highest identity value that may have been assigned, by table; under the table's negative number the first one, if it is not the seed.
pub const IDENTITIES: usize = 6;
/// Foreign keys, one row a column pair.
pub const FOREIGN_KEYS: usize = 7;
/// Databases of the instance (used in master only).
pub const DATABASES: usize = 8;
/// Decisions about commits over several databases (used in master only); see `decision.rs`.
pub const DECISIONS: usize = 9;
/// Extended properties.
pub const PROPERTIES: usize = 10;
/// Alias types.
pub const TYPES: usize = 11;
/// Messages of users (used in master only).
pub const MESSAGES: usize = 12;
/// Configured values of the server (used in master only).
pub const CONFIGURATIONS: usize = 13;
/// Filters of indexes: the text (`subid` 0) and the terms, one row per constant.
pub const INDEX_FILTERS: usize = 14;
/// Sequences.
pub const SEQUENCES: usize = 15;
/// Recovery values of sequences, by the number of their counter; written in transactions of their own (see `sequence.rs`).
pub const SEQUENCE_VALUES: usize = 16;
/// Where the log of an incarnation ended; see `ticket.rs`.
pub const INCARNATIONS: usize = 17;
/// Statistics.
pub const STATISTICS: usize = 18;

/// Holds the values of every sequence's type.
const WHOLE_NUMBER: SqlType = SqlType::Decimal { precision: 38, scale: 0 };

/// All system tables, in order of their units.
pub static ALL: [SystemTable; 19] = [
    SystemTable {
        name: "sysclsobjs",
        key_columns: 1,
        columns: &[("id", SqlType::Int, false), ("name", SqlType::SysName, false)],
    },
    SystemTable {
        name: "sysschobjs",
        key_columns: 1,
        columns: &[
            ("id", SqlType::Int, false),
            ("nsid", SqlType::Int, false),
            ("name", SqlType::SysName, false),
            ("type", SqlType::Char(2), false),
            ("pid", SqlType::Int, false),
            ("status", SqlType::Int, false),
            ("intprop", SqlType::Int, false),
            ("created", SqlType::DateTime, false),
            ("modified", SqlType::DateTime, false),
        ],
    },
    SystemTable {
        name: "syscolpars",
        key_columns: 2,
        columns: &[
            ("id", SqlType::Int, false),
            ("colid", SqlType::Int, false),
            ("name", SqlType::SysName, false),
            ("xtype", SqlType::TinyInt, false),
            ("length", SqlType::Int, false),
            ("prec", SqlType::TinyInt, false),
            ("scale", SqlType::TinyInt, false),
            ("status", SqlType::Int, false),
            ("collation", SqlType::SysName, true),
            ("idtseed", SqlType::BigInt, true),
            ("idtincr", SqlType::BigInt, true),
            ("utype", SqlType::Int, true),
            ("idtseed_wide", BEYOND_BIGINT, true),
            ("idtincr_wide", BEYOND_BIGINT, true),
        ],
    },
    SystemTable {
        name: "sysidxstats",
        key_columns: 2,
        columns: &[
            ("id", SqlType::Int, false),
            ("indid", SqlType::Int, false),
            ("name", SqlType::SysName, true),
            ("type", SqlType::TinyInt, false),
            ("status", SqlType::Int, false),
            ("constraint_id", SqlType::Int, false),
            ("unit", SqlType::Int, false),
            ("root_file", SqlType::Int, false),
            ("root_page", SqlType::BigInt, false),
        ],
    },
    SystemTable {
        name: "sysiscols",
        key_columns: 3,
        columns: &[
            ("id", SqlType::Int, false),
            ("indid", SqlType::Int, false),
            ("subid", SqlType::Int, false),
            ("colid", SqlType::Int, false),
            ("status", SqlType::Int, false),
        ],
    },
    SystemTable {
        name: "sysobjvalues",
        key_columns: 3,
        columns: &[
            ("id", SqlType::Int, false),
            ("class", SqlType::TinyInt, false),
            ("subid", SqlType::Int, false),
            ("name", SqlType::SysName, true),
            ("objid", SqlType::Int, false),
            ("status", SqlType::Int, false),
            ("value", TEXT, true),
        ],
    },
    SystemTable {
        name: "sysidentities",
        key_columns: 1,
        columns: &[
            ("id", SqlType::Int, false),
            ("value", SqlType::BigInt, true),
            ("value_wide", BEYOND_BIGINT, true),
        ],
    },
    SystemTable {
        name: "sysfkcols",
        key_columns: 3,
        columns: &[
            ("id", SqlType::Int, false),
            ("objid", SqlType::Int, false),
            ("subid", SqlType::Int, false),
            ("name", SqlType::SysName, false),
            ("refid", SqlType::Int, false),
            ("colid", SqlType::Int, false),
            ("refcolid", SqlType::Int, false),
            ("status", SqlType::Int, false),
        ],
    },
    SystemTable {
        name: "sysdbreg",
        key_columns: 1,
        columns: &[
            ("id", SqlType::Int, false),
            ("name", SqlType::SysName, false),
            ("phase", SqlType::TinyInt, false),
            ("created", SqlType::DateTime, false),
            ("options", TEXT, false),
            ("files", TEXT, false),
        ],
    },
    SystemTable {
        name: "sysdecisions",
        key_columns: 1,
        columns: &[("id", SqlType::BigInt, false), ("participants", TEXT, false)],
    },
    SystemTable {
        name: "sysxprops",
        key_columns: 4,
        columns: &[
            ("class", SqlType::TinyInt, false),
            ("id", SqlType::Int, false),
            ("subid", SqlType::Int, false),
            ("name", SqlType::SysName, false),
            ("value", SqlType::SqlVariant, true),
        ],
    },
    SystemTable {
        name: "sysscalartypes",
        key_columns: 1,
        columns: &[
            ("id", SqlType::Int, false),
            ("schid", SqlType::Int, false),
            ("name", SqlType::SysName, false),
            ("xtype", SqlType::TinyInt, false),
            ("length", SqlType::Int, false),
            ("prec", SqlType::TinyInt, false),
            ("scale", SqlType::TinyInt, false),
            ("status", SqlType::Int, false),
            ("created", SqlType::DateTime, false),
        ],
    },
    SystemTable {
        name: "sysusermsgs",
        key_columns: 2,
        columns: &[
            ("id", SqlType::Int, false),
            ("msglangid", SqlType::Int, false),
            ("severity", SqlType::TinyInt, false),
            ("status", SqlType::Int, false),
            ("text", TEXT, false),
        ],
    },
    SystemTable {
        name: "sysconfigvalues",
        key_columns: 1,
        columns: &[("id", SqlType::Int, false), ("value", SqlType::Int, false)],
    },
    SystemTable {
        name: "sysidxfilters",
        key_columns: 3,
        columns: &[
            ("id", SqlType::Int, false),
            ("indid", SqlType::Int, false),
            ("subid", SqlType::Int, false),
            ("term", SqlType::Int, false),
            ("colid", SqlType::Int, false),
            ("test", SqlType::TinyInt, false),
            ("value", SqlType::SqlVariant, true),
            ("text", TEXT, true),
        ],
    },
    SystemTable {
        name: "syssequences",
        key_columns: 1,
        columns: &[
            ("id", SqlType::Int, false),
            ("xtype", SqlType::TinyInt, false),
            ("prec", SqlType::TinyInt, false),
            ("status", SqlType::Int, false),
            ("utype", SqlType::Int, false),
            ("cache", SqlType::Int, false),
            ("counter", SqlType::Int, false),
            ("start", WHOLE_NUMBER, false),
            ("increment", WHOLE_NUMBER, false),
            ("minimum", WHOLE_NUMBER, false),
            ("maximum", WHOLE_NUMBER, false),
            ("turned", WHOLE_NUMBER, true),
        ],
    },
    SystemTable {
        name: "sysseqvalues",
        key_columns: 1,
        columns: &[("counter", SqlType::Int, false), ("value", WHOLE_NUMBER, false)],
    },
    SystemTable {
        name: "sysincarnations",
        key_columns: 1,
        columns: &[("id", SqlType::BigInt, false), ("endlsn", SqlType::BigInt, false)],
    },
    SystemTable {
        name: "sysstats",
        key_columns: 2,
        columns: &[
            ("id", SqlType::Int, false),
            ("statid", SqlType::Int, false),
            ("name", SqlType::SysName, true),
            ("status", SqlType::Int, false),
            ("columns", BYTES, false),
            ("updated", SqlType::DateTime, true),
            ("rows", SqlType::BigInt, true),
            ("sampled", SqlType::BigInt, true),
            ("densities", BYTES, true),
            ("steps", BYTES, true),
            ("unfiltered", SqlType::BigInt, true),
            ("filter", SqlType::NVARCHAR_MAX, true),
            ("terms", BYTES, true),
            ("percent", SqlType::Float, true),
        ],
    },
];

/// The allocation unit of a system table; its object number is the same plus two.
pub fn unit_of(table: usize) -> u32 {
    table as u32 + 1
}

/// The definition of a system table whose tree has this root.
pub fn definition(table: usize, root: PageId) -> Arc<TableDef> {
    let shape = &ALL[table];
    let columns = shape.columns.iter().enumerate().map(|(at, (name, sql_type, nullable))| ColumnDef {
        column_id: at as i32 + 1,
        name: (*name).into(),
        sql_type: *sql_type,
        nullable: *nullable,
        collation: Collation::DEFAULT,
        identity: None,
        default: None,
        computed: None,
        is_rowguidcol: false,
        user_type_id: 0,
    });
    let key = (0..shape.key_columns).map(|ordinal| IndexColumn { ordinal, descending: false });
    let index = IndexDef {
        index_id: 1,
        name: Some(shape.name.into()),
        kind: IndexKind::Clustered,
        unique: true,
        primary_key: false,
        unique_constraint: false,
        constraint_id: 0,
        is_system_named: true,
        key: key.collect(),
        included: Vec::new(),
        filter: None,
        is_disabled: false,
        settings: IndexSettings::default(),
        unit: unit_of(table),
        root,
        uses: IndexUses::default(),
    };
    let created = DateTime { days: 0, ticks: 0 };
    Arc::new(TableDef {
        object_id: table as i32 + 3,
        schema_id: SCHEMA_SYS,
        schema: "sys".into(),
        name: shape.name.into(),
        is_system: true,
        ansi_nulls: true,
        columns: columns.collect(),
        indexes: vec![index],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        create_date: created,
        modify_date: created,
        next_column_id: shape.columns.len() as i32 + 1,
    })
}

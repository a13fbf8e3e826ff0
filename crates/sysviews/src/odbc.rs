//! Columns and parameters in ODBC's terms: the source of `sp_columns`, `sp_sproc_columns` and `sp_special_columns`.

use engine::{ModuleKind, ObjectDef};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, SqlType};

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[SystemView::new(
    "spt_columns_odbc_view",
    "object_id int not null, kind char(1) not null, COLUMN_NAME sysname, COLUMN_TYPE smallint not null, DATA_TYPE_2 smallint not null, \
     DATA_TYPE_3 smallint not null, TYPE_NAME sysname, PRECISION int, LENGTH_2 int, LENGTH_3 int, SCALE smallint, RADIX smallint, \
     NULLABLE smallint not null, COLUMN_DEF nvarchar(4000), SQL_DATA_TYPE_2 smallint not null, SQL_DATA_TYPE_3 smallint not null, \
     SQL_DATETIME_SUB_2 smallint, SQL_DATETIME_SUB_3 smallint, CHAR_OCTET_LENGTH int, ORDINAL_POSITION int not null, \
     IS_NULLABLE varchar(254), SS_IS_SPARSE smallint not null, SS_IS_COMPUTED smallint not null, SS_IS_IDENTITY smallint not null, \
     SS_DATA_TYPE tinyint",
    columns,
)];

/// A type in ODBC 2 and ODBC 3.
struct OdbcType {
    /// `SQL_INTEGER` and so on, one per version.
    codes: (i32, i32),
    precision: i32,
    /// Transfer length in bytes, one per version.
    lengths: (i32, i32),
    scale: Option<i32>,
    radix: Option<i32>,
    /// Verbose type and its subcode, one per version.
    verbose: ((i32, Option<i32>), (i32, Option<i32>)),
    octets: Option<i32>,
    /// Type code of the old client library: not nullable, nullable.
    old: (i32, i32),
}

impl OdbcType {
    fn number(code: i32, precision: i32, length: i32, scale: i32, old: (i32, i32)) -> OdbcType {
        OdbcType {
            codes: (code, code),
            precision,
            lengths: (length, length),
            scale: Some(scale),
            radix: Some(10),
            verbose: ((code, None), (code, None)),
            octets: None,
            old,
        }
    }

    fn text(code: i32, precision: i32, bytes: i32, old: (i32, i32)) -> OdbcType {
        OdbcType {
            scale: None,
            radix: None,
            octets: Some(bytes),
            ..OdbcType::number(code, precision, bytes, 0, old)
        }
    }

    fn moment(codes: (i32, i32), precision: i32, lengths: (i32, i32), scale: Option<i32>) -> OdbcType {
        let verbose = match codes {
            (11, 93) => ((9, Some(3)), (9, Some(3))),
            (_, 93) => ((codes.0, None), (9, Some(3))),
            (_, 91) => ((codes.0, None), (9, Some(1))),
            (_, code) => ((codes.0, None), (code, Some(0))),
        };
        OdbcType {
            codes,
            lengths,
            scale,
            radix: None,
            verbose,
            ..OdbcType::number(0, precision, 0, 0, (0, 0))
        }
    }
}

/// The ODBC description of a type.
fn odbc_type(sql_type: &SqlType) -> OdbcType {
    let bytes = i32::from(sql_type.max_length());
    // A max type has no limit: 0.
    let limited = bytes.max(0);
    let (precision, scale) = (i32::from(sql_type.precision()), i32::from(sql_type.scale()));
    let fraction = |scale: u8| if scale == 0 { 0 } else { i32::from(scale) + 1 };
    let with_old = |odbc: OdbcType, old: (i32, i32)| OdbcType { old, ..odbc };
    match *sql_type {
        SqlType::Bit => OdbcType { scale: None, radix: None, ..OdbcType::number(-7, 1, 1, 0, (50, 50)) },
        SqlType::TinyInt => OdbcType::number(-6, 3, 1, 0, (48, 38)),
        SqlType::SmallInt => OdbcType::number(5, 5, 2, 0, (52, 38)),
        SqlType::Int => OdbcType::number(4, 10, 4, 0, (56, 38)),
        SqlType::BigInt => OdbcType::number(-5, 19, 8, 0, (63, 108)),
        SqlType::Decimal { .. } => OdbcType::number(3, precision, precision + 2, scale, (106, 106)),
        SqlType::Numeric { .. } => OdbcType::number(2, precision, precision + 2, scale, (108, 108)),
        SqlType::Money => OdbcType::number(3, 19, 21, 4, (60, 110)),
        SqlType::SmallMoney => OdbcType::number(3, 10, 12, 4, (122, 110)),
        SqlType::Real => OdbcType { scale: None, radix: Some(2), ..OdbcType::number(7, 24, 4, 0, (59, 109)) },
        SqlType::Float => {
            OdbcType { scale: None, radix: Some(2), ..OdbcType::number(6, 53, 8, 0, (62, 109)) }
        }
        SqlType::Char(_) => OdbcType::text(1, bytes, bytes, (47, 39)),
        SqlType::VarChar(_) => OdbcType::text(12, limited, limited, (39, 39)),
        SqlType::NChar(_) => OdbcType::text(-8, bytes / 2, bytes, (47, 39)),
        SqlType::NVarChar(_) | SqlType::SysName => OdbcType::text(-9, limited / 2, limited, (39, 39)),
        SqlType::Text => OdbcType::text(-1, i32::MAX, i32::MAX, (35, 35)),
        SqlType::NText => OdbcType::text(-10, i32::MAX / 2, i32::MAX - 1, (35, 35)),
        SqlType::Binary(_) => OdbcType::text(-2, bytes, bytes, (45, 37)),
        SqlType::VarBinary(_) => OdbcType::text(-3, limited, limited, (37, 37)),
        SqlType::Image => OdbcType::text(-4, i32::MAX, i32::MAX, (34, 34)),
        SqlType::RowVersion => OdbcType::text(-2, 8, 8, (45, 37)),
        SqlType::UniqueIdentifier => OdbcType { octets: None, ..OdbcType::text(-11, 36, 16, (37, 37)) },
        SqlType::Xml => OdbcType::text(-152, 0, 0, (0, 0)),
        SqlType::DateTime => with_old(OdbcType::moment((11, 93), 23, (16, 16), Some(3)), (61, 111)),
        SqlType::SmallDateTime => with_old(OdbcType::moment((11, 93), 16, (16, 16), Some(0)), (58, 111)),
        SqlType::Date => OdbcType::moment((-9, 91), 10, (20, 6), None),
        SqlType::Time(scale) => {
            let digits = 8 + fraction(scale);
            OdbcType::moment((-9, -154), digits, (digits * 2, 12), Some(i32::from(scale)))
        }
        SqlType::DateTime2(scale) => {
            let digits = 19 + fraction(scale);
            OdbcType::moment((-9, 93), digits, (digits * 2, 16), Some(i32::from(scale)))
        }
        SqlType::DateTimeOffset(scale) => {
            let digits = 26 + fraction(scale);
            OdbcType::moment((-9, -155), digits, (digits * 2, 20), Some(i32::from(scale)))
        }
        _ => OdbcType {
            scale: Some(0),
            radix: Some(10),
            octets: None,
            ..OdbcType::text(-150, 8000, 8000, (39, 39))
        },
    }
}

/// ODBC's scale for a type number and scale; `None`: the type has no scale, or does not exist.
pub(crate) fn scale_of(type_id: i64, scale: i32) -> Option<i32> {
    let known = super::type_list::all_types().iter();
    let sql_type = known.copied().find(|known| i64::from(known.system_type_id()) == type_id)?;
    let has_own = matches!(
        sql_type,
        SqlType::Decimal { .. }
            | SqlType::Numeric { .. }
            | SqlType::Time(_)
            | SqlType::DateTime2(_)
            | SqlType::DateTimeOffset(_)
    );
    if has_own { Some(scale) } else { odbc_type(&sql_type).scale }
}

/// A column or parameter to describe.
struct Described<'a> {
    object_id: i32,
    name: &'a str,
    sql_type: SqlType,
    type_name: String,
    nullable: bool,
    position: i32,
    default: Option<&'a str>,
    is_computed: bool,
    is_identity: bool,
    /// `None` for a column; 1 input, 2 input and output, 3 result set column, 5 return value.
    parameter: Option<i32>,
}

fn describe(context: Context<'_, '_, '_>, column: &Described<'_>) {
    let odbc = odbc_type(&column.sql_type);
    let old = if column.nullable { odbc.old.1 } else { odbc.old.0 };
    context.row(&[
        ("object_id", column.object_id.into()),
        ("kind", if column.parameter.is_some() { "P" } else { "C" }.into()),
        ("COLUMN_NAME", column.name.into()),
        ("COLUMN_TYPE", column.parameter.unwrap_or(0).into()),
        ("DATA_TYPE_2", odbc.codes.0.into()),
        ("DATA_TYPE_3", odbc.codes.1.into()),
        ("TYPE_NAME", column.type_name.as_str().into()),
        ("PRECISION", odbc.precision.into()),
        ("LENGTH_2", odbc.lengths.0.into()),
        ("LENGTH_3", odbc.lengths.1.into()),
        ("SCALE", odbc.scale.into()),
        ("RADIX", odbc.radix.into()),
        ("NULLABLE", i32::from(column.nullable).into()),
        ("COLUMN_DEF", column.default.into()),
        ("SQL_DATA_TYPE_2", odbc.verbose.0.0.into()),
        ("SQL_DATA_TYPE_3", odbc.verbose.1.0.into()),
        ("SQL_DATETIME_SUB_2", odbc.verbose.0.1.into()),
        ("SQL_DATETIME_SUB_3", odbc.verbose.1.1.into()),
        ("CHAR_OCTET_LENGTH", odbc.octets.into()),
        ("ORDINAL_POSITION", column.position.into()),
        ("IS_NULLABLE", if column.nullable { "YES" } else { "NO" }.into()),
        ("SS_IS_COMPUTED", i32::from(column.is_computed).into()),
        ("SS_IS_IDENTITY", i32::from(column.is_identity).into()),
        ("SS_DATA_TYPE", Cell::from(old)),
    ]);
}

/// The name of an alias type, or else of the type itself.
fn type_name(database: &engine::Database, user_type_id: i32, sql_type: &SqlType) -> String {
    let alias = database.catalog().type_by_id(user_type_id);
    alias.map_or_else(|| sql_type.name().to_string(), |alias| alias.name.to_string())
}

/// A type's name as `sp_columns` shows it: with `identity`, and for decimals with `()` before that.
fn shown_type(name: &str, sql_type: &SqlType, is_identity: bool) -> String {
    match (is_identity, sql_type.base()) {
        (false, _) => name.to_string(),
        (true, SqlType::Decimal { .. } | SqlType::Numeric { .. }) => format!("{name}() identity"),
        (true, _) => format!("{name} identity"),
    }
}

fn columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for object in context.runtime.objects_of(context.database) {
        match &object {
            ObjectDef::Table(table) => {
                for column in &table.columns {
                    let is_identity = column.identity.is_some();
                    describe(
                        context,
                        &Described {
                            object_id: table.object_id,
                            name: &column.name,
                            sql_type: column.sql_type,
                            type_name: shown_type(
                                &type_name(context.database, column.user_type_id, &column.sql_type),
                                &column.sql_type,
                                is_identity,
                            ),
                            nullable: column.nullable,
                            position: column.column_id,
                            default: column.default.as_ref().map(|default| &*default.text),
                            is_computed: column.computed.is_some(),
                            is_identity,
                            parameter: None,
                        },
                    );
                }
            }
            ObjectDef::Module(module) => parameters(context, module),
            ObjectDef::Sequence(_) => {}
        }
    }
    for (object_id, columns) in super::type_columns::of_types(context) {
        type_columns(context, object_id, &columns);
    }
    for (object_id, columns) in super::dependencies::bound_views(context.runtime, context.database) {
        view_columns(context, object_id, &columns);
    }
    for view in context.runtime.front_end.views().into_iter().filter(|view| view.schema != "dbo") {
        view_columns(context, view.object_id(), &view.columns);
    }
    Ok(())
}

fn type_columns(context: Context<'_, '_, '_>, object_id: i32, columns: &[super::type_columns::TypeColumn]) {
    for (at, column) in columns.iter().enumerate() {
        let type_name = type_name(context.database, column.user_type_id, &column.sql_type);
        describe(
            context,
            &Described {
                object_id,
                name: &column.name,
                sql_type: column.sql_type,
                type_name: shown_type(&type_name, &column.sql_type, column.is_identity),
                nullable: column.nullable,
                position: at as i32 + 1,
                default: column.default.as_deref(),
                is_computed: column.is_computed,
                is_identity: column.is_identity,
                parameter: None,
            },
        );
    }
}

fn view_columns(context: Context<'_, '_, '_>, object_id: i32, columns: &[plan_ir::view_shape::ViewColumn]) {
    for (at, column) in columns.iter().enumerate() {
        describe(
            context,
            &Described {
                object_id,
                name: &column.name,
                sql_type: column.sql_type,
                type_name: column.sql_type.name().to_string(),
                nullable: column.nullable,
                position: at as i32 + 1,
                default: None,
                is_computed: false,
                is_identity: false,
                parameter: None,
            },
        );
    }
}

/// The return value first, then the parameters.
fn parameters(context: Context<'_, '_, '_>, module: &engine::ModuleDef) {
    let parameters = super::objects::module_parameters(context.database, module);
    let (name, result, kind) = match module.kind {
        ModuleKind::Procedure => ("@RETURN_VALUE", SqlType::Int, 5),
        ModuleKind::ScalarFunction => match super::objects::module_result(context.database, module) {
            Some(result) => ("@RETURN_VALUE", result.sql_type, 5),
            None => return,
        },
        ModuleKind::InlineFunction | ModuleKind::TableFunction => ("@TABLE_RETURN_VALUE", SqlType::Int, 3),
        ModuleKind::View
        | ModuleKind::Trigger
        | ModuleKind::DatabaseTrigger
        | ModuleKind::TableType
        | ModuleKind::Synonym => return,
    };
    let is_table = kind == 3;
    let mut described = Described {
        object_id: module.object_id,
        name,
        sql_type: result,
        type_name: if is_table { "table".to_string() } else { result.name().to_string() },
        nullable: module.kind == ModuleKind::ScalarFunction,
        position: 0,
        default: None,
        is_computed: false,
        is_identity: false,
        parameter: Some(kind),
    };
    describe(context, &described);
    // ODBC knows no cursors.
    for (at, parameter) in parameters.iter().enumerate().filter(|(_, parameter)| !parameter.is_cursor) {
        described = Described {
            name: &parameter.name,
            sql_type: parameter.sql_type,
            type_name: type_name(context.database, parameter.user_type_id, &parameter.sql_type),
            nullable: true,
            position: at as i32 + 1,
            parameter: Some(if parameter.output { 2 } else { 1 }),
            ..described
        };
        describe(context, &described);
    }
}

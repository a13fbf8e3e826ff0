//! Functions about the session, the login and the server.

use engine::LockMode;
use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use plan_ir::values::variant;
use types::{SqlError, SqlType, Value};

use Parameter::{Int, Wide};
use ResultRule::Fixed;

type Result<T> = std::result::Result<T, SqlError>;

const NAME: ResultRule = Fixed(SqlType::nvarchar(128));
const INT: ResultRule = Fixed(SqlType::Int);

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("XACT_STATE", &[], Fixed(SqlType::SmallInt), |call| {
        Ok(Value::SmallInt(call.runtime.state.xact_state()))
    })
    .runtime(),
    FunctionDef::new("SYSTEM_USER", &[], NAME, login).runtime(),
    FunctionDef::new("ORIGINAL_LOGIN", &[], NAME, login).runtime(),
    FunctionDef::new("CURRENT_USER", &[], NAME, user).runtime(),
    FunctionDef::new("SESSION_USER", &[], NAME, user).runtime(),
    FunctionDef::new("USER", &[], NAME, user).runtime(),
    FunctionDef::new("HOST_NAME", &[], NAME, |call| Ok(Value::nvarchar(call.runtime.state.host_name())))
        .runtime(),
    FunctionDef::new("HOST_ID", &[], Fixed(SqlType::Char(10)), |call| {
        Ok(Value::varchar(&format!("{:<10}", call.runtime.state.host_process_id())))
    })
    .runtime(),
    FunctionDef::new("APP_NAME", &[], NAME, |call| Ok(Value::nvarchar(call.runtime.state.program_name())))
        .runtime(),
    FunctionDef::new("PROGRAM_NAME", &[], NAME, |call| {
        Ok(Value::nvarchar(call.runtime.state.program_name()))
    })
    .runtime(),
    FunctionDef::new("PERMISSIONS", &[Int], INT, |_| Ok(Value::Int(-1))).arity(0, 2).runtime(),
    FunctionDef::new("CONTEXT_INFO", &[], Fixed(SqlType::varbinary(128)), |call| {
        Ok(call.runtime.state.context_info())
    })
    .runtime(),
    FunctionDef::new("SESSION_CONTEXT", &[Wide], Fixed(SqlType::SqlVariant), |call| {
        Ok(variant(call.runtime.state.session_context(&call.text(0).unwrap_or_default())))
    })
    .runtime(),
    FunctionDef::new("CONNECTIONPROPERTY", &[Wide], Fixed(SqlType::SqlVariant), |call| {
        Ok(variant(call.runtime.state.connection_property(&call.text(0).unwrap_or_default())))
    })
    .runtime(),
    FunctionDef::new("CURSOR_STATUS", &[Wide, Wide], Fixed(SqlType::SmallInt), |call| {
        let (kind, name) = (call.text(0).unwrap_or_default(), call.text(1).unwrap_or_default());
        Ok(Value::SmallInt(call.runtime.state.cursor_status(kind.trim_end(), name.trim_end())))
    })
    .runtime(),
    // There are no availability groups: each database's own server is the preferred replica.
    FunctionDef::new("FN_HADR_BACKUP_IS_PREFERRED_REPLICA", &[Wide], Fixed(SqlType::Bit), |call| {
        let name = call.text(0).unwrap_or_default();
        Ok(Value::Bit(call.runtime.instance.database(name.trim()).is_ok()))
    })
    .runtime(),
    FunctionDef::new("CURRENT_REQUEST_ID", &[], Fixed(SqlType::SmallInt), |_| Ok(Value::SmallInt(0)))
        .runtime(),
    FunctionDef::new("EVENTDATA", &[], Fixed(SqlType::Xml), |call| {
        Ok(call.runtime.state.event_data().map_or(Value::Null, |data| Value::nvarchar(&data)))
    })
    .runtime(),
    FunctionDef::new("TRIGGER_NESTLEVEL", &[Int, Wide, Wide], Fixed(SqlType::Int), trigger_nest_level)
        .arity(0, 3)
        .sees_nulls()
        .runtime(),
    FunctionDef::new("APPLOCK_MODE", &[Wide], Fixed(SqlType::nvarchar(32)), application_lock)
        .arity(3, 3)
        .runtime(),
    FunctionDef::new("APPLOCK_TEST", &[Wide], Fixed(SqlType::SmallInt), application_lock_test)
        .arity(4, 4)
        .runtime(),
    FunctionDef::new("CURRENT_TRANSACTION_ID", &[], Fixed(SqlType::BigInt), |call| {
        crate::transaction_ids::own(call.runtime).map(|id| Value::BigInt(id.cast_signed()))
    })
    .runtime(),
    FunctionDef::new("MIN_ACTIVE_ROWVERSION", &[], Fixed(SqlType::Binary(8)), |call| {
        Ok(plan_ir::row::row_version(call.runtime.database.min_active_row_version()))
    })
    .runtime(),
    FunctionDef::new("GETANSINULL", &[Wide], INT, default_nullability).arity(0, 1).runtime(),
    FunctionDef::new("SERVERPROPERTY", &[Wide], Fixed(SqlType::SqlVariant), server_property).runtime(),
];

fn login(call: &Call<'_, '_>) -> Result<Value> {
    Ok(Value::nvarchar(call.runtime.state.login_name()))
}

fn user(call: &Call<'_, '_>) -> Result<Value> {
    Ok(Value::nvarchar(call.runtime.state.user_name()))
}

/// 1: a column without NULL or NOT NULL is nullable in the database; NULL: the database does not exist.
fn default_nullability(call: &Call<'_, '_>) -> Result<Value> {
    let runtime = call.runtime;
    let database = match call.text(0) {
        None => Ok(runtime.database.clone()),
        Some(name) => runtime.instance.database(&name),
    };
    Ok(database
        .map_or(Value::Null, |database| Value::Int(runtime.options.takes_null_by_default(&database).into())))
}

fn server_property(call: &Call<'_, '_>) -> Result<Value> {
    let text = |text: &str| variant(Value::nvarchar(text));
    let number = |number: i32| variant(Value::Int(number));
    let name = call.runtime.state.server_name();
    Ok(match call.text(0).unwrap_or_default().to_ascii_lowercase().as_str() {
        "productversion" => text(super::globals::PRODUCT_VERSION),
        "productmajorversion" => text("16"),
        "productminorversion" => text("0"),
        "productbuild" => text("4135"),
        "productlevel" => text("RTM"),
        "edition" => text("Developer Edition (64-bit)"),
        "editionid" => variant(Value::BigInt(-2_117_995_310)),
        "engineedition" => number(3),
        "servername" | "machinename" | "computernamephysicalnetbios" => text(name),
        "collation" => text(types::Collation::DEFAULT.name()),
        "collationid" => number(872_468_488),
        "comparisonstyle" => number(196_609),
        "lcid" => number(1033),
        "sqlcharset" => variant(Value::TinyInt(1)),
        "sqlcharsetname" => text("iso_1"),
        "sqlsortorder" => variant(Value::TinyInt(52)),
        "sqlsortordername" => text("nocase_iso"),
        "issingleuser"
        | "isclustered"
        | "isfulltextinstalled"
        | "ishadrenabled"
        | "islocaldb"
        | "isintegratedsecurityonly"
        | "isadvancedanalyticsinstalled"
        | "ispolybaseinstalled"
        | "isxtpsupported"
        | "istempdbmetadatamemoryoptimized"
        | "isbigdatacluster"
        | "filestreamconfiguredlevel"
        | "filestreameffectivelevel"
        | "isexternalauthenticationonly" => number(0),
        "licensetype" => text("DISABLED"),
        "processid" => number(std::process::id() as i32),
        "resourceversion" => text(super::globals::PRODUCT_VERSION),
        "buildclrversion" => text("v4.0.30319"),
        "instancedefaultdatapath" | "instancedefaultlogpath" | "instancedefaultbackuppath" => {
            text(&format!("{}/", call.runtime.instance.data_dir().display()))
        }
        "hadrmanagerstatus" => number(2),
        _ => Value::Null,
    })
}

/// Is the session the owner of an application lock? A lock owned by the transaction requires a transaction.
fn of_session(call: &Call<'_, '_>, index: usize) -> bool {
    call.text(index).is_some_and(|owner| owner.eq_ignore_ascii_case("session"))
}

/// How many triggers run: all, or those of a number, a kind ('AFTER', 'IOT') and a class ('DML', 'DDL').
fn trigger_nest_level(call: &Call<'_, '_>) -> Result<Value> {
    let (number, kind, class) = (call.int(0).filter(|number| *number != 0), call.text(1), call.text(2));
    let of_database = call.runtime.state.running_ddl_triggers();
    let class = class.map(|class| class.to_ascii_uppercase());
    let is_class = |id: &i32| match class.as_deref() {
        None => true,
        Some("DML") => !of_database.contains(id),
        Some("DDL") => of_database.contains(id),
        Some(_) => false,
    };
    let is_meant = |(id, is_instead_of): &&(i32, bool)| {
        is_class(id)
            && number.is_none_or(|number| number == i64::from(*id))
            && kind.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case("IOT") == *is_instead_of)
    };
    let count = call.runtime.state.running_triggers().iter().filter(is_meant).count();
    Ok(Value::Int(i32::try_from(count).unwrap_or(i32::MAX)))
}

/// APPLOCK_MODE(principal, name, owner).
fn application_lock(call: &Call<'_, '_>) -> Result<Value> {
    let runtime = call.runtime;
    let transactions = runtime.transactions.borrow();
    let name = call.text(1).unwrap_or_default();
    Ok(Value::nvarchar(match transactions.application_lock(runtime.database, &name, of_session(call, 2)) {
        None => "NoLock",
        Some(LockMode::S) => "Shared",
        Some(LockMode::U) => "Update",
        Some(LockMode::X) => "Exclusive",
        Some(LockMode::IS) => "IntentShared",
        Some(LockMode::IX) => "IntentExclusive",
        Some(LockMode::SIX) => "SharedIntentExclusive",
        Some(LockMode::UIX) => "UpdateIntentExclusive",
        Some(other) => unreachable!("application locks have no mode {other:?}"),
    }))
}

/// APPLOCK_TEST(principal, name, mode, owner): 1 when the lock would be granted at once.
fn application_lock_test(call: &Call<'_, '_>) -> Result<Value> {
    let runtime = call.runtime;
    let transactions = runtime.transactions.borrow();
    let (name, mode) = (call.text(1).unwrap_or_default(), call.text(2).unwrap_or_default());
    let granted = transactions.may_lock_application(runtime.database, &name, &mode)?;
    Ok(Value::SmallInt(i16::from(granted)))
}

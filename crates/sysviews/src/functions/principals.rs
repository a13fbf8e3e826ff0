//! Functions about logins, users and roles: the predefined ones (`principals.rs`), and the current login. An unknown name gives NULL.

use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::{SqlError, SqlType, Value};

use crate::principals::{self, Principal};

use Parameter::{Any, Int, Wide};
use ResultRule::Fixed;

type Result<T> = std::result::Result<T, SqlError>;

const NAME: ResultRule = Fixed(SqlType::nvarchar(128));
const INT: ResultRule = Fixed(SqlType::Int);
const SID: ResultRule = Fixed(SqlType::varbinary(85));

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("SUSER_SNAME", &[Any], NAME, |call| {
        let wanted = call.args.first().map(|sid| match sid {
            Value::Binary(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        });
        login_where(call, |login| wanted.as_ref().is_none_or(|sid| login.sid.as_ref() == Some(sid)), name_of)
    })
    .arity(0, 1)
    .runtime(),
    FunctionDef::new("SUSER_NAME", &[Int], NAME, |call| {
        login_where(call, |login| call.int(0).is_none_or(|id| i64::from(login.id) == id), name_of)
    })
    .arity(0, 1)
    .runtime(),
    FunctionDef::new("SUSER_ID", &[Wide], INT, |call| login_named(call, id_of)).arity(0, 1).runtime(),
    FunctionDef::new("SUSER_SID", &[Wide, Int], SID, |call| login_named(call, sid_of)).arity(0, 2).runtime(),
    FunctionDef::new("USER_NAME", &[Int], NAME, |call| {
        let all = principals::of_database();
        let found = all.iter().find(|user| call.int(0).is_some_and(|id| i64::from(user.id) == id));
        Ok(match call.args.is_empty() {
            true => Value::nvarchar(call.runtime.state.user_name()),
            false => found.map_or(Value::Null, name_of),
        })
    })
    .arity(0, 1)
    .runtime(),
    FunctionDef::new("USER_ID", &[Wide], INT, user_id).arity(0, 1).runtime(),
    FunctionDef::new("DATABASE_PRINCIPAL_ID", &[Wide], INT, user_id).arity(0, 1).runtime(),
    FunctionDef::new("IS_SRVROLEMEMBER", &[Wide, Wide], INT, |call| {
        member(call, &principals::of_server(call.runtime.state.login_name()))
    })
    .arity(1, 2)
    .runtime(),
    FunctionDef::new("IS_MEMBER", &[Wide], INT, |call| member(call, &principals::of_database())).runtime(),
    FunctionDef::new("IS_ROLEMEMBER", &[Wide, Wide], INT, |call| member(call, &principals::of_database()))
        .arity(1, 2)
        .runtime(),
];

fn name_of(principal: &Principal) -> Value {
    Value::nvarchar(&principal.name)
}

fn id_of(principal: &Principal) -> Value {
    Value::Int(principal.id)
}

fn sid_of(principal: &Principal) -> Value {
    principal.sid.as_ref().map_or(Value::Null, |sid| Value::binary(sid))
}

/// The login of the given name, or the current login.
fn login_named(call: &Call<'_, '_>, tell: fn(&Principal) -> Value) -> Result<Value> {
    let own = call.runtime.state.login_name();
    let name = call.text(0).unwrap_or_else(|| own.to_string());
    Ok(principals::named(&principals::of_server(own), &name).map_or(Value::Null, tell))
}

/// The current login without an argument, or the login that satisfies the condition.
fn login_where(
    call: &Call<'_, '_>,
    is_wanted: impl Fn(&Principal) -> bool,
    tell: fn(&Principal) -> Value,
) -> Result<Value> {
    if call.args.is_empty() {
        return login_named(call, tell);
    }
    let all = principals::of_server(call.runtime.state.login_name());
    Ok(all.iter().find(|login| is_wanted(login)).map_or(Value::Null, tell))
}

fn user_id(call: &Call<'_, '_>) -> Result<Value> {
    let name = call.text(0).unwrap_or_else(|| call.runtime.state.user_name().to_string());
    Ok(principals::named(&principals::of_database(), &name).map_or(Value::Null, id_of))
}

/// Is the current login, or the named principal, in this role? NULL when the principal or the role does not exist.
fn member(call: &Call<'_, '_>, all: &[Principal]) -> Result<Value> {
    let Some(role) = call.text(0).and_then(|name| principals::named(all, &name)).filter(|role| role.is_role)
    else {
        return Ok(Value::Null);
    };
    let is_owner = match call.text(1) {
        None => call.runtime.state.is_sysadmin(),
        Some(name) => match principals::named(all, &name) {
            // Every login owns every database; guest, the server's own users and roles are members of no role.
            Some(named) => {
                ["sa", "dbo", call.runtime.state.login_name()].iter().any(|own| named.name == *own)
            }
            None => return Ok(Value::Null),
        },
    };
    Ok(Value::Int(i32::from(role.name == "public" || is_owner && !role.name.starts_with("db_deny"))))
}

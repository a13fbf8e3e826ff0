//! Conversion of wire requests to session requests, whose types have the same shape.

use tds::request::{self, BeginTransaction, IsolationLevel};
use tds::rpc::{self, Procedure, call_flags};

use crate::seam::{RequestedIsolation, RpcCall, RpcParameter, RpcTarget, SentTable, TransactionRequest};

/// A remote procedure call.
pub fn call(call: rpc::RpcCall) -> RpcCall {
    let target = match call.procedure {
        Procedure::Id(id) => RpcTarget::Number(id as u16),
        Procedure::Name(name) => RpcTarget::Name(name),
    };
    let parameters = call.parameters.into_iter().map(|parameter| {
        let rpc::Parameter { name, output, default, sql_type, value, table } = parameter;
        let table = table.map(|table| {
            let rpc::Table { schema, name, columns, rows } = *table;
            Box::new(SentTable { schema, name, columns, rows })
        });
        RpcParameter { name, sql_type, value, output, default, table }
    });
    let no_metadata = call.flags & call_flags::NO_METADATA != 0;
    RpcCall { target, parameters: parameters.collect(), no_metadata }
}

/// A transaction manager request.
pub fn transaction(request: request::TransactionRequest) -> TransactionRequest {
    let next = |begin: Option<BeginTransaction>| begin.map(|begin| (isolation(begin.isolation), begin.name));
    match request {
        request::TransactionRequest::Begin(BeginTransaction { isolation: level, name }) => {
            TransactionRequest::Begin { isolation: isolation(level), name }
        }
        request::TransactionRequest::Commit { name, then_begin } => {
            TransactionRequest::Commit { name, then_begin: next(then_begin) }
        }
        request::TransactionRequest::Rollback { name, then_begin } => {
            TransactionRequest::Rollback { name, then_begin: next(then_begin) }
        }
        request::TransactionRequest::Save { name } => TransactionRequest::Save { name },
    }
}

fn isolation(level: IsolationLevel) -> RequestedIsolation {
    match level {
        IsolationLevel::Unchanged => RequestedIsolation::Unchanged,
        IsolationLevel::ReadUncommitted => RequestedIsolation::ReadUncommitted,
        IsolationLevel::ReadCommitted => RequestedIsolation::ReadCommitted,
        IsolationLevel::RepeatableRead => RequestedIsolation::RepeatableRead,
        IsolationLevel::Serializable => RequestedIsolation::Serializable,
        IsolationLevel::Snapshot => RequestedIsolation::Snapshot,
    }
}

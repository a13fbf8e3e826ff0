//! CurCmd: the number in a DONE token that names the kind of statement that has ended. Clients use it to read row counts and to tell data
//! from definitions.

use tsql::ast::{DropKind, StatementKind};

pub(crate) const SELECT: u16 = 0xC1;
pub(crate) const SELECT_INTO: u16 = 0xC2;
pub(crate) const INSERT: u16 = 0xC3;
pub(crate) const DELETE: u16 = 0xC4;
pub(crate) const UPDATE: u16 = 0xC5;
pub(crate) const ROLLBACK: u16 = 0xD2;
pub(crate) const BEGIN: u16 = 0xD4;
pub(crate) const COMMIT: u16 = 0xD5;
pub(crate) const EXECUTE: u16 = 0xE0;
pub(crate) const OTHER: u16 = 0xFD;
pub(crate) const MERGE: u16 = 0x117;
pub(crate) const BULK_INSERT: u16 = 0xF0;
pub(crate) const CREATE_DATABASE: u16 = 0xCB;
pub(crate) const DROP_DATABASE: u16 = 0xCC;
pub(crate) const ALTER_DATABASE: u16 = 0xD7;
pub(crate) const DBCC: u16 = 0xE6;

/// CurCmd of CREATE, ALTER and DROP of objects in a database.
pub(crate) fn of_definition(statement: &StatementKind) -> u16 {
    match statement {
        StatementKind::CreateTable(_) => 0xC6,
        StatementKind::AlterTable(_) => 0xD8,
        StatementKind::CreateIndex(_) => 0xC8,
        StatementKind::DropIndex(_) => 0xC9,
        StatementKind::AlterIndex(_) => 0x151,
        StatementKind::CreateView(_) => 0xCF,
        StatementKind::CreateProcedure(_) => 0xDE,
        StatementKind::CreateFunction(_) => 0xB2,
        StatementKind::CreateTrigger(_) => 0xDD,
        StatementKind::CreateSchema(_) => 0x14A,
        StatementKind::AlterSchema(_) => 0x14B,
        StatementKind::CreateType(_) => 0x111,
        StatementKind::CreateSynonym(_) => 0x148,
        StatementKind::Drop(drop) => of_drop(drop.kind),
        _ => OTHER,
    }
}

fn of_drop(kind: DropKind) -> u16 {
    match kind {
        DropKind::Table => 0xC7,
        DropKind::View => 0xD0,
        DropKind::Procedure => 0xDF,
        DropKind::Function => 0xB3,
        DropKind::Trigger => 0xE1,
        DropKind::Schema => 0xB0,
        DropKind::Type => 0x110,
        DropKind::Synonym => 0x149,
        _ => OTHER,
    }
}

//! Functions about the session and the server.

use super::FunctionDef;

pub(crate) static TABLE: &[FunctionDef] = &[];

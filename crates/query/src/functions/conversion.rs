//! Functions about values and types.

use super::FunctionDef;

pub(crate) static TABLE: &[FunctionDef] = &[];

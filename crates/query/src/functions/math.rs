//! Mathematical functions.

use super::FunctionDef;

pub(crate) static TABLE: &[FunctionDef] = &[];

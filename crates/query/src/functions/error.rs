//! The ERROR_ functions of a CATCH block.

use super::FunctionDef;

pub(crate) static TABLE: &[FunctionDef] = &[];

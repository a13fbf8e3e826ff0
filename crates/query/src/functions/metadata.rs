//! Functions that look into the catalog.

use super::FunctionDef;

pub(crate) static TABLE: &[FunctionDef] = &[];

//! Does a tree read a table?

use std::sync::Arc;

use crate::bound::tree::{Expr, Rel};
use crate::table::TableSource;

/// Does the tree read the table, also in subqueries?
pub fn reads_table(rel: &Rel, source: &TableSource) -> bool {
    let here = match rel {
        Rel::Table(scan) => {
            scan.source.def.object_id == source.def.object_id
                && Arc::ptr_eq(&scan.source.database, &source.database)
        }
        _ => false,
    };
    here || rel.inputs().iter().any(|input| reads_table(input, source))
        || rel.expressions().iter().any(|expr| expr_reads_table(expr, source))
}

/// Does one of its subqueries?
pub fn expr_reads_table(expr: &Expr, source: &TableSource) -> bool {
    if let crate::bound::tree::ExprKind::Subquery(subquery) = &expr.kind
        && reads_table(&subquery.rel, source)
    {
        return true;
    }
    expr.children().iter().any(|child| expr_reads_table(child, source))
}

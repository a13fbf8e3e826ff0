//! Sargable predicates: the parts of conditions that an index can use.

use plan_ir::bound::tree::{Expr, ExprKind, TableScan};
use plan_ir::kinds::{ColumnId, CompareOp, Conversion, ConversionKind};
use rustc_hash::FxHashSet;
use types::sql_type::TypeFamily;
use types::{Collation, SeekFit, SqlType, keeps_values};

/// A predicate `column op value` that an index can use.
pub(super) struct Sargable<'e> {
    /// The whole of it.
    pub(super) predicate: &'e Expr,
    pub(super) ordinal: usize,
    pub(super) op: CompareOp,
    pub(super) values: Vec<&'e Expr>,
    /// `column LIKE value`; `op` means nothing then.
    pub(super) is_like: bool,
}

/// The sargable parts of predicates, and the predicates without one.
pub(super) fn sargables_and_others<'e>(
    predicates: &'e [Expr],
    scan: &TableScan,
    own: &FxHashSet<ColumnId>,
) -> (Vec<Sargable<'e>>, Vec<&'e Expr>) {
    let (mut sargables, mut others) = (Vec::new(), Vec::new());
    for predicate in predicates {
        let before = sargables.len();
        sargables.extend(sargable(predicate, scan, own));
        if sargables.len() == before {
            others.push(predicate);
        }
    }
    (sargables, others)
}

/// The sargable parts of a predicate.
pub(super) fn sargable<'e>(
    predicate: &'e Expr,
    scan: &TableScan,
    own: &FxHashSet<ColumnId>,
) -> Vec<Sargable<'e>> {
    let ordinal_of = |expr: &Expr| {
        let (column, plain) = seekable_column(expr)?;
        let ordinal = scan.columns.iter().position(|id| *id == column)?;
        Some((ordinal, plain))
    };
    let independent = |expr: &Expr| !expr.uses_any(own) && !expr.has_subquery() && !expr.is_volatile();
    match &predicate.kind {
        ExprKind::Compare(op, left, right) if *op != CompareOp::NotEqual => {
            let pair = match (ordinal_of(left), ordinal_of(right)) {
                (Some(found), _) if independent(right) => Some((found, *op, &**right)),
                (_, Some(found)) if independent(left) => Some((found, op.flipped(), &**left)),
                _ => None,
            };
            let Some(((ordinal, _), op, value)) = pair else {
                return Vec::new();
            };
            let fit = column_fit(scan, ordinal, predicate.collation, &value.sql_type);
            let usable = match op {
                CompareOp::Equal => fit != SeekFit::None,
                _ => fit == SeekFit::Order,
            };
            let found = || Sargable { predicate, ordinal, op, values: vec![value], is_like: false };
            if usable { vec![found()] } else { Vec::new() }
        }
        ExprKind::InList(left, list) => match ordinal_of(left) {
            Some((ordinal, _)) if list.iter().all(independent) => {
                let fit = |item: &Expr| column_fit(scan, ordinal, predicate.collation, &item.sql_type);
                if list.iter().all(|item| fit(item) != SeekFit::None) {
                    let values = list.iter().collect();
                    vec![Sargable { predicate, ordinal, op: CompareOp::Equal, values, is_like: false }]
                } else {
                    Vec::new()
                }
            }
            _ => Vec::new(),
        },
        ExprKind::Like(like) => match ordinal_of(&like.input) {
            Some((ordinal, true)) if like.escape.is_none() && independent(&like.pattern) => {
                let column = &scan.source.def.columns[ordinal];
                let usable = matches!(
                    (column.sql_type.family(), like.pattern.sql_type.family()),
                    (TypeFamily::Char, TypeFamily::Char)
                        | (TypeFamily::NChar, TypeFamily::NChar | TypeFamily::Char)
                ) && predicate.collation == column.collation
                    && begins_with_text(&like.pattern);
                let found = || Sargable {
                    predicate,
                    ordinal,
                    op: CompareOp::NotEqual,
                    values: vec![&like.pattern],
                    is_like: true,
                };
                if usable { vec![found()] } else { Vec::new() }
            }
            _ => Vec::new(),
        },
        ExprKind::And(left, right) => {
            sargable(left, scan, own).into_iter().chain(sargable(right, scan, own)).collect()
        }
        _ => Vec::new(),
    }
}

/// Can a pattern begin with a prefix to seek? A constant is inspected; other patterns are known only at run time.
fn begins_with_text(pattern: &Expr) -> bool {
    match &pattern.kind {
        ExprKind::Constant(value) => {
            value.as_text().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphanumeric()))
        }
        _ => true,
    }
}

/// The column inside an expression, and whether it stands there without conversion. Conversions that change what values are hide it: `CAST(i AS bit) = 1`
/// is true of more than one `i`.
pub(super) fn seekable_column(expr: &Expr) -> Option<(ColumnId, bool)> {
    match &expr.kind {
        ExprKind::Column(id) => Some((*id, true)),
        ExprKind::Convert(inner, Conversion { kind: ConversionKind::Implicit, .. })
            if keeps_values(&inner.sql_type, &expr.sql_type) =>
        {
            seekable_column(inner).map(|found| (found.0, false))
        }
        _ => None,
    }
}

/// How far a seek on a column can answer its comparison with values of a type under a collation.
fn column_fit(scan: &TableScan, ordinal: usize, collation: Collation, value: &SqlType) -> SeekFit {
    let column = &scan.source.def.columns[ordinal];
    let has_text = column.sql_type.is_character() || column.sql_type == SqlType::SqlVariant;
    if has_text && collation != column.collation {
        return SeekFit::None;
    }
    types::seek_fit(&column.sql_type, value, column.collation)
}

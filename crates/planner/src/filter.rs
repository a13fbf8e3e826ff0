//! Do the conditions of a query imply the filter of an index? Then the index has every row that the query needs.
//!
//! Each conjunct of the query over one column is a fact. A term of the filter holds for all qualifying rows if one fact alone
//! implies it. Only constants are known values: a plan serves every value of a variable or parameter, so `c = @v` implies only
//! that `c` is not NULL, as in SQL Server.

use engine::{FilterOp, FilterTerm, FilterTest, IndexFilter, TableDef};
use plan_ir::bound::tree::{Expr, ExprKind, TableScan};
use plan_ir::kinds::CompareOp;
use types::sql_type::TypeFamily;
use types::{Collation, ConvertContext, SqlType, Value};

use crate::sargable::seekable_column;

/// The facts that the conditions of a query state about its rows of a table.
#[derive(Debug, Default)]
pub(super) struct KnownConditions(Vec<Fact>);

/// A fact about one column.
#[derive(Clone, Debug, PartialEq)]
struct Fact {
    ordinal: usize,
    kind: FactKind,
}

#[derive(Clone, Debug, PartialEq)]
enum FactKind {
    NotNull,
    IsNull,
    /// It is one of these.
    OneOf(Vec<Value>),
    /// It stands so to a constant.
    Compare(FilterOp, Value),
}

/// A side of a comparison that is a column: where it stands in the table, and whether it is compared in its own type.
struct Side {
    ordinal: usize,
    plain: bool,
}

impl KnownConditions {
    /// The facts in conjuncts about the table's columns.
    pub(super) fn of(predicates: &[Expr], scan: &TableScan) -> KnownConditions {
        let mut facts = KnownConditions::default();
        predicates.iter().for_each(|predicate| facts.add(predicate, scan));
        facts
    }

    /// Do all rows wanted satisfy the filter?
    pub(super) fn imply(&self, filter: &IndexFilter, table: &TableDef) -> bool {
        filter.terms.iter().all(|term| {
            let collation = table.columns[term.ordinal].collation;
            is_always(term, table) || self.0.iter().any(|fact| fact.implies(term, collation))
        })
    }

    fn add(&mut self, predicate: &Expr, scan: &TableScan) {
        match &predicate.kind {
            ExprKind::And(left, right) => {
                self.add(left, scan);
                self.add(right, scan);
            }
            ExprKind::Or(..) => self.0.extend(alternatives(predicate, scan)),
            ExprKind::Not(inner) => {
                if let ExprKind::IsNull(tested) = &inner.kind
                    && let Some(side) = side(tested, scan)
                {
                    self.0.push(Fact { ordinal: side.ordinal, kind: FactKind::NotNull });
                }
            }
            ExprKind::IsNull(tested) => {
                if let Some(side) = side(tested, scan) {
                    self.0.push(Fact { ordinal: side.ordinal, kind: FactKind::IsNull });
                }
            }
            ExprKind::Compare(op, left, right) => {
                // A comparison that is true has no NULL on either side.
                for (this, other, op) in [(left, right, *op), (right, left, op.flipped())] {
                    let Some(side) = side(this, scan) else { continue };
                    self.0.push(Fact { ordinal: side.ordinal, kind: FactKind::NotNull });
                    if let Some(value) = known_value(&side, other, predicate.collation, scan) {
                        self.0.push(Fact { ordinal: side.ordinal, kind: compared(op, value) });
                    }
                }
            }
            ExprKind::InList(left, list) => {
                let Some(side) = side(left, scan) else { return };
                self.0.push(Fact { ordinal: side.ordinal, kind: FactKind::NotNull });
                let known = list.iter().map(|item| known_value(&side, item, predicate.collation, scan));
                if let Some(values) = known.collect::<Option<Vec<Value>>>() {
                    self.0.push(Fact { ordinal: side.ordinal, kind: FactKind::OneOf(values) });
                }
            }
            ExprKind::Like(like) => {
                if let Some(side) = side(&like.input, scan) {
                    self.0.push(Fact { ordinal: side.ordinal, kind: FactKind::NotNull });
                }
            }
            _ => {}
        }
    }
}

/// `c = 1 OR c = 2`: what holds whichever side is true, when both name values of one column.
fn alternatives(predicate: &Expr, scan: &TableScan) -> Vec<Fact> {
    let ExprKind::Or(left, right) = &predicate.kind else {
        let mut facts = KnownConditions::default();
        facts.add(predicate, scan);
        return facts.0;
    };
    let (left, right) = (alternatives(left, scan), alternatives(right, scan));
    let mut both = Vec::new();
    for one in &left {
        for other in right.iter().filter(|other| other.ordinal == one.ordinal) {
            match (&one.kind, &other.kind) {
                (FactKind::OneOf(a), FactKind::OneOf(b)) => {
                    let values = a.iter().chain(b).cloned().collect();
                    both.push(Fact { ordinal: one.ordinal, kind: FactKind::OneOf(values) });
                }
                (a, b) if a == b => both.push(one.clone()),
                _ => {}
            }
        }
    }
    both
}

/// A column that takes no NULL is not NULL, whatever the query says.
fn is_always(term: &FilterTerm, table: &TableDef) -> bool {
    term.test == FilterTest::IsNotNull && !table.columns[term.ordinal].nullable
}

fn compared(op: CompareOp, value: Value) -> FactKind {
    FactKind::Compare(
        match op {
            CompareOp::Equal => return FactKind::OneOf(vec![value]),
            CompareOp::NotEqual => FilterOp::NotEqual,
            CompareOp::Less => FilterOp::Less,
            CompareOp::LessOrEqual => FilterOp::LessOrEqual,
            CompareOp::Greater => FilterOp::Greater,
            CompareOp::GreaterOrEqual => FilterOp::GreaterOrEqual,
        },
        value,
    )
}

impl Fact {
    fn implies(&self, term: &FilterTerm, collation: Collation) -> bool {
        if self.ordinal != term.ordinal {
            return false;
        }
        match (&self.kind, &term.test) {
            (FactKind::IsNull, test) => *test == FilterTest::IsNull,
            (FactKind::NotNull | FactKind::Compare(..), FilterTest::IsNotNull) => true,
            (FactKind::OneOf(values), test) => values.iter().all(|value| test.accepts(value, collation)),
            (FactKind::Compare(fact, value), FilterTest::Compare(term, constant)) => {
                range_implies((*fact, value), (*term, constant), collation)
            }
            _ => false,
        }
    }
}

/// Is every value that stands so to the fact's constant one that stands so to the term's?
fn range_implies(fact: (FilterOp, &Value), term: (FilterOp, &Value), collation: Collation) -> bool {
    use FilterOp::{Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let order = types::sort_compare(fact.1, term.1, collation);
    match (fact.0, term.0) {
        (Less, Less | LessOrEqual | NotEqual) | (LessOrEqual, LessOrEqual) => order.is_le(),
        (LessOrEqual, Less | NotEqual) => order.is_lt(),
        (Greater, Greater | GreaterOrEqual | NotEqual) | (GreaterOrEqual, GreaterOrEqual) => order.is_ge(),
        (GreaterOrEqual, Greater | NotEqual) => order.is_gt(),
        (NotEqual, NotEqual) => order.is_eq(),
        _ => false,
    }
}

fn side(expr: &Expr, scan: &TableScan) -> Option<Side> {
    let (id, plain) = seekable_column(expr)?;
    let ordinal = scan.columns.iter().position(|column| *column == id)?;
    Some(Side { ordinal, plain })
}

/// The constant with which a column is compared, in the column's type, when the comparison means the same in that type.
fn known_value(side: &Side, other: &Expr, collation: Collation, scan: &TableScan) -> Option<Value> {
    let column = &scan.source.def.columns[side.ordinal];
    let value = settled_value(other)?;
    if value.is_null() {
        return None;
    }
    let to = &column.sql_type;
    let means_the_same = side.plain || (is_exact(to) && is_exact(&other.sql_type));
    if !means_the_same {
        return None;
    }
    if to.is_character() && collation != column.collation {
        return None;
    }
    same_in_type(&value, &other.sql_type, to, column.collation, &ConvertContext::default())
}

/// Numbers whose conversion to another such type changes nothing or fails.
fn is_exact(sql_type: &SqlType) -> bool {
    matches!(sql_type.family(), TypeFamily::Integer | TypeFamily::Decimal | TypeFamily::Money)
}

/// A value in another type, if it means the same there. Text keeps its length: a column of another length compares with it all the same.
pub fn same_in_type(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    collation: Collation,
    context: &ConvertContext,
) -> Option<Value> {
    let to = &unlimited(to);
    let there = types::convert(value, from, to, types::DEFAULT_STYLE, context).ok()?;
    let back = types::convert(&there, to, from, types::DEFAULT_STYLE, context).ok()?;
    types::sort_compare(&back, value, collation).is_eq().then_some(there)
}

/// The type without its limit of length.
pub fn unlimited(sql_type: &SqlType) -> SqlType {
    match sql_type.family() {
        TypeFamily::Char => SqlType::VarChar(types::Length::Max),
        TypeFamily::NChar => SqlType::NVarChar(types::Length::Max),
        TypeFamily::Binary => SqlType::VarBinary(types::Length::Max),
        _ => *sql_type,
    }
}

/// The value of a constant expression under the session's settings; `None` when it is none.
pub fn constant_value(expr: &Expr, context: &ConvertContext) -> Option<Value> {
    match &expr.kind {
        ExprKind::Constant(value) => Some(value.clone()),
        ExprKind::Retype(inner) => constant_value(inner, context),
        ExprKind::Convert(inner, conversion) => {
            let value = constant_value(inner, context)?;
            types::convert(&value, &inner.sql_type, &expr.sql_type, conversion.style, context).ok()
        }
        _ => None,
    }
}

/// The constant value, if it does not depend on the session's DATEFORMAT: a plan may be shared.
fn settled_value(expr: &Expr) -> Option<Value> {
    let of = |date_format| constant_value(expr, &ConvertContext { date_format, ..ConvertContext::default() });
    let value = of(types::DateFormat::Mdy)?;
    let others = [types::DateFormat::Dmy, types::DateFormat::Ydm];
    others.into_iter().all(|format| of(format).as_ref() == Some(&value)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(fact: &FactKind, value: &Value) -> bool {
        let test = match fact {
            FactKind::NotNull => FilterTest::IsNotNull,
            FactKind::IsNull => FilterTest::IsNull,
            FactKind::OneOf(values) => FilterTest::In(values.clone()),
            FactKind::Compare(op, constant) => FilterTest::Compare(*op, constant.clone()),
        };
        test.accepts(value, Collation::DEFAULT)
    }

    /// Over a grid finer and wider than its constants, what is claimed is exactly what holds for every value.
    #[test]
    fn a_fact_implies_a_term_when_every_value_shows_it() {
        let constants = || (0..4).map(|number| Value::Float(f64::from(number)));
        let mut facts = vec![FactKind::NotNull, FactKind::IsNull];
        let mut tests = vec![FilterTest::IsNotNull, FilterTest::IsNull];
        for value in constants() {
            facts.push(FactKind::OneOf(vec![value.clone()]));
            for other in constants() {
                facts.push(FactKind::OneOf(vec![value.clone(), other.clone()]));
                tests.push(FilterTest::In(vec![value.clone(), other]));
            }
            for op in FilterOp::ALL {
                tests.push(FilterTest::Compare(op, value.clone()));
                if op != FilterOp::Equal {
                    facts.push(FactKind::Compare(op, value.clone()));
                }
            }
        }
        let mut domain: Vec<Value> = (-8..24).map(|number| Value::Float(f64::from(number) / 4.0)).collect();
        domain.push(Value::Null);
        let mut implied = 0;
        for kind in facts {
            let wanted: Vec<&Value> = domain.iter().filter(|value| holds(&kind, value)).collect();
            for test in &tests {
                let fact = Fact { ordinal: 0, kind: kind.clone() };
                let claimed =
                    fact.implies(&FilterTerm { ordinal: 0, test: test.clone() }, Collation::DEFAULT);
                let is_so = wanted.iter().all(|value| test.accepts(value, Collation::DEFAULT));
                assert_eq!(claimed, is_so, "{kind:?} => {test:?}");
                implied += usize::from(claimed);
            }
        }
        assert!(implied > 100, "{implied} found");
    }
}

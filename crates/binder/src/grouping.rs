//! GROUP BY with several grouping sets: ROLLUP, CUBE, GROUPING SETS and their products, GROUPING and GROUPING_ID.
//!
//! Each row is read once and counted in each set: the rows are joined with the list of sets, a key that a set lacks is NULL in it, and all are
//! grouped by the set and the keys. The set is a number: its place in the list, then a bit for each key that it lacks; so sets that are
//! named twice are counted twice, as documented, and a NULL of the rows is told from that of a total.

use plan_ir::bound::coercibility::check_key;
use plan_ir::bound::tree::{AggregateCall, Expr, ExprKind, Rel};
use plan_ir::kinds::{AggregateKind, ColumnId, CompareOp, JoinKind};
use tsql::ast::{self, GroupByWith, GroupingElement};
use types::arith::BinaryOp;
use types::{SqlError, SqlType, Value};

use super::grouping_sets::{
    Grouping, GroupingSets, KEYS_MAX, KeySet, check_count, cubed, number_of, rolled_up, united,
};
use super::{Binder, Clause, coerce};

impl Binder<'_> {
    /// Binds GROUP BY. Errors 102, 144, 164, 10702, 10703, 10706.
    pub(super) fn grouping(&mut self, group: &ast::GroupBy) -> Result<Grouping, SqlError> {
        let mut keys = Vec::new();
        let sets = match group.with {
            Some(with) => self.sets_with(with, &group.items, &mut keys)?,
            None => self.sets_of_items(&group.items, &mut keys)?,
        };
        let sets = match sets.len() {
            1 => None,
            _ => {
                if keys.len() > KEYS_MAX {
                    return Err(SqlError::new(10706, &[&KEYS_MAX]));
                }
                Some(GroupingSets {
                    sets,
                    number: self.new_column(SqlType::BigInt, false, Default::default()),
                })
            }
        };
        Ok(Grouping { keys, sets })
    }

    /// `a, b WITH ROLLUP`.
    fn sets_with(
        &mut self,
        with: GroupByWith,
        items: &[GroupingElement],
        keys: &mut Vec<Expr>,
    ) -> Result<Vec<KeySet>, SqlError> {
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            let GroupingElement::Expr(expr) = item else { return Err(SqlError::new(10702, &[])) };
            parts.push(vec![self.group_key(expr, keys)?]);
        }
        match with {
            GroupByWith::Rollup => Ok(rolled_up(&parts)),
            GroupByWith::Cube => cubed(&parts),
        }
    }

    /// The product of the elements' sets.
    fn sets_of_items(
        &mut self,
        items: &[GroupingElement],
        keys: &mut Vec<Expr>,
    ) -> Result<Vec<KeySet>, SqlError> {
        let mut all: Vec<KeySet> = vec![Vec::new()];
        for item in items {
            // Several columns in parentheses are one element of a list of sets, and nothing beside other elements.
            if matches!(item, GroupingElement::Group(list) if !list.is_empty()) && items.len() > 1 {
                return Err(SqlError::new(102, &[&","]));
            }
            let more = self.sets_of(item, keys)?;
            check_count(all.len().saturating_mul(more.len()))?;
            all = all.iter().flat_map(|one| more.iter().map(|other| united(&[one, other]))).collect();
        }
        Ok(all)
    }

    fn sets_of(&mut self, element: &GroupingElement, keys: &mut Vec<Expr>) -> Result<Vec<KeySet>, SqlError> {
        self.deeper(|binder| match element {
            GroupingElement::Expr(_) | GroupingElement::Group(_) => Ok(vec![binder.part(element, keys)?]),
            GroupingElement::Rollup(parts) => Ok(rolled_up(&binder.parts(parts, keys)?)),
            GroupingElement::Cube(parts) => cubed(&binder.parts(parts, keys)?),
            GroupingElement::Sets(elements) => {
                let mut all = Vec::new();
                for element in elements {
                    all.extend(binder.sets_of(element, keys)?);
                    check_count(all.len())?;
                }
                Ok(all)
            }
        })
    }

    fn parts(&mut self, elements: &[GroupingElement], keys: &mut Vec<Expr>) -> Result<Vec<KeySet>, SqlError> {
        elements.iter().map(|element| self.part(element, keys)).collect()
    }

    /// A column, or several in parentheses that come and go together.
    fn part(&mut self, element: &GroupingElement, keys: &mut Vec<Expr>) -> Result<KeySet, SqlError> {
        match element {
            GroupingElement::Expr(expr) => Ok(vec![self.group_key(expr, keys)?]),
            GroupingElement::Group(list) => list.iter().map(|expr| self.group_key(expr, keys)).collect(),
            GroupingElement::Rollup(_) => Err(SqlError::new(102, &[&"ROLLUP"])),
            GroupingElement::Cube(_) => Err(SqlError::new(102, &[&"CUBE"])),
            GroupingElement::Sets(_) => Err(SqlError::new(102, &[&"GROUPING"])),
        }
    }

    /// The position of a key among the keys; a new one is added. Errors 144, 164.
    fn group_key(&mut self, expr: &ast::Expr, keys: &mut Vec<Expr>) -> Result<usize, SqlError> {
        let refused = || SqlError::new(144, &[]);
        // Aggregates are refused as they are in WHERE, by another number.
        self.is_binding_group_key = true;
        let key = self.in_clause(Clause::Rows, |binder| binder.key_value(expr));
        self.is_binding_group_key = false;
        let key = key.map_err(|error| if error.number == 147 { refused() } else { error })?;
        if key.has_written_subquery() {
            return Err(refused());
        }
        check_key(&key, "GROUP BY", keys.len() + 1)?;
        if key.columns().is_empty() {
            return Err(plan_ir::errors::group_by_without_column());
        }
        Ok(keys.iter().position(|known| known.same_as(&key)).unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        }))
    }

    /// GROUPING: is the column that of a total? GROUPING_ID: the same of several columns, the last one's bit the lowest. Errors 174, 189, 8161.
    pub(super) fn grouping_function(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<Expr, SqlError> {
        let is_single = name == "GROUPING";
        let most = if is_single { 1 } else { KEYS_MAX };
        if call.args.is_empty() || call.args.len() > most {
            return Err(plan_ir::errors::argument_count(&name.to_ascii_lowercase(), 1, most as u8));
        }
        let mut sum: Option<Expr> = None;
        for (position, argument) in call.args.iter().enumerate() {
            let key = self.in_clause(Clause::Aggregate, |binder| binder.value(argument))?;
            let scope = self.scope();
            let is_output = matches!(scope.clause, Clause::Output | Clause::Groups | Clause::Window);
            let grouping = scope.grouping.as_ref().filter(|_| is_output);
            let at = grouping.and_then(|grouping| grouping.keys.iter().position(|known| known.same_as(&key)));
            let at = at.ok_or_else(|| SqlError::new(8161, &[&(position + 1), &name]))?;
            let number = grouping.and_then(|grouping| grouping.sets.as_ref()).map(|sets| sets.number);
            let weight = 1 << (call.args.len() - 1 - position);
            let term = match number {
                Some(number) => {
                    let lacks = has_bits(self.column_expr(number), 1 << at, true);
                    either(lacks, Expr::constant(Value::Int(weight), SqlType::Int), Some(integer(0)))
                }
                None => integer(0),
            };
            sum = Some(match sum {
                Some(sum) => coerce::binary(BinaryOp::Add, sum, term)?,
                None => term,
            });
        }
        let sum = sum.expect("there is an argument");
        if is_single { coerce::implicit(sum, &SqlType::TinyInt) } else { Ok(sum) }
    }

    /// Groups the rows by each set; gives the columns of the keys, too, in their order.
    pub(super) fn group_by_sets(
        &mut self,
        rel: Rel,
        keys: Vec<Expr>,
        sets: &GroupingSets,
        aggregates: Vec<(ColumnId, AggregateCall)>,
    ) -> (Rel, Vec<ColumnId>) {
        let lacks_all = (1 << keys.len()) - 1;
        let numbers: Vec<i64> =
            (0..).zip(&sets.sets).map(|(at, set)| number_of(at, set, lacks_all)).collect();
        let set = self.new_column(SqlType::BigInt, false, Default::default());
        let number = self.column_expr(set);
        let rel = crossed(rel, numbers_of(set, &numbers));
        let in_set = |(at, key): (usize, Expr)| {
            let is_in = has_bits(number.clone(), 1 << at, false);
            either(is_in, key, None)
        };
        let keys: Vec<Expr> = keys.into_iter().enumerate().map(in_set).collect();
        let mut keys: Vec<(ColumnId, Expr)> =
            keys.into_iter().map(|key| (self.column_for(&key), key)).collect();
        let columns = keys.iter().map(|key| key.0).collect();
        keys.push((sets.number, number));
        let totals: Vec<i64> =
            numbers.iter().copied().filter(|number| number & lacks_all == lacks_all).collect();
        let rel = match totals.is_empty() {
            true => Rel::Aggregate { input: Box::new(rel), keys, aggregates },
            false => self.with_totals(rel, keys, aggregates, &totals),
        };
        (rel, columns)
    }

    /// The grand totals have their rows even without any input: those that are missing come from a list of them, and count nothing.
    fn with_totals(
        &mut self,
        rel: Rel,
        keys: Vec<(ColumnId, Expr)>,
        aggregates: Vec<(ColumnId, AggregateCall)>,
        totals: &[i64],
    ) -> Rel {
        let mut items: Vec<(ColumnId, Expr)> = Vec::with_capacity(keys.len() + aggregates.len());
        let mut found = |binder: &mut Self, id: ColumnId| {
            let shown = binder.column_expr(id);
            let below = binder.new_column(shown.sql_type, true, shown.collation);
            items.push((id, binder.column_expr(below)));
            below
        };
        let keys: Vec<(ColumnId, Expr)> = keys.into_iter().map(|(id, key)| (found(self, id), key)).collect();
        let aggregates: Vec<(ColumnId, AggregateCall)> =
            aggregates.into_iter().map(|(id, aggregate)| (found(self, id), aggregate)).collect();
        let total = self.new_column(SqlType::BigInt, true, Default::default());
        let of_total = self.column_expr(total);
        let number = keys.len() - 1;
        let of_group = items[number].1.clone();
        let same = Expr::predicate(ExprKind::Compare(
            CompareOp::Equal,
            Box::new(of_total.clone()),
            Box::new(of_group.clone()),
        ));
        items[number].1.kind = ExprKind::Coalesce(vec![of_group, of_total]);
        items[number].1.nullable = false;
        for (item, aggregate) in items[number + 1..].iter_mut().zip(&aggregates) {
            if let AggregateKind::Count | AggregateKind::CountRows = aggregate.1.kind {
                let none = if item.1.sql_type == SqlType::BigInt { Value::BigInt(0) } else { Value::Int(0) };
                let none = Expr::constant(none, item.1.sql_type);
                let counted = std::mem::replace(&mut item.1, none.clone());
                item.1.kind = ExprKind::Coalesce(vec![counted, none]);
            }
        }
        let groups = Rel::Aggregate { input: Box::new(rel), keys, aggregates };
        let list = numbers_of(total, totals);
        let all =
            Rel::Join { kind: JoinKind::Full, left: Box::new(list), right: Box::new(groups), on: Some(same) };
        Rel::Project { input: Box::new(all), items }
    }
}

/// The sets' numbers as rows.
fn numbers_of(column: ColumnId, numbers: &[i64]) -> Rel {
    let row = |number: &i64| vec![Expr::constant(Value::BigInt(*number), SqlType::BigInt)];
    Rel::Values { columns: vec![column], rows: numbers.iter().map(row).collect() }
}

fn integer(value: i32) -> Expr {
    Expr::constant(Value::Int(value), SqlType::Int)
}

/// `(number & bits) = bits`, or `= 0`.
fn has_bits(number: Expr, bits: i64, all: bool) -> Expr {
    let constant = |value: i64| Expr::constant(Value::BigInt(value), SqlType::BigInt);
    let masked = ExprKind::Binary(BinaryOp::BitAnd, Box::new(number), Box::new(constant(bits)));
    let masked = Expr::new(masked, SqlType::BigInt, false);
    let wanted = constant(if all { bits } else { 0 });
    Expr::predicate(ExprKind::Compare(CompareOp::Equal, Box::new(masked), Box::new(wanted)))
}

/// CASE WHEN condition THEN value ELSE otherwise END, of the value's type.
fn either(condition: Expr, value: Expr, otherwise: Option<Expr>) -> Expr {
    let nullable = value.nullable || otherwise.is_none();
    Expr {
        sql_type: value.sql_type,
        nullable,
        collation: value.collation,
        coercibility: value.coercibility,
        kind: ExprKind::Case(vec![(condition, value)], otherwise.map(Box::new)),
    }
}

fn crossed(left: Rel, right: Rel) -> Rel {
    Rel::Join { kind: JoinKind::Inner, left: Box::new(left), right: Box::new(right), on: None }
}

//! Evaluates expressions. What is a mistake only of values gives nothing, as SQL Server documents of its XQuery.

use std::cmp::Ordering;

use super::atom::{Atom, AtomType, compute};
use super::evaluator::{Argument, Evaluator, Focus, Item, Items, NodeRef};
use super::expr::{Comparison, Expr, Flwor, InstanceType, ItemType};
use crate::SqlResult;

impl Evaluator<'_> {
    pub(super) fn eval(&mut self, expr: &Expr, focus: &Focus) -> SqlResult<Items> {
        match expr {
            Expr::Constant(atom) => Ok(vec![Item::Atom(Atom::clone(atom))]),
            Expr::Variable(slot) => self.variable(*slot),
            Expr::External(place) => self.argument(*place),
            Expr::Context => Ok(vec![focus.item.clone()]),
            Expr::Root => Ok(match &focus.item {
                Item::Node(node) => vec![Item::Node(NodeRef { tree: node.tree, node: 0 })],
                Item::Atom(_) => vec![Item::Node(NodeRef { tree: 0, node: 0 })],
            }),
            Expr::Sequence(list) => {
                let mut all = Vec::new();
                for expr in list {
                    for item in self.eval(expr, focus)? {
                        self.push(&mut all, item)?;
                    }
                }
                Ok(all)
            }
            Expr::Or(list) => {
                let found = self.first_that(list, true, focus)?;
                Ok(boolean(found))
            }
            Expr::And(list) => {
                let found = self.first_that(list, false, focus)?;
                Ok(boolean(!found))
            }
            Expr::General(op, sides) => {
                let (left, right) = (self.eval(&sides.0, focus)?, self.eval(&sides.1, focus)?);
                self.general(*op, &left, &right)
            }
            Expr::Single(_, sides) | Expr::Place(_, sides) | Expr::Arithmetic(_, sides) => {
                let (left, right) = (self.eval(&sides.0, focus)?, self.eval(&sides.1, focus)?);
                Ok(self.of_single(expr, &left, &right).map(Item::Atom).into_iter().collect())
            }
            Expr::Negate(inner) | Expr::Cast(_, inner) => {
                let inner = self.eval(inner, focus)?;
                let of_one = |atom: Atom| match expr {
                    Expr::Cast(to, _) => atom.cast(*to),
                    _ => negated(&atom),
                };
                Ok(self.only_atom(&inner).and_then(of_one).map(Item::Atom).into_iter().collect())
            }
            Expr::Path(start, steps) => self.path(start, steps, focus),
            Expr::Filter(inner, predicates) => {
                let items = self.eval(inner, focus)?;
                self.filtered(items, predicates)
            }
            Expr::If(parts) => match self.is_true(&parts.0, focus)? {
                true => self.eval(&parts.1, focus),
                false => self.eval(&parts.2, focus),
            },
            Expr::Flwor(flwor) => self.flwor(flwor, focus),
            Expr::Quantified { is_every, bindings, test } => {
                let found = self.satisfies((bindings, test), *is_every, focus)?;
                Ok(boolean(found != *is_every))
            }
            Expr::Call(function, arguments) => self.call(*function, arguments, focus),
            Expr::InstanceOf(parts) => {
                let items = self.eval(&parts.0, focus)?;
                Ok(boolean(self.is_instance(&items, &parts.1)))
            }
            Expr::Element(_)
            | Expr::Attribute(..)
            | Expr::Text(_)
            | Expr::Comment(_)
            | Expr::Instruction(..) => self.construct(expr, focus),
        }
    }

    /// Is one of the expressions so?
    fn first_that(&mut self, list: &[Expr], truth: bool, focus: &Focus) -> SqlResult<bool> {
        for expr in list {
            if self.is_true(expr, focus)? == truth {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Is an expression true?
    pub(super) fn is_true(&mut self, expr: &Expr, focus: &Focus) -> SqlResult<bool> {
        let items = self.eval(expr, focus)?;
        Ok(self.truth(&items))
    }

    #[inline(never)]
    fn variable(&self, slot: usize) -> SqlResult<Items> {
        self.ask(self.variables[slot].len() * size_of::<Item>())?;
        Ok(self.variables[slot].clone())
    }

    #[inline(never)]
    fn argument(&mut self, place: usize) -> SqlResult<Items> {
        let source = match &self.arguments[place] {
            Argument::Nothing => return Ok(Vec::new()),
            Argument::Atom(atom) => return Ok(vec![Item::Atom(atom.clone())]),
            Argument::Xml(source) => source,
        };
        let tree = match self.argument_trees[place] {
            Some(tree) => tree,
            None => {
                let tree = self.add_tree(source, false)?;
                self.argument_trees[place] = Some(tree);
                tree
            }
        };
        Ok(vec![Item::Node(NodeRef { tree, node: 0 })])
    }

    /// An operation of one item each.
    #[inline(never)]
    fn of_single(&self, expr: &Expr, left: &[Item], right: &[Item]) -> Option<Atom> {
        if let Expr::Place(op, _) = expr {
            return match (left, right) {
                ([Item::Node(left)], [Item::Node(right)]) => Some(Atom::Boolean(op.accepts(left.cmp(right)))),
                _ => None,
            };
        }
        let (left, right) = (self.only_atom(left)?, self.only_atom(right)?);
        match expr {
            Expr::Single(op, _) => Some(Atom::Boolean(op.accepts(left.compare(&right)?))),
            Expr::Arithmetic(op, _) => compute(*op, &left, &right),
            _ => None,
        }
    }

    /// True if any pair is.
    #[inline(never)]
    fn general(&mut self, op: Comparison, left: &[Item], right: &[Item]) -> SqlResult<Items> {
        let right: Vec<Atom> = right.iter().map(|item| self.atom(item)).collect();
        for item in left {
            let atom = self.atom(item);
            for other in &right {
                self.look()?;
                if atom.compare(other).is_some_and(|ordering| op.accepts(ordering)) {
                    return Ok(boolean(true));
                }
            }
        }
        Ok(boolean(false))
    }

    fn filtered(&mut self, mut items: Items, predicates: &[Expr]) -> SqlResult<Items> {
        for predicate in predicates {
            self.filter(&mut items, 0, predicate, Item::clone)?;
        }
        Ok(items)
    }

    /// Leaves the items from a position on for which a predicate holds: a number is that of a position.
    #[inline(never)]
    pub(super) fn filter<T: Clone>(
        &mut self,
        list: &mut Vec<T>,
        from: usize,
        predicate: &Expr,
        item: fn(&T) -> Item,
    ) -> SqlResult<()> {
        let size = list.len() - from;
        if let Expr::Constant(atom) = predicate
            && let Atom::Integer(position) = atom.as_ref()
        {
            let at = usize::try_from(*position).ok().filter(|at| (1..=size).contains(at));
            match at {
                Some(at) => {
                    let kept = list[from + at - 1].clone();
                    list.truncate(from);
                    list.push(kept);
                }
                None => list.truncate(from),
            }
            return Ok(());
        }
        let mut kept = from;
        for at in 0..size {
            self.look()?;
            let focus = Focus { item: item(&list[from + at]), position: at + 1, size };
            let found = self.eval(predicate, &focus)?;
            let holds = match found.as_slice() {
                [Item::Atom(number)] if number.atom_type().is_numeric() => {
                    number.number() == Some((at + 1) as f64)
                }
                found => self.truth(found),
            };
            if holds {
                list.swap(kept, from + at);
                kept += 1;
            }
        }
        list.truncate(kept);
        Ok(())
    }

    #[inline(never)]
    fn flwor(&mut self, flwor: &Flwor, focus: &Focus) -> SqlResult<Items> {
        let mut rows: Vec<(Vec<Option<Atom>>, Items)> = Vec::new();
        let mut all = Vec::new();
        self.bind(flwor, 0, focus, &mut rows, &mut all)?;
        if flwor.order.is_empty() {
            return Ok(all);
        }
        rows.sort_by(|one, other| {
            let keys = one.0.iter().zip(&other.0).zip(&flwor.order);
            keys.map(|((one, other), (_, is_descending))| {
                let ordering = order(one.as_ref(), other.as_ref());
                if *is_descending { ordering.reverse() } else { ordering }
            })
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
        });
        for (_, items) in rows {
            for item in items {
                self.push(&mut all, item)?;
            }
        }
        Ok(all)
    }

    /// Binds the variables from one on; without ORDER BY the results go to `all`.
    #[inline(never)]
    fn bind(
        &mut self,
        flwor: &Flwor,
        at: usize,
        focus: &Focus,
        rows: &mut Vec<(Vec<Option<Atom>>, Items)>,
        all: &mut Items,
    ) -> SqlResult<()> {
        let Some(binding) = flwor.bindings.get(at) else {
            self.look()?;
            if let Some(condition) = &flwor.condition
                && !self.is_true(condition, focus)?
            {
                return Ok(());
            }
            let mut keys = Vec::with_capacity(flwor.order.len());
            for (key, _) in &flwor.order {
                let items = self.eval(key, focus)?;
                keys.push(self.only_atom(&items));
            }
            let items = self.eval(&flwor.result, focus)?;
            if flwor.order.is_empty() {
                for item in items {
                    self.push(all, item)?;
                }
                return Ok(());
            }
            self.ask((keys.len() + items.len()) * size_of::<Item>())?;
            return self.push(rows, (keys, items));
        };
        let source = self.eval(&binding.source, focus)?;
        if !binding.is_for {
            self.variables[binding.slot] = source;
            return self.bind(flwor, at + 1, focus, rows, all);
        }
        for item in source {
            self.variables[binding.slot] = vec![item];
            self.bind(flwor, at + 1, focus, rows, all)?;
        }
        Ok(())
    }

    /// Is there a binding for which the test is not `unless`?
    #[inline(never)]
    fn satisfies(
        &mut self,
        (bindings, test): (&[(usize, Expr)], &Expr),
        unless: bool,
        focus: &Focus,
    ) -> SqlResult<bool> {
        let [(slot, source), rest @ ..] = bindings else {
            self.look()?;
            return Ok(self.is_true(test, focus)? != unless);
        };
        for item in self.eval(source, focus)? {
            self.variables[*slot] = vec![item];
            if self.satisfies((rest, test), unless, focus)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[inline(never)]
    fn is_instance(&self, items: &[Item], wanted: &InstanceType) -> bool {
        let fits = match items.len() {
            0 => wanted.may_be_empty,
            1 => true,
            _ => wanted.may_be_many,
        };
        fits && items.iter().all(|item| match (&wanted.kind, item) {
            (ItemType::Item, _) => true,
            (ItemType::Empty, _) => false,
            (ItemType::Atom(atom_type), Item::Atom(atom)) => {
                let found = atom.atom_type();
                found == *atom_type || (found == AtomType::Integer && *atom_type == AtomType::Decimal)
            }
            (ItemType::Node(test), Item::Node(node)) => self.passes(*node, test, false),
            _ => false,
        })
    }
}

pub(super) fn boolean(truth: bool) -> Items {
    vec![Item::Atom(Atom::Boolean(truth))]
}

fn negated(atom: &Atom) -> Option<Atom> {
    Some(match atom {
        Atom::Integer(number) => Atom::Integer(number.checked_neg()?),
        Atom::Decimal(number) => Atom::Decimal(number.negate()),
        other => Atom::Double(-other.number()?),
    })
}

/// The order of two keys: none is the least.
fn order(one: Option<&Atom>, other: Option<&Atom>) -> Ordering {
    match (one, other) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some(one), Some(other)) => one.compare(other).unwrap_or(Ordering::Equal),
    }
}

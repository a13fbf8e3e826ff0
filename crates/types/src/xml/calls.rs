//! The functions of XQuery.

use std::cmp::Ordering;

use super::atom::{Arithmetic, Atom, AtomType, compute};
use super::evaluator::{Evaluator, Focus, Item, Items};
use super::expr::{Expr, Function};
use super::tree::Kind;
use crate::{Decimal, SqlResult};

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn call(&mut self, function: Function, arguments: &[Expr], focus: &Focus) -> SqlResult<Items> {
        let boolean = |truth| Ok(vec![Item::Atom(Atom::Boolean(truth))]);
        let integer = |number: usize| Ok(vec![Item::Atom(Atom::Integer(number as i64))]);
        match function {
            Function::True => return boolean(true),
            Function::False => return boolean(false),
            Function::Position => return integer(focus.position),
            Function::Last => return integer(focus.size),
            Function::Concat => {
                let mut whole = String::new();
                for argument in arguments {
                    let items = self.eval(argument, focus)?;
                    whole.push_str(&self.joined(&items));
                    self.ask(whole.len())?;
                }
                return Ok(vec![Item::Atom(Atom::Text(whole))]);
            }
            _ => {}
        }
        let first = match arguments.first() {
            Some(argument) => self.eval(argument, focus)?,
            None => vec![focus.item.clone()],
        };
        match function {
            Function::Count => integer(first.len()),
            Function::Empty => boolean(first.is_empty()),
            Function::Not => boolean(!self.truth(&first)),
            Function::Data => Ok(first.iter().map(|item| Item::Atom(self.atom(item))).collect()),
            Function::DistinctValues => self.distinct(&first),
            Function::Sum | Function::Average => Ok(self.total(function, &first)?.into_iter().collect()),
            Function::Minimum | Function::Maximum => Ok(self.extreme(function, &first).into_iter().collect()),
            Function::Floor | Function::Ceiling | Function::Round => {
                let rounded = self.only_atom(&first).and_then(|atom| rounded(function, &atom));
                Ok(rounded.map(Item::Atom).into_iter().collect())
            }
            Function::Number => {
                let number = self.only_atom(&first).and_then(|atom| atom.number()).unwrap_or(f64::NAN);
                Ok(vec![Item::Atom(Atom::Double(number))])
            }
            Function::LocalName | Function::NamespaceUri | Function::Name => {
                Ok(vec![Item::Atom(Atom::Text(self.name_of(function, &first)))])
            }
            _ => self.call_of_text(function, &self.joined(&first), arguments, focus),
        }
    }

    /// The text of an argument of one item.
    fn joined(&self, items: &[Item]) -> String {
        items.first().map_or_else(String::new, |item| self.text(item))
    }

    #[inline(never)]
    fn call_of_text(
        &mut self,
        function: Function,
        text: &str,
        arguments: &[Expr],
        focus: &Focus,
    ) -> SqlResult<Items> {
        Ok(vec![Item::Atom(match function {
            Function::StringLength => Atom::Integer(text.encode_utf16().count() as i64),
            Function::LowerCase => Atom::Text(text.to_lowercase()),
            Function::UpperCase => Atom::Text(text.to_uppercase()),
            Function::Contains | Function::StartsWith => {
                let second = self.eval(&arguments[1], focus)?;
                let second = self.joined(&second);
                Atom::Boolean(match function {
                    Function::Contains => text.contains(&second),
                    _ => text.starts_with(&second),
                })
            }
            Function::NormalizeSpace => {
                let words: Vec<&str> = text.split_ascii_whitespace().collect();
                Atom::Text(words.join(" "))
            }
            Function::Substring => {
                let mut numbers = Vec::new();
                for argument in &arguments[1..] {
                    let items = self.eval(argument, focus)?;
                    numbers.push(self.only_atom(&items).and_then(|atom| atom.number()).unwrap_or(f64::NAN));
                }
                Atom::Text(substring(text, numbers[0], numbers.get(1).copied()))
            }
            _ => Atom::Text(text.to_string()),
        })])
    }

    fn name_of(&self, function: Function, items: &[Item]) -> String {
        match items.first() {
            Some(Item::Node(node))
                if matches!(self.kind(*node), Kind::Element | Kind::Attribute | Kind::Instruction) =>
            {
                let name = self.tree(*node).name(node.node);
                match function {
                    Function::LocalName => name.local.clone(),
                    Function::Name if name.prefix.is_empty() => name.local.clone(),
                    Function::Name => format!("{}:{}", name.prefix, name.local),
                    _ => name.uri.clone(),
                }
            }
            _ => String::new(),
        }
    }

    /// Each value once, where it comes first.
    #[inline(never)]
    fn distinct(&mut self, items: &[Item]) -> SqlResult<Items> {
        let mut seen = std::collections::BTreeSet::new();
        let mut all = Vec::new();
        for item in items {
            let atom = self.atom(item);
            let key = match atom.atom_type() {
                AtomType::Integer | AtomType::Decimal | AtomType::Double => {
                    (AtomType::Double as u8, atom.number().unwrap_or(f64::NAN).to_string())
                }
                AtomType::Untyped => (AtomType::Text as u8, atom.text()),
                other => (other as u8, atom.text()),
            };
            self.ask(key.1.len())?;
            if seen.insert(key) {
                self.push(&mut all, Item::Atom(atom))?;
            }
        }
        Ok(all)
    }

    /// Sum and average. Untyped values are floating-point numbers; what is no number makes it nothing.
    #[inline(never)]
    fn total(&mut self, function: Function, items: &[Item]) -> SqlResult<Option<Item>> {
        if items.is_empty() {
            return Ok((function == Function::Sum).then_some(Item::Atom(Atom::Integer(0))));
        }
        let mut total: Option<Atom> = None;
        for item in items {
            self.look()?;
            let atom = match self.atom(item) {
                untyped @ Atom::Untyped(_) => untyped.cast(AtomType::Double),
                other => Some(other),
            };
            total = match (total, atom) {
                (None, atom) => atom,
                (Some(total), Some(atom)) => compute(Arithmetic::Add, &total, &atom),
                (Some(_), None) => None,
            };
            if total.is_none() {
                return Ok(None);
            }
        }
        let total = match function {
            Function::Average => total
                .and_then(|total| compute(Arithmetic::Divide, &total, &Atom::Integer(items.len() as i64))),
            _ => total,
        };
        Ok(total.map(Item::Atom))
    }

    /// The least or greatest value. Untyped values that are all numbers are compared as such.
    fn extreme(&self, function: Function, items: &[Item]) -> Option<Item> {
        let atoms: Vec<Atom> = items.iter().map(|item| self.atom(item)).collect();
        let are_numbers = atoms.iter().all(|atom| atom.number().is_some_and(|number| !number.is_nan()));
        let wanted = if function == Function::Minimum { Ordering::Less } else { Ordering::Greater };
        let mut best: Option<&Atom> = None;
        for atom in &atoms {
            let ordering = best.and_then(|best| match are_numbers {
                true => atom.number()?.partial_cmp(&best.number()?),
                false => atom.compare(best),
            });
            if best.is_none() || ordering == Some(wanted) {
                best = Some(atom);
            }
        }
        best.map(|atom| Item::Atom(atom.clone()))
    }
}

fn rounded(function: Function, atom: &Atom) -> Option<Atom> {
    let of = |number: f64| match function {
        Function::Floor => number.floor(),
        Function::Ceiling => number.ceil(),
        _ => (number + 0.5).floor(),
    };
    Some(match atom {
        Atom::Integer(_) => atom.clone(),
        Atom::Decimal(number) => {
            let whole = number.truncate_to_i128();
            let is_less = number.mantissa() < 0;
            let rest = number.compare(&Decimal::checked(whole, 38, 0).ok()?);
            let step = match (function, is_less, rest.is_ne()) {
                (_, _, false) => 0,
                (Function::Floor, true, _) => -1,
                (Function::Ceiling, false, _) => 1,
                (Function::Round, ..) => (of(number.to_f64()) as i128) - whole,
                _ => 0,
            };
            Atom::Decimal(Decimal::checked(whole + step, 38, 0).ok()?)
        }
        other => Atom::Double(of(other.number()?)),
    })
}

/// The characters from a position on, from 1, as XPath counts: those whose position is at least the rounded start.
fn substring(text: &str, start: f64, length: Option<f64>) -> String {
    let round = |number: f64| (number + 0.5).floor();
    let first = round(start);
    let end = length.map_or(f64::INFINITY, |length| first + round(length));
    let is_in = |(at, _): &(usize, char)| {
        let position = (at + 1) as f64;
        position >= first && position < end
    };
    text.chars().enumerate().filter(is_in).map(|(_, c)| c).collect()
}

//! Compiles the paths of XQuery: steps, predicates, literals, function calls.

use super::atom::{Atom, AtomType};
use super::expr::{Axis, Expr, External, Function, Step, Test};
use super::parser::{Parser, Typed};
use super::scanner::is_start;
use super::shape::{Count, Items, Shape};
use super::tree::Name;
use crate::decimal::Decimal;
use crate::{SqlError, SqlResult};

/// A predicate: it, its type, and whether it asks for the position.
struct Predicate {
    expr: Expr,
    shape: Shape,
    uses_position: bool,
}

impl Parser<'_> {
    /// A path, or an operand with predicates.
    #[inline(never)]
    pub(super) fn path(&mut self) -> SqlResult<Typed> {
        let mut steps = Vec::new();
        let (start, mut shape) = if self.scan.take("//") {
            steps.push(every_node());
            let shape = self.step(&mut steps, Shape::new(Items::Node, Count::Many))?;
            (Expr::Root, shape)
        } else if self.scan.take("/") {
            let root = Shape::new(Items::Document, Count::One);
            self.scan.skip();
            if !self.at_step() {
                return Ok((Expr::Root, root));
            }
            let shape = self.step(&mut steps, root)?;
            (Expr::Root, shape)
        } else if self.at_axis_step() {
            let context = self.context.clone();
            let shape = self.step(&mut steps, context)?;
            (Expr::Context, shape)
        } else {
            self.filtered()?
        };
        loop {
            if self.scan.take("//") {
                self.check_nodes(&shape)?;
                steps.push(every_node());
                shape = self.step(&mut steps, Shape::new(Items::Node, Count::Many))?;
            } else if self.scan.take("/") {
                self.check_nodes(&shape)?;
                shape = self.step(&mut steps, shape)?;
            } else {
                break;
            }
        }
        if steps.is_empty() {
            return Ok((start, shape));
        }
        Ok((Expr::Path(Box::new(start), steps), shape))
    }

    /// Steps begin at nodes. Error 2374.
    fn check_nodes(&self, shape: &Shape) -> SqlResult<()> {
        match shape.may_be_nodes() {
            true => Ok(()),
            false => Err(SqlError::new(2374, &[&self.scan.prefix, &"'/'"])),
        }
    }

    fn at_step(&mut self) -> bool {
        let rest = self.scan.rest();
        rest.starts_with(|c: char| is_start(c) || matches!(c, '@' | '.' | '*')) && !self.at_operator()
    }

    /// Behind a lone `/`, is the next word an operator?
    fn at_operator(&mut self) -> bool {
        ["and", "or", "eq", "ne", "lt", "le", "gt", "ge", "return"].iter().any(|word| self.scan.at_word(word))
    }

    /// Does a step along an axis begin here, rather than an operand?
    #[inline(never)]
    fn at_axis_step(&mut self) -> bool {
        self.scan.skip();
        let before = self.scan.at;
        let rest = self.scan.rest();
        if rest.starts_with("..") || rest.starts_with('@') || rest.starts_with('*') {
            return true;
        }
        let Some((prefix, name)) = self.scan.qualified_name() else { return false };
        let is_wildcard = self.scan.rest().starts_with(":*");
        let has_axis = self.scan.at_symbol("::");
        let is_call = self.scan.at_symbol("(");
        let is_computed = ["element", "attribute", "text", "comment", "processing-instruction"]
            .contains(&name)
            && prefix.is_empty()
            && (self.scan.at_symbol("{") || self.at_name_before_brace());
        self.scan.at = before;
        if is_computed && !has_axis {
            return false;
        }
        is_wildcard || has_axis || !is_call || (prefix.is_empty() && is_kind_test(name))
    }

    /// `name {`, behind the word of a computed constructor.
    fn at_name_before_brace(&mut self) -> bool {
        let before = self.scan.at;
        let found = self.scan.qualified_name().is_some() && self.scan.at_symbol("{");
        self.scan.at = before;
        found
    }

    /// One step behind nodes of a type.
    #[inline(never)]
    fn step(&mut self, steps: &mut Vec<Step>, from: Shape) -> SqlResult<Shape> {
        self.scan.skip();
        let (axis, test) = self.axis_and_test()?;
        let is_static = from.items != Items::Unknown && self.context.items != Items::Unknown;
        if axis == Axis::Attribute && from.items == Items::Document && is_static && !self.is_lenient {
            return Err(SqlError::new(2390, &[&self.scan.prefix, &"attribute"]));
        }
        let items = items_of(axis, &test, &from);
        let many = match (axis, &test) {
            (Axis::Attribute, Test::Name { local: Some(_), .. } | Test::Attribute(Some(_))) => {
                Count::Optional
            }
            (Axis::Own, Test::Any) => Count::One,
            (Axis::Own | Axis::Parent, _) => Count::Optional,
            _ => Count::Many,
        };
        let context = Shape::new(items.clone(), Count::One);
        let mut count = many;
        let mut predicates = Vec::new();
        let mut can_fuse = true;
        while self.scan.at_symbol("[") {
            let predicate = self.predicate(&context)?;
            let is_number = predicate.shape.atom_type().is_some_and(AtomType::is_numeric);
            if is_number {
                count = Count::Optional;
            }
            let is_known = predicate.shape.items != Items::Unknown;
            can_fuse &= !is_number && !predicate.uses_position && is_known;
            predicates.push(predicate.expr);
        }
        let is_behind_all = steps.last().is_some_and(is_every_node);
        let axis = match axis {
            Axis::Child if is_behind_all && can_fuse => {
                steps.pop();
                Axis::Descendant
            }
            axis => axis,
        };
        steps.push(Step { axis, test, predicates });
        let is_constructed = from.is_constructed;
        Ok(Shape { items, count: from.count.times(count), is_constructed })
    }

    #[inline(never)]
    fn axis_and_test(&mut self) -> SqlResult<(Axis, Test)> {
        if self.scan.take("..") {
            return Ok((Axis::Parent, Test::Any));
        }
        if self.scan.take("@") {
            return Ok((Axis::Attribute, self.test(true)?));
        }
        if self.scan.take(".") {
            return Ok((Axis::Own, Test::Any));
        }
        let before = self.scan.at;
        if let Some(name) = self.scan.name()
            && self.scan.take("::")
        {
            let axis = match name {
                "child" => Axis::Child,
                "descendant" => Axis::Descendant,
                "descendant-or-self" => Axis::DescendantOrSelf,
                "attribute" => Axis::Attribute,
                "self" => Axis::Own,
                "parent" => Axis::Parent,
                "ancestor" | "ancestor-or-self" | "following" | "following-sibling" | "preceding"
                | "preceding-sibling" | "namespace" => {
                    return Err(self.scan.unsupported(&format!("{name}::")));
                }
                _ => return Err(SqlError::new(2392, &[&self.scan.prefix, &name])),
            };
            return Ok((axis, self.test(axis == Axis::Attribute)?));
        }
        self.scan.at = before;
        if !self.scan.rest().starts_with(|c: char| is_start(c) || c == '*') {
            let near = self.scan.near();
            return Err(SqlError::new(9341, &[&self.scan.prefix, &near]));
        }
        Ok((Axis::Child, self.test(false)?))
    }

    /// A node test. Errors 2256, 2229.
    #[inline(never)]
    fn test(&mut self, is_attribute: bool) -> SqlResult<Test> {
        if self.scan.take("*") {
            let local = match self.scan.rest().starts_with(':') {
                true => {
                    self.scan.at += 1;
                    self.scan.name_here().map(str::to_string)
                }
                false => None,
            };
            return Ok(Test::Name { uri: None, local });
        }
        let Some((prefix, name)) = self.scan.qualified_name() else {
            let near = self.scan.near();
            return Err(SqlError::new(2256, &[&self.scan.prefix, &near]));
        };
        if prefix.is_empty() && self.scan.rest().starts_with(":*") {
            self.scan.at += 2;
            return Ok(Test::Name { uri: Some(self.uri_of(name)?), local: None });
        }
        if prefix.is_empty() && is_kind_test(name) && self.scan.at_symbol("(") {
            return self.kind_test(name);
        }
        if self.scan.at_symbol("(") {
            let near = self.scan.near();
            return Err(SqlError::new(9341, &[&self.scan.prefix, &near]));
        }
        let uri = match prefix {
            "" if is_attribute => String::new(),
            "" => self.element_namespace.clone(),
            prefix => self.uri_of(prefix)?,
        };
        Ok(Test::Name { uri: Some(uri), local: Some(name.to_string()) })
    }

    /// `node()` and its like, behind the word.
    #[inline(never)]
    pub(super) fn kind_test(&mut self, word: &str) -> SqlResult<Test> {
        self.scan.expect("(")?;
        let named = |parser: &mut Self, is_attribute: bool| -> SqlResult<Option<Name>> {
            if parser.scan.take("*") {
                return Ok(None);
            }
            let Some((prefix, local)) = parser.scan.qualified_name() else { return Ok(None) };
            let uri = match prefix {
                "" if is_attribute => String::new(),
                "" => parser.element_namespace.clone(),
                prefix => parser.uri_of(prefix)?,
            };
            Ok(Some(Name { prefix: String::new(), local: local.to_string(), uri }))
        };
        let test = match word {
            "node" => Test::Any,
            "text" => Test::Text,
            "comment" => Test::Comment,
            "processing-instruction" => Test::Instruction(match self.scan.string()? {
                Some(target) => Some(target),
                None => self.scan.name().map(str::to_string),
            }),
            "element" => Test::Element(named(self, false)?),
            "attribute" => Test::Attribute(named(self, true)?),
            "document-node" => Test::Document,
            _ => return Err(self.scan.syntax()),
        };
        self.scan.expect(")")?;
        Ok(test)
    }

    /// `[..]`. Error 2203: it is neither number, nor boolean, nor nodes.
    #[inline(never)]
    fn predicate(&mut self, context: &Shape) -> SqlResult<Predicate> {
        self.scan.expect("[")?;
        let outer = std::mem::replace(&mut self.context, context.clone());
        let used = std::mem::replace(&mut self.uses_position, false);
        self.predicate_depth += 1;
        let (expr, shape) = self.single()?;
        self.predicate_depth -= 1;
        let uses_position = std::mem::replace(&mut self.uses_position, used);
        self.context = outer;
        self.scan.expect("]")?;
        match shape.atom_type() {
            Some(found) if !found.is_numeric() && found != AtomType::Boolean && !self.is_lenient => {
                Err(SqlError::new(2203, &[&self.scan.prefix, &shape]))
            }
            _ => Ok(Predicate { expr, shape, uses_position }),
        }
    }

    /// An operand with predicates.
    #[inline(never)]
    fn filtered(&mut self) -> SqlResult<Typed> {
        let (expr, mut shape) = self.operand()?;
        let mut predicates = Vec::new();
        while self.scan.at_symbol("[") {
            let context = Shape { count: Count::One, ..shape.clone() };
            let predicate = self.predicate(&context)?;
            let is_number = predicate.shape.atom_type().is_some_and(AtomType::is_numeric);
            shape.count = if is_number { Count::Optional } else { shape.count.times(Count::Optional) };
            predicates.push(predicate.expr);
        }
        match predicates.is_empty() {
            true => Ok((expr, shape)),
            false => Ok((Expr::Filter(Box::new(expr), predicates), shape)),
        }
    }

    #[inline(never)]
    fn operand(&mut self) -> SqlResult<Typed> {
        if let Some(text) = self.scan.string()? {
            let shape = Shape::atom(AtomType::Text, Count::One);
            return Ok((Expr::Constant(Box::new(Atom::Text(text))), shape));
        }
        let rest = self.scan.rest();
        let mut characters = rest.chars();
        match characters.next() {
            Some('$') => self.variable(),
            Some('(') => {
                self.scan.at += 1;
                if self.scan.take(")") {
                    return Ok((Expr::Sequence(Vec::new()), Shape::new(Items::Nothing, Count::Optional)));
                }
                let typed = self.expr()?;
                self.scan.expect(")")?;
                Ok(typed)
            }
            Some('<') => self.direct(),
            Some(c) if c.is_ascii_digit() => self.number(),
            Some('.') if characters.next().is_some_and(|c| c.is_ascii_digit()) => self.number(),
            Some('.') => {
                self.scan.at += 1;
                Ok((Expr::Context, self.context.clone()))
            }
            Some(c) if is_start(c) => match self.computed()? {
                Some(typed) => Ok(typed),
                None => self.call(),
            },
            _ => Err(self.scan.syntax()),
        }
    }

    #[inline(never)]
    fn number(&mut self) -> SqlResult<Typed> {
        let rest = self.scan.rest();
        let digits = |from: usize| {
            let end = rest[from..].find(|c: char| !c.is_ascii_digit());
            end.map_or(rest.len(), |at| from + at)
        };
        let mut end = digits(0);
        let is_whole = !rest[end..].starts_with('.');
        if !is_whole {
            end = digits(end + 1);
        }
        let mut is_double = false;
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let last = digits(end + 1 + sign);
            is_double = last > end + 1 + sign;
            end = if is_double { last } else { end };
        }
        let text = &rest[..end];
        if rest[end..].starts_with(is_start) {
            return Err(SqlError::new(2342, &[&self.scan.prefix]));
        }
        self.scan.at += end;
        let invalid = || SqlError::new(2342, &[&self.scan.prefix]);
        let atom = match (is_double, is_whole, text.parse::<i64>()) {
            (true, ..) => Atom::Double(text.parse().map_err(|_| invalid())?),
            (false, true, Ok(number)) => Atom::Integer(number),
            _ => Atom::Decimal(Decimal::from_literal(text).ok_or_else(invalid)?),
        };
        let shape = Shape::atom(atom.atom_type(), Count::One);
        Ok((Expr::Constant(Box::new(atom)), shape))
    }

    /// `name(..)`. Errors 2395, 2236, 2238.
    #[inline(never)]
    fn call(&mut self) -> SqlResult<Typed> {
        let Some((prefix, local)) = self.scan.qualified_name() else { return Err(self.scan.syntax()) };
        if !self.scan.take("(") {
            return Err(self.scan.syntax());
        }
        if prefix == "sql" {
            return self.sql_argument(local);
        }
        let uri = match prefix {
            "" => FUNCTIONS.to_string(),
            prefix => self.uri_of(prefix)?,
        };
        if matches!(prefix, "xs" | "xdt")
            && let Some(to) = AtomType::named(local)
        {
            let (argument, shape) = self.single()?;
            self.check_single(&format!("{prefix}:{local}()"), &shape.atomized())?;
            self.scan.expect(")")?;
            return Ok((Expr::Cast(to, Box::new(argument)), Shape::atom(to, Count::Optional)));
        }
        let own = || if self.is_lenient { Function::of_patterns(local) } else { None };
        let known = Function::named(local).or_else(own).filter(|_| uri == FUNCTIONS);
        let Some((function, least, most)) = known else {
            return Err(SqlError::new(2395, &[&self.scan.prefix, &uri, &local]));
        };
        let mut arguments = Vec::new();
        let mut shapes = Vec::new();
        while !self.scan.take(")") {
            if !arguments.is_empty() {
                self.scan.expect(",")?;
            }
            let (argument, shape) = self.single()?;
            arguments.push(argument);
            shapes.push(shape);
        }
        if arguments.len() < least {
            return Err(SqlError::new(2236, &[&self.scan.prefix, &format!("{local}()")]));
        }
        if arguments.len() > most {
            return Err(SqlError::new(2238, &[&self.scan.prefix, &format!("{local}()")]));
        }
        let shape = self.result(function, local, &shapes)?;
        Ok((Expr::Call(function, arguments), shape))
    }

    /// The type of a call. Errors 2389, 2371, 2204.
    #[inline(never)]
    fn result(&mut self, function: Function, name: &str, arguments: &[Shape]) -> SqlResult<Shape> {
        let shown = format!("{name}()");
        let one = |atom_type| Ok(Shape::atom(atom_type, Count::One));
        let first = arguments.first().map(Shape::atomized);
        match function {
            Function::Count => return one(AtomType::Integer),
            Function::Empty | Function::True | Function::False | Function::StartsWith => {
                return one(AtomType::Boolean);
            }
            Function::Not => {
                arguments.iter().try_for_each(|shape| self.check_condition(shape))?;
                return one(AtomType::Boolean);
            }
            Function::Position | Function::Last => {
                if self.predicate_depth == 0 {
                    return Err(SqlError::new(2371, &[&self.scan.prefix, &shown]));
                }
                self.uses_position = true;
                return one(AtomType::Integer);
            }
            Function::Data | Function::DistinctValues => {
                if arguments.iter().any(|shape| shape.is_constructed) {
                    return Err(SqlError::new(2373, &[&self.scan.prefix, &shown]));
                }
                return Ok(first.unwrap_or_else(|| self.context.atomized()));
            }
            Function::Average | Function::Sum | Function::Minimum | Function::Maximum => {
                return Ok(of_aggregate(function, first));
            }
            Function::String | Function::LocalName | Function::NamespaceUri => {
                arguments.iter().try_for_each(|shape| self.check_single(&shown, shape))?;
                return one(AtomType::Text);
            }
            _ => {}
        }
        arguments.iter().try_for_each(|shape| self.check_single(&shown, &shape.atomized()))?;
        match function {
            Function::Number => one(AtomType::Double),
            Function::StringLength => one(AtomType::Integer),
            Function::Contains => one(AtomType::Boolean),
            Function::Ceiling | Function::Floor | Function::Round => {
                let of_number =
                    |atom_type: AtomType| if atom_type.is_numeric() { atom_type } else { AtomType::Double };
                let atom_type = first.and_then(|shape| shape.atom_type()).map_or(AtomType::Double, of_number);
                Ok(Shape::atom(atom_type, Count::Optional))
            }
            _ => one(AtomType::Text),
        }
    }

    /// `sql:variable("@name")`, `sql:column("name")`, behind the parenthesis.
    #[inline(never)]
    fn sql_argument(&mut self, word: &str) -> SqlResult<Typed> {
        if !matches!(word, "variable" | "column") {
            return Err(SqlError::new(2395, &[&self.scan.prefix, &"sql", &word]));
        }
        let name = self.scan.expect_string()?;
        self.scan.expect(")")?;
        self.external(External { is_column: word == "column", name: name.trim().to_string() })
    }
}

/// The namespace of functions.
const FUNCTIONS: &str = "http://www.w3.org/2004/07/xpath-functions";

fn is_kind_test(name: &str) -> bool {
    matches!(
        name,
        "node" | "text" | "comment" | "processing-instruction" | "element" | "attribute" | "document-node"
    )
}

/// `//` stands for this step between two others.
fn every_node() -> Step {
    Step { axis: Axis::DescendantOrSelf, test: Test::Any, predicates: Vec::new() }
}

fn is_every_node(step: &Step) -> bool {
    step.axis == Axis::DescendantOrSelf && step.test == Test::Any && step.predicates.is_empty()
}

/// What a step gives.
fn items_of(axis: Axis, test: &Test, from: &Shape) -> Items {
    let shown = |name: &Option<String>| name.clone().unwrap_or_else(|| "*".to_string());
    if from.items == Items::Unknown {
        return Items::Unknown;
    }
    match test {
        Test::Any => match axis {
            Axis::Own => from.items.clone(),
            Axis::Attribute => Items::Attribute("*".to_string()),
            _ => Items::Node,
        },
        Test::Text => Items::Text,
        Test::Comment => Items::Comment,
        Test::Instruction(_) => Items::Instruction,
        Test::Document => Items::Document,
        Test::Name { local, .. } if axis == Axis::Attribute => Items::Attribute(shown(local)),
        Test::Name { local, .. } => Items::Element(shown(local)),
        Test::Element(name) => Items::Element(shown(&name.as_ref().map(|name| name.local.clone()))),
        Test::Attribute(name) => Items::Attribute(shown(&name.as_ref().map(|name| name.local.clone()))),
    }
}

/// The type of an aggregate of values of a type.
fn of_aggregate(function: Function, values: Option<Shape>) -> Shape {
    let Some(values) = values else { return Shape::new(Items::Unknown, Count::Optional) };
    let count = if function == Function::Sum { Count::One } else { Count::Optional };
    let atom_type = match (function, values.atom_type()) {
        (_, None) if values.items == Items::Unknown => return Shape::new(Items::Unknown, count),
        (Function::Sum | Function::Average, Some(AtomType::Untyped) | None) => AtomType::Double,
        (Function::Average, Some(AtomType::Integer)) => AtomType::Decimal,
        (_, Some(AtomType::Untyped) | None) => AtomType::Untyped,
        (_, Some(atom_type)) => atom_type,
    };
    Shape::atom(atom_type, count)
}

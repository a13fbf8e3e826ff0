//! Compiles XQuery: the prolog, and expressions down to the operands of operators. Static types are found on the way, as SQL Server finds its errors
//! before it reads a node.

use super::atom::{Arithmetic, AtomType};
use super::expr::{Axis, Binding, Comparison, Expr, External, Flwor, InstanceType, ItemType, Step, Test};
use super::scanner::Scanner;
use super::shape::{Count, Items, Shape, wider};
use crate::{SqlError, SqlResult};

/// Expressions nested deeper are too complex (2363).
const DEPTH_MAX: u32 = 40;
/// And so many arithmetic operations in one text.
const OPERATIONS_MAX: u32 = 150;

/// An expression with its static type.
pub type Typed = (Expr, Shape);

/// Compiles one text.
pub struct Parser<'a> {
    pub(super) scan: Scanner<'a>,
    /// Prefixes, the last declared last.
    pub(super) namespaces: Vec<(String, String)>,
    /// The namespace of element names without a prefix.
    pub(super) element_namespace: String,
    /// Variables in sight.
    variables: Vec<(String, usize, Shape)>,
    pub(super) variable_count: usize,
    pub(super) externals: Vec<External>,
    external_items: Vec<Items>,
    /// The type of an argument.
    type_of: &'a mut dyn FnMut(&External) -> SqlResult<Items>,
    /// The type of `.`
    pub(super) context: Shape,
    /// How many predicates stand around.
    pub(super) predicate_depth: u32,
    /// `position` or `last` was read.
    pub(super) uses_position: bool,
    /// XPath 1.0: nothing is refused for its static type, and there are a few more functions.
    pub(super) is_lenient: bool,
    depth: u32,
    /// How many operations there are: a chain of them is a tree as deep as it is long.
    operations: u32,
}

impl<'a> Parser<'a> {
    pub fn new(
        scan: Scanner<'a>,
        context: Shape,
        type_of: &'a mut dyn FnMut(&External) -> SqlResult<Items>,
    ) -> Parser<'a> {
        let namespaces = [
            ("xml", super::tree::XML_NAMESPACE),
            ("xs", "http://www.w3.org/2001/XMLSchema"),
            ("xsi", "http://www.w3.org/2001/XMLSchema-instance"),
            ("xdt", "http://www.w3.org/2004/07/xpath-datatypes"),
            ("fn", "http://www.w3.org/2004/07/xpath-functions"),
            ("sqltypes", "http://schemas.microsoft.com/sqlserver/2004/sqltypes"),
        ];
        Parser {
            scan,
            namespaces: namespaces.map(|(prefix, uri)| (prefix.to_string(), uri.to_string())).to_vec(),
            element_namespace: String::new(),
            variables: Vec::new(),
            variable_count: 0,
            externals: Vec::new(),
            external_items: Vec::new(),
            type_of,
            context,
            predicate_depth: 0,
            uses_position: false,
            is_lenient: false,
            depth: 0,
            operations: 0,
        }
    }

    /// `declare namespace p = "uri"; declare default element namespace "uri";`
    pub(super) fn prolog(&mut self) -> SqlResult<()> {
        loop {
            let before = self.scan.at;
            if !self.scan.take_word("declare") {
                if self.scan.at_word("import") && self.scan.take_words(&["import", "schema"]) {
                    return Err(self.scan.unsupported("import schema"));
                }
                return Ok(());
            }
            if self.scan.take_word("namespace") {
                let Some(prefix) = self.scan.name() else { return Err(self.scan.syntax()) };
                self.scan.expect("=")?;
                let uri = self.scan.expect_string()?;
                self.namespaces.push((prefix.to_string(), uri));
            } else if self.scan.take_words(&["default", "element", "namespace"]) {
                self.element_namespace = self.scan.expect_string()?;
            } else if self.scan.at_word("default") {
                return Err(self.scan.unsupported("declare default"));
            } else {
                self.scan.at = before;
                return Ok(());
            }
            if !self.scan.take(";") {
                let near = self.scan.near();
                return Err(SqlError::new(9327, &[&self.scan.prefix, &near]));
            }
        }
    }

    /// Runs `parse` one level deeper. Error 2363.
    pub(super) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(SqlError::new(2363, &[&self.scan.prefix]));
        }
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// A list of expressions: `a, b`.
    #[inline(never)]
    pub(super) fn expr(&mut self) -> SqlResult<Typed> {
        let (first, mut shape) = self.single()?;
        if !self.scan.at_symbol(",") {
            return Ok((first, shape));
        }
        let mut list = vec![first];
        while self.scan.take(",") {
            let (next, its) = self.single()?;
            self.check_alike(&shape, &its)?;
            shape = shape.either(&its);
            list.push(next);
        }
        shape.count = Count::Many;
        Ok((Expr::Sequence(list), shape))
    }

    /// A sequence is of nodes or of values. Error 2210.
    #[inline(never)]
    fn check_alike(&self, one: &Shape, other: &Shape) -> SqlResult<()> {
        let (atom, node) = match (one.atom_type(), other.atom_type()) {
            (Some(_), None) if other.is_node() => (one, other),
            (None, Some(_)) if one.is_node() => (other, one),
            _ => return Ok(()),
        };
        if self.is_lenient {
            return Ok(());
        }
        Err(SqlError::new(2210, &[&self.scan.prefix, atom, node]))
    }

    /// One expression.
    pub(super) fn single(&mut self) -> SqlResult<Typed> {
        self.deeper(|parser| {
            for word in ["for", "let", "some", "every"] {
                if parser.at_word_before(word, "$") {
                    return match word {
                        "for" | "let" => parser.flwor(),
                        _ => parser.quantified(word == "every"),
                    };
                }
            }
            if parser.at_word_before("if", "(") {
                return parser.conditional();
            }
            parser.or()
        })
    }

    /// Does the word stand here, and then the mark?
    pub(super) fn at_word_before(&mut self, word: &str, symbol: &str) -> bool {
        let before = self.scan.at;
        let found = self.scan.take_word(word) && self.scan.at_symbol(symbol);
        self.scan.at = before;
        found
    }

    /// `$name`
    pub(super) fn variable_name(&mut self) -> SqlResult<String> {
        self.scan.expect("$")?;
        match self.scan.name_here() {
            Some(name) => Ok(name.to_string()),
            None => Err(SqlError::new(2241, &[&self.scan.prefix])),
        }
    }

    /// A new variable in sight.
    fn declare(&mut self, name: String, shape: Shape) -> usize {
        let slot = self.variable_count;
        self.variable_count += 1;
        self.variables.push((name, slot, shape));
        slot
    }

    /// A variable. Error 2227.
    #[inline(never)]
    pub(super) fn variable(&mut self) -> SqlResult<Typed> {
        let name = self.variable_name()?;
        match self.variables.iter().rev().find(|known| known.0 == name) {
            Some((_, slot, shape)) => Ok((Expr::Variable(*slot), shape.clone())),
            None => Err(SqlError::new(2227, &[&self.scan.prefix, &format!("${name}")])),
        }
    }

    /// An argument of the method. It has one place, however often it is named.
    #[inline(never)]
    pub(super) fn external(&mut self, external: External) -> SqlResult<Typed> {
        let place = match self.externals.iter().position(|known| *known == external) {
            Some(place) => place,
            None => {
                let items = (self.type_of)(&external)?;
                self.externals.push(external);
                self.external_items.push(items);
                self.externals.len() - 1
            }
        };
        Ok((Expr::External(place), Shape::new(self.external_items[place].clone(), Count::Optional)))
    }

    #[inline(never)]
    fn flwor(&mut self) -> SqlResult<Typed> {
        let sight = self.variables.len();
        let mut bindings = Vec::new();
        let mut count = Count::One;
        loop {
            let is_for = match (self.at_word_before("for", "$"), self.at_word_before("let", "$")) {
                (true, _) => self.scan.take_word("for"),
                (_, true) => !self.scan.take_word("let"),
                _ => break,
            };
            loop {
                let name = self.variable_name()?;
                for word in ["at", "as"] {
                    if self.scan.at_word(word) {
                        return Err(self.scan.unsupported(word));
                    }
                }
                let (mark, found) = match is_for {
                    true => ("in", self.scan.take_word("in")),
                    false => (":=", self.scan.take(":=")),
                };
                if !found {
                    return Err(SqlError::new(2205, &[&self.scan.prefix, &mark]));
                }
                let (source, mut shape) = self.single()?;
                if is_for {
                    count = count.times(shape.count);
                    shape.count = Count::One;
                } else if shape.is_constructed {
                    return Err(SqlError::new(2373, &[&self.scan.prefix, &"'let'"]));
                }
                let slot = self.declare(name, shape);
                bindings.push(Binding { is_for, slot, source });
                if !self.scan.take(",") {
                    break;
                }
            }
        }
        let (condition, order) = self.flwor_middle()?;
        if !self.scan.take_word("return") {
            let near = self.scan.near();
            return Err(match condition.is_none() && order.is_empty() {
                true => SqlError::new(9332, &[&self.scan.prefix, &near]),
                false => SqlError::new(9303, &[&self.scan.prefix, &near, &"return"]),
            });
        }
        let (result, mut shape) = self.single()?;
        self.variables.truncate(sight);
        shape.count = count.times(shape.count);
        Ok((Expr::Flwor(Box::new(Flwor { bindings, condition, order, result })), shape))
    }

    /// WHERE and ORDER BY.
    #[inline(never)]
    fn flwor_middle(&mut self) -> SqlResult<(Option<Expr>, Vec<(Expr, bool)>)> {
        let condition = match self.scan.take_word("where") {
            true => Some(self.condition()?),
            false => None,
        };
        let mut order = Vec::new();
        if self.scan.take_words(&["stable", "order", "by"]) || self.scan.take_words(&["order", "by"]) {
            loop {
                let (key, shape) = self.single()?;
                self.check_single("order by", &shape.atomized())?;
                let is_descending = self.scan.take_word("descending");
                if !is_descending {
                    self.scan.take_word("ascending");
                }
                for word in ["empty", "collation"] {
                    if self.scan.at_word(word) {
                        return Err(self.scan.unsupported(word));
                    }
                }
                order.push((key, is_descending));
                if !self.scan.take(",") {
                    break;
                }
            }
        }
        Ok((condition, order))
    }

    #[inline(never)]
    fn quantified(&mut self, is_every: bool) -> SqlResult<Typed> {
        self.scan.take_word(if is_every { "every" } else { "some" });
        let sight = self.variables.len();
        let mut bindings = Vec::new();
        loop {
            let name = self.variable_name()?;
            self.scan.expect_word("in")?;
            let (source, mut shape) = self.single()?;
            shape.count = Count::One;
            bindings.push((self.declare(name, shape), source));
            if !self.scan.take(",") {
                break;
            }
        }
        self.scan.expect_word("satisfies")?;
        let test = Box::new(self.condition()?);
        self.variables.truncate(sight);
        Ok((Expr::Quantified { is_every, bindings, test }, Shape::atom(AtomType::Boolean, Count::One)))
    }

    #[inline(never)]
    fn conditional(&mut self) -> SqlResult<Typed> {
        self.scan.take_word("if");
        self.scan.expect("(")?;
        let (test, shape) = self.expr()?;
        self.check_condition(&shape)?;
        self.scan.expect(")")?;
        self.scan.expect_word("then")?;
        let (one, its) = self.single()?;
        self.scan.expect_word("else")?;
        let (other, others) = self.single()?;
        self.check_alike(&its, &others)?;
        Ok((Expr::If(Box::new((test, one, other))), its.either(&others)))
    }

    /// An expression that is true or false.
    fn condition(&mut self) -> SqlResult<Expr> {
        let (expr, shape) = self.single()?;
        self.check_condition(&shape)?;
        Ok(expr)
    }

    /// Conditions are boolean or nodes. Error 2204.
    pub(super) fn check_condition(&self, shape: &Shape) -> SqlResult<()> {
        match shape.atom_type() {
            None | Some(AtomType::Boolean) => Ok(()),
            Some(_) if self.is_lenient => Ok(()),
            Some(_) => Err(SqlError::new(2204, &[&self.scan.prefix, shape])),
        }
    }

    /// What takes one item or none. Error 2389.
    pub(super) fn check_single(&self, what: &str, shape: &Shape) -> SqlResult<()> {
        match shape.count == Count::Many && shape.items != Items::Unknown && !self.is_lenient {
            true => Err(SqlError::new(2389, &[&self.scan.prefix, &what, shape])),
            false => Ok(()),
        }
    }

    fn or(&mut self) -> SqlResult<Typed> {
        self.logical("or", Self::and, Expr::Or)
    }

    fn and(&mut self) -> SqlResult<Typed> {
        self.logical("and", Self::comparison, Expr::And)
    }

    #[inline(never)]
    fn logical(
        &mut self,
        word: &str,
        operand: fn(&mut Self) -> SqlResult<Typed>,
        make: fn(Vec<Expr>) -> Expr,
    ) -> SqlResult<Typed> {
        let (first, shape) = operand(self)?;
        if !self.scan.at_word(word) {
            return Ok((first, shape));
        }
        self.check_condition(&shape)?;
        let mut list = vec![first];
        while self.scan.take_word(word) {
            let (next, shape) = operand(self)?;
            self.check_condition(&shape)?;
            list.push(next);
        }
        Ok((make(list), Shape::atom(AtomType::Boolean, Count::One)))
    }

    #[inline(never)]
    fn comparison(&mut self) -> SqlResult<Typed> {
        let (left, one) = self.additive()?;
        let boolean = |count| Shape::atom(AtomType::Boolean, count);
        for (symbol, op) in [("<<", Comparison::Less), (">>", Comparison::Greater)] {
            if self.scan.take(symbol) {
                let right = self.additive()?.0;
                return Ok((Expr::Place(op, Box::new((left, right))), boolean(Count::Optional)));
            }
        }
        for (symbol, op) in GENERAL {
            if self.scan.take(symbol) {
                let (right, two) = self.additive()?;
                self.check_comparable(symbol, &one.atomized(), &two.atomized())?;
                return Ok((Expr::General(op, Box::new((left, right))), boolean(Count::One)));
            }
        }
        for (word, op) in SINGLE {
            if self.scan.take_word(word) {
                let (right, two) = self.additive()?;
                let (one, two) = (one.atomized(), two.atomized());
                self.check_single(word, &one)?;
                self.check_single(word, &two)?;
                self.check_comparable(word, &one, &two)?;
                return Ok((Expr::Single(op, Box::new((left, right))), boolean(Count::Optional)));
            }
        }
        if self.scan.take_word("is") {
            let right = self.additive()?.0;
            return Ok((Expr::Place(Comparison::Equal, Box::new((left, right))), boolean(Count::Optional)));
        }
        Ok((left, one))
    }

    /// Values of different kinds are not compared. Error 2234.
    #[inline(never)]
    fn check_comparable(&self, operator: &str, one: &Shape, two: &Shape) -> SqlResult<()> {
        let family = |atom_type: AtomType| match atom_type {
            AtomType::Integer | AtomType::Decimal | AtomType::Double => AtomType::Double,
            other => other,
        };
        let (Some(left), Some(right)) = (one.atom_type(), two.atom_type()) else { return Ok(()) };
        let is_untyped = left == AtomType::Untyped || right == AtomType::Untyped;
        match is_untyped || self.is_lenient || family(left) == family(right) {
            true => Ok(()),
            false => Err(SqlError::new(2234, &[&self.scan.prefix, &operator, one, two])),
        }
    }

    #[inline(never)]
    fn additive(&mut self) -> SqlResult<Typed> {
        let mut left = self.multiplicative()?;
        loop {
            let op = match (self.scan.at_symbol("+"), self.scan.at_symbol("-")) {
                (true, _) => Arithmetic::Add,
                (_, true) => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            self.scan.at += 1;
            let right = self.multiplicative()?;
            left = self.arithmetic(op, left, right)?;
        }
    }

    #[inline(never)]
    fn multiplicative(&mut self) -> SqlResult<Typed> {
        let mut left = self.instance()?;
        loop {
            let op = if self.scan.take("*") {
                Arithmetic::Multiply
            } else if self.scan.take_word("div") {
                Arithmetic::Divide
            } else if self.scan.take_word("idiv") {
                Arithmetic::DivideWhole
            } else if self.scan.take_word("mod") {
                Arithmetic::Modulo
            } else {
                return Ok(left);
            };
            let right = self.instance()?;
            left = self.arithmetic(op, left, right)?;
        }
    }

    /// One operation. Errors 2389, 2234, and 2363 of too many.
    #[inline(never)]
    fn arithmetic(&mut self, op: Arithmetic, (left, one): Typed, (right, two): Typed) -> SqlResult<Typed> {
        self.operations += 1;
        if self.operations > OPERATIONS_MAX {
            return Err(SqlError::new(2363, &[&self.scan.prefix]));
        }
        let (one, two) = (one.atomized(), two.atomized());
        self.check_single(op.name(), &one)?;
        self.check_single(op.name(), &two)?;
        let takes = |shape: &Shape| {
            shape.atom_type().is_none_or(|atom_type| atom_type.is_numeric() || atom_type == AtomType::Untyped)
        };
        if !self.is_lenient && (!takes(&one) || !takes(&two)) {
            return Err(SqlError::new(2234, &[&self.scan.prefix, &op.name(), &one, &two]));
        }
        let result = match (op, one.atom_type(), two.atom_type()) {
            (Arithmetic::DivideWhole, ..) => AtomType::Integer,
            (Arithmetic::Divide, Some(AtomType::Integer), Some(AtomType::Integer)) => AtomType::Decimal,
            (_, Some(left), Some(right)) => wider(left, right),
            _ => AtomType::Double,
        };
        let shape = match one.items == Items::Unknown || two.items == Items::Unknown {
            true => Shape::new(Items::Unknown, Count::Optional),
            false => Shape::atom(result, one.count.times(two.count)),
        };
        Ok((Expr::Arithmetic(op, Box::new((left, right))), shape))
    }

    /// `.. instance of type`, `.. cast as type ?`
    #[inline(never)]
    fn instance(&mut self) -> SqlResult<Typed> {
        let (expr, shape) = self.unary()?;
        for word in ["union", "intersect", "except", "treat", "castable", "to"] {
            if self.scan.at_word(word) {
                return Err(self.scan.unsupported(word));
            }
        }
        if self.scan.at_symbol("|") {
            return if self.is_lenient {
                self.union((expr, shape))
            } else {
                Err(self.scan.unsupported("union"))
            };
        }
        if self.scan.take_words(&["cast", "as"]) {
            let to = self.atom_type()?;
            self.scan.take("?");
            self.check_single("cast as", &shape.atomized())?;
            return Ok((Expr::Cast(to, Box::new(expr)), Shape::atom(to, Count::Optional)));
        }
        if self.scan.take_words(&["instance", "of"]) {
            let wanted = self.instance_type()?;
            let boolean = Shape::atom(AtomType::Boolean, Count::One);
            return Ok((Expr::InstanceOf(Box::new((expr, wanted))), boolean));
        }
        Ok((expr, shape))
    }

    /// `a | b`: the nodes of both in document order.
    #[inline(never)]
    fn union(&mut self, (first, mut shape): Typed) -> SqlResult<Typed> {
        let mut list = vec![first];
        while self.scan.take("|") {
            let (next, its) = self.unary()?;
            shape = shape.either(&its);
            list.push(next);
        }
        shape.count = Count::Many;
        let own = Step { axis: Axis::Own, test: Test::Any, predicates: Vec::new() };
        Ok((Expr::Path(Box::new(Expr::Sequence(list)), vec![own]), shape))
    }

    /// The name of an atomic type. Errors 2229, 2231, 2232.
    #[inline(never)]
    pub(super) fn atom_type(&mut self) -> SqlResult<AtomType> {
        let Some((prefix, local)) = self.scan.qualified_name() else {
            return Err(SqlError::new(2242, &[&self.scan.prefix]));
        };
        let known = match prefix {
            "" => None,
            prefix => {
                self.uri_of(prefix)?;
                matches!(prefix, "xs" | "xdt").then(|| AtomType::named(local)).flatten()
            }
        };
        known.ok_or_else(|| match prefix {
            "" => SqlError::new(2231, &[&self.scan.prefix, &local]),
            prefix => SqlError::new(2232, &[&self.scan.prefix, &prefix, &local]),
        })
    }

    #[inline(never)]
    fn instance_type(&mut self) -> SqlResult<InstanceType> {
        let before = self.scan.at;
        let kind = match self.scan.name() {
            Some("empty") if self.scan.take("(") => {
                self.scan.expect(")")?;
                ItemType::Empty
            }
            Some("item") if self.scan.take("(") => {
                self.scan.expect(")")?;
                ItemType::Item
            }
            Some(name) if self.scan.at_symbol("(") => ItemType::Node(self.kind_test(name)?),
            _ => {
                self.scan.at = before;
                ItemType::Atom(self.atom_type()?)
            }
        };
        let (is_optional, is_many, is_some) = (self.scan.take("?"), self.scan.take("*"), self.scan.take("+"));
        let may_be_empty = is_optional || is_many || matches!(kind, ItemType::Empty);
        Ok(InstanceType { kind, may_be_empty, may_be_many: is_many || is_some })
    }

    #[inline(never)]
    fn unary(&mut self) -> SqlResult<Typed> {
        let mut is_negated = None;
        loop {
            if self.scan.take("-") {
                is_negated = Some(!is_negated.unwrap_or(false));
            } else if self.scan.take("+") {
                is_negated = Some(is_negated.unwrap_or(false));
            } else {
                break;
            }
        }
        let (expr, shape) = self.path()?;
        match is_negated {
            None => Ok((expr, shape)),
            Some(is_negated) => {
                let shape = shape.atomized();
                self.check_single(if is_negated { "-" } else { "+" }, &shape)?;
                match (expr, is_negated) {
                    (expr, false) => Ok((expr, shape)),
                    (expr, true) => Ok((Expr::Negate(Box::new(expr)), shape)),
                }
            }
        }
    }

    /// The URI of a prefix. Error 2229.
    #[inline(never)]
    pub(super) fn uri_of(&self, prefix: &str) -> SqlResult<String> {
        match self.namespaces.iter().rev().find(|known| known.0 == prefix) {
            Some(known) => Ok(known.1.clone()),
            None => Err(SqlError::new(2229, &[&self.scan.prefix, &prefix])),
        }
    }
}

/// Longer marks first.
const GENERAL: [(&str, Comparison); 6] = [
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

const SINGLE: [(&str, Comparison); 6] = [
    ("eq", Comparison::Equal),
    ("ne", Comparison::NotEqual),
    ("lt", Comparison::Less),
    ("le", Comparison::LessOrEqual),
    ("gt", Comparison::Greater),
    ("ge", Comparison::GreaterOrEqual),
];

//! From bound expressions to programs: columns become positions, integers take the fast path.

use plan_ir::bound::tree::{Expr, ExprKind, LikeExpr, SubqueryExpr, SubqueryKind, comparison_collation};
use plan_ir::kinds::{ColumnId, CompareOp, ConversionKind};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::{
    BinaryNode, BoolNode, CallNode, ConvertNode, InSet, IntKind, IntNode, LikeNode, Node, UserCallNode,
};
use rustc_hash::{FxHashMap, FxHashSet};
use types::arith::{BinaryOp, UnaryOp};
use types::{Collation, LikePattern, SqlError, Value};

use super::Planner;
use super::costs::RESTART_COST;

/// Lists longer than this are looked up in a set.
const IN_LIST_SET_FROM: usize = 8;

/// Where each column stands in the rows that a program reads; columns not listed are parameters.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    positions: FxHashMap<ColumnId, usize>,
}

impl Layout {
    /// Columns in row order.
    pub fn new(columns: &[ColumnId]) -> Layout {
        Layout { positions: columns.iter().enumerate().map(|(position, id)| (*id, position)).collect() }
    }

    /// Puts a column at a position.
    pub fn set(&mut self, id: ColumnId, position: usize) {
        self.positions.insert(id, position);
    }

    /// Position of a column.
    pub fn position(&self, id: ColumnId) -> Option<usize> {
        self.positions.get(&id).copied()
    }
}

/// The pattern of a LIKE that is the same for all rows and has no escape character.
pub(super) fn known_pattern(like: &LikeExpr, collation: Collation) -> Option<LikePattern> {
    let (ExprKind::Constant(pattern), None) = (&like.pattern.kind, &like.escape) else { return None };
    LikePattern::new(collation, pattern, None).map(LikePattern::for_many)
}

impl Planner<'_> {
    /// Compiles a value expression.
    pub fn node(&mut self, expr: &Expr, layout: &Layout) -> Result<Node, SqlError> {
        os::memory::check().map_err(plan_ir::errors::out_of_memory)?;
        if let Some(kind) = IntKind::of(&expr.sql_type)
            && self.has(OptimizerRule::IntegerExpression)
            && matches!(expr.kind, ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::Convert(..))
            && self.is_integer_shape(expr)
        {
            return Ok(Node::Integer(Box::new(self.integer(expr, layout)?), kind));
        }
        Ok(match &expr.kind {
            ExprKind::Constant(value) => Node::Constant(value.clone()),
            ExprKind::Variable(slot) => Node::Variable(*slot),
            ExprKind::Undeclared(_) => Node::Constant(Value::Null),
            ExprKind::Column(id) => match layout.position(*id) {
                Some(position) => Node::Column(position),
                None => Node::Param(id.0 as usize),
            },
            ExprKind::Binary(op, left, right) => Node::Binary(Box::new(BinaryNode {
                op: *op,
                left: self.node(left, layout)?,
                right: self.node(right, layout)?,
                result: expr.sql_type,
            })),
            ExprKind::Unary(op, inner) => {
                Node::Unary(*op, Box::new(self.node(inner, layout)?), expr.sql_type)
            }
            ExprKind::Convert(inner, conversion) => Node::Convert(Box::new(ConvertNode {
                input: self.node(inner, layout)?,
                from: inner.sql_type,
                to: expr.sql_type,
                conversion: *conversion,
            })),
            ExprKind::Retype(inner) => self.node(inner, layout)?,
            ExprKind::NextValue(sequence) => Node::NextValue(sequence.clone()),
            ExprKind::Case(branches, otherwise) => {
                let mut compiled = Vec::with_capacity(branches.len());
                for (condition, value) in branches {
                    compiled.push((self.predicate(condition, layout)?, self.node(value, layout)?));
                }
                let otherwise = otherwise.as_ref().map(|node| self.node(node, layout)).transpose()?;
                Node::Case(compiled, otherwise.map(Box::new))
            }
            ExprKind::Coalesce(list) => Node::Coalesce(self.nodes(list.iter(), layout)?),
            ExprKind::Call(function, arguments) => Node::Call(Box::new(CallNode {
                function,
                arguments: self.nodes(arguments.iter(), layout)?,
                argument_types: arguments.iter().map(|argument| argument.sql_type).collect(),
                result: expr.sql_type,
                collation: expr.collation,
            })),
            ExprKind::UserCall(function, arguments) => Node::UserCall(Box::new(UserCallNode {
                function: function.clone(),
                arguments: self.nodes(arguments.iter(), layout)?,
            })),
            ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
                Node::Scalar(Box::new(self.sub_plan(subquery, layout)?))
            }
            _ => Node::Predicate(Box::new(self.predicate(expr, layout)?)),
        })
    }

    /// Compiles several.
    pub fn nodes<'e>(
        &mut self,
        exprs: impl Iterator<Item = &'e Expr>,
        layout: &Layout,
    ) -> Result<Vec<Node>, SqlError> {
        exprs.map(|expr| self.node(expr, layout)).collect()
    }

    /// Compiles a predicate.
    pub fn predicate(&mut self, expr: &Expr, layout: &Layout) -> Result<BoolNode, SqlError> {
        Ok(match &expr.kind {
            ExprKind::Constant(Value::Bit(truth)) => BoolNode::Constant(Some(*truth)),
            ExprKind::Constant(Value::Null) => BoolNode::Constant(None),
            ExprKind::Compare(op, left, right) => self.comparison(*op, left, right, layout)?,
            ExprKind::And(left, right) => BoolNode::And(
                Box::new(self.predicate(left, layout)?),
                Box::new(self.predicate(right, layout)?),
            ),
            ExprKind::Or(left, right) => BoolNode::Or(
                Box::new(self.predicate(left, layout)?),
                Box::new(self.predicate(right, layout)?),
            ),
            ExprKind::Not(inner) => BoolNode::Not(Box::new(self.predicate(inner, layout)?)),
            ExprKind::Tolerant(inner) => BoolNode::Tolerant(Box::new(self.predicate(inner, layout)?)),
            ExprKind::IsNull(inner) => BoolNode::IsNull(self.node(inner, layout)?),
            ExprKind::Like(like) => self.like(expr, like, layout)?,
            ExprKind::InList(left, list) => self.in_list(expr, left, list, layout)?,
            ExprKind::Subquery(subquery) => {
                let plan = Box::new(self.sub_plan(subquery, layout)?);
                match &subquery.kind {
                    SubqueryKind::Exists => BoolNode::Exists(plan),
                    SubqueryKind::Any(op, left, _) => {
                        BoolNode::Any(*op, expr.collation, self.node(left, layout)?, plan)
                    }
                    SubqueryKind::All(op, left, _) => {
                        BoolNode::All(*op, expr.collation, self.node(left, layout)?, plan)
                    }
                    SubqueryKind::Scalar => BoolNode::Value(Node::Scalar(plan)),
                }
            }
            _ => BoolNode::Value(self.node(expr, layout)?),
        })
    }

    fn like(&mut self, expr: &Expr, like: &LikeExpr, layout: &Layout) -> Result<BoolNode, SqlError> {
        let pattern = self.node(&like.pattern, layout)?;
        Ok(BoolNode::Like(Box::new(LikeNode {
            input: self.node(&like.input, layout)?,
            pattern,
            escape: like.escape.as_ref().map(|escape| self.node(escape, layout)).transpose()?,
            collation: expr.collation,
            known: known_pattern(like, expr.collation),
        })))
    }

    fn comparison(
        &mut self,
        op: CompareOp,
        left: &Expr,
        right: &Expr,
        layout: &Layout,
    ) -> Result<BoolNode, SqlError> {
        let are_integers = IntKind::of(&left.sql_type).is_some() && IntKind::of(&right.sql_type).is_some();
        if are_integers && self.has(OptimizerRule::IntegerExpression) {
            let left = self.integer(left, layout)?;
            let right = self.integer(right, layout)?;
            return Ok(match (left, right) {
                (IntNode::Variable(slot), IntNode::Constant(number)) => {
                    BoolNode::VariableInt(op, slot, number)
                }
                (left, right) => BoolNode::CompareInt(op, left, right),
            });
        }
        let collation = comparison_collation(left, right);
        Ok(BoolNode::Compare(op, collation, self.node(left, layout)?, self.node(right, layout)?))
    }

    fn in_list(
        &mut self,
        expr: &Expr,
        left: &Expr,
        list: &[Expr],
        layout: &Layout,
    ) -> Result<BoolNode, SqlError> {
        let constant = |item: &Expr| matches!(item.kind, ExprKind::Constant(_));
        let (constants, others): (Vec<&Expr>, Vec<&Expr>) = list.iter().partition(|item| constant(item));
        // The operand is computed for the set and for what is not in it: it must be the same both times.
        let is_short = constants.len() <= IN_LIST_SET_FROM || !self.has(OptimizerRule::HashedList);
        if is_short || (!others.is_empty() && left.is_volatile()) {
            let node = self.node(left, layout)?;
            return Ok(BoolNode::InList(expr.collation, node, self.nodes(list.iter(), layout)?));
        }
        let mut set = InSet { keys: FxHashSet::default(), has_null: false };
        set.keys.reserve(constants.len());
        for item in constants {
            let ExprKind::Constant(value) = &item.kind else { continue };
            if value.is_null() {
                set.has_null = true;
                continue;
            }
            let mut key = Vec::new();
            plan_ir::values::write_value(value, expr.collation, &mut key);
            set.keys.insert(key);
        }
        let in_set = BoolNode::InSet(expr.collation, self.node(left, layout)?, Box::new(set));
        if others.is_empty() {
            return Ok(in_set);
        }
        let others = self.nodes(others.into_iter(), layout)?;
        let in_others = BoolNode::InList(expr.collation, self.node(left, layout)?, others);
        Ok(BoolNode::Or(Box::new(in_set), Box::new(in_others)))
    }

    /// Can the expression be computed on the integer path with profit?
    fn is_integer_shape(&self, expr: &Expr) -> bool {
        if IntKind::of(&expr.sql_type).is_none() {
            return false;
        }
        match &expr.kind {
            ExprKind::Binary(BinaryOp::ShiftLeft | BinaryOp::ShiftRight, ..) => false,
            ExprKind::Binary(_, left, right) => {
                IntKind::of(&left.sql_type).is_some() && IntKind::of(&right.sql_type).is_some()
            }
            ExprKind::Unary(UnaryOp::Negate, inner) => IntKind::of(&inner.sql_type).is_some(),
            ExprKind::Convert(inner, conversion) => {
                conversion.kind != ConversionKind::Try && IntKind::of(&inner.sql_type).is_some()
            }
            _ => false,
        }
    }

    fn integer(&mut self, expr: &Expr, layout: &Layout) -> Result<IntNode, SqlError> {
        let kind = IntKind::of(&expr.sql_type).expect("called for integer types only");
        Ok(match &expr.kind {
            ExprKind::Constant(Value::Null) => IntNode::Null,
            ExprKind::Constant(value) => match value.as_i64() {
                Some(number) => IntNode::Constant(number),
                None => IntNode::Other(Node::Constant(value.clone())),
            },
            ExprKind::Variable(slot) => IntNode::Variable(*slot),
            ExprKind::Undeclared(_) => IntNode::Null,
            ExprKind::Column(id) => match layout.position(*id) {
                Some(position) => IntNode::Column(position),
                None => IntNode::Param(id.0 as usize),
            },
            ExprKind::Binary(op, left, right) if self.is_integer_shape(expr) => {
                let left = self.integer(left, layout)?;
                let right = self.integer(right, layout)?;
                match (op, left, right) {
                    (BinaryOp::Add, IntNode::Variable(slot), IntNode::Constant(step)) => {
                        IntNode::VariablePlus(kind, slot, step)
                    }
                    (op, left, right) => IntNode::Binary(*op, kind, Box::new(left), Box::new(right)),
                }
            }
            ExprKind::Unary(UnaryOp::Negate, inner) if self.is_integer_shape(expr) => {
                IntNode::Negate(kind, Box::new(self.integer(inner, layout)?))
            }
            ExprKind::Convert(inner, _) if self.is_integer_shape(expr) => {
                let from = IntKind::of(&inner.sql_type).expect("checked by is_integer_shape");
                let node = self.integer(inner, layout)?;
                let (from, to) = (from.range(), kind.range());
                if from.0 >= to.0 && from.1 <= to.1 { node } else { IntNode::Narrow(kind, Box::new(node)) }
            }
            ExprKind::Retype(inner) => self.integer(inner, layout)?,
            _ => IntNode::Other(self.node(expr, layout)?),
        })
    }

    fn sub_plan(
        &mut self,
        subquery: &SubqueryExpr,
        layout: &Layout,
    ) -> Result<plan_ir::physical::plan::SubPlan, SqlError> {
        let free = subquery.rel.free_columns();
        let mut pass: Vec<(usize, ColumnId)> =
            free.iter().filter_map(|id| Some((layout.position(*id)?, *id))).collect();
        pass.sort_unstable();
        debug_assert!(pass.windows(2).all(|pair| pair[0].0 < pair[1].0), "a value is handed in once");
        let asked = std::mem::take(&mut self.asked);
        let planned = self.plan_subquery(&subquery.rel)?;
        self.asked = asked;
        let column = match subquery.column {
            Some(id) => planned
                .layout
                .iter()
                .position(|output| *output == id)
                .expect("a subquery's plan gives its column"),
            None => 0,
        };
        let constant = (free.is_empty() && !self.has_volatile(&subquery.rel)).then(|| self.next_subquery());
        match constant {
            Some(_) => self.asked.once += planned.cost,
            None => self.asked.each += RESTART_COST + planned.cost,
        }
        let plan = super::catalog::as_a_whole(planned.plan).into();
        Ok(plan_ir::physical::plan::SubPlan { plan, column, pass, constant })
    }
}

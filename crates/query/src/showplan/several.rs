//! Operators over several inputs or inputs that are read several times: unions, recursion, what is kept for several places.

use super::operators::{Described, hash_of};
use super::scalar::PlanColumn;
use super::{Describer, Operator, Shape};
use crate::physical::plan::{IntNode, Node, Plan};

impl<'p> Describer<'p> {
    pub(super) fn several(&mut self, plan: &'p Plan) -> Described {
        match plan {
            Plan::Concat(..) => {
                let mut parts = Vec::new();
                collect_parts(plan, &mut parts);
                let inputs: Vec<Operator> = parts.into_iter().map(|part| self.plan(part).0).collect();
                let columns: Vec<PlanColumn> =
                    inputs[0].output.iter().map(|_| self.new_expression()).collect();
                let rows = inputs.iter().map(|input| input.rows).sum();
                let operator = Operator::named("Concatenation", "Concatenation", Shape::Concatenation);
                (Operator { rows, children: inputs, ..operator }, columns)
            }
            Plan::SetOp { intersect, left, right, .. } => {
                let (left, columns) = self.plan(left);
                let (right, keys) = self.plan(right);
                let logical = if *intersect { "Right Semi Join" } else { "Right Anti Semi Join" };
                let joined = hash_of(logical, keys, columns.clone(), right, left);
                (joined, columns)
            }
            Plan::Recursive { anchor, step, .. } => {
                let (anchor, columns) = self.plan(anchor);
                let (step, _) = self.plan(step);
                let rows = anchor.rows * 10.0;
                let both = Operator {
                    rows,
                    output: columns.clone(),
                    children: vec![anchor, step],
                    ..Operator::named("Concatenation", "Concatenation", Shape::Concatenation)
                };
                let spool = Operator::over("Index Spool", "Lazy Spool", Shape::Spool { stack: true }, both);
                (Operator { argument: "WITH STACK".into(), ..spool }, columns)
            }
            Plan::WorkTable(_) => {
                let spool = Operator::named("Table Spool", "Lazy Spool", Shape::Spool { stack: true });
                (Operator { argument: "WITH STACK".into(), rows: 10.0, ..spool }, Vec::new())
            }
            Plan::Spool { input, number } => self.kept(input, *number),
            _ => unreachable!("every other plan has been described"),
        }
    }

    /// Rows that are made in the first of their places and read in all of them.
    fn kept(&mut self, input: &'p Plan, number: u32) -> Described {
        if let Some((columns, rows)) = self.kept.get(&number) {
            let (columns, rows) = (columns.clone(), *rows);
            let spool = Operator::leaf("Table Spool", rows, Shape::Spool { stack: false });
            return (Operator { logical: "Lazy Spool", ..spool }, columns);
        }
        let (input, columns) = self.plan(input);
        self.kept.insert(number, (columns.clone(), input.rows));
        (Operator::spool("Lazy Spool", input), columns)
    }
}

/// Are these all columns of the input as they stand there?
fn keeps_order(items: &[Node]) -> bool {
    let stays = |(position, item): (usize, &Node)| match item {
        Node::Column(at) => *at == position,
        Node::Integer(integer, _) => matches!(**integer, IntNode::Column(at) if at == position),
        _ => false,
    };
    items.iter().enumerate().all(stays)
}

fn collect_parts<'p>(plan: &'p Plan, parts: &mut Vec<&'p Plan>) {
    match plan {
        Plan::Concat(left, right) => {
            collect_parts(left, parts);
            collect_parts(right, parts);
        }
        Plan::Project { input, items } if matches!(**input, Plan::Concat(..)) && keeps_order(items) => {
            collect_parts(input, parts);
        }
        other => parts.push(other),
    }
}

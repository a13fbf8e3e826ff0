//! Operators over several inputs or inputs that are read several times: unions, recursion, spools for several places.

use plan_ir::kinds::JoinKind;
use plan_ir::physical::plan::{IntNode, MergeJoinPlan, Node, Plan, ScanPlan};

use super::operators::{Described, hash_of, join_name, names, sought};
use super::scalar::PlanColumn;
use super::{Describer, Operator, Shape};

impl<'p> Describer<'p> {
    /// Look-ups of the rows that two indexes lead to.
    pub(super) fn intersected(&mut self, scan: &'p ScanPlan, lookups: Operator) -> Operator {
        let Some(other) = &scan.other_index else { return lookups };
        let index = scan.source.def.index(other.index_id).unwrap_or_else(|| scan.source.def.base());
        let seeks = other.ranges.iter().map(|range| self.seek(&scan.source, index, range)).collect();
        let mut build = sought(&scan.source, index, seeks, other.ranges.len(), other.rows, None, None);
        let bookmark = vec![PlanColumn::expression("Bmk1000".into())];
        build.output.clone_from(&bookmark);
        let mut lookups = lookups;
        let probe = lookups.children.remove(0);
        let mut joined = hash_of("Inner Join", bookmark.clone(), bookmark.clone(), build, probe);
        joined.output = bookmark;
        joined.rows = scan.rows;
        lookups.children.insert(0, joined);
        lookups
    }

    pub(super) fn merge_join(&mut self, join: &'p MergeJoinPlan) -> Described {
        let (left, mut columns) = self.plan(&join.left);
        let (right, right_columns) = self.plan(&join.right);
        let outer: Vec<PlanColumn> = join.keys.iter().map(|key| columns[key.left].clone()).collect();
        let inner: Vec<PlanColumn> = join.keys.iter().map(|key| right_columns[key.right].clone()).collect();
        let both: Vec<PlanColumn> = columns.iter().chain(&right_columns).cloned().collect();
        let residual = join.residual.as_ref().map(|residual| self.predicate(residual, &both));
        if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
            columns = both;
        }
        let many = if join.has_unique_left { "" } else { "MANY-TO-MANY " };
        let mut argument = format!("{many}MERGE:({})=({})", names(&outer), names(&inner));
        if let Some(residual) = &residual {
            argument += &format!(", RESIDUAL:({})", residual.text());
        }
        let shape = Shape::Merge { outer, inner, many_to_many: !join.has_unique_left };
        let operator = Operator {
            argument,
            predicate: residual,
            rows: left.rows.max(right.rows),
            cpu: 0.005_6 + 0.000_002 * (left.rows + right.rows),
            children: vec![left, right],
            ..Operator::named("Merge Join", join_name(join.kind), shape)
        };
        (operator, columns)
    }

    /// FOR XML and FOR JSON.
    fn text_of_rows(&mut self, input: &'p Plan) -> Described {
        let (input, columns) = self.plan(input);
        let text = vec![self.new_expression()];
        let operator = Operator::over("UDX", "UDX", Shape::Compute("Extension"), input);
        (Operator { argument: names(&columns), output: text.clone(), rows: 1.0, ..operator }, text)
    }

    pub(super) fn several(&mut self, plan: &'p Plan) -> Described {
        match plan {
            Plan::Formatted { input, .. } => self.text_of_rows(input),
            // It shows nothing of itself: its rows come as they are.
            Plan::Ordered { input, .. } => self.plan(input),
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

//! Converts the plan's operators to SQL Server's.

use engine::{IndexDef, IndexKind};
use plan_ir::kinds::{AggregateKind, CompareOp, JoinKind};
use plan_ir::physical::plan::{
    AccessPath, AggregateNode, AggregatePlan, FunctionTable, HashJoinPlan, NestedLoopPlan, Node, Plan,
    ScanPlan, SeekRange, SortNode, WindowNodeKind, WindowPlan,
};
use plan_ir::table::TableSource;

use super::scalar::{PlanColumn, Scalar, ScalarKind};
use super::{Describer, Operator, PlanObject, Seek, Shape};

/// More ranges than these of a seek are not written out.
const RANGES_SHOWN_MAX: usize = 32;

pub(super) type Described = (Operator, Vec<PlanColumn>);

/// A column of a table.
pub(super) fn table_column(source: &TableSource, ordinal: usize) -> PlanColumn {
    let table = [source.database.name(), source.schema(), &source.def.name].map(str::to_string);
    PlanColumn { table: Some(table), name: source.def.columns[ordinal].name.to_string() }
}

/// A heap or an index.
pub(super) fn object(source: &TableSource, index: &IndexDef) -> PlanObject {
    let kind = match index.kind {
        IndexKind::Heap => "Heap",
        IndexKind::Clustered => "Clustered",
        IndexKind::Nonclustered => "NonClustered",
    };
    PlanObject {
        names: [source.database.name(), source.schema(), &source.def.name].map(str::to_string).to_vec(),
        index: index.name.as_deref().map(str::to_string),
        kind: Some(kind),
    }
}

impl Operator {
    pub(super) fn named(physical: &'static str, logical: &'static str, shape: Shape) -> Operator {
        Operator {
            physical,
            logical,
            argument: String::new(),
            defined: Vec::new(),
            output: Vec::new(),
            rows: 1.0,
            io: 0.0,
            cpu: 0.0,
            executions: 1.0,
            actual: None,
            children: Vec::new(),
            objects: Vec::new(),
            predicate: None,
            shape,
        }
    }

    pub(super) fn leaf(name: &'static str, rows: f64, shape: Shape) -> Operator {
        Operator { rows, cpu: 0.000_001_157 * rows.max(1.0), ..Operator::named(name, name, shape) }
    }

    /// An operator over one input, with as many rows and the same columns.
    pub(super) fn over(
        physical: &'static str,
        logical: &'static str,
        shape: Shape,
        input: Operator,
    ) -> Operator {
        let (rows, output) = (input.rows, input.output.clone());
        let cpu = 0.000_000_1 * rows;
        Operator { rows, output, cpu, children: vec![input], ..Operator::named(physical, logical, shape) }
    }

    pub(super) fn spool(logical: &'static str, input: Operator) -> Operator {
        Operator::over("Table Spool", logical, Shape::Spool { stack: false }, input)
    }

    pub(super) fn compute(
        name: &'static str,
        element: &'static str,
        values: Vec<(PlanColumn, Scalar)>,
        input: Operator,
    ) -> Operator {
        let mut compute = Operator::over(name, "Compute Scalar", Shape::Compute(element), input);
        compute.output.extend(values.iter().map(|value| value.0.clone()));
        compute.defined = values;
        compute.argument = format!("DEFINE:({})", compute.defined_text());
        compute
    }

    fn filter(predicate: Scalar, is_startup: bool, input: Operator) -> Operator {
        let rows = (input.rows * 0.3).max(1.0);
        let argument = match is_startup {
            true => format!("WHERE:(STARTUP EXPR({}))", predicate.text()),
            false => format!("WHERE:({})", predicate.text()),
        };
        let filter = Operator::over("Filter", "Filter", Shape::Filter { is_startup }, input);
        Operator { rows, argument, predicate: Some(predicate), ..filter }
    }

    /// Run once for each of that many outer rows.
    fn run_for_each(&mut self, outer_rows: f64) {
        self.executions *= outer_rows.max(1.0);
        self.children.iter_mut().for_each(|child| child.run_for_each(outer_rows));
    }
}

impl<'p> Describer<'p> {
    /// The operator of a plan, and the columns of its rows.
    pub(super) fn plan(&mut self, plan: &'p Plan) -> Described {
        let (mut operator, columns) = self.kind_of(plan);
        operator.output.clone_from(&columns);
        if let Some(profile) = self.profile {
            operator.actual = Some(profile.of(plan));
        }
        (operator, columns)
    }

    fn kind_of(&mut self, plan: &'p Plan) -> Described {
        match plan {
            Plan::OneRow => constant(1.0),
            Plan::Empty => constant(0.0),
            Plan::Values(rows) => {
                let shown: Vec<Vec<Scalar>> =
                    rows.iter().map(|row| row.iter().map(|node| self.scalar(node, &[])).collect()).collect();
                let lists = shown.iter().map(|row| {
                    let row: Vec<String> = row.iter().map(Scalar::text).collect();
                    format!("({})", row.join(","))
                });
                let argument = format!("VALUES:({})", lists.collect::<Vec<_>>().join(","));
                let columns = (0..rows.first().map_or(0, Vec::len)).map(|_| self.new_expression()).collect();
                let scan =
                    Operator::leaf("Constant Scan", rows.len() as f64, Shape::Constant { rows: shown });
                (Operator { argument, ..scan }, columns)
            }
            Plan::Scan(scan) => self.scan(plan, scan),
            Plan::Catalog(catalog) => self.plan(&catalog.input),
            Plan::System(system) => {
                let names = vec![system.view.schema.to_string(), system.view.name.to_string()];
                let object = PlanObject { names: names.clone(), index: None, kind: None };
                let columns = system.view.columns().iter().map(|c| PlanColumn::expression(c.name.clone()));
                let columns = columns.collect();
                let argument = format!("OBJECT:({})", object.text());
                let operator = Operator::leaf("Table-valued function", 100.0, Shape::Function);
                (Operator { argument, objects: vec![object], ..operator }, columns)
            }
            Plan::FunctionTable(table) => function_table(table),
            Plan::Filter { input, predicate } => {
                let (input, columns) = self.plan(input);
                let predicate = self.predicate(predicate, &columns);
                let input = self.with_subqueries(input);
                (Operator::filter(predicate, false, input), columns)
            }
            Plan::Startup { input, predicate } => {
                let (input, columns) = self.plan(input);
                let predicate = self.predicate(predicate, &columns);
                (Operator::filter(predicate, true, input), columns)
            }
            Plan::Project { input, items } => {
                let (input, below) = self.plan(input);
                self.project(input, &below, items)
            }
            Plan::NestedLoop(join) => self.nested_loops(join),
            Plan::HashJoin(join) => self.hash_join(join),
            Plan::MergeJoin(join) => self.merge_join(join),
            Plan::Aggregate(aggregate) => self.aggregate(aggregate),
            Plan::Window(window) => self.window(window),
            Plan::NextValue { input, sequence } => {
                let (input, mut columns) = self.plan(input);
                let values = vec![(self.new_expression(), Scalar::next_value(sequence))];
                columns.push(values[0].0.clone());
                (Operator::compute("Sequence Project", "SequenceProject", values, input), columns)
            }
            Plan::Distinct { input, by_locator, .. } => {
                let (input, mut columns) = self.plan(input);
                let locator = if *by_locator { columns.pop() } else { None };
                let compared = locator.map_or_else(|| columns.clone(), |locator| vec![locator]);
                (hash(input, "Flow Distinct", compared), columns)
            }
            Plan::Sort { input, keys, limit } => {
                let (input, columns) = self.plan(input);
                let limit = limit.as_ref().map(|limit| self.scalar(limit, &[]));
                (self.sort(input, &columns, keys, limit), columns)
            }
            Plan::Top { .. } | Plan::Offset { .. } => self.top(plan),
            _ => self.several(plan),
        }
    }

    /// Subqueries of the expressions just described, as joins with the input that they are evaluated for.
    pub(super) fn with_subqueries(&mut self, input: Operator) -> Operator {
        let mut input = input;
        let columns = input.output.clone();
        for (subquery, logical, result) in std::mem::take(&mut self.subqueries) {
            let outer_rows = input.rows;
            let (mut inner, outer) = self.with_outer(&subquery.pass, &columns, |d| d.plan(&subquery.plan).0);
            if subquery.constant.is_some() {
                inner = Operator::spool("Lazy Spool", inner);
            } else {
                inner.run_for_each(outer_rows);
            }
            let mut output = input.output.clone();
            output.push(result);
            let join = Operator::over("Nested Loops", logical, Shape::Loops { outer: outer.clone() }, input);
            input = Operator { argument: outer_references(&outer), output, ..join };
            input.children.push(inner);
        }
        input
    }

    /// Describes what may read columns of an outer row; tells which it reads.
    fn with_outer(
        &mut self,
        pass: &[(usize, plan_ir::kinds::ColumnId)],
        columns: &[PlanColumn],
        describe: impl FnOnce(&mut Self) -> Operator,
    ) -> (Operator, Vec<PlanColumn>) {
        for (position, id) in pass {
            let Some(column) = columns.get(*position) else { continue };
            self.outer.insert(id.0 as usize, column.clone());
        }
        let before = std::mem::take(&mut self.outer_used);
        let inner = describe(self);
        let used = std::mem::replace(&mut self.outer_used, before);
        let (own, further): (Vec<PlanColumn>, Vec<PlanColumn>) =
            used.into_iter().partition(|column| columns.contains(column));
        self.outer_used.extend(further);
        (inner, own)
    }

    fn scan(&mut self, plan: &'p Plan, scan: &'p ScanPlan) -> Described {
        let source = &scan.source;
        let mut columns: Vec<PlanColumn> =
            scan.columns.ordinals().map(|ordinal| table_column(source, ordinal)).collect();
        let outer_subqueries = std::mem::take(&mut self.subqueries);
        let mut filter = scan.filter.as_ref().map(|filter| self.predicate(filter, &columns));
        let own_subqueries = std::mem::replace(&mut self.subqueries, outer_subqueries);
        // What only a join with a subquery can decide is shown above the scan.
        let above = if own_subqueries.is_empty() { None } else { filter.take() };
        let total = source.row_estimate();
        let mut operator = match &scan.path {
            AccessPath::Scan => scanned(source, source.def.base(), total, scan.rows, filter),
            AccessPath::Seek { index_id, ranges } => {
                let index = source.def.indexes.iter().find(|index| index.index_id == *index_id);
                let index = index.unwrap_or_else(|| source.def.base());
                let seeks = ranges.iter().take(RANGES_SHOWN_MAX).map(|range| self.seek(source, index, range));
                let seeks = seeks.collect();
                let needs_row = *index_id != source.def.base().index_id && !scan.is_covered;
                let lookup = needs_row.then_some(columns.as_slice());
                let operator = sought(source, index, seeks, ranges.len(), scan.rows, filter, lookup);
                self.intersected(scan, operator)
            }
        };
        operator.read_backward(scan.backward);
        operator.output.clone_from(&columns);
        if let Some(profile) = self.profile {
            operator.note_reads(profile.of(plan), profile.handed_to(scan), above.is_some());
        }
        if let Some(predicate) = above {
            let outer_subqueries = std::mem::replace(&mut self.subqueries, own_subqueries);
            let joined = self.with_subqueries(operator);
            self.subqueries = outer_subqueries;
            operator = Operator::filter(predicate, false, joined);
        }
        if scan.locator {
            columns.push(PlanColumn::expression("Bmk1000".into()));
        }
        (operator, columns)
    }

    pub(super) fn seek(&mut self, source: &TableSource, index: &IndexDef, range: &'p SeekRange) -> Seek {
        let column = |position: usize| {
            let key = index.key.get(position);
            key.map_or_else(PlanColumn::default, |key| table_column(source, key.ordinal))
        };
        let mut seek = Seek::default();
        for (position, key) in range.equal.iter().enumerate() {
            seek.prefix.push((column(position), self.scalar(&key.node, &[])));
        }
        let next = column(range.equal.len());
        if let Some((key, inclusive)) = &range.lower {
            let op = if *inclusive { "GE" } else { "GT" };
            seek.bounds.push(("StartRange", op, (next.clone(), self.scalar(&key.node, &[]))));
        }
        if let Some((key, inclusive)) = &range.upper {
            let op = if *inclusive { "LE" } else { "LT" };
            seek.bounds.push(("EndRange", op, (next.clone(), self.scalar(&key.node, &[]))));
        }
        if let Some(pattern) = &range.like {
            let pattern = self.scalar(&pattern.node, &[]);
            let start = Scalar::call("LikeRangeStart", vec![pattern.clone()]);
            let end = Scalar::call("LikeRangeEnd", vec![pattern]);
            seek.bounds.push(("StartRange", "GE", (next.clone(), start)));
            seek.bounds.push(("EndRange", "LT", (next, end)));
        }
        seek
    }

    fn project(&mut self, input: Operator, below: &[PlanColumn], items: &'p [Node]) -> Described {
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for item in items {
            let scalar = self.scalar(item, below);
            match scalar.kind {
                ScalarKind::Column(column) => columns.push(column),
                _ => {
                    let column = self.new_expression();
                    columns.push(column.clone());
                    values.push((column, scalar));
                }
            }
        }
        let input = self.with_subqueries(input);
        if values.is_empty() {
            return (input, columns);
        }
        (Operator::compute("Compute Scalar", "ComputeScalar", values, input), columns)
    }

    fn nested_loops(&mut self, join: &'p NestedLoopPlan) -> Described {
        let (left, mut columns) = self.plan(&join.left);
        let mut inner_columns = Vec::new();
        let (mut right, outer) = self.with_outer(&join.pass, &columns, |describer| {
            let (right, columns) = describer.plan(&join.right);
            inner_columns = columns;
            right
        });
        let logical = join_name(join.kind);
        if !join.keep_right {
            right.run_for_each(left.rows);
        } else if !matches!(right.shape, Shape::Constant { .. }) {
            right = Operator::spool("Lazy Spool", right);
            // How often the rows that are kept have been gone through.
            right.actual = self.profile.map(|profile| profile.of(join));
        }
        let both: Vec<PlanColumn> = columns.iter().chain(&inner_columns).cloned().collect();
        let predicate = join.on.as_ref().map(|on| self.predicate(on, &both));
        let mut arguments: Vec<String> =
            Some(outer_references(&outer)).into_iter().filter(|text| !text.is_empty()).collect();
        arguments.extend(predicate.as_ref().map(|on| format!("WHERE:({})", on.text())));
        let rows = match join.kind {
            JoinKind::Semi | JoinKind::Anti => left.rows,
            _ => (left.rows * right.rows * if predicate.is_some() { 0.3 } else { 1.0 }).max(1.0),
        };
        if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
            columns = both;
        }
        let left = self.with_subqueries(left);
        let operator = Operator {
            argument: arguments.join(", "),
            predicate,
            rows,
            cpu: 0.000_004_18 * rows,
            children: vec![left, right],
            ..Operator::named("Nested Loops", logical, Shape::Loops { outer })
        };
        (operator, columns)
    }

    fn hash_join(&mut self, join: &'p HashJoinPlan) -> Described {
        let (left, mut columns) = self.plan(&join.left);
        let (right, right_columns) = self.plan(&join.right);
        // The right side fills the table, so it is the first input, and sides have changed their names.
        let logical = match join.kind {
            JoinKind::Inner => "Inner Join",
            JoinKind::Left => "Right Outer Join",
            JoinKind::Full => "Full Outer Join",
            JoinKind::Semi => "Right Semi Join",
            JoinKind::Anti => "Right Anti Semi Join",
        };
        let (right, build) = self.keys(right, &right_columns, &join.right_keys);
        let (left, probe) = self.keys(left, &columns, &join.left_keys);
        let both: Vec<PlanColumn> = columns.iter().chain(&right_columns).cloned().collect();
        let residual = join.residual.as_ref().map(|residual| self.predicate(residual, &both));
        if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
            columns = both;
        }
        let mut operator = hash_of(logical, build, probe, right, left);
        if let Some(residual) = residual {
            operator.argument += &format!(", RESIDUAL:({})", residual.text());
            operator.predicate = Some(residual);
        }
        (operator, columns)
    }

    /// Columns that hold the keys, computed below when they are expressions.
    fn keys(
        &mut self,
        input: Operator,
        columns: &[PlanColumn],
        keys: &'p [Node],
    ) -> (Operator, Vec<PlanColumn>) {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for key in keys {
            let scalar = self.scalar(key, columns);
            match scalar.kind {
                ScalarKind::Column(column) => names.push(column),
                _ => {
                    let column = self.new_expression();
                    names.push(column.clone());
                    values.push((column, scalar));
                }
            }
        }
        let input = self.with_subqueries(input);
        if values.is_empty() {
            return (input, names);
        }
        (Operator::compute("Compute Scalar", "ComputeScalar", values, input), names)
    }

    fn aggregate(&mut self, aggregate: &'p AggregatePlan) -> Described {
        let (input, below) = self.plan(&aggregate.input);
        let (input, keys) = self.keys(input, &below, &aggregate.keys);
        let mut defined = Vec::new();
        for call in &aggregate.aggregates {
            let scalar = self.aggregate_call(call, &below);
            defined.push((self.new_expression(), scalar));
        }
        let input = self.with_subqueries(input);
        let mut columns = keys.clone();
        columns.extend(defined.iter().map(|value| value.0.clone()));
        let mut operator = if keys.is_empty() || aggregate.is_in_order {
            let argument =
                if keys.is_empty() { String::new() } else { format!("GROUP BY:({})", names(&keys)) };
            let over =
                Operator::over("Stream Aggregate", "Aggregate", Shape::StreamAggregate { keys }, input);
            Operator { argument, ..over }
        } else {
            hash(input, "Aggregate", keys)
        };
        operator.rows = if aggregate.keys.is_empty() { 1.0 } else { (operator.rows * 0.1).max(1.0) };
        operator.defined = defined;
        if !operator.defined.is_empty() {
            let define = format!("DEFINE:({})", operator.defined_text());
            let separator = if operator.argument.is_empty() { "" } else { ", " };
            operator.argument += &format!("{separator}{define}");
        }
        (operator, columns)
    }

    fn aggregate_call(&mut self, call: &'p AggregateNode, below: &[PlanColumn]) -> Scalar {
        let name = match call.kind {
            AggregateKind::CountRows | AggregateKind::Count => "Count",
            AggregateKind::Sum => "SUM",
            AggregateKind::Average => "AVG",
            AggregateKind::Minimum => "MIN",
            AggregateKind::Maximum => "MAX",
            AggregateKind::StandardDeviation => "STDEV",
            AggregateKind::StandardDeviationPopulation => "STDEVP",
            AggregateKind::Variance => "VAR",
            AggregateKind::VariancePopulation => "VARP",
            AggregateKind::StringAgg => "STRING_AGG",
            AggregateKind::ChecksumAgg => "CHECKSUM_AGG",
        };
        let argument = match &call.argument {
            Some(argument) => self.scalar(argument, below),
            None => Scalar::constant("*"),
        };
        let name = if call.distinct { format!("{name} DISTINCT") } else { name.to_string() };
        Scalar::call(name, vec![argument])
    }

    fn window(&mut self, window: &'p WindowPlan) -> Described {
        let (input, below) = self.plan(&window.input);
        let (mut input, keys) = self.keys(input, &below, &window.partition);
        if !(window.is_in_order || window.partition.is_empty() && window.order.is_empty()) {
            let mut order: Vec<(PlanColumn, bool)> = keys.iter().map(|key| (key.clone(), false)).collect();
            for key in &window.order {
                order.push((self.key_column(key, &below), key.descending));
            }
            input = sorted(input, order, None);
        }
        let segment = self.new_expression();
        let argument = format!("GROUP BY:({})", names(&keys));
        let over = Operator::over("Segment", "Segment", Shape::Segment { keys, segment }, input);
        let segmented = Operator { argument, ..over };
        let mut values = Vec::new();
        for call in &window.calls {
            let scalar = self.window_call(&call.kind, &below);
            values.push((self.new_expression(), scalar));
        }
        let mut columns = below;
        columns.extend(values.iter().map(|value| value.0.clone()));
        let segmented = self.with_subqueries(segmented);
        (Operator::compute("Sequence Project", "SequenceProject", values, segmented), columns)
    }

    fn window_call(&mut self, kind: &'p WindowNodeKind, below: &[PlanColumn]) -> Scalar {
        match kind {
            WindowNodeKind::RowNumber => Scalar::call("row_number", Vec::new()),
            WindowNodeKind::Rank => Scalar::call("rank", Vec::new()),
            WindowNodeKind::DenseRank => Scalar::call("dense_rank", Vec::new()),
            WindowNodeKind::PercentRank => Scalar::call("percent_rank", Vec::new()),
            WindowNodeKind::CumeDist => Scalar::call("cume_dist", Vec::new()),
            WindowNodeKind::Tile(count) => Scalar::call("ntile", vec![self.scalar(count, below)]),
            WindowNodeKind::Shift { value, offset, default, lead, .. } => {
                let mut parts = vec![self.scalar(value, below), self.scalar(offset, below)];
                parts.extend(default.as_ref().map(|default| self.scalar(default, below)));
                Scalar::call(if *lead { "lead" } else { "lag" }, parts)
            }
            WindowNodeKind::Edge { value, last, .. } => {
                let name = if *last { "last_value" } else { "first_value" };
                Scalar::call(name, vec![self.scalar(value, below)])
            }
            WindowNodeKind::Aggregate(call) => self.aggregate_call(call, below),
        }
    }

    fn key_column(&mut self, key: &'p SortNode, columns: &[PlanColumn]) -> PlanColumn {
        let scalar = self.scalar(&key.node, columns);
        match scalar.kind {
            ScalarKind::Column(column) => column,
            _ => PlanColumn::expression(scalar.text()),
        }
    }

    fn sort(
        &mut self,
        input: Operator,
        columns: &[PlanColumn],
        keys: &'p [SortNode],
        limit: Option<Scalar>,
    ) -> Operator {
        let mut values = Vec::new();
        let mut order = Vec::new();
        for key in keys {
            let scalar = self.scalar(&key.node, columns);
            let column = match scalar.kind {
                ScalarKind::Column(column) => column,
                _ => {
                    let column = self.new_expression();
                    values.push((column.clone(), scalar));
                    column
                }
            };
            order.push((column, key.descending));
        }
        let mut input = self.with_subqueries(input);
        if !values.is_empty() {
            input = Operator::compute("Compute Scalar", "ComputeScalar", values, input);
        }
        sorted(input, order, limit)
    }

    fn top(&mut self, plan: &'p Plan) -> Described {
        let (input, columns, offset, count, percent, ties) = match plan {
            Plan::Top { input, count, percent, ties } => {
                let (input, columns) = self.plan(input);
                let count = self.scalar(count, &[]);
                let ties: Vec<PlanColumn> = ties.iter().map(|key| self.key_column(key, &columns)).collect();
                (input, columns, None, Some(count), *percent, ties)
            }
            Plan::Offset { input, offset, fetch } => {
                let (input, columns) = self.plan(input);
                let offset = self.scalar(offset, &[]);
                let count = fetch.as_ref().map(|fetch| self.scalar(fetch, &[]));
                (input, columns, Some(offset), count, false, Vec::new())
            }
            _ => unreachable!("called for TOP and OFFSET"),
        };
        let input = self.with_subqueries(input);
        let mut arguments = Vec::new();
        arguments.extend(offset.as_ref().map(|offset| format!("OFFSET EXPRESSION:({})", offset.text())));
        let percent_word = if percent { " PERCENT" } else { "" };
        arguments
            .extend(count.as_ref().map(|count| format!("TOP EXPRESSION:({}){percent_word}", count.text())));
        if !ties.is_empty() {
            arguments.push(format!("TIE COLUMNS:({})", names(&ties)));
        }
        let shape = Shape::Top { offset, count, percent, ties };
        let top = Operator::over("Top", "Top", shape, input);
        (Operator { argument: arguments.join(", "), ..top }, columns)
    }
}

fn constant(rows: f64) -> Described {
    (Operator::leaf("Constant Scan", rows, Shape::Constant { rows: Vec::new() }), Vec::new())
}

/// What a join of a left side, the first input, with a right one is called.
pub(super) fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner Join",
        JoinKind::Left => "Left Outer Join",
        JoinKind::Full => "Full Outer Join",
        JoinKind::Semi => "Left Semi Join",
        JoinKind::Anti => "Left Anti Semi Join",
    }
}

pub(super) fn names(columns: &[PlanColumn]) -> String {
    columns.iter().map(PlanColumn::text).collect::<Vec<_>>().join(", ")
}

fn outer_references(outer: &[PlanColumn]) -> String {
    if outer.is_empty() { String::new() } else { format!("OUTER REFERENCES:({})", names(outer)) }
}

/// All rows of a heap or an index.
fn scanned(
    source: &TableSource,
    index: &IndexDef,
    total: f64,
    rows: f64,
    filter: Option<Scalar>,
) -> Operator {
    let name = match index.kind {
        IndexKind::Heap => "Table Scan",
        IndexKind::Clustered => "Clustered Index Scan",
        IndexKind::Nonclustered => "Index Scan",
    };
    let shape = match index.kind {
        IndexKind::Heap => Shape::TableScan,
        _ => Shape::index(Vec::new(), false),
    };
    let object = object(source, index);
    let mut argument = format!("OBJECT:({})", object.text());
    if let Some(filter) = &filter {
        argument += &format!(", WHERE:({})", filter.text());
    }
    Operator {
        argument,
        objects: vec![object],
        predicate: filter,
        rows,
        io: 0.003_125 + 0.000_74 * (total / 100.0),
        cpu: 0.000_158_1 + 0.000_001_1 * total,
        ..Operator::named(name, name, shape)
    }
}

/// Rows found through an index; one that has not all the columns (`lookup`) leads to the row.
pub(super) fn sought(
    source: &TableSource,
    index: &IndexDef,
    seeks: Vec<Seek>,
    ranges: usize,
    rows: f64,
    filter: Option<Scalar>,
    lookup: Option<&[PlanColumn]>,
) -> Operator {
    let base = source.def.base();
    let is_base = index.index_id == base.index_id;
    let name = match (is_base, seeks.iter().all(|seek| seek.prefix.is_empty() && seek.bounds.is_empty())) {
        (true, _) => "Clustered Index Seek",
        (false, true) => "Index Scan",
        (false, false) => "Index Seek",
    };
    let object = object(source, index);
    let residual = filter.as_ref().map(|filter| format!(", WHERE:({})", filter.text())).unwrap_or_default();
    let own = if lookup.is_none() { residual.as_str() } else { "" };
    let argument = match name {
        "Index Scan" => format!("OBJECT:({}){own}", object.text()),
        _ => format!("OBJECT:({}), SEEK:({}){own} ORDERED FORWARD", object.text(), seek_text(&seeks, ranges)),
    };
    let seek = Operator {
        argument,
        objects: vec![object],
        predicate: filter.clone().filter(|_| lookup.is_none()),
        rows,
        io: 0.003_125 * ranges.max(1) as f64,
        cpu: 0.000_157 + 0.000_001_1 * rows,
        ..Operator::named(name, name, Shape::index(seeks, false))
    };
    let Some(columns) = lookup else { return seek };
    let bookmark = PlanColumn::expression("Bmk1000".into());
    let lookup_object = self::object(source, base);
    let (physical, logical) = match base.kind {
        IndexKind::Heap => ("RID Lookup", "RID Lookup"),
        _ => ("Clustered Index Seek", "Key Lookup"),
    };
    let key = Scalar::column(bookmark.clone());
    let mut lookup = Operator {
        argument: format!(
            "OBJECT:({}), SEEK:({}){residual} LOOKUP ORDERED FORWARD",
            lookup_object.text(),
            Scalar::equal(key.clone(), key).text()
        ),
        objects: vec![lookup_object],
        predicate: filter,
        output: columns.to_vec(),
        io: 0.003_125,
        cpu: 0.000_158_1,
        ..Operator::named(physical, logical, Shape::index(Vec::new(), true))
    };
    lookup.run_for_each(rows);
    let outer = vec![bookmark];
    let mut seek = seek;
    seek.output.clone_from(&outer);
    Operator {
        argument: outer_references(&outer),
        rows,
        cpu: 0.000_004_18 * rows,
        children: vec![seek, lookup],
        ..Operator::named("Nested Loops", "Inner Join", Shape::Loops { outer })
    }
}

fn seek_text(seeks: &[Seek], ranges: usize) -> String {
    let each = seeks.iter().map(|seek| {
        let equal = seek.prefix.iter().map(|key| (CompareOp::Equal, key));
        let bounds = seek.bounds.iter().map(|(_, op, key)| {
            let op = match *op {
                "GE" => CompareOp::GreaterOrEqual,
                "GT" => CompareOp::Greater,
                "LE" => CompareOp::LessOrEqual,
                _ => CompareOp::Less,
            };
            (op, key)
        });
        let parts: Vec<String> = equal
            .chain(bounds)
            .map(|(op, (column, value))| {
                let parts = vec![Scalar::column(column.clone()), value.clone()];
                Scalar::new(ScalarKind::Compare(op), parts).text()
            })
            .collect();
        parts.join(" AND ")
    });
    let mut text = each.collect::<Vec<_>>().join(" OR ");
    if ranges > seeks.len() {
        text += &format!(" OR {} more", ranges - seeks.len());
    }
    text
}

fn sorted(input: Operator, keys: Vec<(PlanColumn, bool)>, limit: Option<Scalar>) -> Operator {
    let order: Vec<String> = keys
        .iter()
        .map(|(column, descending)| format!("{} {}", column.text(), if *descending { "DESC" } else { "ASC" }))
        .collect();
    let order = format!("ORDER BY:({})", order.join(", "));
    let rows = input.rows;
    let top = limit.map(|limit| limit.text());
    let number = top.as_ref().map(|text| text.trim_matches(['(', ')']).parse().unwrap_or(i32::MAX));
    let logical = if top.is_some() { "TopN Sort" } else { "Sort" };
    let sort = Operator::over("Sort", logical, Shape::Sort { keys, limit: number }, input);
    Operator {
        argument: top.map_or(order.clone(), |top| format!("TOP {top}, {order}")),
        io: 0.011_261,
        cpu: 0.000_1 + 0.000_001 * rows * rows.max(2.0).log2(),
        ..sort
    }
}

/// A hash table over one input.
fn hash(input: Operator, logical: &'static str, keys: Vec<PlanColumn>) -> Operator {
    let argument = format!("HASH:({})", names(&keys));
    let cpu = 0.017 + 0.000_007 * input.rows;
    let shape = Shape::Hash { build: keys, probe: Vec::new() };
    Operator { argument, cpu, ..Operator::over("Hash Match", logical, shape, input) }
}

/// A hash table of the first input, probed by the second.
pub(super) fn hash_of(
    logical: &'static str,
    build: Vec<PlanColumn>,
    probe: Vec<PlanColumn>,
    first: Operator,
    second: Operator,
) -> Operator {
    let argument = format!("HASH:({})=({})", names(&build), names(&probe));
    let rows = first.rows.max(second.rows);
    let cpu = 0.017 + 0.000_007 * (first.rows + second.rows);
    let shape = Shape::Hash { build, probe };
    Operator {
        argument,
        rows,
        cpu,
        children: vec![first, second],
        ..Operator::named("Hash Match", logical, shape)
    }
}

fn function_table(table: &FunctionTable) -> Described {
    let module = &table.function.module;
    let names = vec![module.schema.to_string(), module.name.to_string()];
    let object = PlanObject { names, index: None, kind: None };
    let columns = table.function.columns.iter();
    let columns = columns.map(|column| PlanColumn::expression(column.name.clone())).collect();
    let argument = format!("OBJECT:({})", object.text());
    let operator = Operator::leaf("Table-valued function", 100.0, Shape::Function);
    (Operator { argument, objects: vec![object], ..operator }, columns)
}

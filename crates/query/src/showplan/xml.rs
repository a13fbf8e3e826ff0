//! The plan as XML: the documented elements of showplan, in the order of its schema.

use super::scalar::{PlanColumn, Scalar};
use super::writer::Writer;
use super::{Operator, Shape, StatementPlan};

impl PlanColumn {
    pub(super) fn write(&self, out: &mut Writer) {
        let table = self.table.iter().flatten().map(|part| super::scalar::quoted(part));
        let table: Vec<String> = table.collect();
        let names = ["Database", "Schema", "Table"];
        let mut attributes: Vec<(&str, &str)> =
            names.iter().copied().zip(table.iter().map(String::as_str)).collect();
        attributes.push(("Column", &self.name));
        out.empty("ColumnReference", &attributes);
    }
}

/// The document of a batch.
pub fn batch_document(version: &str, statements: &[StatementPlan]) -> String {
    let mut out = Writer::default();
    let attributes = [
        ("xmlns", "http://schemas.microsoft.com/sqlserver/2004/07/showplan"),
        ("Version", "1.564"),
        ("Build", version),
    ];
    out.element("ShowPlanXML", &attributes, |out| {
        out.element("BatchSequence", &[], |out| {
            out.element("Batch", &[], |out| {
                out.element("Statements", &[], |out| {
                    for (index, statement) in statements.iter().enumerate() {
                        statement.write(out, index + 1);
                    }
                });
            });
        });
    });
    out.text
}

impl StatementPlan {
    fn write(&self, out: &mut Writer, id: usize) {
        let id = id.to_string();
        let mut attributes = vec![
            ("StatementText", self.text.clone()),
            ("StatementId", id.clone()),
            ("StatementCompId", id),
            ("StatementType", self.statement_type.to_string()),
        ];
        if let Some(root) = &self.root {
            attributes.push(("StatementSubTreeCost", number(root.subtree_cost())));
            attributes.push(("StatementEstRows", number(root.rows)));
        }
        let attributes: Vec<(&str, &str)> = attributes.iter().map(|(n, v)| (*n, v.as_str())).collect();
        out.element("StmtSimple", &attributes, |out| {
            if let Some(root) = &self.root {
                out.element("QueryPlan", &[], |out| {
                    let mut next = 0;
                    root.write(out, &mut next);
                });
            }
        });
    }
}

/// A double of XML Schema.
fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { f64::MAX };
    format!("{value}")
}

impl Operator {
    fn write(&self, out: &mut Writer, next: &mut i32) {
        let id = *next;
        *next += 1;
        let attributes = [
            ("NodeId", id.to_string()),
            ("PhysicalOp", self.physical.to_string()),
            ("LogicalOp", self.logical.to_string()),
            ("EstimateRows", number(self.rows)),
            ("EstimateIO", number(self.io)),
            ("EstimateCPU", number(self.cpu)),
            ("AvgRowSize", number(f64::from(self.row_bytes()))),
            ("EstimatedTotalSubtreeCost", number(self.subtree_cost())),
            ("Parallel", "0".to_string()),
            ("EstimateRebinds", "0".to_string()),
            ("EstimateRewinds", number((self.executions - 1.0).max(0.0))),
        ];
        let attributes = attributes.each_ref().map(|(name, value)| (*name, value.as_str()));
        out.element("RelOp", &attributes, |out| {
            columns(out, "OutputList", &self.output);
            if let Some(actual) = &self.actual {
                let figures = [
                    ("Thread", "0".to_string()),
                    ("ActualRows", actual.rows.to_string()),
                    ("ActualEndOfScans", actual.ends.to_string()),
                    ("ActualExecutions", actual.executions.to_string()),
                ];
                let figures = figures.each_ref().map(|(name, value)| (*name, value.as_str()));
                out.element("RunTimeInformation", &[], |out| out.empty("RunTimeCountersPerThread", &figures));
            }
            self.write_shape(out, next);
        });
    }

    fn children(&self, out: &mut Writer, next: &mut i32) {
        self.children.iter().for_each(|child| child.write(out, next));
    }

    fn defined(&self, out: &mut Writer) {
        out.element("DefinedValues", &[], |out| {
            for (column, value) in &self.defined {
                out.element("DefinedValue", &[], |out| {
                    column.write(out);
                    value.write(out, true);
                });
            }
        });
    }

    fn object(&self, out: &mut Writer) {
        for object in &self.objects {
            let parts = object.parts();
            let attributes: Vec<(&str, &str)> = parts.iter().map(|(n, v)| (*n, v.as_str())).collect();
            out.empty("Object", &attributes);
        }
    }

    fn write_shape(&self, out: &mut Writer, next: &mut i32) {
        let flag = |on: bool| if on { "1" } else { "0" };
        match &self.shape {
            Shape::TableScan => out.element("TableScan", &[("Ordered", "0")], |out| {
                self.defined(out);
                self.object(out);
                predicate(out, "Predicate", self.predicate.as_ref());
            }),
            Shape::IndexScan { seeks, lookup, backward } => {
                let direction = if *backward { "BACKWARD" } else { "FORWARD" };
                let mut attributes =
                    vec![("Ordered", flag(*backward || !seeks.is_empty())), ("ScanDirection", direction)];
                if *lookup {
                    attributes.insert(0, ("Lookup", "1"));
                }
                out.element("IndexScan", &attributes, |out| {
                    self.defined(out);
                    self.object(out);
                    seek_predicates(out, seeks);
                    predicate(out, "Predicate", self.predicate.as_ref());
                });
            }
            Shape::Filter { is_startup } => {
                out.element("Filter", &[("StartupExpression", flag(*is_startup))], |out| {
                    self.defined(out);
                    self.children(out, next);
                    predicate(out, "Predicate", self.predicate.as_ref());
                })
            }
            Shape::Compute(element) => out.element(element, &[], |out| {
                self.defined(out);
                self.children(out, next);
            }),
            Shape::Constant { rows } => out.element("ConstantScan", &[], |out| {
                if !rows.is_empty() {
                    out.element("Values", &[], |out| {
                        for row in rows.iter().filter(|row| !row.is_empty()) {
                            out.element("Row", &[], |out| row.iter().for_each(|item| item.write(out, false)));
                        }
                    });
                }
            }),
            Shape::Loops { outer } => out.element("NestedLoops", &[("Optimized", "0")], |out| {
                self.defined(out);
                predicate(out, "Predicate", self.predicate.as_ref());
                if !outer.is_empty() {
                    columns(out, "OuterReferences", outer);
                }
                self.children(out, next);
            }),
            Shape::Hash { build, probe } => out.element("Hash", &[], |out| {
                self.defined(out);
                columns(out, "HashKeysBuild", build);
                if !probe.is_empty() {
                    columns(out, "HashKeysProbe", probe);
                }
                predicate(out, "ProbeResidual", self.predicate.as_ref());
                self.children(out, next);
            }),
            _ => self.write_ordering(out, next),
        }
    }

    /// Aggregates, what needs an order, and the rest.
    fn write_ordering(&self, out: &mut Writer, next: &mut i32) {
        let flag = |on: bool| if on { "1" } else { "0" };
        match &self.shape {
            Shape::Merge { outer, inner, many_to_many } => {
                out.element("Merge", &[("ManyToMany", flag(*many_to_many))], |out| {
                    self.defined(out);
                    columns(out, "InnerSideJoinColumns", inner);
                    columns(out, "OuterSideJoinColumns", outer);
                    predicate(out, "Residual", self.predicate.as_ref());
                    self.children(out, next);
                });
            }
            Shape::StreamAggregate { keys } => out.element("StreamAggregate", &[], |out| {
                self.defined(out);
                if !keys.is_empty() {
                    columns(out, "GroupBy", keys);
                }
                self.children(out, next);
            }),
            Shape::Sort { keys, limit } => {
                let rows = limit.map(|rows| rows.to_string());
                let mut attributes = vec![("Distinct", "0")];
                attributes.extend(rows.iter().map(|rows| ("Rows", rows.as_str())));
                let name = if limit.is_some() { "TopSort" } else { "Sort" };
                out.element(name, &attributes, |out| {
                    out.element("OrderBy", &[], |out| {
                        for (column, descending) in keys {
                            let ascending = [("Ascending", flag(!descending))];
                            out.element("OrderByColumn", &ascending, |out| column.write(out));
                        }
                    });
                    self.children(out, next);
                });
            }
            Shape::Top { offset, count, percent, ties } => {
                let attributes =
                    [("RowCount", "0"), ("IsPercent", flag(*percent)), ("WithTies", flag(!ties.is_empty()))];
                out.element("Top", &attributes, |out| {
                    if !ties.is_empty() {
                        columns(out, "TieColumns", ties);
                    }
                    predicate(out, "OffsetExpression", offset.as_ref());
                    predicate(out, "TopExpression", count.as_ref());
                    self.children(out, next);
                });
            }
            Shape::Segment { keys, segment } => out.element("Segment", &[], |out| {
                columns(out, "GroupBy", keys);
                out.element("SegmentColumn", &[], |out| segment.write(out));
                self.children(out, next);
            }),
            Shape::Concatenation => out.element("Concat", &[], |out| self.children(out, next)),
            Shape::Spool { stack } => out.element("Spool", &[("Stack", flag(*stack))], |out| {
                self.children(out, next);
            }),
            Shape::Function => out.element("TableValuedFunction", &[], |out| self.object(out)),
            Shape::Update => out.element("Update", &[], |out| {
                self.object(out);
                if let Some(set) = &self.predicate {
                    out.element("SetPredicate", &[], |out| set.write(out, true));
                }
                self.children(out, next);
            }),
            _ => unreachable!("every other shape has been written"),
        }
    }
}

fn columns(out: &mut Writer, name: &str, columns: &[PlanColumn]) {
    out.element(name, &[], |out| columns.iter().for_each(|column| column.write(out)));
}

fn predicate(out: &mut Writer, name: &str, scalar: Option<&Scalar>) {
    if let Some(scalar) = scalar {
        out.element(name, &[], |out| scalar.write(out, true));
    }
}

fn seek_predicates(out: &mut Writer, seeks: &[super::Seek]) {
    if seeks.is_empty() {
        return;
    }
    out.element("SeekPredicates", &[], |out| {
        for seek in seeks {
            out.element("SeekPredicateNew", &[], |out| {
                out.element("SeekKeys", &[], |out| {
                    range(out, "Prefix", "EQ", &seek.prefix);
                    for (name, scan_type, bound) in &seek.bounds {
                        range(out, name, scan_type, std::slice::from_ref(bound));
                    }
                });
            });
        }
    });
}

fn range(out: &mut Writer, name: &str, scan_type: &str, keys: &[(PlanColumn, Scalar)]) {
    if keys.is_empty() {
        return;
    }
    out.element(name, &[("ScanType", scan_type)], |out| {
        out.element("RangeColumns", &[], |out| keys.iter().for_each(|key| key.0.write(out)));
        out.element("RangeExpressions", &[], |out| keys.iter().for_each(|key| key.1.write(out, true)));
    });
}

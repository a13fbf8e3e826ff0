//! The rules of the optimizer by name. Each can be switched off, for one statement: `OPTION (USE HINT ('HARDPAN_DISABLE_RULE_HASH_JOIN'))`.
//!
//! Without any rule (`HARDPAN_NAIVE_PLAN`) a statement runs as it is written: tables are scanned from end to end, joins are nested loops in the
//! order of FROM, conditions are filters at their places, subqueries run for each row. This plan is the reference for the others.
//! `HARDPAN_ENABLE_RULE_x` in addition enables one rule, and the rules that it needs. `HARDPAN_PREFER_RULE_x` applies a rule wherever possible,
//! whatever it costs: so a small table shows its effect on a large one.
//!
//! A rule may remove an error of a row that is not needed. It never adds one, and never changes the rows.

use tsql::ast::QueryHint;

/// Declares the rules, ground first: a rule needs only rules before it.
macro_rules! optimizer_rules {
    ($($(#[$what:meta])+ $rule:ident $name:literal needs $needs:expr;)+) => {
        /// A rule of the optimizer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum OptimizerRule {
            $($(#[$what])+ $rule,)+
        }

        impl OptimizerRule {
            /// Every rule.
            pub const ALL: &'static [OptimizerRule] = &[$(OptimizerRule::$rule),+];

            /// Its name in hints.
            pub fn name(self) -> &'static str {
                match self {
                    $(OptimizerRule::$rule => $name,)+
                }
            }

            /// The rules without which it changes nothing.
            fn needs(self) -> &'static [OptimizerRule] {
                use OptimizerRule::*;
                match self {
                    $($rule => &$needs,)+
                }
            }
        }
    };
}

optimizer_rules! {
    /// Conditions move below projections, joins, groupings and set operations, down to the tables.
    PredicatePushdown "PREDICATE_PUSHDOWN" needs [];
    /// A condition that reads no column of its input decides whether that is started.
    StartupFilter "STARTUP_FILTER" needs [PredicatePushdown];
    /// Predicates that follow from several conditions are added, and contradicting conditions give no row.
    PredicateInference "PREDICATE_INFERENCE" needs [PredicatePushdown];
    /// Columns that nothing reads are neither fetched nor computed.
    ColumnPruning "COLUMN_PRUNING" needs [];
    /// A table is read through an index other than the one that its rows lie in.
    IndexSelection "INDEX_SELECTION" needs [PredicatePushdown];
    /// Conditions bound the keys that are read of an index.
    IndexSeek "INDEX_SEEK" needs [PredicatePushdown];
    /// An index with a filter is read where the conditions imply the filter.
    FilteredIndex "FILTERED_INDEX" needs [IndexSelection];
    /// The branches of an OR are sought in an index each.
    IndexUnion "INDEX_UNION" needs [IndexSelection, IndexSeek];
    /// Two indexes are sought for an AND.
    IndexIntersection "INDEX_INTERSECTION" needs [IndexSelection, IndexSeek];
    /// A scan judges conditions on the bytes of a row, before it copies the row.
    ScanPredicate "SCAN_PREDICATE" needs [PredicatePushdown];
    /// Inner joins are made in the cheapest order.
    JoinReordering "JOIN_REORDERING" needs [PredicatePushdown];
    /// A left join whose rows without a partner no condition lets through is an inner join.
    OuterJoinSimplification "OUTER_JOIN_SIMPLIFICATION" needs [PredicatePushdown];
    /// The right side of a join is sought for each left row.
    IndexNestedLoops "INDEX_NESTED_LOOPS" needs [IndexSelection, IndexSeek];
    /// Equal rows are found by a hash table.
    HashJoin "HASH_JOIN" needs [PredicatePushdown];
    /// A hash join tells the scan below which keys it has.
    RuntimeFilter "RUNTIME_FILTER" needs [HashJoin, ScanPredicate];
    /// EXISTS and IN become semi joins, their negations anti joins.
    SemiJoin "SEMI_JOIN" needs [HashJoin];
    /// Scalar aggregates and APPLY are computed once and joined.
    Decorrelation "DECORRELATION" needs [HashJoin];
    /// A side of a join is grouped before it is joined.
    EarlyAggregation "EARLY_AGGREGATION" needs [HashJoin];
    /// A subtree that a statement contains several times is computed once.
    Spool "SPOOL" needs [];
    /// Rows that come in an order are not sorted again.
    OrderInference "ORDER_INFERENCE" needs [IndexSelection];
    /// Sides that come in one order are merged.
    MergeJoin "MERGE_JOIN" needs [OrderInference];
    /// Rows that come group by group are grouped without a hash table.
    StreamAggregate "STREAM_AGGREGATE" needs [OrderInference];
    /// MIN and MAX of a table read the first rows of their orders, one of each.
    FirstRowAggregate "FIRST_ROW_AGGREGATE" needs [OrderInference];
    /// An order over one side of a join sorts that side.
    OneSidedSort "ONE_SIDED_SORT" needs [OrderInference];
    /// A sort below TOP keeps the rows that TOP takes.
    TopSort "TOP_SORT" needs [];
    /// Windows with one partitioning and order share a sort.
    WindowSharing "WINDOW_SHARING" needs [];
    /// DISTINCT aggregates are grouped twice.
    DistinctAggregate "DISTINCT_AGGREGATE" needs [];
    /// Expressions of integers are computed without making values.
    IntegerExpression "INTEGER_EXPRESSION" needs [];
    /// A long list of constants is a hash set.
    HashedList "HASHED_LIST" needs [];
}

/// The hint that switches all rules off.
const NAIVE: &str = "HARDPAN_NAIVE_PLAN";
const DISABLE: &str = "HARDPAN_DISABLE_RULE_";
const ENABLE: &str = "HARDPAN_ENABLE_RULE_";

const PREFER: &str = "HARDPAN_PREFER_RULE_";

/// The rules that a statement is planned by, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleSet {
    enabled: u32,
    /// The rules that are applied wherever possible, whatever they cost.
    preferred: u32,
}

const _: () = assert!(OptimizerRule::ALL.len() <= 32, "a bit for each rule");

impl Default for RuleSet {
    fn default() -> RuleSet {
        RuleSet { enabled: u32::MAX, preferred: 0 }
    }
}

impl RuleSet {
    /// The rules that remain after the hints of OPTION. Other hint names are ignored.
    pub fn of_hints(hints: &[QueryHint]) -> RuleSet {
        let names = hints.iter().flat_map(|hint| match hint {
            QueryHint::UseHint(names) => names.as_slice(),
            _ => &[],
        });
        let names: Vec<String> = names.map(|name| name.to_ascii_uppercase()).collect();
        let is_naive = names.iter().any(|name| name == NAIVE);
        let mut rules = RuleSet { enabled: if is_naive { 0 } else { u32::MAX }, preferred: 0 };
        let named = |prefix: &str| -> Vec<OptimizerRule> {
            names.iter().filter_map(|name| name.strip_prefix(prefix).and_then(rule_named)).collect()
        };
        named(ENABLE).into_iter().chain(named(PREFER)).for_each(|rule| rules.enable(rule));
        named(DISABLE).into_iter().for_each(|rule| rules.enabled &= !bit(rule));
        named(PREFER).into_iter().for_each(|rule| rules.preferred |= bit(rule) & rules.enabled);
        rules
    }

    /// May the statement be planned by a rule?
    pub fn has(self, rule: OptimizerRule) -> bool {
        self.enabled & bit(rule) != 0
    }

    /// Is a rule to be used wherever it can be?
    pub fn prefers(self, rule: OptimizerRule) -> bool {
        self.preferred & bit(rule) != 0
    }

    fn enable(&mut self, rule: OptimizerRule) {
        self.enabled |= bit(rule);
        for needed in rule.needs() {
            assert!((*needed as u8) < rule as u8, "a rule needs rules before it");
            self.enable(*needed);
        }
    }
}

fn bit(rule: OptimizerRule) -> u32 {
    1 << rule as u8
}

fn rule_named(name: &str) -> Option<OptimizerRule> {
    OptimizerRule::ALL.iter().copied().find(|rule| rule.name() == name)
}

/// Is it a name in USE HINT that is about rules?
pub fn is_rule_hint(name: &str) -> bool {
    let of_rule = [ENABLE, DISABLE, PREFER].into_iter().find_map(|prefix| name.strip_prefix(prefix));
    name == NAIVE || of_rule.and_then(rule_named).is_some()
}

#[cfg(test)]
mod tests {
    use super::{OptimizerRule, RuleSet, is_rule_hint};
    use tsql::ast::QueryHint;

    fn rules(names: &[&str]) -> RuleSet {
        RuleSet::of_hints(&[QueryHint::UseHint(names.iter().map(|name| (*name).to_owned()).collect())])
    }

    #[test]
    fn hints_switch_rules() {
        use OptimizerRule::{HashJoin, PredicatePushdown, RuntimeFilter, ScanPredicate, Spool};
        assert_eq!(rules(&["RECOMPILE"]), RuleSet::default());
        assert_eq!(rules(&["hardpan_naive_plan"]), RuleSet { enabled: 0, preferred: 0 });
        let without = rules(&["HARDPAN_DISABLE_RULE_SPOOL"]);
        assert!(
            !without.has(Spool) && OptimizerRule::ALL.iter().all(|rule| *rule == Spool || without.has(*rule))
        );
        let alone = rules(&["HARDPAN_NAIVE_PLAN", "HARDPAN_ENABLE_RULE_RUNTIME_FILTER"]);
        let has = |rule: &&OptimizerRule| alone.has(**rule);
        let found: Vec<_> = OptimizerRule::ALL.iter().filter(has).copied().collect();
        assert_eq!(found, [PredicatePushdown, ScanPredicate, HashJoin, RuntimeFilter]);
        let preferred = rules(&["HARDPAN_PREFER_RULE_SPOOL"]);
        assert!(preferred.prefers(Spool) && !preferred.prefers(HashJoin) && preferred.has(HashJoin));
        assert!(is_rule_hint("HARDPAN_DISABLE_RULE_SPOOL") && !is_rule_hint("HARDPAN_DISABLE_RULE_"));
    }
}

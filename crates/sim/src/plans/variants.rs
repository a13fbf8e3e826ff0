//! The ways in which a statement is planned: naive, with single rules, with all rules, and with any.

use os::Rng;
use query::OptimizerRule;

/// The hints of a plan; the empty one is the plan that everybody gets.
pub(super) type Variant = Vec<String>;

/// Scans, nested loops, filters where they were written.
pub(super) fn naive() -> Variant {
    vec!["HARDPAN_NAIVE_PLAN".to_owned()]
}

/// The others: with all rules, with all preferred, some rules alone, some sets of them. What a world leaves out another one has: more statements find more
/// than more plans of each. `few`: statements that take long are planned in fewer ways.
pub(super) fn others(rng: &mut Rng, few: bool) -> Vec<Variant> {
    let mut all = vec![Variant::new(), OptimizerRule::ALL.iter().map(preferred).collect()];
    for rule in OptimizerRule::ALL {
        if rng.chance(1, if few { 8 } else { 3 }) {
            let mut variant = vec![naive().remove(0), preferred(rule)];
            // An index that has all columns that are wanted gives many rules something to do.
            if rng.chance(1, 2) {
                let both = [OptimizerRule::ColumnPruning, OptimizerRule::IndexSelection];
                variant.extend(both.iter().filter(|other| *other != rule).map(preferred));
            }
            all.push(variant);
        }
    }
    for _ in 0..if few { 2 } else { 4 } {
        all.push(drawn(rng));
    }
    all
}

fn preferred(rule: &OptimizerRule) -> String {
    format!("HARDPAN_PREFER_RULE_{}", rule.name())
}

/// Any rules, some of them preferred.
fn drawn(rng: &mut Rng) -> Variant {
    let share = 1 + rng.below(6);
    let mut variant = Variant::new();
    for rule in OptimizerRule::ALL {
        if rng.chance(share, 8) {
            variant.push(preferred(rule));
        } else if rng.chance(1, 4) {
            variant.push(format!("HARDPAN_DISABLE_RULE_{}", rule.name()));
        }
    }
    variant
}

/// OPTION for a variant.
pub(super) fn option(variant: &Variant) -> String {
    if variant.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = variant.iter().map(|hint| format!("'{hint}'")).collect();
    format!(" OPTION (USE HINT ({}))", quoted.join(", "))
}

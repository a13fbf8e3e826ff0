//! `query_plan_hash`: a hash of a plan without its literals.

use plan_ir::context::VariableDef;
use plan_ir::hashes::Hasher;

use super::Operator;
use crate::statement::CompiledStatement;

impl CompiledStatement {
    /// The number of its plan, made of its operators and what they read and change; none without a plan.
    pub fn plan_hash(&self, variables: &[VariableDef]) -> Option<u64> {
        *self.plan_hash.get_or_init(|| self.describe(variables).map(|root| root.hash()))
    }
}

impl Operator {
    /// The number of it and everything below.
    pub fn hash(&self) -> u64 {
        let mut hasher = Hasher::new();
        self.add_to(&mut hasher);
        hasher.number()
    }

    fn add_to(&self, hasher: &mut Hasher) {
        hasher.word(self.physical);
        hasher.word(self.logical);
        self.objects.iter().for_each(|object| hasher.word(&object.text()));
        self.children.iter().for_each(|child| child.add_to(hasher));
        hasher.word("end");
    }
}

//! What the hints of a bulk load ask for.

/// How a bulk load treats its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BulkRules {
    /// KEEP_NULLS: NULL stays NULL where the column has a default.
    pub keep_nulls: bool,
    /// KEEP_IDENTITY: the identity column gets the values of the rows.
    pub keep_identity: bool,
    /// CHECK_CONSTRAINTS: CHECK and FOREIGN KEY constraints are checked; else they are not trusted afterwards.
    pub check_constraints: bool,
    /// TABLOCK: the table is locked as a whole.
    pub table_lock: bool,
    /// FIRE_TRIGGERS: the INSERT triggers of the table fire.
    pub fire_triggers: bool,
    /// ORDER: columns by which the rows are sorted, and whether descending.
    pub order: Vec<(String, bool)>,
}

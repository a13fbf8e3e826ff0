//! The row order of catalog views: that of the clustered keys of SQL Server's underlying system tables. Programs that read
//! `sys.index_columns` or `sys.columns` without ORDER BY rely on it.

use plan_ir::view::SystemView;

/// Views of the schema `sys`, and the columns by which their rows ascend. Negative ids, which the system uses, follow the others.
static KEYS: &[(&str, &[&str])] = &[
    ("objects", &["object_id"]),
    ("all_objects", &["object_id"]),
    ("system_objects", &["object_id"]),
    ("sysobjects", &["id"]),
    ("tables", &["object_id"]),
    ("views", &["object_id"]),
    ("all_views", &["object_id"]),
    ("system_views", &["object_id"]),
    ("procedures", &["object_id"]),
    ("triggers", &["object_id"]),
    ("trigger_events", &["object_id", "type"]),
    ("sequences", &["object_id"]),
    ("sql_modules", &["object_id"]),
    ("all_sql_modules", &["object_id"]),
    ("system_sql_modules", &["object_id"]),
    ("syscomments", &["id", "number", "colid"]),
    ("parameters", &["object_id", "parameter_id"]),
    ("system_parameters", &["object_id", "parameter_id"]),
    ("schemas", &["schema_id"]),
    ("types", &["user_type_id"]),
    ("columns", &["object_id", "column_id"]),
    ("all_columns", &["object_id", "column_id"]),
    ("identity_columns", &["object_id", "column_id"]),
    ("computed_columns", &["object_id", "column_id"]),
    ("indexes", &["object_id", "index_id"]),
    ("index_columns", &["object_id", "index_id", "index_column_id"]),
    ("stats", &["object_id", "stats_id"]),
    ("stats_columns", &["object_id", "stats_id", "stats_column_id"]),
    ("key_constraints", &["object_id"]),
    ("check_constraints", &["object_id"]),
    ("default_constraints", &["object_id"]),
    ("foreign_keys", &["object_id"]),
    ("foreign_key_columns", &["constraint_object_id", "constraint_column_id"]),
];

/// The sort key of a view; empty if its rows come in the order in which they are made.
pub(super) fn of(view: &SystemView) -> &'static [&'static str] {
    let found = KEYS.iter().find(|(name, _)| view.schema == "sys" && view.name == *name);
    found.map_or(&[], |(_, columns)| columns)
}

#[cfg(test)]
mod tests {
    use super::KEYS;

    #[test]
    fn each_key_is_that_of_a_view_whose_rows_are_made() {
        for (name, columns) in KEYS {
            let view = super::super::find(Some("sys"), name).unwrap_or_else(|| panic!("sys.{name}"));
            assert!(view.query.is_none() && view.stream.is_none(), "{name}");
            assert_eq!(view.key().len(), columns.len(), "{name}");
        }
    }
}

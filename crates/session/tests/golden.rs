//! Runs golden scripts through sessions: those of `query` (format in `query::scripts`) and those in `tests/scripts`, which need
//! transactions, options and batches.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::World;
use hardpan_session::{ColumnDescription, Done, EnvironmentChange, Flow, RequestEnd, ResultSink, Session};
use query::scripts::{judge, parse, show_row};
use types::{SqlError, SqlType, Value};

/// Rows of all result sets, and the first error.
#[derive(Default)]
struct Outcome {
    rows: Vec<String>,
    error: Option<SqlError>,
}

impl ResultSink for Outcome {
    fn columns(&mut self, _: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.rows.push(show_row(row));
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        if message.severity > 10 && self.error.is_none() {
            self.error = Some(message.clone());
        }
    }
    fn done(&mut self, _: Done) {}
    fn return_status(&mut self, _: i32) {}
    fn return_value(&mut self, _: u16, _: &str, _: &SqlType, _: &Value) {}
    fn environment(&mut self, _: EnvironmentChange) {}
}

fn batch(session: &mut Session, text: &str) -> Result<Vec<String>, SqlError> {
    let mut outcome = Outcome::default();
    assert_eq!(session.execute_batch(text, &mut outcome), RequestEnd::Finished, "{text}");
    outcome.error.map_or(Ok(outcome.rows), Err)
}

fn run(name: &str, text: &str) {
    let world = World::new(&format!("golden-{name}"));
    let mut session = world.session();
    batch(&mut session, "CREATE DATABASE db").unwrap();
    batch(&mut session, "USE db").unwrap();
    let outcomes =
        parse(text).unwrap().into_iter().map(|record| judge(&record, &batch(&mut session, &record.sql)));
    let failures: Vec<String> = outcomes.filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{name}: {} failures\n{}", failures.len(), failures.join("\n----------\n"));
}

macro_rules! script {
    ($folder:literal $name:ident) => {
        #[test]
        fn $name() {
            run(stringify!($name), include_str!(concat!($folder, stringify!($name), ".test")));
        }
    };
}

script!("../../query/tests/scripts/" expressions);
script!("../../query/tests/scripts/" functions);
script!("../../query/tests/scripts/" builtin);
script!("../../query/tests/scripts/" select);
script!("../../query/tests/scripts/" joins);
script!("../../query/tests/scripts/" aggregates);
script!("../../query/tests/scripts/" changes);
script!("../../query/tests/scripts/" views);
script!("../../query/tests/scripts/" seeds);
script!("../../query/tests/scripts/" like_seek);
script!("../../query/tests/scripts/" predicates_below);
script!("scripts/" cursors);
script!("scripts/" hints);
script!("scripts/" set_options);
script!("scripts/" alter_database);
script!("scripts/" identity_insert);
script!("scripts/" output_clause);
script!("scripts/" merge);
script!("scripts/" time_zones);
script!("scripts/" cultures);
script!("scripts/" changes_from);
script!("scripts/" changes_through_views);
script!("scripts/" select_into);
script!("scripts/" foreign_keys);
script!("scripts/" constraint_state);
script!("scripts/" cascades);
script!("scripts/" instead_of_triggers);
script!("scripts/" triggers);
script!("scripts/" synonyms);
script!("scripts/" ddl_triggers);
script!("scripts/" typed_null);
script!("scripts/" user_function_cursors);
script!("scripts/" user_functions);
script!("scripts/" user_functions_in_statements);
script!("scripts/" for_json);
script!("scripts/" pivot);
script!("scripts/" for_xml);
script!("scripts/" xml_methods);
script!("scripts/" xml_modify);
script!("scripts/" open_xml);
script!("scripts/" xml_scripts);
script!("scripts/" computed_columns);
script!("scripts/" row_counts);
script!("scripts/" index_pages);
script!("scripts/" index_uses);
script!("scripts/" collations_and_texts);
script!("scripts/" due_errors);
script!("scripts/" errors);
script!("scripts/" filtered_indexes);
script!("scripts/" alter_index);
script!("scripts/" table_rebuild);
script!("scripts/" table_parameters_of_functions);
script!("scripts/" table_types);
script!("scripts/" catalog_order);
script!("scripts/" own_schema);
script!("scripts/" included_columns);
script!("scripts/" native_procedures);
script!("scripts/" random_numbers);
script!("scripts/" session_context);
script!("scripts/" session_values);
script!("scripts/" documented_forms);
script!("scripts/" types_and_values);
script!("scripts/" documented_functions);
script!("scripts/" deferred_names);
script!("scripts/" windows);
script!("scripts/" whole_tables);
script!("scripts/" recursions);
script!("scripts/" principals);
script!("scripts/" query_store);
script!("scripts/" ignore_dup_key);
script!("scripts/" schema_transfer);
script!("scripts/" schema_binding);
script!("scripts/" machine_views);
script!("scripts/" absent_kinds);
script!("scripts/" result_sets);

//! DBCC SHOW_STATISTICS: header, densities and histogram of an index, of statistics by name, or of a column's automatic statistics. Views
//! supply the rows.

use tsql::ast;
use types::{SqlError, SqlResult, Value};

use crate::commands::dbcc_check::argument;
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

impl Session {
    /// DBCC SHOW_STATISTICS (table, target) WITH STAT_HEADER, DENSITY_VECTOR, HISTOGRAM: all three when none is named. Errors 2501, 2526, 2767.
    pub(crate) fn show_statistics(
        &mut self,
        dbcc: &ast::Dbcc,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let mut parts = [false; 3];
        for option in &dbcc.options {
            match option.name.value.to_uppercase().as_str() {
                "NO_INFOMSGS" => {}
                "STAT_HEADER" => parts[0] = true,
                "DENSITY_VECTOR" => parts[1] = true,
                "HISTOGRAM" => parts[2] = true,
                _ => return Err(SqlError::new(2526, &[]).into()),
            }
        }
        if parts == [false; 3] {
            parts = [true; 3];
        }
        let arguments = dbcc.args.iter().map(argument).collect::<SqlResult<Vec<Value>>>()?;
        let [table, target] = arguments.as_slice() else { return Err(SqlError::new(2526, &[]).into()) };
        let (database, table) = self.table_for_check(table)?;
        let target = target.as_text().unwrap_or_default();
        let target = target.trim_start_matches('[').trim_end_matches(']');
        let of_index = table.index_named(target).map(|index| index.index_id);
        let present = engine::Lookup::new(&self.transactions).statistics(&database, table.object_id)?;
        let of_name = || present.iter().find(|def| def.is_named(target));
        // A column's name selects the automatic statistics of the column.
        let of_column = || {
            let column = &table.columns[table.column_ordinal(target)?];
            present.iter().find(|def| def.is_auto && def.column_ids.first() == Some(&column.column_id))
        };
        let found = of_index.or_else(|| of_name().or_else(of_column).map(|def| def.stats_id));
        let Some(stats_id) = found else { return Err(SqlError::new(2767, &[&target]).into()) };
        let place = format!("[{}].sys", database.name().replace(']', "]]"));
        let id = format!("({}, {stats_id})", table.object_id);
        let texts = [
            format!(
                "SELECT Name = s.name, Updated = CONVERT(nvarchar(20), p.last_updated, 100), Rows = p.rows, [Rows Sampled] = p.rows_sampled, \
                 Steps = CAST(p.steps AS smallint), Density = h.density, [Average key length] = h.average_key_length, \
                 [String Index] = 'NO ', [Filter Expression] = s.filter_definition, [Unfiltered Rows] = p.unfiltered_rows, \
                 [Persisted Sample Percent] = p.persisted_sample_percent \
                 FROM {place}.stats AS s CROSS JOIN {place}.dm_db_stats_properties{id} AS p LEFT JOIN {place}.spt_statistics{id} AS h ON 1 = 1 \
                 WHERE s.object_id = {} AND s.stats_id = {stats_id}",
                table.object_id
            ),
            format!(
                "SELECT [All density] = density, [Average Length] = average_length, Columns = columns \
                 FROM {place}.spt_statistics_densities{id} ORDER BY prefix"
            ),
            format!(
                "SELECT RANGE_HI_KEY = range_high_key, RANGE_ROWS = range_rows, EQ_ROWS = equal_rows, \
                 DISTINCT_RANGE_ROWS = distinct_range_rows, AVG_RANGE_ROWS = average_range_rows \
                 FROM {place}.dm_db_stats_histogram{id} ORDER BY step_number"
            ),
        ];
        let wanted = texts.iter().zip(parts).filter(|(_, wanted)| *wanted);
        wanted.map(|(text, _)| text).try_for_each(|text| self.show_rows_of(text, sink))
    }
}

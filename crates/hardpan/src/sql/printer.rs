//! Results as text in the manner of sqlcmd: aligned columns, dashes, counts, messages.

use types::{ConvertContext, DEFAULT_STYLE, Length, SqlError, SqlType, Value};

/// The greatest width of a column (variable-length types).
const COLUMN_CHARACTERS_MAX: usize = 256;
/// The format of dates: yyyy-mm-dd hh:mi:ss.mmm.
const DATE_STYLE: i32 = 121;

/// The format of results.
#[derive(Clone, Debug)]
pub struct Layout {
    /// `-s`: between columns.
    pub separator: String,
    /// `-W`: no padding.
    pub trim: bool,
    /// `-h`: rows between two headers; 0 for one header only, -1 for none.
    pub rows_per_header: i64,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { separator: " ".into(), trim: false, rows_per_header: 0 }
    }
}

/// A column of the current result set.
#[derive(Clone, Debug)]
pub struct PrintedColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
}

/// Writes results as they arrive.
pub struct Printer<'a> {
    layout: &'a Layout,
    server: &'a str,
    out: &'a mut dyn std::io::Write,
    columns: Vec<PrintedColumn>,
    widths: Vec<usize>,
    /// Rows of the result set so far.
    rows: i64,
    /// Its first value.
    first_value: Option<Value>,
    /// Highest severity of an error so far.
    severity_max: u8,
    /// Writing to the terminal failed (closed pipe): nothing more is written.
    broken: bool,
}

impl<'a> Printer<'a> {
    /// Prints to `out`; `server` is named in messages.
    pub fn new(layout: &'a Layout, server: &'a str, out: &'a mut dyn std::io::Write) -> Printer<'a> {
        Printer {
            layout,
            server,
            out,
            columns: Vec::new(),
            widths: Vec::new(),
            rows: 0,
            first_value: None,
            severity_max: 0,
            broken: false,
        }
    }

    /// Highest severity of an error so far, 0 without one.
    pub fn severity_max(&self) -> u8 {
        self.severity_max
    }

    /// The first value of the last result set; none when it has no rows.
    pub fn first_value(&self) -> Option<Value> {
        self.first_value.clone()
    }

    /// Is the output closed?
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// A result set begins.
    pub fn columns(&mut self, columns: Vec<PrintedColumn>) {
        self.widths =
            columns.iter().map(|c| display_width(&c.sql_type).max(c.name.chars().count())).collect();
        self.columns = columns;
        self.rows = 0;
        self.first_value = None;
        self.header();
    }

    fn header(&mut self) {
        if self.layout.rows_per_header >= 0 {
            let names: Vec<String> = self.columns.iter().map(|c| c.name.clone()).collect();
            self.line(&names, |_| false);
            let dashes: Vec<String> = self
                .widths
                .iter()
                .zip(&names)
                .map(|(w, n)| "-".repeat(if self.layout.trim { n.chars().count() } else { *w }))
                .collect();
            self.line(&dashes, |_| false);
        }
    }

    /// A row of it.
    pub fn row(&mut self, row: &[Value]) {
        if self.rows > 0 && self.layout.rows_per_header > 0 && self.rows % self.layout.rows_per_header == 0 {
            self.write("\n");
            self.header();
        }
        if self.rows == 0 {
            self.first_value = row.first().cloned();
        }
        self.rows += 1;
        let cells: Vec<String> =
            row.iter().zip(&self.columns).map(|(value, column)| show(value, &column.sql_type)).collect();
        let numeric: Vec<bool> = self.columns.iter().map(|c| is_right_aligned(&c.sql_type)).collect();
        self.line(&cells, |at| numeric.get(at).copied().unwrap_or(false));
    }

    /// A statement ended.
    pub fn done(&mut self, row_count: Option<u64>) {
        let had_columns = !std::mem::take(&mut self.columns).is_empty();
        if let Some(count) = row_count {
            let plural = if count == 1 { "" } else { "s" };
            self.write(&format!("\n({count} row{plural} affected)\n"));
        } else if had_columns {
            self.write("\n");
        }
    }

    /// An error or message.
    pub fn message(&mut self, message: &SqlError) {
        if message.severity > 10 {
            self.severity_max = self.severity_max.max(message.severity);
        }
        // Severity 10 is sent as 0 (documented) and printed without a header, like PRINT.
        if message.severity > 0 && message.severity != 10 {
            let procedure =
                message.procedure.as_ref().map(|p| format!("Procedure {p}, ")).unwrap_or_default();
            let head = format!(
                "Msg {}, Level {}, State {}, Server {}, {procedure}Line {}\n",
                message.number, message.severity, message.state, self.server, message.line
            );
            self.write(&head);
        }
        if message.number != 5701 && message.number != 5703 {
            self.write(&format!("{}\n", message.message));
        }
    }

    fn line(&mut self, cells: &[String], right: impl Fn(usize) -> bool) {
        let mut line = String::new();
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                line.push_str(&self.layout.separator);
            }
            let width = self.widths.get(at).copied().unwrap_or(0);
            let missing = if self.layout.trim { 0 } else { width.saturating_sub(cell.chars().count()) };
            let shown = if self.layout.trim { cell.trim_end() } else { cell.as_str() };
            if right(at) {
                line.extend(std::iter::repeat_n(' ', missing));
                line.push_str(shown);
            } else {
                line.push_str(shown);
                line.extend(std::iter::repeat_n(' ', missing));
            }
        }
        line.push('\n');
        self.write(&line);
    }

    fn write(&mut self, text: &str) {
        if !self.broken && self.out.write_all(text.as_bytes()).is_err() {
            self.broken = true;
        }
    }
}

/// A value as text.
pub fn show(value: &Value, sql_type: &SqlType) -> String {
    if value.is_null() {
        return "NULL".into();
    }
    if let Value::Bit(on) = value {
        return if *on { "1".into() } else { "0".into() };
    }
    let style = match sql_type {
        SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::Image | SqlType::RowVersion => 1,
        SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::DateTime2(_)
        | SqlType::Date
        | SqlType::DateTimeOffset(_) => DATE_STYLE,
        SqlType::Float | SqlType::Real => 3,
        _ => DEFAULT_STYLE,
    };
    if style == 3 {
        return match value {
            Value::Float(number) => trimmed_float(*number),
            Value::Real(number) => trimmed_float(f64::from(*number)),
            _ => String::new(),
        };
    }
    let text = SqlType::NVarChar(Length::Max);
    match types::convert(value, sql_type, &text, style, &ConvertContext::default()) {
        Ok(converted) => converted.as_text().unwrap_or_default(),
        Err(_) => value.as_text().unwrap_or_else(|| format!("{value:?}")),
    }
}

fn trimmed_float(number: f64) -> String {
    if number != 0.0 && !(1e-5..1e15).contains(&number.abs()) {
        return format!("{number:E}");
    }
    format!("{number}")
}

fn is_right_aligned(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Bit
            | SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Decimal { .. }
            | SqlType::Numeric { .. }
            | SqlType::Money
            | SqlType::SmallMoney
            | SqlType::Real
            | SqlType::Float
    )
}

/// The width that any value of the type needs.
fn display_width(sql_type: &SqlType) -> usize {
    let limited = |length: &Length, factor: usize| match length {
        Length::N(n) => (usize::from(*n) * factor).min(COLUMN_CHARACTERS_MAX),
        Length::Max => COLUMN_CHARACTERS_MAX,
    };
    match sql_type {
        SqlType::Bit => 1,
        SqlType::TinyInt => 3,
        SqlType::SmallInt => 6,
        SqlType::Int => 11,
        SqlType::BigInt => 20,
        SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => {
            usize::from(*precision) + 2
        }
        SqlType::Money => 21,
        SqlType::SmallMoney => 12,
        SqlType::Real => 14,
        SqlType::Float => 24,
        SqlType::Char(n) | SqlType::NChar(n) => usize::from(*n).min(COLUMN_CHARACTERS_MAX),
        SqlType::VarChar(length) | SqlType::NVarChar(length) => limited(length, 1),
        SqlType::Binary(n) => (usize::from(*n) * 2 + 2).min(COLUMN_CHARACTERS_MAX),
        SqlType::VarBinary(length) => limited(length, 2),
        SqlType::Date => 10,
        SqlType::Time(_) => 16,
        SqlType::DateTime => 23,
        SqlType::SmallDateTime => 19,
        SqlType::DateTime2(_) => 27,
        SqlType::DateTimeOffset(_) => 34,
        SqlType::UniqueIdentifier => 36,
        SqlType::SysName => 128,
        _ => COLUMN_CHARACTERS_MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(layout: &Layout, columns: &[(&str, SqlType)], rows: &[Vec<Value>]) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(layout, "local", &mut out);
        printer.columns(
            columns.iter().map(|(n, t)| PrintedColumn { name: (*n).into(), sql_type: *t }).collect(),
        );
        rows.iter().for_each(|row| printer.row(row));
        printer.done(Some(rows.len() as u64));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_as_sqlcmd_does() {
        let text = printed(
            &Layout::default(),
            &[("id", SqlType::Int), ("name", SqlType::VarChar(Length::N(6)))],
            &[vec![Value::Int(7), Value::varchar("ab")], vec![Value::Null, Value::Null]],
        );
        assert_eq!(
            text,
            "id          name  \n----------- ------\n          7 ab    \n       NULL NULL  \n\n(2 rows affected)\n"
        );
    }

    #[test]
    fn trimmed_output_without_headers() {
        let layout = Layout { separator: "|".into(), trim: true, rows_per_header: -1 };
        let text = printed(
            &layout,
            &[("id", SqlType::Int), ("b", SqlType::Bit)],
            &[vec![Value::Int(7), Value::Bit(true)]],
        );
        assert_eq!(text, "7|1\n\n(1 row affected)\n");
    }

    #[test]
    fn errors_have_sql_servers_form() {
        let mut out = Vec::new();
        let layout = Layout::default();
        let mut printer = Printer::new(&layout, "local", &mut out);
        printer.message(&SqlError::custom(208, 16, 1, "Invalid object name 'x'.".into()).at_line(3));
        assert_eq!(printer.severity_max(), 16);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "Msg 208, Level 16, State 1, Server local, Line 3\nInvalid object name 'x'.\n"
        );
    }
}

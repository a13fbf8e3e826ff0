//! OPENXML: its columns, from WITH, from a table, or the edge table. `sysviews/src/open_xml.rs` makes its rows.

use plan_ir::bound::tree::{Expr, Rel};
use plan_ir::built_ins::{UnnamedFunction, XmlRows};
use plan_ir::kinds::{CatalogReading, Conversion, ConversionKind};
use tsql::ast::{self, Literal};
use types::{SqlError, SqlType, Value};

use super::{Binder, ScopeColumn, coerce};

/// Its name in messages, and of its table without an alias.
const NAME: &str = "OPENXML";

/// A column as it is declared: name, type, pattern.
type Declared = (String, SqlType, Option<String>);

impl Binder<'_> {
    /// OPENXML(@handle, pattern [, flags]) [WITH (columns) | WITH table]. Error 102: an argument is more than a variable or a literal.
    pub(super) fn open_xml(&mut self, open: &ast::OpenXml) -> Result<Rel, SqlError> {
        let [handle, pattern, rest @ ..] = open.args.as_slice() else {
            return Err(plan_ir::errors::too_few_arguments(NAME));
        };
        if !matches!(handle.kind, ast::ExprKind::Variable(_)) {
            return Err(SqlError::new(102, &[&NAME]));
        }
        for argument in std::iter::once(pattern).chain(rest) {
            if !matches!(argument.kind, ast::ExprKind::Variable(_) | ast::ExprKind::Literal(_)) {
                return Err(SqlError::new(102, &[&","]));
            }
        }
        let flags = match rest {
            [] => Expr::constant(Value::Int(0), SqlType::Int),
            [flags] => coerce::implicit(self.value(flags)?, &SqlType::Int)?,
            _ => return Err(plan_ir::errors::too_many_arguments(NAME)),
        };
        let arguments = vec![
            coerce::implicit(self.value(handle)?, &SqlType::Int)?,
            coerce::implicit(self.value(pattern)?, &SqlType::NVARCHAR_MAX)?,
        ];
        let declared = self.declared_columns(open)?;
        let alias = open.alias.as_ref().map_or(NAME, |alias| alias.value.as_str());
        let database = self.current_database();
        let rows = if declared.is_none() { XmlRows::Edges } else { XmlRows::Prepared };
        let view = self.built_ins.xml_rows(rows);
        let rel = self.add_system(view, database, arguments, (alias, true), CatalogReading::Settled)?;
        match declared {
            None => Ok(rel),
            Some(declared) => self.open_columns(rel, &declared, &flags),
        }
    }

    fn declared_columns(&mut self, open: &ast::OpenXml) -> Result<Option<Vec<Declared>>, SqlError> {
        if let Some(table) = &open.table {
            let source = self.base_table(table)?;
            let columns = source.def.columns.iter();
            return Ok(Some(
                columns.map(|column| (column.name.to_string(), column.sql_type, None)).collect(),
            ));
        }
        if open.columns.is_empty() {
            return Ok(None);
        }
        let mut all = Vec::with_capacity(open.columns.len());
        for (at, column) in open.columns.iter().enumerate() {
            if column.collation.is_some() || column.as_json {
                return Err(plan_ir::errors::unsupported("COLLATE in OPENXML"));
            }
            let place = plan_ir::data_type::TypePlace::Column(at + 1);
            let sql_type = plan_ir::data_type::declared(&column.data_type, place)?;
            let pattern = match column.path.as_ref().map(|path| &path.kind) {
                None => None,
                Some(ast::ExprKind::Literal(Literal::String(text) | Literal::NString(text))) => {
                    check_property(text)?;
                    Some(text.clone())
                }
                Some(_) => return Err(SqlError::new(102, &[&column.name.value])),
            };
            all.push((column.name.value.clone(), sql_type, pattern));
        }
        Ok(Some(all))
    }

    /// The declared columns over the rows of the document, a node's number and the declarations of namespaces.
    fn open_columns(&mut self, rel: Rel, declared: &[Declared], flags: &Expr) -> Result<Rel, SqlError> {
        let hidden: Vec<_> =
            self.scope().tables.last().expect("added above").columns.iter().map(|column| column.id).collect();
        let all = match &flags.kind {
            plan_ir::bound::tree::ExprKind::Constant(value) => value.as_i64().unwrap_or(0),
            _ => 3,
        };
        let read = |(name, _, pattern): &Declared| types::xml::patterns(pattern.as_deref(), name, all);
        let is_read = |pattern: &String| !pattern.starts_with("@mp:");
        let patterns: Vec<String> = declared.iter().flat_map(read).filter(is_read).collect();
        let (mut items, mut visible) = (Vec::new(), Vec::new());
        for (name, sql_type, pattern) in declared {
            let text = |text: &str| Expr::constant(Value::nvarchar(text), SqlType::NVARCHAR_MAX);
            let number = |number| Expr::constant(Value::Int(number), SqlType::Int);
            let arguments = vec![
                self.column_expr(hidden[0]),
                self.column_expr(hidden[1]),
                pattern.as_deref().map_or_else(Expr::null, text),
                text(name),
                self.column_expr(hidden[2]),
                flags.clone(),
                number(i32::from(*sql_type == SqlType::Xml)),
                text(&patterns.join("\n")),
            ];
            let value = self.xml_call(UnnamedFunction::XmlColumn, arguments);
            let conversion = Conversion { kind: ConversionKind::Explicit, style: types::DEFAULT_STYLE };
            let value = coerce::convert(value, sql_type, conversion)?;
            let id = self.new_column(value.sql_type, true, value.collation);
            items.push((id, value));
            visible.push(ScopeColumn {
                name: name.clone(),
                id,
                identity: false,
                rowguid: false,
                base: false,
            });
        }
        self.scope().tables.last_mut().expect("added above").columns = visible;
        Ok(Rel::Project { input: Box::new(rel), items })
    }
}

/// Metaproperties that are not known are refused.
fn check_property(pattern: &str) -> Result<(), SqlError> {
    match pattern.strip_prefix("@mp:") {
        Some(property) if !types::xml::is_property(property) => {
            Err(plan_ir::errors::unsupported(&format!("the metaproperty @mp:{property}")))
        }
        _ => Ok(()),
    }
}

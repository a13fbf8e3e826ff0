//! Methods of the xml type: their texts are compiled here for their errors and arguments, and evaluated by `executor/src/functions/xml.rs`.
//!
//! A column of `nodes` stands for a node: its value is the xml that has the node, and a hidden column has the node's number.

use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::built_ins::{UnnamedFunction, XmlRows};
use plan_ir::kinds::{CatalogReading, ColumnId, Conversion, ConversionKind};
use tsql::ast::{self, Literal};
use types::xml::{External, Method, compile, items_of};
use types::{SqlError, SqlType, Value};

use super::{Binder, call, coerce};

/// Bytes of a text that a method takes, at most.
const TEXT_BYTES_MAX: usize = 8000 * 2;

/// What a method is called of.
pub(super) struct Subject {
    /// The xml.
    pub(super) value: Expr,
    /// The number of a node in it.
    pub(super) node: Option<Expr>,
}

impl Binder<'_> {
    /// What stands in front of a method. A column of `nodes` may stand here alone.
    pub(super) fn method_subject(&mut self, target: &ast::Expr) -> Result<Subject, SqlError> {
        if let ast::ExprKind::Column(column) = &target.kind
            && let Ok((found, _)) = self.find_column(column)
        {
            return Ok(self.subject_of_column(found.id));
        }
        Ok(Subject { value: self.value(target)?, node: None })
    }

    pub(super) fn subject_of_column(&self, column: ColumnId) -> Subject {
        let node = self.node_columns.get(&column).map(|node| self.column_expr(*node));
        Subject { value: self.column_expr(column), node }
    }

    /// A column of `nodes` gives nothing but what methods read. Error 493.
    pub(super) fn check_no_node(&self, column: ColumnId, name: &str) -> Result<(), SqlError> {
        match self.node_columns.contains_key(&column) {
            true => Err(SqlError::new(493, &[&name])),
            false => Ok(()),
        }
    }

    /// A method that gives a value. Errors 258 (it is not xml), 174, 8172, 243, 8137, 4148 and those of the text.
    pub(super) fn xml_method(
        &mut self,
        subject: Subject,
        method: &str,
        arguments: &[ast::Expr],
    ) -> Result<Expr, SqlError> {
        if subject.value.sql_type != SqlType::Xml {
            return Err(call::method_of(&subject.value.sql_type));
        }
        let function = match Method::named(method) {
            Some(Method::Modify) => return Err(SqlError::new(8137, &[&method])),
            Some(Method::Value) => UnnamedFunction::XmlValue,
            Some(Method::Query) => UnnamedFunction::XmlQuery,
            Some(Method::Exist) => UnnamedFunction::XmlExist,
            Some(Method::Nodes | Method::Pattern) | None => {
                return Err(call::method_of(&subject.value.sql_type));
            }
        };
        if self.is_binding_group_key {
            return Err(SqlError::new(4148, &[]));
        }
        let method = Method::named(method).expect("matched above");
        match (method, arguments) {
            (Method::Value, [text, to]) => {
                let values = self.method_arguments(method, subject, text)?;
                let to = named_type(&literal(method, to, 2)?)?;
                let conversion = Conversion { kind: ConversionKind::Explicit, style: types::DEFAULT_STYLE };
                let converted = coerce::convert(self.xml_call(function, values), &to, conversion)?;
                Ok(Expr { nullable: true, ..converted })
            }
            (Method::Query | Method::Exist, [text]) => {
                let values = self.method_arguments(method, subject, text)?;
                Ok(self.xml_call(function, values))
            }
            _ => {
                let wanted = if method == Method::Value { 2 } else { 1 };
                Err(SqlError::new(174, &[&method.name(), &wanted]))
            }
        }
    }

    /// The changed value of `SET x.modify(..)`; `name`: what is changed, for a message. Errors 8113, 258, 174, 8172.
    pub fn xml_mutator(
        &mut self,
        (value, name): (Expr, &str),
        method: &str,
        arguments: &[ast::Expr],
    ) -> Result<Expr, SqlError> {
        if value.sql_type != SqlType::Xml {
            return Err(call::method_of(&value.sql_type));
        }
        if Method::named(method) != Some(Method::Modify) {
            return Err(SqlError::new(8113, &[&method]));
        }
        let [text] = arguments else { return Err(SqlError::new(174, &[&method, &1])) };
        let mut values = self.method_arguments(Method::Modify, Subject { value, node: None }, text)?;
        values.insert(3, Expr::constant(Value::nvarchar(name), SqlType::nvarchar(256)));
        Ok(self.xml_call(UnnamedFunction::XmlModify, values))
    }

    pub(super) fn xml_call(&self, function: UnnamedFunction, values: Vec<Expr>) -> Expr {
        let function = self.built_ins.unnamed(function);
        let plan_ir::function_def::ResultRule::Fixed(sql_type) = function.result else {
            unreachable!("methods of xml have one type of result");
        };
        Expr::new(ExprKind::Call(function, values), sql_type, true)
    }

    /// The xml, the node's number or NULL, the text with the namespaces of the statement, and the values that the text names.
    fn method_arguments(
        &mut self,
        method: Method,
        subject: Subject,
        text: &ast::Expr,
    ) -> Result<Vec<Expr>, SqlError> {
        let written = literal(method, text, 1)?;
        if written.len() > TEXT_BYTES_MAX && written.encode_utf16().count() * 2 > TEXT_BYTES_MAX {
            return Err(SqlError::new(9502, &[&1, &method.name(), &TEXT_BYTES_MAX]));
        }
        let text = self.declared_namespaces() + &written;
        let mut externals = Vec::new();
        let is_node = subject.node.is_some();
        compile(&text, method, is_node, &mut |external| {
            let value = self.telling_first_name(|binder| binder.external_value(external))?;
            let items = items_of(&value.sql_type, method == Method::Modify, method)?;
            externals.push(value);
            Ok(items)
        })?;
        let text = Expr::constant(Value::nvarchar(&text), SqlType::NVARCHAR_MAX);
        let node = subject.node.unwrap_or_else(Expr::null);
        let mut values = vec![subject.value, node, text];
        values.append(&mut externals);
        Ok(values)
    }

    /// WITH XMLNAMESPACES as the declarations of an XQuery prolog; those of the text itself come later and count more.
    fn declared_namespaces(&self) -> String {
        let mut prolog = String::new();
        for (prefix, uri) in &self.xml_namespaces {
            let uri = uri.replace('&', "&amp;").replace('"', "&quot;");
            match prefix {
                Some(prefix) => prolog.push_str(&format!("declare namespace {prefix}=\"{uri}\"; ")),
                None => prolog.push_str(&format!("declare default element namespace \"{uri}\"; ")),
            }
        }
        prolog
    }

    /// The value of `sql:variable("@v")` or `sql:column("t.c")`. Error 9501.
    fn external_value(&mut self, external: &External) -> Result<Expr, SqlError> {
        let unresolved = || SqlError::new(9501, &[&external.name]);
        let expr = plan_ir::stored::parse_expression(&external.name);
        let expr = expr.map_err(|error| if external.is_column { error } else { unresolved() })?;
        match (&expr.kind, external.is_column) {
            (ast::ExprKind::Variable(_), false) => self.value(&expr).map_err(|_| unresolved()),
            (ast::ExprKind::Column(_), true) => self.value(&expr),
            (_, true) => Err(plan_ir::errors::invalid_column(&external.name)),
            (_, false) => Err(unresolved()),
        }
    }

    /// A method as a table, if it is one.
    pub(super) fn method_source(&mut self, function: &ast::TableFunction) -> Result<Option<Rel>, SqlError> {
        let (subject, method, arguments) = match &function.call.kind {
            ast::ExprKind::MethodCall(call) => {
                (self.method_subject(&call.target)?, &call.method.value, &call.args)
            }
            ast::ExprKind::Function(call) => match self.method_target(&call.name) {
                Some(column) => (self.subject_of_column(column.id), &call.name.name.value, &call.args),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.nodes_source(subject, method, function, arguments).map(Some)
    }

    /// `x.nodes(path) AS t(c)` as a table. Errors 258, 174, 8172, 102 without the names.
    fn nodes_source(
        &mut self,
        subject: Subject,
        method: &str,
        function: &ast::TableFunction,
        arguments: &[ast::Expr],
    ) -> Result<Rel, SqlError> {
        if subject.value.sql_type != SqlType::Xml || Method::named(method) != Some(Method::Nodes) {
            return Err(call::method_of(&subject.value.sql_type));
        }
        let [text] = arguments else { return Err(SqlError::new(174, &[&method, &1])) };
        let values = self.method_arguments(Method::Nodes, subject, text)?;
        let Some(alias) = function.alias.as_ref().filter(|_| !function.columns.is_empty()) else {
            return Err(SqlError::new(102, &[&method]));
        };
        let (view, database) = (self.built_ins.xml_rows(XmlRows::Nodes), self.current_database());
        let rel = self.add_system(view, database, values, (&alias.value, true), CatalogReading::Settled)?;
        let columns = &mut self.scope().tables.last_mut().expect("added above").columns;
        let (value, node) = (columns[0].id, columns[1].id);
        columns.truncate(1);
        self.columns[node.0 as usize].nullable = true;
        self.node_columns.insert(value, node);
        self.rename_columns(&function.columns)?;
        Ok(rel)
    }
}

/// An argument that must be written as a text. Error 8172.
fn literal(method: Method, argument: &ast::Expr, position: usize) -> Result<String, SqlError> {
    match &argument.kind {
        ast::ExprKind::Literal(Literal::String(text) | Literal::NString(text)) => Ok(text.clone()),
        _ => Err(SqlError::new(8172, &[&position, &method.name()])),
    }
}

/// The type that a text names. Error 9500 when it names none, or one that no value can be read as.
fn named_type(text: &str) -> Result<SqlType, SqlError> {
    let invalid = || SqlError::new(9500, &[&text]);
    let cast = plan_ir::stored::parse_expression(&format!("CAST(NULL AS {text})")).map_err(|_| invalid())?;
    let ast::ExprKind::Convert(convert) = &cast.kind else { return Err(invalid()) };
    if !matches!(convert.operand.kind, ast::ExprKind::Literal(Literal::Null)) {
        return Err(invalid());
    }
    match plan_ir::data_type::cast_target(&convert.target)? {
        SqlType::Xml | SqlType::Text | SqlType::NText | SqlType::Image | SqlType::SqlVariant => {
            Err(invalid())
        }
        sql_type => Ok(sql_type),
    }
}

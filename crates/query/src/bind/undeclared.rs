//! Parameters that nobody has declared, and the types that the places where they stand give them (documentation of
//! sp_describe_undeclared_parameters, "Parameter Selection Algorithm").
//!
//! Such a parameter is bound as a NULL without a type, so that the rules for that find the type of the other operand. Whoever binds a place
//! says here what the place wants, the first one counts: beside `=` and `<>`, in assignments, VALUES and CAST exactly the other's type
//! (simple deduction); elsewhere the widest of its kind (general deduction).

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use types::sql_type::TypeFamily;
use types::{SqlError, SqlType};

use crate::expr::{ConversionKind, Expr, ExprKind};

/// One parameter.
#[derive(Debug)]
pub struct Undeclared {
    name: String,
    /// Where it stands first, in bytes.
    offset: u32,
    deduced: OnceLock<SqlType>,
    /// The parameter of the procedure to which it is passed, and whether it comes back.
    formal: OnceLock<(String, bool)>,
}

impl Undeclared {
    /// As it is written, with `@`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type that was found for it.
    pub fn sql_type(&self) -> Option<SqlType> {
        self.deduced.get().copied()
    }

    /// The parameter to which it is passed, and whether that is one for output.
    pub fn formal(&self) -> Option<(&str, bool)> {
        self.formal.get().map(|(name, output)| (name.as_str(), *output))
    }

    /// The place wants this type. Only the first place is asked.
    pub(crate) fn note(&self, sql_type: SqlType) {
        self.deduced.get_or_init(|| sql_type);
    }

    pub(crate) fn note_formal(&self, name: &str, sql_type: SqlType, is_output: bool) {
        self.note(sql_type);
        self.formal.get_or_init(|| (name.to_string(), is_output));
    }
}

/// All of a text.
#[derive(Debug, Default)]
pub struct UndeclaredParameters {
    found: RefCell<Vec<Arc<Undeclared>>>,
    /// One that stands in two places.
    repeated: RefCell<Option<String>>,
}

impl UndeclaredParameters {
    /// The parameter of that name, which stands at that place of the text.
    pub(crate) fn meet(&self, name: &str, offset: u32) -> Arc<Undeclared> {
        let mut found = self.found.borrow_mut();
        if let Some(known) = found.iter().find(|known| known.name.eq_ignore_ascii_case(name)) {
            // Binding may look at a place twice.
            if known.offset != offset {
                self.repeated.borrow_mut().get_or_insert_with(|| known.name.clone());
            }
            return Arc::clone(known);
        }
        let (deduced, formal) = (OnceLock::new(), OnceLock::new());
        let new = Arc::new(Undeclared { name: name.to_string(), offset, deduced, formal });
        found.push(Arc::clone(&new));
        new
    }

    /// All of them in the order of the text.
    ///
    /// # Errors
    /// 11508 for one that stands in two places, 11506 for one to which no place gives a type.
    pub fn finish(self) -> Result<Vec<Arc<Undeclared>>, SqlError> {
        if let Some(name) = self.repeated.into_inner() {
            return Err(SqlError::new(11508, &[&name]));
        }
        let mut found = self.found.into_inner();
        found.sort_by_key(|parameter| parameter.offset);
        match found.iter().find(|parameter| parameter.sql_type().is_none()) {
            Some(untyped) => Err(SqlError::new(11506, &[&untyped.name])),
            None => Ok(found),
        }
    }
}

/// The parameter that an expression is.
pub(crate) fn of(expr: &Expr) -> Option<&Undeclared> {
    match &expr.kind {
        ExprKind::Undeclared(parameter) => Some(parameter),
        ExprKind::Retype(inner) => of(inner),
        _ => None,
    }
}

/// Notes that the place of an expression wants a type, if the expression is a parameter without one.
pub(crate) fn note(expr: &Expr, sql_type: SqlType) {
    if let Some(parameter) = of(expr) {
        parameter.note(sql_type);
    }
}

/// A parameter in an expression whose type hangs on it.
fn within(expr: &Expr) -> Option<&Undeclared> {
    match &expr.kind {
        ExprKind::Convert(_, conversion)
            if matches!(conversion.kind, ConversionKind::Explicit | ConversionKind::Try) =>
        {
            None
        }
        ExprKind::Subquery(_) => None,
        _ => of(expr).or_else(|| expr.children().into_iter().find_map(within)),
    }
}

/// Two operands that are brought to one type: what one is gives the other its type, exactly or as `general` says.
///
/// # Errors
/// 11503 when neither has a type without the other.
pub(crate) fn beside(left: &Expr, right: &Expr, is_exact: bool) -> Result<(), SqlError> {
    let wanted = |other: &Expr| if is_exact { other.sql_type } else { general(&other.sql_type) };
    let (one, other, at) = match (of(left), of(right)) {
        (None, None) => return Ok(()),
        (Some(parameter), _) => (parameter, right, right),
        (None, Some(parameter)) => (parameter, left, left),
    };
    if let Some(second) = within(at) {
        return Err(SqlError::new(11503, &[&one.name, &second.name]));
    }
    one.note(wanted(other));
    Ok(())
}

/// The type that stands for all of its kind in general deduction.
pub(crate) fn general(sql_type: &SqlType) -> SqlType {
    let is_max = sql_type.max_length() == -1;
    match sql_type {
        SqlType::Char(_) | SqlType::VarChar(_) | SqlType::Text if !is_max => SqlType::varchar(8000),
        SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText | SqlType::SysName if !is_max => {
            SqlType::nvarchar(4000)
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::RowVersion | SqlType::Image if !is_max => {
            SqlType::varbinary(8000)
        }
        SqlType::Time(_) => SqlType::Time(7),
        SqlType::DateTime2(_) => SqlType::DateTime2(7),
        SqlType::DateTimeOffset(_) => SqlType::DateTimeOffset(7),
        other if other.family() == TypeFamily::Decimal => SqlType::Numeric { precision: 38, scale: 19 },
        other => *other,
    }
}

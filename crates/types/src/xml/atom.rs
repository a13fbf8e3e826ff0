//! Atomic values of XQuery: their types, their text, casts between them, comparison and arithmetic. What cannot be done gives nothing: SQL Server's
//! XQuery raises no errors while it runs.

use std::cmp::Ordering;

use crate::decimal::rules::result_shape;
use crate::operator::BinaryOp;
use crate::{Collation, ConvertContext, DEFAULT_STYLE, Decimal, SqlType, Value};

/// The atomic types that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomType {
    Untyped,
    Text,
    Boolean,
    Integer,
    Decimal,
    Double,
    Date,
    Time,
    DateTime,
}

impl AtomType {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            AtomType::Untyped => "xdt:untypedAtomic",
            AtomType::Text => "xs:string",
            AtomType::Boolean => "xs:boolean",
            AtomType::Integer => "xs:integer",
            AtomType::Decimal => "xs:decimal",
            AtomType::Double => "xs:double",
            AtomType::Date => "xs:date",
            AtomType::Time => "xs:time",
            AtomType::DateTime => "xs:dateTime",
        }
    }

    /// The type of a local name in the namespace of XML Schema.
    pub fn named(local: &str) -> Option<AtomType> {
        Some(match local {
            "untypedAtomic" => AtomType::Untyped,
            "string" | "normalizedString" | "token" | "anyURI" | "language" | "Name" | "NCName"
            | "NMTOKEN" => AtomType::Text,
            "boolean" => AtomType::Boolean,
            "integer" | "int" | "long" | "short" | "byte" | "nonNegativeInteger" | "positiveInteger"
            | "nonPositiveInteger" | "negativeInteger" | "unsignedLong" | "unsignedInt" | "unsignedShort"
            | "unsignedByte" => AtomType::Integer,
            "decimal" => AtomType::Decimal,
            "double" | "float" => AtomType::Double,
            "date" => AtomType::Date,
            "time" => AtomType::Time,
            "dateTime" => AtomType::DateTime,
            _ => return None,
        })
    }

    pub fn is_numeric(self) -> bool {
        matches!(self, AtomType::Integer | AtomType::Decimal | AtomType::Double)
    }
}

/// An atomic value.
#[derive(Clone, Debug)]
pub enum Atom {
    /// xdt:untypedAtomic: the text of a node.
    Untyped(String),
    /// xs:string.
    Text(String),
    /// xs:boolean.
    Boolean(bool),
    /// xs:integer and what is derived from it.
    Integer(i64),
    /// xs:decimal.
    Decimal(Decimal),
    /// xs:double and xs:float.
    Double(f64),
    /// Date, time, dateTime: as SQL has it, with its text.
    Moment(AtomType, Value, String),
}

/// The arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideWhole,
    Modulo,
}

impl Arithmetic {
    pub fn name(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "div",
            Arithmetic::DivideWhole => "idiv",
            Arithmetic::Modulo => "mod",
        }
    }
}

impl Atom {
    /// Its type.
    pub fn atom_type(&self) -> AtomType {
        match self {
            Atom::Untyped(_) => AtomType::Untyped,
            Atom::Text(_) => AtomType::Text,
            Atom::Boolean(_) => AtomType::Boolean,
            Atom::Integer(_) => AtomType::Integer,
            Atom::Decimal(_) => AtomType::Decimal,
            Atom::Double(_) => AtomType::Double,
            Atom::Moment(atom_type, ..) => *atom_type,
        }
    }

    /// A SQL value as `sql:variable` and `sql:column` give it; nothing for NULL.
    pub fn of_sql(value: &Value, sql_type: &SqlType) -> Option<Atom> {
        Some(match value {
            Value::Null => return None,
            Value::Bit(truth) => Atom::Boolean(*truth),
            Value::Decimal(number) => Atom::Decimal(*number),
            Value::Money(units) => Atom::Decimal(Decimal::new(i128::from(*units), 19, 4)),
            Value::Real(number) => Atom::Double(f64::from(*number)),
            Value::Float(number) => Atom::Double(*number),
            Value::Char(_) | Value::NChar(_) => Atom::Text(value.as_text()?),
            Value::Variant(inner) => return Atom::of_sql(&inner.value, &inner.sql_type),
            Value::Date(_) => Atom::Moment(AtomType::Date, value.clone(), shown(value, sql_type)?),
            Value::Time(_) => Atom::Moment(AtomType::Time, value.clone(), shown(value, sql_type)?),
            Value::DateTime(_) | Value::SmallDateTime(_) | Value::DateTime2(_) | Value::DateTimeOffset(_) => {
                Atom::Moment(AtomType::DateTime, value.clone(), shown(value, sql_type)?)
            }
            Value::Binary(_) | Value::Guid(_) => Atom::Text(shown(value, sql_type)?),
            other => Atom::Integer(other.as_i64()?),
        })
    }

    /// Its text, as `string` gives it.
    pub fn text(&self) -> String {
        match self {
            Atom::Untyped(text) | Atom::Text(text) | Atom::Moment(_, _, text) => text.clone(),
            Atom::Boolean(truth) => truth.to_string(),
            Atom::Integer(number) => number.to_string(),
            Atom::Decimal(number) => {
                let text = number.to_string();
                match text.contains('.') {
                    true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
                    false => text,
                }
            }
            Atom::Double(number) if number.is_nan() => "NaN".to_string(),
            Atom::Double(number) if number.is_infinite() => {
                if *number > 0.0 { "INF" } else { "-INF" }.to_string()
            }
            Atom::Double(number) => number.to_string(),
        }
    }

    /// The value in another type.
    pub fn cast(&self, to: AtomType) -> Option<Atom> {
        if self.atom_type() == to {
            return Some(self.clone());
        }
        let text = || self.text();
        Some(match to {
            AtomType::Untyped => Atom::Untyped(text()),
            AtomType::Text => Atom::Text(text()),
            AtomType::Boolean => Atom::Boolean(match self {
                Atom::Integer(_) | Atom::Decimal(_) | Atom::Double(_) => {
                    let number = self.number()?;
                    number != 0.0 && !number.is_nan()
                }
                _ => match text().trim() {
                    "true" | "1" => true,
                    "false" | "0" => false,
                    _ => return None,
                },
            }),
            AtomType::Integer => Atom::Integer(match self {
                Atom::Boolean(truth) => i64::from(*truth),
                Atom::Decimal(number) => i64::try_from(number.truncate_to_i128()).ok()?,
                Atom::Double(number) if number.abs() < 9.2e18 => number.trunc() as i64,
                Atom::Double(_) | Atom::Moment(..) => return None,
                _ => text().trim().trim_start_matches('+').parse().ok()?,
            }),
            AtomType::Decimal => Atom::Decimal(match self {
                Atom::Boolean(truth) => Decimal::from_i64(i64::from(*truth)),
                Atom::Integer(number) => Decimal::from_i64(*number),
                Atom::Double(number) => Decimal::from_f64(*number, 38, 10).ok()?,
                Atom::Moment(..) => return None,
                _ => Decimal::from_literal(text().trim().trim_start_matches('+'))?,
            }),
            AtomType::Double => Atom::Double(match self {
                Atom::Boolean(truth) => f64::from(u8::from(*truth)),
                Atom::Moment(..) => return None,
                _ => self.number()?,
            }),
            AtomType::Date | AtomType::Time | AtomType::DateTime => moment(to, text().trim())?,
        })
    }

    /// Its number: that of a text if it is the text of one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Atom::Integer(number) => Some(*number as f64),
            Atom::Decimal(number) => Some(number.to_f64()),
            Atom::Double(number) => Some(*number),
            Atom::Boolean(truth) => Some(f64::from(u8::from(*truth))),
            Atom::Untyped(text) | Atom::Text(text) => double(text.trim()),
            Atom::Moment(..) => None,
        }
    }

    /// Which of two is greater, when they can be compared. Untyped values become what the other side is.
    pub fn compare(&self, other: &Atom) -> Option<Ordering> {
        match (self, other) {
            (Atom::Untyped(one) | Atom::Text(one), Atom::Untyped(two) | Atom::Text(two)) => {
                Some(one.cmp(two))
            }
            (Atom::Untyped(_), typed) if typed.atom_type().is_numeric() => {
                self.number()?.partial_cmp(&typed.number()?)
            }
            (typed, Atom::Untyped(_)) if typed.atom_type().is_numeric() => {
                typed.number()?.partial_cmp(&other.number()?)
            }
            (Atom::Untyped(_), typed) => self.cast(typed.atom_type())?.compare(typed),
            (typed, Atom::Untyped(_)) => typed.compare(&other.cast(typed.atom_type())?),
            (Atom::Boolean(one), Atom::Boolean(two)) => Some(one.cmp(two)),
            (Atom::Integer(one), Atom::Integer(two)) => Some(one.cmp(two)),
            (Atom::Moment(_, one, _), Atom::Moment(_, two, _)) => {
                crate::compare(one, two, Collation::default())
            }
            (one, two) if one.atom_type().is_numeric() && two.atom_type().is_numeric() => {
                if one.atom_type() == AtomType::Double || two.atom_type() == AtomType::Double {
                    return one.number()?.partial_cmp(&two.number()?);
                }
                let (Atom::Decimal(one), Atom::Decimal(two)) =
                    (one.cast(AtomType::Decimal)?, two.cast(AtomType::Decimal)?)
                else {
                    return None;
                };
                Some(one.compare(&two))
            }
            _ => None,
        }
    }
}

/// The number that a text is in XML Schema's notation.
fn double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        _ if text.bytes().any(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E')) => None,
        _ => text.parse().ok(),
    }
}

/// A date or time from text.
fn moment(to: AtomType, text: &str) -> Option<Atom> {
    let sql_type = match to {
        AtomType::Date => SqlType::Date,
        AtomType::Time => SqlType::Time(7),
        _ if text.ends_with('Z') || text.get(10..).is_some_and(|time| time.contains(['+', '-'])) => {
            SqlType::DateTimeOffset(7)
        }
        _ => SqlType::DateTime2(7),
    };
    let written = text.strip_suffix('Z').filter(|_| to != AtomType::DateTime).unwrap_or(text);
    let context = ConvertContext::default();
    let value = crate::convert(
        &Value::nvarchar(written),
        &SqlType::nvarchar(100),
        &sql_type,
        DEFAULT_STYLE,
        &context,
    );
    Some(Atom::Moment(to, value.ok()?, text.to_string()))
}

/// The text of a SQL value as XML Schema writes it.
fn shown(value: &Value, sql_type: &SqlType) -> Option<String> {
    let is_binary = matches!(value, Value::Binary(_));
    let style = if is_binary { 2 } else { 126 };
    let text = SqlType::nvarchar(4000);
    let style = if matches!(value, Value::Guid(_)) { DEFAULT_STYLE } else { style };
    let shown = crate::convert(value, sql_type, &text, style, &ConvertContext::default()).ok()?;
    shown.as_text()
}

/// The result of an operator; nothing where there is none.
pub fn compute(op: Arithmetic, left: &Atom, right: &Atom) -> Option<Atom> {
    let of_number = |atom: &Atom| match atom {
        Atom::Untyped(_) | Atom::Text(_) => atom.number().map(Atom::Double),
        Atom::Integer(_) | Atom::Decimal(_) | Atom::Double(_) => Some(atom.clone()),
        _ => None,
    };
    let (left, right) = (of_number(left)?, of_number(right)?);
    match (&left, &right) {
        (Atom::Integer(one), Atom::Integer(two)) if op != Arithmetic::Divide => integers(op, *one, *two),
        (Atom::Double(_), _) | (_, Atom::Double(_)) => doubles(op, left.number()?, right.number()?),
        _ => decimals(op, &left, &right),
    }
}

fn integers(op: Arithmetic, one: i64, two: i64) -> Option<Atom> {
    let result = match op {
        Arithmetic::Add => one.checked_add(two),
        Arithmetic::Subtract => one.checked_sub(two),
        Arithmetic::Multiply => one.checked_mul(two),
        Arithmetic::Divide | Arithmetic::DivideWhole => one.checked_div(two),
        Arithmetic::Modulo => one.checked_rem(two),
    };
    result.map(Atom::Integer)
}

fn doubles(op: Arithmetic, one: f64, two: f64) -> Option<Atom> {
    Some(Atom::Double(match op {
        Arithmetic::Add => one + two,
        Arithmetic::Subtract => one - two,
        Arithmetic::Multiply => one * two,
        Arithmetic::Divide => one / two,
        Arithmetic::DivideWhole => return Atom::Double(one / two).cast(AtomType::Integer),
        Arithmetic::Modulo => one % two,
    }))
}

fn decimals(op: Arithmetic, left: &Atom, right: &Atom) -> Option<Atom> {
    let (Atom::Decimal(one), Atom::Decimal(two)) =
        (left.cast(AtomType::Decimal)?, right.cast(AtomType::Decimal)?)
    else {
        return None;
    };
    if two.mantissa() == 0 && !matches!(op, Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply) {
        return None;
    }
    let shape = |op| result_shape(op, (one.precision(), one.scale()), (two.precision(), two.scale()));
    let result = match op {
        Arithmetic::Add => one.add(&two, shape(BinaryOp::Add)),
        Arithmetic::Subtract => one.subtract(&two, shape(BinaryOp::Subtract)),
        Arithmetic::Multiply => one.multiply(&two, shape(BinaryOp::Multiply)),
        Arithmetic::Divide => one.divide(&two, shape(BinaryOp::Divide)),
        Arithmetic::DivideWhole => {
            let quotient = one.divide(&two, shape(BinaryOp::Divide)).ok()?;
            return i64::try_from(quotient.truncate_to_i128()).ok().map(Atom::Integer);
        }
        Arithmetic::Modulo => one.modulo(&two, shape(BinaryOp::Modulo)),
    };
    result.ok().map(Atom::Decimal)
}

#[cfg(test)]
mod tests {
    use super::{Arithmetic, Atom, AtomType, compute};
    use std::cmp::Ordering;

    fn untyped(text: &str) -> Atom {
        Atom::Untyped(text.to_string())
    }

    #[test]
    fn untyped_values_become_what_the_other_side_is() {
        assert_eq!(untyped("01").compare(&Atom::Integer(1)), Some(Ordering::Equal));
        assert_eq!(untyped("01").compare(&Atom::Text("1".into())), Some(Ordering::Less));
        assert_eq!(untyped("abc").compare(&Atom::Integer(1)), None);
        assert_eq!(untyped("true").compare(&Atom::Boolean(true)), Some(Ordering::Equal));
        assert_eq!(Atom::Boolean(true).compare(&Atom::Integer(1)), None);
    }

    #[test]
    fn casts_fail_with_nothing() {
        assert_eq!(untyped(" 7 ").cast(AtomType::Integer).map(|atom| atom.text()).as_deref(), Some("7"));
        assert!(untyped("7.5").cast(AtomType::Integer).is_none());
        assert_eq!(untyped("1.50").cast(AtomType::Decimal).map(|atom| atom.text()).as_deref(), Some("1.5"));
        assert!(untyped("x").cast(AtomType::Double).is_none());
        assert!(untyped("infinity").cast(AtomType::Double).is_none());
        assert!(untyped("2020-02-30").cast(AtomType::Date).is_none());
        let one = untyped("2020-01-02T00:00:00Z").cast(AtomType::DateTime).expect("a moment");
        let two = untyped("2020-01-02T01:00:00+01:00").cast(AtomType::DateTime).expect("a moment");
        assert_eq!(one.compare(&two), Some(Ordering::Equal));
    }

    #[test]
    fn numbers_are_computed() {
        let of = |op, one: Atom, two: Atom| compute(op, &one, &two).map(|atom| atom.text());
        assert_eq!(of(Arithmetic::Add, untyped("1"), Atom::Integer(2)).as_deref(), Some("3"));
        assert_eq!(of(Arithmetic::Divide, Atom::Integer(7), Atom::Integer(2)).as_deref(), Some("3.5"));
        assert_eq!(of(Arithmetic::DivideWhole, Atom::Integer(7), Atom::Integer(2)).as_deref(), Some("3"));
        assert_eq!(of(Arithmetic::Divide, Atom::Integer(7), Atom::Integer(0)), None);
        assert_eq!(of(Arithmetic::Modulo, Atom::Integer(7), Atom::Integer(0)), None);
        assert_eq!(of(Arithmetic::Multiply, Atom::Integer(i64::MAX), Atom::Integer(2)), None);
    }
}

//! The encoding of statistics in the catalog: docs/formats/statistics.md. Invalid bytes decode to nothing, never to an error.

use std::sync::{Arc, LazyLock};

use access::{ROW_BYTES_MAX, RowColumn, RowFormat};
use types::{Collation, SqlType, Value, Variant};

use super::{HistogramStep, PrefixDensity, STEPS_MAX};
use crate::filter::FilterTest;

/// A step: its value with its type, EQ_ROWS, RANGE_ROWS, DISTINCT_RANGE_ROWS.
static STEP: LazyLock<RowFormat> = LazyLock::new(|| {
    let types = [SqlType::SqlVariant, SqlType::Float, SqlType::Float, SqlType::Float];
    RowFormat::new(types.map(|sql_type| RowColumn { sql_type, collation: Collation::DEFAULT }).into())
});

/// A term of a filter, or one more constant of it: term, column, test, constant with its type.
static TERM: LazyLock<RowFormat> = LazyLock::new(|| {
    let types = [SqlType::Int, SqlType::Int, SqlType::TinyInt, SqlType::SqlVariant];
    RowFormat::new(types.map(|sql_type| RowColumn { sql_type, collation: Collation::DEFAULT }).into())
});

/// The most bytes of a filter's constants together.
pub(crate) const CONSTANT_BYTES_MAX: usize = 4_000;

pub(crate) fn of_terms(terms: &[(i32, FilterTest)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, (column_id, test)) in terms.iter().enumerate() {
        let none = [Value::Null];
        let constants = if test.constants().is_empty() { &none } else { test.constants() };
        for constant in constants {
            let cells = [
                Value::Int(at as i32),
                Value::Int(*column_id),
                Value::TinyInt(test.number()),
                with_type(constant),
            ];
            append(&TERM, &cells, &mut bytes);
        }
    }
    bytes
}

pub(crate) fn terms_of(mut bytes: &[u8]) -> Option<Vec<(i32, FilterTest)>> {
    let mut terms: Vec<(i32, FilterTest)> = Vec::new();
    let mut last = None;
    while !bytes.is_empty() {
        let mut cells = take(&TERM, 4, &mut bytes)?;
        let constant = without_type(cells.pop()?);
        let (Value::Int(at), Value::Int(column_id), Value::TinyInt(number)) =
            (&cells[0], &cells[1], &cells[2])
        else {
            return None;
        };
        match (terms.last_mut(), FilterTest::of_number(*number, constant)?) {
            (Some((_, FilterTest::In(list))), FilterTest::In(more)) if last == Some(*at) => list.extend(more),
            (_, test) => terms.push((*column_id, test)),
        }
        last = Some(*at);
    }
    (!terms.is_empty()).then_some(terms)
}

fn with_type(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        value => Value::Variant(Arc::new(Variant { sql_type: value.natural_type(), value: value.clone() })),
    }
}

fn without_type(value: Value) -> Value {
    match value {
        Value::Variant(variant) => variant.value.clone(),
        other => other,
    }
}

/// Appends a row, preceded by its length.
fn append(format: &RowFormat, cells: &[Value], bytes: &mut Vec<u8>) {
    let mut row = Vec::new();
    let encoded = format.encode(cells, ROW_BYTES_MAX, &mut row, &mut |_| unreachable!("the row is short"));
    encoded.expect("what is short is put nowhere else");
    bytes.extend_from_slice(&(row.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&row);
}

/// Takes the first row.
fn take(format: &RowFormat, cells: usize, bytes: &mut &[u8]) -> Option<Vec<Value>> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (row, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let mut values = Vec::with_capacity(cells);
    format.decode_columns(row, 0..cells, &mut values, &mut |_| Ok(Vec::new())).ok()?;
    *bytes = rest;
    (values.len() == cells).then_some(values)
}

pub(crate) fn of_column_ids(ids: &[i32]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.to_le_bytes()).collect()
}

pub(crate) fn column_ids_of(bytes: &[u8]) -> Option<Vec<i32>> {
    let (ids, rest) = bytes.as_chunks::<4>();
    (rest.is_empty() && !ids.is_empty()).then(|| ids.iter().map(|id| i32::from_le_bytes(*id)).collect())
}

pub(crate) fn of_prefixes(prefixes: &[PrefixDensity]) -> Vec<u8> {
    prefixes
        .iter()
        .flat_map(|prefix| [prefix.density, prefix.average_bytes])
        .flat_map(f64::to_le_bytes)
        .collect()
}

pub(crate) fn prefixes_of(bytes: &[u8]) -> Option<Vec<PrefixDensity>> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    let numbers: Vec<f64> = numbers.iter().map(|number| f64::from_le_bytes(*number)).collect();
    let (pairs, odd) = numbers.as_chunks::<2>();
    let is_sound = |[density, average]: &[f64; 2]| (0.0..=1.0).contains(density) && is_count(*average);
    let all_sound = rest.is_empty() && odd.is_empty() && pairs.iter().all(is_sound);
    all_sound.then(|| {
        pairs
            .iter()
            .map(|[density, average]| PrefixDensity { density: *density, average_bytes: *average })
            .collect()
    })
}

pub(crate) fn of_steps(steps: &[HistogramStep]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for step in steps {
        let values = [
            with_type(&step.high),
            Value::Float(step.equal_rows),
            Value::Float(step.range_rows),
            Value::Float(step.distinct_range_rows),
        ];
        append(&STEP, &values, &mut bytes);
    }
    bytes
}

pub(crate) fn steps_of(mut bytes: &[u8]) -> Option<Vec<HistogramStep>> {
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        let mut values = take(&STEP, 4, &mut bytes)?;
        let number = |at: usize| match values[at] {
            Value::Float(number) if is_count(number) => Some(number),
            _ => None,
        };
        let (equal_rows, range_rows, distinct_range_rows) = (number(1)?, number(2)?, number(3)?);
        let high = without_type(values.swap_remove(0));
        // Only the first step can be NULL.
        if high.is_null() && !steps.is_empty() {
            return None;
        }
        steps.push(HistogramStep { high, equal_rows, range_rows, distinct_range_rows });
    }
    (steps.len() <= STEPS_MAX).then_some(steps)
}

fn is_count(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(high: Value) -> HistogramStep {
        HistogramStep { high, equal_rows: 1.5, range_rows: 20.0, distinct_range_rows: 7.0 }
    }

    #[test]
    fn what_is_written_is_read() {
        let decimal = Value::Decimal(types::Decimal::new(-12_345, 9, 2));
        let date = Value::DateTime(types::DateTime { days: 45_000, ticks: 17 });
        let values =
            [Value::Null, Value::Int(-7), decimal, date, Value::varchar("wort"), Value::nvarchar("\u{4e2d}")];
        let steps: Vec<HistogramStep> = values.into_iter().map(step).collect();
        assert_eq!(steps_of(&of_steps(&steps)), Some(steps));
        let prefixes = vec![PrefixDensity { density: 0.25, average_bytes: 4.0 }; 3];
        assert_eq!(prefixes_of(&of_prefixes(&prefixes)), Some(prefixes));
        assert_eq!(column_ids_of(&of_column_ids(&[3, 1])), Some(vec![3, 1]));
        let terms = vec![
            (3, FilterTest::IsNotNull),
            (1, FilterTest::In(vec![Value::Int(1), Value::varchar("b")])),
            (1, FilterTest::In(vec![Value::Int(2)])),
            (7, FilterTest::Compare(crate::filter::FilterOp::Less, Value::Int(-5))),
        ];
        assert_eq!(terms_of(&of_terms(&terms)), Some(terms));
    }

    #[test]
    fn what_makes_no_sense_is_nothing() {
        let whole = of_steps(&[step(Value::Int(1)), step(Value::nvarchar("zwei")), step(Value::Int(3))]);
        assert_eq!(steps_of(&[]), Some(Vec::new()));
        // Cut anywhere between steps or not, and with any byte changed: the result is some statistics or none, never a panic.
        let cuts = (1..whole.len()).filter(|cut| steps_of(&whole[..*cut]).is_some()).count();
        assert_eq!(cuts, 2, "two steps end before the last one does");
        for whole in [whole, of_terms(&[(1, FilterTest::In(vec![Value::Int(1), Value::nvarchar("zwei")]))])] {
            for at in 0..whole.len() {
                for bit in 0..8 {
                    let mut torn = whole.clone();
                    torn[at] ^= 1 << bit;
                    let _ = (steps_of(&torn), terms_of(&torn), terms_of(&torn[..at]));
                }
            }
        }
        assert_eq!(terms_of(&[]), None, "a filter says something");
        assert_eq!(steps_of(&of_steps(&[step(Value::Int(1)), step(Value::Null)])), None);
        let nan = HistogramStep { equal_rows: f64::NAN, ..step(Value::Int(1)) };
        assert_eq!(steps_of(&of_steps(&[nan])), None);
        assert_eq!(prefixes_of(&[0; 15]), None);
        assert_eq!(prefixes_of(&of_prefixes(&[PrefixDensity { density: 2.0, average_bytes: 1.0 }])), None);
        assert_eq!((column_ids_of(&[]), column_ids_of(&[1, 0, 0])), (None, None));
    }
}

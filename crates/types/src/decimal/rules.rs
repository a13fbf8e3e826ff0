//! Precision and scale of results (documentation page "Precision, scale, and length").

use super::PRECISION_MAX;
use crate::operator::BinaryOp;

/// Precision and scale.
pub type Shape = (u8, u8);

/// The shape of `left op right` for + - * / %.
pub fn result_shape(op: BinaryOp, left: Shape, right: Shape) -> Shape {
    let (p1, s1) = (i32::from(left.0), i32::from(left.1));
    let (p2, s2) = (i32::from(right.0), i32::from(right.1));
    match op {
        BinaryOp::Multiply => reduce_product(p1 + p2 + 1, s1 + s2),
        BinaryOp::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            reduce_product(p1 - s1 + s2 + scale, scale)
        }
        BinaryOp::Modulo => {
            let scale = s1.max(s2);
            clamp((p1 - s1).min(p2 - s2) + scale, scale)
        }
        _ => {
            let scale = s1.max(s2);
            let whole = (p1 - s1).max(p2 - s2);
            fit_sum(whole + scale + 1, scale, whole)
        }
    }
}

/// The shape that holds both (CASE, UNION, comparison).
pub fn union_shape(left: Shape, right: Shape) -> Shape {
    let scale = i32::from(left.1.max(right.1));
    let whole = i32::from((left.0 - left.1).max(right.0 - right.1));
    fit_sum(whole + scale, scale, whole)
}

/// Over 38 digits: the whole part keeps its digits, the scale is reduced.
fn fit_sum(precision: i32, scale: i32, whole: i32) -> Shape {
    if precision <= 38 {
        return clamp(precision, scale);
    }
    clamp(38, scale.min(38 - whole))
}

/// Over 38 digits: the scale is reduced, but not below six while the whole part is longer than 32.
fn reduce_product(precision: i32, scale: i32) -> Shape {
    if precision <= 38 {
        return clamp(precision, scale);
    }
    let whole = precision - scale;
    let scale = if whole < 32 { scale.min(38 - whole) } else { scale.min(6) };
    clamp(38, scale)
}

fn clamp(precision: i32, scale: i32) -> Shape {
    let precision = precision.clamp(1, i32::from(PRECISION_MAX)) as u8;
    (precision, scale.clamp(0, i32::from(precision)) as u8)
}

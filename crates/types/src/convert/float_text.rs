//! real and float as text: CONVERT's styles.

/// `style` 0 (and none): at most six digits, an exponent when needed; 1: eight digits with exponent; 2: sixteen; 3: seventeen.
/// Exponents have three digits at least: `1e+010`... as `1e+010`.
pub fn format(value: f64, style: i32) -> String {
    match style {
        1 => scientific(value, 8),
        2 => scientific(value, 16),
        3 => scientific(value, 17),
        _ => general(value, 6),
    }
}

/// `digits` significant digits, always with exponent.
pub fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}{}", exponent_text(exponent.parse().unwrap_or(0)))
}

/// At most `digits` significant digits, trailing zeros dropped; an exponent below -4 or from `digits` on.
pub fn general(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        return format!("{}{}", trim_zeros(mantissa), exponent_text(exponent));
    }
    let places = (digits as i32 - 1 - exponent).max(0) as usize;
    trim_zeros(&format!("{value:.places$}")).to_owned()
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn exponent_text(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:03}", exponent.abs())
}

//! Numbers by standard and custom formats.

use crate::Decimal;
use crate::functions::Culture;
use crate::money::group_thousands;

/// A number as digits: `digits[..whole]` before the point, the rest behind it. No leading zeros; zero has none at all.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Digits {
    negative: bool,
    digits: Vec<u8>,
    /// Digits before the point; negative when zeros are between the point and the first digit.
    whole: i32,
    /// Digits behind the point as the type shows them.
    scale: usize,
}

impl Digits {
    pub(super) fn of(value: &Decimal) -> Digits {
        let mantissa = value.mantissa();
        let text = mantissa.unsigned_abs().to_string();
        let digits: Vec<u8> =
            if mantissa == 0 { Vec::new() } else { text.bytes().map(|byte| byte - b'0').collect() };
        let whole = digits.len() as i32 - i32::from(value.scale());
        Digits { negative: mantissa < 0, digits, whole, scale: usize::from(value.scale()) }
    }

    /// So many significant digits of a float.
    pub(super) fn of_float(value: f64, digits: usize) -> Digits {
        let text = format!("{:.*e}", digits - 1, value.abs());
        let (mantissa, exponent) = text.split_once('e').expect("the form has an exponent");
        let mut digits: Vec<u8> =
            mantissa.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
        digits.truncate(digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1));
        let exponent: i32 = exponent.parse().expect("the form has an exponent");
        let whole = if digits.is_empty() { 0 } else { exponent + 1 };
        Digits { negative: value < 0.0, digits, whole, scale: 0 }
    }

    /// Rounded half away from zero to so many digits behind the point.
    fn rounded(&self, places: i32) -> Digits {
        let keep = self.whole + places;
        let mut out = self.clone();
        if keep < 0 {
            out.digits.clear();
        } else if (keep as usize) < self.digits.len() {
            let up = self.digits[keep as usize] >= 5;
            out.digits.truncate(keep as usize);
            if up {
                out.carry();
            }
        }
        if out.digits.iter().all(|digit| *digit == 0) {
            out.digits.clear();
            out.whole = 0;
            out.negative = false;
        }
        out
    }

    /// Adds one at the last digit kept.
    fn carry(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
        self.whole += 1;
    }

    /// The whole part; empty for zero.
    fn whole_text(&self) -> String {
        let known = self.digits.iter().chain(std::iter::repeat(&0));
        known.take(self.whole.max(0) as usize).map(|digit| char::from(b'0' + digit)).collect()
    }

    /// So many digits behind the point.
    fn fraction_text(&self, places: usize) -> String {
        let zeros = (-self.whole).max(0) as usize;
        let known = self.digits.iter().skip(self.whole.max(0) as usize);
        std::iter::repeat_n(&0, zeros)
            .chain(known)
            .chain(std::iter::repeat(&0))
            .take(places)
            .map(|digit| char::from(b'0' + digit))
            .collect()
    }

    /// Times 10^places.
    fn shifted(&self, places: i32) -> Digits {
        Digits { whole: self.whole + places, ..self.clone() }
    }
}

/// What kind of number it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Exact,
    /// A float with so many reliable digits.
    Approximate(usize),
}

pub(super) fn format_number(number: &Digits, kind: Kind, format: &str, culture: &Culture) -> Option<String> {
    let mut chars = format.chars();
    match chars.next() {
        None => Some(general(number, kind, 'G', None, culture)),
        Some(letter)
            if letter.is_ascii_alphabetic()
                && chars.as_str().len() <= 2
                && chars.as_str().bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            let precision = chars.as_str().parse::<usize>().ok();
            standard(number, kind, letter, precision, culture)
        }
        Some(_) => Some(custom(number, format, culture)),
    }
}

fn standard(
    number: &Digits,
    kind: Kind,
    letter: char,
    precision: Option<usize>,
    culture: &Culture,
) -> Option<String> {
    let places = precision.unwrap_or(2);
    let signed = |number: &Digits, body: String| if number.negative { format!("-{body}") } else { body };
    match letter.to_ascii_uppercase() {
        'N' => {
            let rounded = number.rounded(places as i32);
            let body = fixed(&rounded, places, true, culture);
            Some(signed(&rounded, body))
        }
        'F' => {
            let rounded = number.rounded(places as i32);
            let body = fixed(&rounded, places, false, culture);
            Some(signed(&rounded, body))
        }
        'C' => {
            let rounded = number.rounded(places as i32);
            let pattern = if rounded.negative { culture.negative_currency } else { culture.currency };
            Some(pattern.replacen('n', &fixed(&rounded, places, true, culture), 1))
        }
        'P' => {
            let rounded = number.shifted(2).rounded(places as i32);
            let body = culture.percent.replacen('n', &fixed(&rounded, places, true, culture), 1);
            Some(signed(&rounded, body))
        }
        'G' => Some(general(number, kind, letter, precision.filter(|digits| *digits > 0), culture)),
        'R' if matches!(kind, Kind::Approximate(_)) => Some(general(number, kind, 'G', None, culture)),
        'E' => Some(exponential(number, precision.unwrap_or(6), letter, 3, culture)),
        'D' if kind == Kind::Integer => {
            let whole = number.whole_text();
            Some(signed(number, format!("{whole:0>width$}", width = precision.unwrap_or(1).max(1))))
        }
        'X' if kind == Kind::Integer => {
            let whole: i64 = number.whole_text().parse().unwrap_or(0);
            let value = if number.negative { whole.wrapping_neg() as u64 } else { whole as u64 };
            let value = if number.negative && whole <= 1 << 31 { value & 0xFFFF_FFFF } else { value };
            let text = format!("{value:0>width$X}", width = precision.unwrap_or(1));
            Some(if letter == 'x' { text.to_lowercase() } else { text })
        }
        _ => None,
    }
}

fn fixed(number: &Digits, places: usize, grouped: bool, culture: &Culture) -> String {
    let whole = number.whole_text();
    let whole = if whole.is_empty() { "0".to_owned() } else { whole };
    let whole = if grouped { group_thousands(&whole).replace(',', culture.group) } else { whole };
    if places == 0 {
        return whole;
    }
    format!("{whole}{}{}", culture.decimal, number.fraction_text(places))
}

/// All digits of an exact number; for a float, or when a digit count is requested, the shorter one of the plain form and that with an
/// exponent.
fn general(number: &Digits, kind: Kind, letter: char, asked: Option<usize>, culture: &Culture) -> String {
    let signed = |number: &Digits, body: String| if number.negative { format!("-{body}") } else { body };
    let digits = match (asked, kind) {
        (Some(digits), _) | (None, Kind::Approximate(digits)) => digits as i32,
        (None, _) => return signed(number, fixed(number, number.scale, false, culture)),
    };
    let rounded = number.rounded(digits - number.whole);
    let shown = rounded.digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last as i32 + 1);
    let exponent = if rounded.digits.is_empty() { 0 } else { rounded.whole - 1 };
    if exponent >= digits || exponent <= -5 {
        let letter = if letter == 'g' { 'e' } else { 'E' };
        return exponential(&rounded, (shown - 1).max(0) as usize, letter, 2, culture);
    }
    let places = (shown - rounded.whole).max(0) as usize;
    signed(&rounded, fixed(&rounded, places, false, culture))
}

fn exponential(
    number: &Digits,
    places: usize,
    letter: char,
    exponent_digits: usize,
    culture: &Culture,
) -> String {
    let exponent = if number.digits.is_empty() { 0 } else { number.whole - 1 };
    let mut rounded = number.shifted(-exponent).rounded(places as i32);
    let mut exponent = exponent;
    if rounded.whole > 1 {
        rounded = rounded.shifted(-1);
        exponent += 1;
    }
    let sign = if rounded.negative { "-" } else { "" };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    let body = fixed(&rounded, places, false, culture);
    format!("{sign}{body}{letter}{exponent_sign}{:0exponent_digits$}", exponent.abs())
}

/// A piece of a custom format.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Digit { required: bool },
    Point,
}

/// A parsed section of a custom format.
struct Section {
    pieces: Vec<Piece>,
    grouped: bool,
    /// Powers of ten by percent signs and scaling commas.
    shift: i32,
    point: Option<usize>,
}

/// `positive;negative;zero`.
fn custom(number: &Digits, format: &str, culture: &Culture) -> String {
    let sections: Vec<Section> =
        split_sections(format).iter().map(|section| parse_section(section, culture)).collect();
    let section_of = |number: &Digits| match (sections.len(), number.digits.is_empty(), number.negative) {
        (3.., true, _) => 2,
        (2.., false, true) if !sections[1].pieces.is_empty() => 1,
        _ => 0,
    };
    let mut index = section_of(number);
    let round = |index: usize| {
        let section = &sections[index];
        let places = section.pieces[section.point.map_or(section.pieces.len(), |point| point)..]
            .iter()
            .filter(|piece| matches!(piece, Piece::Digit { .. }))
            .count();
        number.shifted(section.shift).rounded(places as i32)
    };
    let mut rounded = round(index);
    // A number that rounds to zero uses the section for zero.
    if rounded.digits.is_empty() && index < 2 {
        index = if sections.len() >= 3 { 2 } else { 0 };
        rounded = round(index);
    }
    let body = write_section(&rounded, &sections[index], culture);
    if rounded.negative && index == 0 { format!("-{body}") } else { body }
}

fn split_sections(format: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut quote = None;
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let last = sections.last_mut().expect("there is always one section");
        match c {
            ';' if quote.is_none() => {
                sections.push(String::new());
                continue;
            }
            '\'' | '"' if quote.is_none() => quote = Some(c),
            c if quote == Some(c) => quote = None,
            '\\' => {
                last.push(c);
                last.extend(chars.next());
                continue;
            }
            _ => {}
        }
        last.push(c);
    }
    sections
}

fn parse_section(section: &str, culture: &Culture) -> Section {
    let mut out = Section { pieces: Vec::new(), grouped: false, shift: 0, point: None };
    let mut chars = section.chars().peekable();
    let mut commas = 0;
    let mut seen_digit = false;
    while let Some(c) = chars.next() {
        if c != ',' && commas > 0 {
            // Commas before the point scale, between digits they group.
            if matches!(c, '0' | '#') && out.point.is_none() {
                out.grouped = true;
            } else {
                out.shift -= 3 * commas;
            }
            commas = 0;
        }
        match c {
            '0' | '#' => {
                seen_digit = true;
                out.pieces.push(Piece::Digit { required: c == '0' });
            }
            '.' if out.point.is_none() => {
                out.point = Some(out.pieces.len());
                out.pieces.push(Piece::Point);
            }
            '.' => {}
            ',' if seen_digit && out.point.is_none() => commas += 1,
            ',' => {}
            '%' => {
                out.shift += 2;
                out.pieces.push(Piece::Text("%".into()));
            }
            '\u{2030}' => {
                out.shift += 3;
                out.pieces.push(Piece::Text("\u{2030}".into()));
            }
            '\'' | '"' => {
                out.pieces.push(Piece::Text(chars.by_ref().take_while(|next| *next != c).collect()))
            }
            '\\' => out.pieces.push(Piece::Text(chars.next().into_iter().collect())),
            other => out.pieces.push(Piece::Text(other.into())),
        }
    }
    out.shift -= 3 * commas;
    let _ = culture;
    out
}

fn write_section(number: &Digits, section: &Section, culture: &Culture) -> String {
    let point = section.point.unwrap_or(section.pieces.len());
    let whole_places =
        section.pieces[..point].iter().filter(|piece| matches!(piece, Piece::Digit { .. })).count();
    let first_required = section.pieces[..point]
        .iter()
        .filter_map(|piece| if let Piece::Digit { required } = piece { Some(*required) } else { None })
        .position(|required| required);
    let least = first_required.map_or(0, |first| whole_places - first);
    let whole = format!("{:0>least$}", number.whole_text());
    let fraction_places =
        section.pieces[point..].iter().filter(|piece| matches!(piece, Piece::Digit { .. })).count();
    let fraction = number.fraction_text(fraction_places);
    let required_fraction = section.pieces[point..]
        .iter()
        .filter_map(|piece| if let Piece::Digit { required } = piece { Some(*required) } else { None })
        .enumerate()
        .filter(|(_, required)| *required)
        .last()
        .map_or(0, |(last, _)| last + 1);
    let shown = fraction.trim_end_matches('0').len().max(required_fraction);
    let mut out = String::new();
    let (mut place, mut behind) = (0, 0);
    for (index, piece) in section.pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Point if shown > 0 => out.push_str(culture.decimal),
            Piece::Point => {}
            Piece::Digit { .. } if index < point => {
                push_whole(&mut out, &whole, place, whole_places, section.grouped, culture);
                place += 1;
            }
            Piece::Digit { .. } => {
                if behind < shown {
                    out.push_str(&fraction[behind..=behind]);
                }
                behind += 1;
            }
        }
    }
    out
}

/// Writes the digits of one placeholder; the first one takes all digits without a placeholder.
fn push_whole(out: &mut String, whole: &str, place: usize, places: usize, grouped: bool, culture: &Culture) {
    let extra = whole.len().saturating_sub(places);
    let missing = places.saturating_sub(whole.len());
    let range = match place {
        0 if extra > 0 => 0..extra + 1,
        place if place < missing => return,
        place => (place + extra - missing)..(place + extra - missing + 1),
    };
    for index in range {
        out.push_str(&whole[index..=index]);
        let left = whole.len() - index - 1;
        if grouped && left > 0 && left.is_multiple_of(3) {
            out.push_str(culture.group);
        }
    }
}

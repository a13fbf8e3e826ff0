//! String functions.

use plan_ir::function_def::{Argument, Call, FunctionDef, Parameter, ResultRule};
use types::{Length, SqlError, SqlType, Value};

use super::text::{Text, find, joined_text, long_text, same_text};

use Parameter::{Any, BigInt, Float, Int, Text as TextParameter, Wide};
use ResultRule::{Fixed, Rule};

type Result<T> = std::result::Result<T, SqlError>;

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("SUBSTRING", &[Any, BigInt, BigInt], Rule(same_text), substring).arity(2, 3).copies(2),
    FunctionDef::new("LEFT", &[TextParameter, BigInt], Rule(same_text), left).copies(1),
    FunctionDef::new("RIGHT", &[TextParameter, BigInt], Rule(same_text), right).copies(1),
    FunctionDef::new("LEN", &[TextParameter], Rule(length_type), len).copies(0),
    FunctionDef::new("DATALENGTH", &[Any], Rule(length_type), data_length).copies(0),
    FunctionDef::new("LTRIM", &[TextParameter, TextParameter], Rule(same_text), ltrim).arity(1, 2),
    FunctionDef::new("RTRIM", &[TextParameter, TextParameter], Rule(same_text), rtrim).arity(1, 2),
    FunctionDef::new("TRIM", &[TextParameter, TextParameter], Rule(same_text), trim).arity(1, 2),
    FunctionDef::new("UPPER", &[TextParameter], Rule(same_text), upper),
    FunctionDef::new("LOWER", &[TextParameter], Rule(same_text), lower),
    FunctionDef::new("REPLACE", &[TextParameter, TextParameter, TextParameter], Rule(long_text), replace),
    FunctionDef::new("REPLICATE", &[TextParameter, BigInt], Rule(long_text), replicate),
    FunctionDef::new("SPACE", &[BigInt], Fixed(SqlType::varchar(8000)), space),
    FunctionDef::new("STUFF", &[TextParameter, BigInt, BigInt, TextParameter], Rule(long_text), stuff)
        .sees_nulls(),
    FunctionDef::new("CHARINDEX", &[TextParameter, TextParameter, BigInt], Rule(char_index_type), char_index)
        .arity(2, 3),
    FunctionDef::new("PATINDEX", &[TextParameter, TextParameter], Fixed(SqlType::Int), pat_index),
    FunctionDef::new("REVERSE", &[TextParameter], Rule(same_text), reverse),
    FunctionDef::new("CHAR", &[Int], Fixed(SqlType::Char(1)), char_of),
    FunctionDef::new("NCHAR", &[Int], Fixed(SqlType::NChar(1)), nchar_of),
    FunctionDef::new("ASCII", &[TextParameter], Fixed(SqlType::Int), ascii),
    FunctionDef::new("UNICODE", &[Wide], Fixed(SqlType::Int), unicode),
    FunctionDef::new("CONCAT", &[TextParameter], Rule(joined_text), concat).arity(2, 254).sees_nulls(),
    FunctionDef::new("CONCAT_WS", &[TextParameter], Rule(joined_with_separator), concat_ws)
        .arity(3, 254)
        .sees_nulls(),
    FunctionDef::new("QUOTENAME", &[Wide, Wide], Fixed(SqlType::nvarchar(258)), quote_name).arity(1, 2),
    FunctionDef::new("PARSENAME", &[Wide, Int], Fixed(SqlType::nvarchar(128)), parse_name),
    FunctionDef::new("STR", &[Float, Int, Int], Fixed(SqlType::varchar(8000)), str_of).arity(1, 3),
    FunctionDef::new("TRANSLATE", &[TextParameter, TextParameter, TextParameter], Rule(long_text), translate),
    FunctionDef::new("STRING_ESCAPE", &[Wide, Wide], Fixed(SqlType::NVARCHAR_MAX), string_escape).copies(20),
    FunctionDef::new("FORMATMESSAGE", &[Any, Any], Fixed(SqlType::nvarchar(2048)), format_message)
        .arity(1, 21)
        .sees_nulls()
        .runtime(),
    FunctionDef::new("SOUNDEX", &[TextParameter], Fixed(SqlType::varchar(4)), soundex),
    FunctionDef::new("DIFFERENCE", &[TextParameter, TextParameter], Fixed(SqlType::Int), difference),
];

/// int, or bigint for max types.
fn length_type(arguments: &[Argument<'_>]) -> Result<SqlType> {
    let large = matches!(
        arguments[0].sql_type,
        SqlType::VarChar(Length::Max) | SqlType::NVarChar(Length::Max) | SqlType::VarBinary(Length::Max)
    );
    Ok(if large { SqlType::BigInt } else { SqlType::Int })
}

fn char_index_type(arguments: &[Argument<'_>]) -> Result<SqlType> {
    length_type(&arguments[1..])
}

fn joined_with_separator(arguments: &[Argument<'_>]) -> Result<SqlType> {
    // The separator occurs between all of them; only the limit matters here.
    let joined = joined_text(arguments)?;
    Ok(match joined {
        SqlType::NVarChar(Length::N(_)) => SqlType::nvarchar(4000),
        SqlType::VarChar(Length::N(_)) => SqlType::varchar(8000),
        max => max,
    })
}

fn integer(call: &Call<'_, '_>, number: i64) -> Value {
    if call.result == SqlType::BigInt { Value::BigInt(number) } else { Value::Int(number as i32) }
}

fn substring(call: &Call<'_, '_>) -> Result<Value> {
    let start = call.int(1).unwrap_or(1);
    let length = call.int(2).unwrap_or(i64::MAX / 2);
    if length < 0 {
        return Err(plan_ir::errors::invalid_length("substring"));
    }
    // Positions before the text count against the length.
    let end = start.saturating_add(length).max(1);
    let cut = |len: usize| {
        let from = (start.max(1) - 1).min(len as i64) as usize;
        let to = (end - 1).clamp(from as i64, len as i64) as usize;
        from..to
    };
    Ok(match &call.args[0] {
        Value::Binary(bytes) => Value::binary(&bytes[cut(bytes.len())]),
        Value::Char(bytes) => Value::Char(bytes[cut(bytes.len())].into()),
        Value::NChar(units) => Value::NChar(units[cut(units.len())].into()),
        other => {
            let text = types::convert(
                other,
                &call.types[0],
                &SqlType::varchar(8000),
                types::DEFAULT_STYLE,
                call.runtime.convert_context(),
            )?;
            let text = Text::of(&text);
            text.with(text.units[cut(text.units.len())].to_vec()).into_value()
        }
    })
}

fn left(call: &Call<'_, '_>) -> Result<Value> {
    let count = call.int(1).unwrap_or(0);
    if count < 0 {
        return Err(plan_ir::errors::invalid_length("left"));
    }
    let end = |len: usize| (count as usize).min(len);
    Ok(match &call.args[0] {
        Value::Char(bytes) => Value::Char(bytes[..end(bytes.len())].into()),
        Value::NChar(units) => Value::NChar(units[..end(units.len())].into()),
        _ => Value::varchar(""),
    })
}

fn right(call: &Call<'_, '_>) -> Result<Value> {
    let count = call.int(1).unwrap_or(0);
    if count < 0 {
        return Err(plan_ir::errors::invalid_length("right"));
    }
    let start = |len: usize| len.saturating_sub(count as usize);
    Ok(match &call.args[0] {
        Value::Char(bytes) => Value::Char(bytes[start(bytes.len())..].into()),
        Value::NChar(units) => Value::NChar(units[start(units.len())..].into()),
        _ => Value::varchar(""),
    })
}

const BLANK: u16 = b' ' as u16;

fn len(call: &Call<'_, '_>) -> Result<Value> {
    let length = match &call.args[0] {
        Value::Char(bytes) => bytes.len() - bytes.iter().rev().take_while(|byte| **byte == b' ').count(),
        Value::NChar(units) => units.len() - units.iter().rev().take_while(|unit| **unit == BLANK).count(),
        _ => 0,
    };
    Ok(integer(call, length as i64))
}

fn data_length(call: &Call<'_, '_>) -> Result<Value> {
    let length = match &call.args[0] {
        Value::Char(bytes) | Value::Binary(bytes) => bytes.len() as i64,
        Value::NChar(units) => units.len() as i64 * 2,
        Value::Variant(inner) => i64::from(inner.sql_type.max_length().max(0)),
        _ => i64::from(call.types[0].max_length()),
    };
    Ok(integer(call, length))
}

fn trimmed(call: &Call<'_, '_>, front: bool, back: bool) -> Result<Value> {
    let [text, characters] = Text::arguments::<2>(call);
    let strip: Vec<u32> = if call.args.len() > 1 {
        characters.weights(call.collation)
    } else {
        text.like_text(" ").weights(call.collation)
    };
    let weights = text.weights(call.collation);
    let mut start = 0;
    let mut end = weights.len();
    while front && start < end && strip.contains(&weights[start]) {
        start += 1;
    }
    while back && end > start && strip.contains(&weights[end - 1]) {
        end -= 1;
    }
    Ok(text.with(text.units[start..end].to_vec()).into_value())
}

fn ltrim(call: &Call<'_, '_>) -> Result<Value> {
    trimmed(call, true, false)
}

fn rtrim(call: &Call<'_, '_>) -> Result<Value> {
    trimmed(call, false, true)
}

fn trim(call: &Call<'_, '_>) -> Result<Value> {
    trimmed(call, true, true)
}

fn mapped(value: &Value, map: impl Fn(char) -> char) -> Value {
    let text = Text::of(value);
    if text.units.iter().all(|unit| *unit < 128) {
        let units = text.units.iter().map(|unit| map(char::from(*unit as u8)) as u16).collect();
        return text.with(units).into_value();
    }
    let changed: String = text.to_text().chars().map(map).collect();
    text.like_text(&changed).into_value()
}

fn upper(call: &Call<'_, '_>) -> Result<Value> {
    Ok(mapped(&call.args[0], |c| {
        let mut all = c.to_uppercase();
        match (all.next(), all.next()) {
            (Some(one), None) => one,
            _ => c,
        }
    }))
}

fn lower(call: &Call<'_, '_>) -> Result<Value> {
    Ok(mapped(&call.args[0], |c| {
        let mut all = c.to_lowercase();
        match (all.next(), all.next()) {
            (Some(one), None) => one,
            _ => c,
        }
    }))
}

/// Longest text that a function returns, in units: 8,000 bytes unless the type is max.
fn limit(call: &Call<'_, '_>) -> usize {
    match call.result {
        SqlType::VarChar(Length::Max) => i32::MAX as usize,
        SqlType::NVarChar(Length::Max) => (i32::MAX / 2) as usize,
        SqlType::NVarChar(_) => 4000,
        _ => 8000,
    }
}

fn replace(call: &Call<'_, '_>) -> Result<Value> {
    let [text, wanted, by] = Text::arguments::<3>(call);
    if wanted.units.is_empty() {
        return Ok(text.into_value());
    }
    let (weights, wanted) = (text.weights(call.collation), wanted.weights(call.collation));
    let mut units = Vec::with_capacity(text.units.len());
    let mut at = 0;
    let growth = by.units.len().saturating_sub(wanted.len());
    while let Some(found) = find(&weights, &wanted, at) {
        units.extend_from_slice(&text.units[at..found]);
        units.extend_from_slice(&by.units);
        at = found + wanted.len();
        call.runtime.check_cancelled()?;
        // The list of units doubles when it is full; in the end it is copied into a value.
        if growth > 0 && units.capacity() - units.len() < by.units.len() + text.units.len() - at {
            room_for_units(units.len() * 3)?;
        }
    }
    units.extend_from_slice(&text.units[at..]);
    units.truncate(limit(call));
    Ok(text.with(units).into_value())
}

/// 701 when there is no room for so many more UTF-16 units.
fn room_for_units(units: usize) -> Result<()> {
    os::memory::ask(units.saturating_mul(2)).map_err(plan_ir::errors::out_of_memory)
}

fn replicate(call: &Call<'_, '_>) -> Result<Value> {
    let count = call.int(1).unwrap_or(0);
    if count < 0 {
        return Ok(Value::Null);
    }
    let text = Text::of(&call.args[0]);
    let wanted = text.units.len().saturating_mul(count as usize).min(limit(call));
    // A whole number of copies, cut at the limit of the type.
    let wanted = if text.units.is_empty() { 0 } else { wanted };
    // Built first, then copied into a value.
    room_for_units(if text.wide { wanted.saturating_mul(2) } else { wanted })?;
    let units = text.units.iter().copied().cycle().take(wanted);
    Ok(match text.wide {
        true => Value::NChar(units.collect::<Vec<u16>>().into()),
        false => Value::Char(units.map(|unit| unit as u8).collect::<Vec<u8>>().into()),
    })
}

fn space(call: &Call<'_, '_>) -> Result<Value> {
    let count = call.int(0).unwrap_or(0);
    if count < 0 {
        return Ok(Value::Null);
    }
    Ok(Value::varchar(&" ".repeat((count as usize).min(8000))))
}

fn stuff(call: &Call<'_, '_>) -> Result<Value> {
    if call.args[..3].iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let by = Text::of(&call.args[3]);
    let text = Text::of(&call.args[0]);
    let (text, by) = if text.wide || by.wide { (text.widened(), by.widened()) } else { (text, by) };
    let (start, length) = (call.int(1).unwrap_or(0), call.int(2).unwrap_or(0));
    if start < 1 || start as usize > text.units.len() || length < 0 {
        return Ok(Value::Null);
    }
    let from = start as usize - 1;
    let to = from.saturating_add(length as usize).min(text.units.len());
    let mut units = text.units[..from].to_vec();
    units.extend_from_slice(&by.units);
    units.extend_from_slice(&text.units[to..]);
    units.truncate(limit(call));
    Ok(text.with(units).into_value())
}

fn char_index(call: &Call<'_, '_>) -> Result<Value> {
    let [wanted, text] = Text::arguments::<2>(call);
    let from = (call.int(2).unwrap_or(1).max(1) - 1) as usize;
    let found = text.find(&wanted, from, call.collation);
    Ok(integer(call, found.map_or(0, |position| position as i64 + 1)))
}

fn pat_index(call: &Call<'_, '_>) -> Result<Value> {
    let [pattern, text] = Text::arguments::<2>(call);
    let percent = u16::from(b'%');
    // '%x%' looks for x anywhere; without the first % it must stand at the start.
    let (anywhere, body) = match pattern.units.split_first() {
        Some((first, rest)) if *first == percent => (true, rest.to_vec()),
        _ => (false, pattern.units.clone()),
    };
    let body = pattern.with(body).into_value();
    let last = if anywhere { text.units.len() } else { 0 };
    for start in 0..=last {
        let rest = text.with(text.units[start..].to_vec()).into_value();
        if call.collation.like(&rest, &body, None) == Some(true) {
            return Ok(Value::Int(start as i32 + 1));
        }
        call.runtime.check_cancelled()?;
    }
    Ok(Value::Int(0))
}

fn reverse(call: &Call<'_, '_>) -> Result<Value> {
    let text = Text::of(&call.args[0]);
    Ok(text.with(text.units.iter().rev().copied().collect()).into_value())
}

fn char_of(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match call.int(0).and_then(|number| u8::try_from(number).ok()) {
        Some(byte) => Value::Char((&[byte][..]).into()),
        None => Value::Null,
    })
}

fn nchar_of(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match call.int(0).and_then(|number| u16::try_from(number).ok()) {
        Some(unit) => Value::NChar((&[unit][..]).into()),
        None => Value::Null,
    })
}

fn ascii(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match &call.args[0] {
        Value::NChar(units) => {
            let text = types::ByteStr::from_text(&types::WideStr::new(units).to_text());
            text.first().map_or(Value::Null, |byte| Value::Int(i32::from(*byte)))
        }
        other => Text::of(other).units.first().map_or(Value::Null, |unit| Value::Int(i32::from(*unit))),
    })
}

fn unicode(call: &Call<'_, '_>) -> Result<Value> {
    Ok(Text::of(&call.args[0]).units.first().map_or(Value::Null, |unit| Value::Int(i32::from(*unit))))
}

/// NULLs count as empty; wide when any argument is.
fn join<'v>(values: impl Iterator<Item = &'v Value> + Clone, separator: Option<&Value>, wide: bool) -> Value {
    let piece = |value: &Value| if wide { Text::of(value).widened() } else { Text::of(value) };
    let between = separator.map(piece);
    let mut units: Vec<u16> = Vec::new();
    for (index, value) in values.enumerate() {
        if let (true, Some(between)) = (index > 0, &between) {
            units.extend_from_slice(&between.units);
        }
        units.extend(piece(value).units);
    }
    Text { wide, units }.into_value()
}

fn concat(call: &Call<'_, '_>) -> Result<Value> {
    Ok(join(call.args.iter(), None, matches!(call.result, SqlType::NVarChar(_))))
}

fn concat_ws(call: &Call<'_, '_>) -> Result<Value> {
    let wide = matches!(call.result, SqlType::NVarChar(_));
    Ok(join(call.args[1..].iter().filter(|value| !value.is_null()), Some(&call.args[0]), wide))
}

fn quote_name(call: &Call<'_, '_>) -> Result<Value> {
    let text = call.text(0).unwrap_or_default();
    if text.encode_utf16().count() > 128 {
        return Ok(Value::Null);
    }
    let (open, close) = match call.text(1).as_deref().unwrap_or("[") {
        "[" | "]" => ('[', ']'),
        "'" => ('\'', '\''),
        "\"" => ('"', '"'),
        "(" | ")" => ('(', ')'),
        "<" | ">" => ('<', '>'),
        "{" | "}" => ('{', '}'),
        "`" => ('`', '`'),
        _ => return Ok(Value::Null),
    };
    let doubled: String =
        text.chars().flat_map(|c| std::iter::repeat_n(c, if c == close { 2 } else { 1 })).collect();
    Ok(Value::nvarchar(&format!("{open}{doubled}{close}")))
}

fn parse_name(call: &Call<'_, '_>) -> Result<Value> {
    let text = call.text(0).unwrap_or_default();
    let parts = plan_ir::names::name_parts(&text);
    let wanted = call.int(1).unwrap_or(0);
    let index = usize::try_from(wanted).ok().and_then(|wanted| parts.len().checked_sub(wanted));
    Ok(match index.and_then(|index| parts.get(index)) {
        Some(part) if parts.len() <= 4 && !part.is_empty() => Value::nvarchar(part),
        _ => Value::Null,
    })
}

fn str_of(call: &Call<'_, '_>) -> Result<Value> {
    let number = call.float(0).unwrap_or(0.0);
    let length = call.int(1).unwrap_or(10);
    let decimals = call.int(2).unwrap_or(0).clamp(0, 16) as usize;
    if !(0..=8000).contains(&length) {
        return Ok(Value::Null);
    }
    let length = length as usize;
    let whole = format!("{number:.0}");
    if whole.len() > length {
        return Ok(Value::varchar(&"*".repeat(length)));
    }
    let room = length.saturating_sub(whole.len() + 1);
    let text = format!("{number:.*}", decimals.min(room));
    Ok(Value::varchar(&format!("{text:>length$}")))
}

fn translate(call: &Call<'_, '_>) -> Result<Value> {
    let [text, from, to] = Text::arguments::<3>(call);
    if from.units.len() != to.units.len() {
        return Err(plan_ir::errors::translate_lengths());
    }
    let (weights, from) = (text.weights(call.collation), from.weights(call.collation));
    let units = text
        .units
        .iter()
        .zip(weights)
        .map(|(unit, weight)| {
            from.iter().position(|wanted| *wanted == weight).map_or(*unit, |position| to.units[position])
        })
        .collect();
    Ok(text.with(units).into_value())
}

fn string_escape(call: &Call<'_, '_>) -> Result<Value> {
    let mut out = String::new();
    for c in call.text(0).unwrap_or_default().chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    Ok(Value::nvarchar(&out))
}

/// A message by number, user-defined or system, or a text; values are substituted as in RAISERROR. NULL when the message does not exist.
fn format_message(call: &Call<'_, '_>) -> Result<Value> {
    let message = &call.args[0];
    let template = match (message.as_text(), message.as_i64()) {
        (Some(text), _) => Some(text),
        (None, Some(number)) => message_of(call, number)?,
        _ => None,
    };
    match template {
        Some(template) => Ok(Value::nvarchar(&types::substitute(&template, &call.args[1..])?)),
        None => Ok(Value::Null),
    }
}

fn message_of(call: &Call<'_, '_>, number: i64) -> Result<Option<String>> {
    let Ok(number) = i32::try_from(number) else { return Ok(None) };
    let transactions = call.runtime.transactions.borrow();
    let of_users =
        engine::Lookup::new(&transactions).user_message(&call.runtime.instance.master(), number)?;
    let text = of_users.map(|message| message.text.to_string());
    Ok(text.or_else(|| types::messages::lookup(number).map(|message| message.text.to_owned())))
}

fn sound_code(text: &str) -> String {
    let code = |c: char| match c.to_ascii_uppercase() {
        'B' | 'F' | 'P' | 'V' => '1',
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => '2',
        'D' | 'T' => '3',
        'L' => '4',
        'M' | 'N' => '5',
        'R' => '6',
        _ => '0',
    };
    let mut letters = text.chars().take_while(char::is_ascii_alphabetic);
    let Some(first) = letters.next() else {
        return "0000".to_string();
    };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = code(first);
    for letter in letters {
        let digit = code(letter);
        if digit != '0' && digit != last {
            out.push(digit);
        }
        if !matches!(letter.to_ascii_uppercase(), 'H' | 'W') {
            last = digit;
        }
    }
    out.truncate(4);
    format!("{out:0<4}")
}

fn soundex(call: &Call<'_, '_>) -> Result<Value> {
    Ok(Value::varchar(&sound_code(&call.text(0).unwrap_or_default())))
}

fn difference(call: &Call<'_, '_>) -> Result<Value> {
    let (a, b) =
        (sound_code(&call.text(0).unwrap_or_default()), sound_code(&call.text(1).unwrap_or_default()));
    Ok(Value::Int(a.chars().zip(b.chars()).filter(|pair| pair.0 == pair.1).count() as i32))
}

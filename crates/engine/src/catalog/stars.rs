//! The columns of a `*` in a module as text: for each the position of its table and its name in brackets, `0[id]0[a]]b]1[id]`.

use std::fmt::Write;

use crate::schema::KeptColumn;

/// In the catalog's form.
pub(crate) fn text_of(columns: &[KeptColumn]) -> String {
    let mut text = String::new();
    for column in columns {
        let name = column.name.replace(']', "]]");
        write!(text, "{}[{name}]", column.table).expect("a string takes everything");
    }
    text
}

/// From the catalog's form; `None`: the text is invalid.
pub(crate) fn columns_of(text: &str) -> Option<Vec<KeptColumn>> {
    let mut columns = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (table, behind) = rest.split_once('[')?;
        let mut end = behind.find(']')?;
        while behind[end + 1..].starts_with(']') {
            end += 2 + behind[end + 2..].find(']')?;
        }
        let name = behind[..end].replace("]]", "]");
        columns.push(KeptColumn { table: table.parse().ok()?, name: name.into() });
        rest = &behind[end + 1..];
    }
    Some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_is_read() {
        let names = ["id", "", "]", "]]", "a]b", "[x]", "0[id]", "é ]\n[", "1"];
        for count in 0..=names.len() {
            let column =
                |(at, name): (usize, &&str)| KeptColumn { table: at as u16 * 50, name: (*name).into() };
            let columns: Vec<KeptColumn> = names[..count].iter().enumerate().map(column).collect();
            assert_eq!(columns_of(&text_of(&columns)), Some(columns));
        }
        assert_eq!(text_of(&columns_of("0[id]12[a]]b]").unwrap_or_default()), "0[id]12[a]]b]");
        for damaged in ["id", "0[id", "[id]", "0[id]x", "70000[id]", "0[a]]", "-1[a]"] {
            assert_eq!(columns_of(damaged), None, "{damaged}");
        }
    }
}

//! Compiles the constructors of XQuery: elements as they are written in XML, and computed elements, attributes and texts.

use super::expr::{Constructor, Expr, Part};
use super::parser::{Parser, Typed};
use super::scanner::is_start;
use super::shape::{Count, Items, Shape};
use super::tree::Name;
use crate::{SqlError, SqlResult};

fn made(items: Items) -> Shape {
    Shape { items, count: Count::One, is_constructed: true }
}

impl Parser<'_> {
    /// `<name ..>`, `<!-- -->`, `<? ?>`
    #[inline(never)]
    pub(super) fn direct(&mut self) -> SqlResult<Typed> {
        self.deeper(|parser| {
            let rest = parser.scan.rest();
            if let Some(inside) = rest.strip_prefix("<!--") {
                let Some(end) = inside.find("-->") else { return Err(parser.scan.syntax()) };
                parser.scan.at += 4 + end + 3;
                return Ok((Expr::Comment(inside[..end].to_string()), made(Items::Comment)));
            }
            if let Some(inside) = rest.strip_prefix("<?") {
                let Some(end) = inside.find("?>") else {
                    return Err(SqlError::new(2272, &[&parser.scan.prefix]));
                };
                parser.scan.at += 2 + end + 2;
                let (target, data) =
                    inside[..end].split_once(char::is_whitespace).unwrap_or((&inside[..end], ""));
                let instruction =
                    Expr::Instruction(Box::new((target.to_string(), data.trim_start().to_string())));
                return Ok((instruction, made(Items::Instruction)));
            }
            if !rest[1..].starts_with(is_start) {
                return Err(parser.scan.syntax());
            }
            parser.scan.at += 1;
            let element = parser.element()?;
            let items = Items::Element(element.name.local.clone());
            Ok((Expr::Element(Box::new(element)), made(items)))
        })
    }

    /// An element behind its `<`.
    #[inline(never)]
    fn element(&mut self) -> SqlResult<Constructor> {
        let Some(written) = self.scan.qualified_name() else { return Err(self.scan.syntax()) };
        let mut written_attributes: Vec<((&str, &str), Vec<Part>)> = Vec::new();
        let mut namespaces = Vec::new();
        let sight = (self.namespaces.len(), self.element_namespace.clone());
        let is_empty = loop {
            if self.scan.take("/>") {
                break true;
            }
            if self.scan.take(">") {
                break false;
            }
            let Some(name) = self.scan.qualified_name() else { return Err(self.scan.syntax()) };
            self.scan.expect("=")?;
            let value = self.attribute_value()?;
            let prefix = match name {
                ("", "xmlns") => Some(""),
                ("xmlns", prefix) => Some(prefix),
                _ => None,
            };
            match prefix {
                Some(prefix) => {
                    let uri = match value.as_slice() {
                        [] => String::new(),
                        [Part::Text(uri)] => uri.clone(),
                        _ => return Err(SqlError::new(9338, &[&self.scan.prefix])),
                    };
                    match prefix {
                        "" => self.element_namespace.clone_from(&uri),
                        prefix => self.namespaces.push((prefix.to_string(), uri.clone())),
                    }
                    namespaces.push((prefix.to_string(), uri));
                }
                None => written_attributes.push((name, value)),
            }
        };
        let name = self.constructed_name(written, false)?;
        let mut attributes: Vec<(Name, Vec<Part>)> = Vec::new();
        for (written, value) in written_attributes {
            let name = self.constructed_name(written, true)?;
            if attributes.iter().any(|known| known.0.local == name.local && known.0.uri == name.uri) {
                return Err(SqlError::new(2271, &[&self.scan.prefix, &name.local]));
            }
            attributes.push((name, value));
        }
        let content = if is_empty { Vec::new() } else { self.content(written)? };
        self.namespaces.truncate(sight.0);
        self.element_namespace = sight.1;
        Ok(Constructor { name, namespaces, attributes, content })
    }

    /// A written name with its namespace.
    fn constructed_name(&self, (prefix, local): (&str, &str), is_attribute: bool) -> SqlResult<Name> {
        let uri = match prefix {
            "" if is_attribute => String::new(),
            "" => self.element_namespace.clone(),
            prefix => self.uri_of(prefix)?,
        };
        Ok(Name { prefix: prefix.to_string(), local: local.to_string(), uri })
    }

    /// `"text{expression}"`
    #[inline(never)]
    fn attribute_value(&mut self) -> SqlResult<Vec<Part>> {
        self.scan.skip();
        let Some(quote) = self.scan.rest().chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            let near = self.scan.near();
            return Err(SqlError::new(9317, &[&self.scan.prefix, &near]));
        };
        self.scan.at += 1;
        let (mut parts, mut text) = (Vec::new(), String::new());
        loop {
            let rest = self.scan.rest();
            let Some(length) = rest.find([quote, '{', '}']) else {
                return Err(SqlError::new(2274, &[&self.scan.prefix, &1]));
            };
            self.scan.unescape(&rest[..length], true, &mut text)?;
            self.scan.at += length;
            let here = &rest[length..];
            if here.starts_with(quote) {
                self.scan.at += 1;
                if !here[1..].starts_with(quote) {
                    break;
                }
                text.push(quote);
                self.scan.at += 1;
                continue;
            }
            self.brace(&mut text, &mut parts)?;
        }
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(parts)
    }

    /// At a brace: `{{`, `}}` or an enclosed expression. Error 9324.
    #[inline(never)]
    fn brace(&mut self, text: &mut String, parts: &mut Vec<Part>) -> SqlResult<()> {
        let rest = self.scan.rest();
        for doubled in ["{{", "}}"] {
            if rest.starts_with(doubled) {
                text.push_str(&doubled[..1]);
                self.scan.at += 2;
                return Ok(());
            }
        }
        if rest.starts_with('}') {
            return Err(SqlError::new(9324, &[&self.scan.prefix]));
        }
        self.scan.at += 1;
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(text)));
        }
        let expr = self.expr()?.0;
        self.scan.expect("}")?;
        parts.push(Part::Expr(expr));
        Ok(())
    }

    /// The content of an element, up to its end tag. Blanks alone between two other parts are dropped. Errors 2267, 2323.
    #[inline(never)]
    fn content(&mut self, name: (&str, &str)) -> SqlResult<Vec<Part>> {
        let (mut parts, mut text, mut is_blank) = (Vec::new(), String::new(), true);
        loop {
            let rest = self.scan.rest();
            let Some(length) = rest.find(['<', '{', '}']) else {
                return Err(SqlError::new(2267, &[&self.scan.prefix, &shown(name)]));
            };
            is_blank &= rest[..length].chars().all(char::is_whitespace);
            self.scan.unescape(&rest[..length], false, &mut text)?;
            self.scan.at += length;
            let here = &rest[length..];
            if here.starts_with("{{") || here.starts_with("}}") {
                is_blank = false;
                self.brace(&mut text, &mut parts)?;
                continue;
            }
            if let Some(inside) = here.strip_prefix("<![CDATA[") {
                let Some(end) = inside.find("]]>") else {
                    return Err(SqlError::new(2273, &[&self.scan.prefix]));
                };
                text.push_str(&inside[..end]);
                is_blank = false;
                self.scan.at += 9 + end + 3;
                continue;
            }
            let whole = std::mem::take(&mut text);
            if !std::mem::replace(&mut is_blank, true) {
                parts.push(Part::Text(whole));
            }
            if here.starts_with("</") {
                self.scan.at += 2;
                let found = self.scan.qualified_name().unwrap_or_default();
                if found != name {
                    return Err(SqlError::new(2323, &[&self.scan.prefix, &shown(found), &shown(name), &1]));
                }
                self.scan.expect(">")?;
                return Ok(parts);
            }
            if here.starts_with('<') {
                parts.push(Part::Expr(self.direct()?.0));
            } else {
                self.brace(&mut text, &mut parts)?;
            }
        }
    }

    /// `element name {..}`, `attribute name {..}`, `text {..}`, if one begins here. Errors 9315, 9325, 9326.
    #[inline(never)]
    pub(super) fn computed(&mut self) -> SqlResult<Option<Typed>> {
        let before = self.scan.at;
        let Some(word) = self.scan.name_here() else { return Ok(None) };
        if !matches!(word, "element" | "attribute" | "text" | "comment" | "processing-instruction") {
            self.scan.at = before;
            return Ok(None);
        }
        let has_brace = self.scan.at_symbol("{");
        if word == "text" && has_brace {
            let value = self.enclosed()?.unwrap_or(Expr::Sequence(Vec::new()));
            return Ok(Some((Expr::Text(Box::new(value)), made(Items::Text))));
        }
        let name = if has_brace { None } else { self.scan.qualified_name() };
        if !self.scan.at_symbol("{") {
            self.scan.at = before;
            return Ok(None);
        }
        match word {
            "comment" => return Err(SqlError::new(9326, &[&self.scan.prefix])),
            "processing-instruction" => return Err(SqlError::new(9325, &[&self.scan.prefix])),
            _ => {}
        }
        let Some(name) = name else { return Err(SqlError::new(9315, &[&self.scan.prefix])) };
        let name = self.constructed_name(name, word == "attribute")?;
        let content = self.enclosed()?;
        let local = name.local.clone();
        if word == "attribute" {
            let value = content.unwrap_or(Expr::Sequence(Vec::new()));
            return Ok(Some((Expr::Attribute(Box::new((name, value))), made(Items::Attribute(local)))));
        }
        let content = content.map(Part::Expr).into_iter().collect();
        let element = Constructor { name, namespaces: Vec::new(), attributes: Vec::new(), content };
        Ok(Some((Expr::Element(Box::new(element)), made(Items::Element(local)))))
    }

    /// `{ .. }`
    fn enclosed(&mut self) -> SqlResult<Option<Expr>> {
        self.scan.expect("{")?;
        if self.scan.take("}") {
            return Ok(None);
        }
        let (expr, _) = self.expr()?;
        self.scan.expect("}")?;
        Ok(Some(expr))
    }
}

fn shown((prefix, name): (&str, &str)) -> String {
    if prefix.is_empty() { name.to_string() } else { format!("{prefix}:{name}") }
}

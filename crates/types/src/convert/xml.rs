//! Checks whether a text is well-formed XML. A value of type xml must be: a document, or the content of one (several elements, text, nothing).
//!
//! The first error has its line and character: the one at which reading stopped, or the last one when the text ends too early.
//! A DTD is not parsed: CONVERT's style 2 accepts it, and then names of entities are not checked.

use crate::{SqlError, SqlResult};

/// Levels of nested elements, at most (SQL Server's limit).
const DEPTH_MAX: usize = 128;

/// The form of the text before it was converted to UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// nchar and nvarchar: a declaration can name no other encoding.
    Wide,
    /// char and varchar.
    Narrow,
    /// Bytes decoded by their byte order mark: the declaration is not needed.
    Bytes,
}

/// Errors 6335, 6359, 9400 to 9460: the text is not well-formed XML.
pub(super) fn check(units: &[u16], source: Source, takes_dtd: bool) -> SqlResult<()> {
    let mut reader = Reader { units, at: 0, source, takes_dtd, open: Vec::new(), prefixes: Vec::new() };
    match reader.content() {
        Ok(()) => Ok(()),
        Err(Fault::At(number, at)) => {
            let (line, character) = place(units, at);
            Err(SqlError::new(number, &[&line, &character]))
        }
        Err(Fault::Depth) => Err(SqlError::new(6335, &[&DEPTH_MAX])),
        Err(Fault::Dtd) => Err(SqlError::new(6359, &[])),
    }
}

/// Checks a value of type xml as a client sends it, with any byte order mark and declaration of encoding.
pub fn check_sent(units: &[u16]) -> SqlResult<()> {
    check(units.strip_prefix(&[0xFEFF]).unwrap_or(units), Source::Bytes, false)
}

/// The text of bytes: by their byte order mark or first bytes UTF-16, else UTF-8.
pub(super) fn decode(bytes: &[u8]) -> SqlResult<Vec<u16>> {
    let wide = |bytes: &[u8], big: bool| {
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair.get(1).copied().unwrap_or(0)];
            if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        bytes.chunks(2).map(unit).collect()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => Ok(wide(rest, false)),
        [0xFE, 0xFF, rest @ ..] => Ok(wide(rest, true)),
        [b'<', 0, ..] => Ok(wide(bytes, false)),
        [0, b'<', ..] => Ok(wide(bytes, true)),
        _ => {
            let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => Ok(text.encode_utf16().collect()),
                Err(error) => {
                    let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                    let units: Vec<u16> = good.encode_utf16().chain([0xFFFD]).collect();
                    let (line, character) = place(&units, units.len() - 1);
                    Err(SqlError::new(9420, &[&line, &character]))
                }
            }
        }
    }
}

/// Line and character (not unit) of a position, from 1; for a position behind the end, those of the last character.
fn place(units: &[u16], at: usize) -> (usize, usize) {
    let end = units.len().min(at + 1);
    let (mut line, mut character) = (1, 0);
    let mut last = 0u16;
    for unit in &units[..end] {
        match *unit {
            0x0A if last == 0x0D => {}
            0x0A | 0x0D => (line, character) = (line + 1, 0),
            0xDC00..=0xDFFF if (0xD800..=0xDBFF).contains(&last) => {}
            _ => character += 1,
        }
        last = *unit;
    }
    (line, character)
}

enum Fault {
    /// Error number, position.
    At(i32, usize),
    Depth,
    Dtd,
}

type Read<T> = Result<T, Fault>;
/// Where a name begins and ends.
type Name = std::ops::Range<usize>;

struct Reader<'a> {
    units: &'a [u16],
    at: usize,
    source: Source,
    takes_dtd: bool,
    /// Names of the open elements.
    open: Vec<Name>,
    /// Prefixes that are declared, each with the number of elements open there.
    prefixes: Vec<(usize, Name)>,
}

impl Reader<'_> {
    fn content(&mut self) -> Read<()> {
        while let Some(unit) = self.peek() {
            match unit {
                0x3C => self.markup()?,
                0x26 => self.reference()?,
                0x5D if self.starts("]]>") => return Err(Fault::At(9454, self.at + 2)),
                _ => self.character()?,
            }
        }
        if self.open.is_empty() { Ok(()) } else { Err(self.fault(9400)) }
    }

    fn markup(&mut self) -> Read<()> {
        match self.units.get(self.at + 1) {
            Some(0x2F) => self.end_tag(),
            Some(0x3F) => self.instruction(),
            Some(0x21) if self.starts("<!--") => self.comment(),
            Some(0x21) if self.starts("<![") => self.cdata(),
            Some(0x21) if self.starts("<!DOCTYPE") && self.open.is_empty() => self.doctype(),
            Some(0x21) => Err(Fault::At(9422, self.at + 2)),
            _ => self.start_tag(),
        }
    }

    fn start_tag(&mut self) -> Read<()> {
        self.at += 1;
        let name = self.qualified_name()?;
        if self.open.len() == DEPTH_MAX {
            return Err(Fault::Depth);
        }
        let (mut attributes, depth): (Vec<Name>, usize) = (Vec::new(), self.open.len());
        loop {
            let has_blank = self.blanks();
            match self.need()? {
                0x3E => break,
                0x2F => {
                    self.at += 1;
                    self.expect(0x3E, 9412)?;
                    self.check_prefixes(&name, &attributes)?;
                    self.forget_prefixes(depth);
                    return Ok(());
                }
                // Any name character would belong to the name; a value must be followed by a blank.
                _ if !has_blank && attributes.is_empty() => return Err(self.fault(9455)),
                _ if !has_blank => return Err(self.fault(9410)),
                _ => self.attribute(&mut attributes)?,
            }
        }
        self.check_prefixes(&name, &attributes)?;
        self.at += 1;
        self.open.push(name);
        Ok(())
    }

    fn attribute(&mut self, attributes: &mut Vec<Name>) -> Read<()> {
        let name = self.qualified_name()?;
        if attributes.iter().any(|other| self.units[other.clone()] == self.units[name.clone()]) {
            return Err(self.fault(9437));
        }
        self.blanks();
        self.expect(0x3D, 9414)?;
        self.blanks();
        let quote = self.need()?;
        if !matches!(quote, 0x22 | 0x27) {
            return Err(self.fault(9413));
        }
        self.at += 1;
        let start = self.at;
        loop {
            match self.need()? {
                unit if unit == quote => break,
                0x3C => return Err(self.fault(9415)),
                0x26 => self.reference()?,
                _ => self.character()?,
            }
        }
        if let Some(prefix) = self.declared(&name) {
            if start == self.at {
                return Err(self.fault(9460));
            }
            self.prefixes.push((self.open.len(), prefix));
        }
        self.at += 1;
        attributes.push(name);
        Ok(())
    }

    fn end_tag(&mut self) -> Read<()> {
        self.at += 2;
        let name = self.qualified_name()?;
        let is_same = |open: &Name| self.units[open.clone()] == self.units[name.clone()];
        if !self.open.last().is_some_and(is_same) {
            return Err(self.fault(9436));
        }
        self.blanks();
        self.expect(0x3E, 9412)?;
        self.open.pop();
        self.forget_prefixes(self.open.len());
        Ok(())
    }

    /// The prefix that an attribute `xmlns:prefix` declares.
    fn declared(&self, attribute: &Name) -> Option<Name> {
        let is_declaration = self.spells_at(attribute.start, "xmlns:");
        is_declaration.then(|| attribute.start + 6..attribute.end)
    }

    /// Prefixes of an element and its attributes are declared here or around it: 9459.
    fn check_prefixes(&self, element: &Name, attributes: &[Name]) -> Read<()> {
        for name in std::iter::once(element).chain(attributes) {
            let units = &self.units[name.clone()];
            let Some(colon) = units.iter().position(|unit| *unit == 0x3A) else { continue };
            let prefix = &units[..colon];
            let is_known = |known: &(usize, Name)| self.units[known.1.clone()] == *prefix;
            let is_reserved =
                ["xml", "xmlns"].iter().any(|word| word.encode_utf16().eq(prefix.iter().copied()));
            if !is_reserved && !self.prefixes.iter().any(is_known) {
                return Err(self.fault(9459));
            }
        }
        Ok(())
    }

    /// Removes the prefixes that an ended element has declared.
    fn forget_prefixes(&mut self, depth: usize) {
        self.prefixes.retain(|(declared, _)| *declared < depth);
    }

    /// `&lt;`, `&#10;`, `&#xA;`
    fn reference(&mut self) -> Read<()> {
        self.at += 1;
        if self.need()? != 0x23 {
            let name = self.name(9421, false)?;
            self.expect_here(0x3B, 9411)?;
            let known = ["lt", "gt", "amp", "quot", "apos"];
            let is_known = |word: &&str| word.encode_utf16().eq(self.units[name.clone()].iter().copied());
            if !self.takes_dtd && !known.iter().any(is_known) {
                return Err(self.fault(9448));
            }
            self.at += 1;
            return Ok(());
        }
        self.at += 1;
        let is_hexadecimal = self.need()? == 0x78;
        self.at += usize::from(is_hexadecimal);
        let (radix, missing) = if is_hexadecimal { (16, 9416) } else { (10, 9417) };
        let (start, mut code) = (self.at, 0u32);
        while let Some(digit) = char::from_u32(u32::from(self.need()?)).and_then(|c| c.to_digit(radix)) {
            code = code.saturating_mul(radix).saturating_add(digit);
            self.at += 1;
        }
        match self.need()? {
            _ if self.at == start => Err(self.fault(missing)),
            0x3B if char::from_u32(code).is_some_and(is_xml_character) => {
                self.at += 1;
                Ok(())
            }
            0x3B => Err(self.fault(9420)),
            _ => Err(self.fault(9411)),
        }
    }

    fn comment(&mut self) -> Read<()> {
        self.at += 4;
        while !self.starts("--") {
            self.need()?;
            self.character()?;
        }
        self.at += 2;
        self.expect(0x3E, 9424)
    }

    fn cdata(&mut self) -> Read<()> {
        if !self.starts("<![CDATA[") {
            return Err(Fault::At(9423, self.at + 3));
        }
        self.at += 9;
        self.until("]]>")
    }

    /// `<?target ..?>`, and the declaration at the very beginning. Errors 9438, 9439, 9451.
    fn instruction(&mut self) -> Read<()> {
        let start = self.at;
        self.at += 2;
        let target = self.name(9451, false)?;
        let word = String::from_utf16_lossy(&self.units[target]);
        match word.as_str() {
            "xml" if start == 0 => return self.declaration(),
            "xml" => return Err(self.fault(9438)),
            _ if word.eq_ignore_ascii_case("xml") => return Err(self.fault(9439)),
            _ => {}
        }
        if !self.starts("?>") && !self.blanks() {
            self.need()?;
            return Err(self.fault(9451));
        }
        self.until("?>")
    }

    /// `<?xml version="1.0" encoding=".." standalone=".."?>`, behind its first word. Errors 9401, 9402, 9441.
    fn declaration(&mut self) -> Read<()> {
        let mut encoding = None;
        for (word, is_needed) in [("version", true), ("encoding", false), ("standalone", false)] {
            let before = self.at;
            let has_blank = self.blanks();
            if !self.starts(word) {
                self.at = before;
                match is_needed {
                    true => return Err(self.end_or(9441)),
                    false => continue,
                }
            }
            self.at += word.len();
            self.blanks();
            if !has_blank || self.need()? != 0x3D {
                return Err(self.fault(9441));
            }
            self.at += 1;
            self.blanks();
            let value = self.quoted()?;
            let fits = match word {
                "version" => value == "1.0",
                "standalone" => matches!(value.as_str(), "yes" | "no"),
                _ => true,
            };
            if !fits {
                return Err(self.fault(9441));
            }
            if word == "encoding" {
                encoding = Some(value);
            }
        }
        self.blanks();
        if !self.starts("?>") {
            return Err(self.end_or(9441));
        }
        self.at += 1;
        if let Some(number) = encoding.and_then(|name| wrong_encoding(&name, self.source)) {
            return Err(self.fault(number));
        }
        self.at += 1;
        Ok(())
    }

    fn quoted(&mut self) -> Read<String> {
        let quote = self.need()?;
        if !matches!(quote, 0x22 | 0x27) {
            return Err(self.fault(9413));
        }
        self.at += 1;
        let start = self.at;
        while self.need()? != quote {
            self.character()?;
        }
        self.at += 1;
        Ok(String::from_utf16_lossy(&self.units[start..self.at - 1]))
    }

    /// A DTD, up to its end: skipped where it is allowed. Error 6359.
    fn doctype(&mut self) -> Read<()> {
        if !self.takes_dtd {
            return Err(Fault::Dtd);
        }
        let (mut depth, mut quote) = (0, None);
        loop {
            let unit = self.need()?;
            match (quote, unit) {
                (Some(open), _) if open == unit => quote = None,
                (Some(_), _) => {}
                (None, 0x22 | 0x27) => quote = Some(unit),
                (None, 0x3C | 0x5B) => depth += 1,
                (None, 0x3E | 0x5D) => depth -= 1,
                _ => {}
            }
            self.character()?;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// `name` or `prefix:name`. Errors 9455, 9456.
    fn qualified_name(&mut self) -> Read<Name> {
        let start = self.name(9455, false)?.start;
        if self.peek() == Some(0x3A) {
            self.at += 1;
            self.name(9455, true)?;
            if self.peek() == Some(0x3A) {
                return Err(self.fault(9456));
            }
        }
        Ok(start..self.at)
    }

    /// A name without colons; `number` when none begins here. `is_second`: behind a colon.
    fn name(&mut self, number: i32, is_second: bool) -> Read<Name> {
        let start = self.at;
        loop {
            let (character, units) = match self.here() {
                Some(found) => found,
                None if self.at == start || !is_second => return self.need().map(|_| start..self.at),
                None => return Err(self.fault(9400)),
            };
            let belongs = if self.at == start { starts_name(character) } else { goes_on_in_name(character) };
            match belongs {
                true => self.at += units,
                false if self.at == start => return Err(self.fault(number)),
                false => return Ok(start..self.at),
            }
        }
    }

    /// One character of text: 9420 for a character that XML does not allow.
    fn character(&mut self) -> Read<()> {
        match self.here() {
            Some((character, units)) if is_xml_character(character) => {
                self.at += units;
                Ok(())
            }
            _ => Err(self.fault(9420)),
        }
    }

    /// The character here and how many units it has; none at the end and for half a pair.
    fn here(&self) -> Option<(char, usize)> {
        let next = self.units.get(self.at..self.units.len().min(self.at + 2))?;
        let character = char::decode_utf16(next.iter().copied()).next()?.ok()?;
        Some((character, character.len_utf16()))
    }

    fn until(&mut self, end: &str) -> Read<()> {
        while !self.starts(end) {
            self.need()?;
            self.character()?;
        }
        self.at += end.len();
        Ok(())
    }

    fn blanks(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek(), Some(0x20 | 0x09 | 0x0A | 0x0D)) {
            self.at += 1;
        }
        self.at > start
    }

    fn expect(&mut self, unit: u16, number: i32) -> Read<()> {
        self.expect_here(unit, number)?;
        self.at += 1;
        Ok(())
    }

    fn expect_here(&self, unit: u16, number: i32) -> Read<()> {
        if self.need()? == unit { Ok(()) } else { Err(self.fault(number)) }
    }

    fn peek(&self) -> Option<u16> {
        self.units.get(self.at).copied()
    }

    /// The unit here: 9400 at the end.
    fn need(&self) -> Read<u16> {
        self.peek().ok_or_else(|| self.fault(9400))
    }

    fn starts(&self, text: &str) -> bool {
        self.spells_at(self.at, text)
    }

    fn spells_at(&self, at: usize, text: &str) -> bool {
        self.units.get(at..at + text.len()).is_some_and(|units| text.encode_utf16().eq(units.iter().copied()))
    }

    fn fault(&self, number: i32) -> Fault {
        Fault::At(number, self.at)
    }

    /// The error at the end of the text, or for an unexpected character.
    fn end_or(&self, number: i32) -> Fault {
        self.fault(if self.at < self.units.len() { number } else { 9400 })
    }
}

/// What is wrong with an encoding that a declaration names: the text has another one (9402), or it is unknown (9401).
fn wrong_encoding(name: &str, source: Source) -> Option<i32> {
    let name = name.to_ascii_lowercase();
    let is_wide = matches!(name.as_str(), "utf-16" | "ucs-2" | "iso-10646-ucs-2" | "utf-16le" | "utf-16be");
    let is_narrow = matches!(name.as_str(), "utf-8" | "us-ascii" | "ascii" | "latin1")
        || ["iso-8859-", "windows-"].iter().any(|family| {
            name.strip_prefix(family)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        });
    match source {
        _ if !is_wide && !is_narrow => Some(9401),
        Source::Wide if is_narrow => Some(9402),
        Source::Narrow if is_wide => Some(9402),
        _ => None,
    }
}

/// Char of XML 1.0.
fn is_xml_character(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// NameStartChar of XML 1.0 without the colon.
fn starts_name(character: char) -> bool {
    matches!(character, 'A'..='Z' | 'a'..='z' | '_'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}'
        | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}'
        | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// NameChar of XML 1.0 without the colon.
fn goes_on_in_name(character: char) -> bool {
    starts_name(character)
        || matches!(character, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, number: i32, line: usize, character: usize) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let error = check(&units, Source::Wide, false).expect_err(text);
        let told = SqlError::new(number, &[&line, &character]);
        assert_eq!((error.number, &error.message), (number, &told.message), "{text}");
    }

    #[test]
    fn faults_are_told_with_their_place() {
        refused("<a>", 9400, 1, 3);
        refused("<a", 9400, 1, 2);
        refused("<", 9400, 1, 1);
        refused("<a>\n<b>\r\nx", 9400, 3, 1);
        refused("<ROOT>111</a></ROOT>", 9436, 1, 13);
        refused("</a>", 9436, 1, 4);
        refused("<X>a&b</X>", 9411, 1, 7);
        refused("<x>AT&T</x>", 9411, 1, 8);
        refused("a & b", 9421, 1, 4);
        refused("<a x=1/>", 9413, 1, 6);
        refused("<a x/>", 9414, 1, 5);
        refused("<a x='1'y='2'/>", 9410, 1, 9);
        refused("<a x='1' x='2'/>", 9437, 1, 11);
        refused("<a x='<'/>", 9415, 1, 7);
        refused("<1/>", 9455, 1, 2);
        refused("5 < 6", 9455, 1, 4);
        refused("<a:b:c/>", 9456, 1, 5);
        refused("<p:a/>", 9459, 1, 6);
        refused("<a xmlns:p='u'/><p:b/>", 9459, 1, 22);
        refused("<a xmlns:p=''/>", 9460, 1, 13);
        refused("<x>&nbsp;</x>", 9448, 1, 9);
        refused("&#x;", 9416, 1, 4);
        refused("&#;", 9417, 1, 3);
        refused("&#0;", 9420, 1, 4);
        refused("\u{1}", 9420, 1, 1);
        refused("\u{1F600}\u{1}", 9420, 1, 2);
        refused("]]>", 9454, 1, 3);
        refused("<!-- -- -->", 9424, 1, 8);
        refused("<!-- -", 9400, 1, 6);
        refused("<![CDAT[x]]>", 9423, 1, 4);
        refused("<a / >", 9412, 1, 5);
        refused("\n<?xml version='1.0'?>", 9438, 2, 6);
        refused("<?XML x?>", 9439, 1, 6);
        refused("<?xml ?>", 9441, 1, 6);
        refused("<?xml version='2.0'?>", 9441, 1, 20);
        refused("<?xml version=\"1.0\" encoding=\"utf-8\"?><r>a</r>", 9402, 1, 38);
    }

    #[test]
    fn what_is_well_formed_is_taken() {
        let deep = "<a>".repeat(DEPTH_MAX) + &"</a>".repeat(DEPTH_MAX);
        for text in [
            "",
            "text",
            "<a/><b/>",
            "<a>&lt;&#65;&#x1F600; ] ]] > </a >",
            "<a x='1' y=\"&quot;'\" ><!-- - --><?p?><?p d?><![CDATA[<&]]]>x</a>",
            "<p:a xmlns:p='u' p:x='1'><p:b/></p:a>",
            "<a xml:space='preserve' xmlns='u'/>",
            "<?xml version=\"1.0\" encoding='UTF-16' standalone='no' ?><a/>",
            "<\u{E4}\u{1F600}/>",
            deep.as_str(),
        ] {
            let units: Vec<u16> = text.encode_utf16().collect();
            let result = check(&units, Source::Wide, false);
            assert!(result.is_ok(), "{text}: {result:?}");
        }
        let deeper: Vec<u16> = format!("<a>{deep}</a>").encode_utf16().collect();
        assert_eq!(check(&deeper, Source::Wide, false).expect_err("too deep").number, 6335);
    }

    #[test]
    fn encodings_and_dtds() {
        let of = |text: &str, source, dtd| {
            let units: Vec<u16> = text.encode_utf16().collect();
            check(&units, source, dtd).err().map(|error| error.number)
        };
        let utf8 = "<?xml version='1.0' encoding='utf-8'?><a/>";
        assert_eq!(of(utf8, Source::Narrow, false), None);
        assert_eq!(of(&utf8.replace("utf-8", "utf-16"), Source::Narrow, false), Some(9402));
        assert_eq!(of(&utf8.replace("utf-8", "klingon"), Source::Narrow, false), Some(9401));
        let dtd = "<!DOCTYPE a [<!ENTITY e 'x>]'>]><a>&e;</a>";
        assert_eq!(of(dtd, Source::Wide, false), Some(6359));
        assert_eq!(of(dtd, Source::Wide, true), None);
        assert_eq!(decode(b"\xEF\xBB\xBF<a/>").expect("UTF-8"), "<a/>".encode_utf16().collect::<Vec<u16>>());
        assert_eq!(decode(b"<\0a\0").expect("UTF-16"), "<a".encode_utf16().collect::<Vec<u16>>());
        assert_eq!(decode(b"\xFE\xFF\0<").expect("UTF-16"), [0x3C]);
        assert_eq!(decode(b"<\xFF").expect_err("not UTF-8").number, 9420);
    }
}

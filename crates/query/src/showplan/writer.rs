//! XML text under construction.

/// XML text under construction.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
}

impl Writer {
    /// An element around what `inner` writes.
    pub(super) fn element(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        inner: impl FnOnce(&mut Writer),
    ) {
        self.open(name, attributes);
        let at = self.text.len();
        self.text.push('>');
        inner(self);
        if self.text.len() == at + 1 {
            self.text.truncate(at);
            self.text.push_str("/>");
        } else {
            self.text.push_str(&format!("</{name}>"));
        }
    }

    /// An element without content.
    pub(super) fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.element(name, attributes, |_| {});
    }

    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.text.push('<');
        self.text.push_str(name);
        for (attribute, value) in attributes {
            self.text.push_str(&format!(" {attribute}=\"{}\"", escaped(value)));
        }
    }
}

/// A text as the value of an attribute. What XML 1.0 cannot hold becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", u32::from(character))),
            other if u32::from(other) < 0x20 || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}')
            }
            other => escaped.push(other),
        }
    }
    escaped
}

//! Scripting variables: `$(name)`, `:setvar name value`, `-v name=value`.

use std::collections::BTreeMap;

/// The variables of a run. Names ignore letter case.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    values: BTreeMap<String, String>,
}

impl Variables {
    /// Sets one.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_lowercase(), value.to_string());
    }

    /// Removes one.
    pub fn unset(&mut self, name: &str) {
        self.values.remove(&name.to_lowercase());
    }

    /// `name=value` of `-v`.
    ///
    /// # Errors
    /// When there is no `=`.
    pub fn set_from_argument(&mut self, argument: &str) -> Result<(), String> {
        let (name, value) =
            argument.split_once('=').ok_or_else(|| format!("-v wants name=value, not '{argument}'"))?;
        self.set(name.trim(), value.trim_matches('"'));
        Ok(())
    }

    /// All of them, a line each.
    pub fn listed(&self) -> String {
        self.values.iter().map(|(name, value)| format!("{name} = \"{value}\"\n")).collect()
    }

    /// Replaces every `$(name)`; an undefined one is an error, as in sqlcmd.
    ///
    /// # Errors
    /// Names the undefined variable.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("$(") {
            out.push_str(&rest[..at]);
            let inside = &rest[at + 2..];
            let end = inside
                .find(')')
                .filter(|end| inside[..*end].chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-'));
            let Some(end) = end.filter(|end| *end > 0) else {
                out.push_str("$(");
                rest = inside;
                continue;
            };
            let name = &inside[..end];
            let value = self.values.get(&name.to_lowercase());
            out.push_str(value.ok_or_else(|| format!("'{name}' scripting variable not defined."))?);
            rest = &inside[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_expanded() {
        let mut variables = Variables::default();
        variables.set_from_argument("Db=Sales").unwrap();
        assert_eq!(variables.expand("USE $(DB); -- $(x y)").unwrap(), "USE Sales; -- $(x y)");
        assert_eq!(variables.expand("$(missing)").unwrap_err(), "'missing' scripting variable not defined.");
        assert!(variables.set_from_argument("x").is_err());
    }
}

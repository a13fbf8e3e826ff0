//! The source tree as the rules see it: files, their crates, and their code with comments, strings and tests removed.

use std::path::{Path, PathBuf};

/// One Rust file.
pub struct SourceFile {
    /// Path from the workspace root, with forward slashes.
    pub path: String,
    /// Short name of its crate.
    pub krate: String,
    /// The unchanged text of the file.
    pub text: String,
    /// The same lines with comments, string contents and `#[cfg(test)]` modules blanked.
    pub code: String,
}

impl SourceFile {
    /// A file from its path and text.
    pub fn new(path: &str, text: String) -> Self {
        let krate = path.strip_prefix("crates/").and_then(|rest| rest.split('/').next()).unwrap_or("xtask");
        let code = blank_tests(&blank_comments_and_strings(&text));
        SourceFile { path: path.to_string(), krate: krate.to_string(), text, code }
    }

    /// Neither a test, a bench, an example nor a fuzz target.
    pub fn is_production(&self) -> bool {
        let aside = ["/tests/", "/benches/", "/examples/", "fuzz/", "crates/sim/"]
            .iter()
            .any(|part| self.path.contains(part))
            || self.path.starts_with("benches/");
        !aside && !self.path.ends_with("/tests.rs") && !self.path.ends_with("_tests.rs")
    }
}

/// The folder that holds the workspace's Cargo.toml.
///
/// # Errors
/// When xtask is not in a workspace.
pub fn workspace_root() -> Result<PathBuf, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_path_buf).ok_or_else(|| "xtask has no parent folder".to_string())
}

/// Every Rust file of the workspace's own crates.
///
/// # Errors
/// When a folder or file cannot be read.
pub fn read_tree(root: &Path) -> Result<Vec<SourceFile>, String> {
    let mut files = Vec::new();
    for top in ["benches", "crates", "xtask", "fuzz", "tests"] {
        walk(root, &root.join(top), &mut files)?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_string();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                walk(root, &path, files)?;
            }
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push(SourceFile::new(&relative, text));
        }
    }
    Ok(())
}

/// Replaces the inside of comments, strings and character literals by blanks, keeping every line break.
fn blank_comments_and_strings(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let skipped = skipped_length(bytes, i);
        if skipped == 0 {
            out.push(bytes[i]);
            i += 1;
        } else {
            let end = (i + skipped).min(bytes.len());
            out.extend(bytes[i..end].iter().map(|b| if *b == b'\n' { b'\n' } else { b' ' }));
            i = end;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Length of the comment, string or character literal that begins at `i`; 0 when there is none.
fn skipped_length(bytes: &[u8], i: usize) -> usize {
    let rest = &bytes[i..];
    if rest.starts_with(b"//") {
        return rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return rest.windows(2).position(|w| w == b"*/").map_or(rest.len(), |p| p + 2);
    }
    let after_word = i > 0 && (bytes[i - 1].is_ascii_alphanumeric() || bytes[i - 1] == b'_');
    if rest[0] == b'r' && !after_word {
        let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let mut end = vec![b'"'];
            end.extend(std::iter::repeat_n(b'#', hashes));
            let body = &rest[2 + hashes..];
            let length = body.windows(end.len()).position(|w| w == end).unwrap_or(body.len());
            return 2 + hashes + length + end.len();
        }
    }
    if rest[0] == b'"' {
        return quoted_length(rest, b'"');
    }
    if rest[0] == b'\'' && (rest.get(2) == Some(&b'\'') || rest.get(1) == Some(&b'\\')) {
        return quoted_length(rest, b'\'');
    }
    0
}

fn quoted_length(rest: &[u8], quote: u8) -> usize {
    let mut i = 1;
    while i < rest.len() {
        match rest[i] {
            b'\\' => i += 2,
            b if b == quote => return i + 1,
            _ => i += 1,
        }
    }
    rest.len()
}

/// Blanks every item under `#[cfg(test)]`.
fn blank_tests(code: &str) -> String {
    let mut out = code.to_string();
    let mut from = 0;
    while let Some(found) = out[from..].find("#[cfg(test)]") {
        let start = from + found;
        let end = item_end(out.as_bytes(), start);
        let blanked: String = out[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        out.replace_range(start..end, &blanked);
        from = start + blanked.len();
    }
    out
}

/// End of the item that begins at `start`: its closing brace, or a semicolon before any brace.
fn item_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    for (i, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
            b';' if depth == 0 => return i + 1,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_tests_are_blanked() {
        let text = "let a = \"x.unwrap()\"; // y.unwrap()\nlet c = '\\'';\n#[cfg(test)]\nmod t { fn f() { z.unwrap() } }\nlet b = r#\"unwrap()\"#;\n";
        let file = SourceFile::new("crates/log/src/a.rs", text.to_string());
        assert!(!file.code.contains("unwrap"));
        assert_eq!(file.code.lines().count(), text.lines().count());
        assert!(file.code.contains("let b ="));
        assert_eq!(file.krate, "log");
    }

    #[test]
    fn lifetimes_are_not_character_literals() {
        let file = SourceFile::new("crates/log/src/a.rs", "fn f<'a>(x: &'a str) { y.unwrap() }".to_string());
        assert!(file.code.contains("unwrap"));
    }
}

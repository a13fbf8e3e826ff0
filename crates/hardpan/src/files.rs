//! Script files: UTF-8 or UTF-16, with or without a byte order mark; users' paths.

use std::path::{Path, PathBuf};

use os::Os;

/// Reads a script.
pub fn read_text(os: &Os, path: &Path) -> Result<String, String> {
    let bytes = os.disk().read_file(path).map_err(|error| error.to_string())?;
    decode(&bytes).ok_or_else(|| format!("{} is neither UTF-8 nor UTF-16", path.display()))
}

/// The folder of `--log-cache`; none for OFF.
pub(crate) fn log_cache_folder(argument: &Path) -> Option<PathBuf> {
    (!argument.as_os_str().eq_ignore_ascii_case("OFF")).then(|| absolute(argument))
}

/// An absolute path, independent of later changes of the working directory.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn decode(bytes: &[u8]) -> Option<String> {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty())
    };
    // A script contains no zeros: zeros beside the first letters indicate UTF-16 without a mark.
    let zeros =
        |at: usize| bytes.len() > 1 && bytes.iter().take(8).skip(at).step_by(2).all(|byte| *byte == 0);
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        [0xFF, 0xFE, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => units(rest, u16::from_be_bytes),
        _ if zeros(1) => units(bytes, u16::from_le_bytes),
        _ if zeros(0) => units(bytes, u16::from_be_bytes),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_marks_are_understood() {
        assert_eq!(decode(b"\xEF\xBB\xBFa").as_deref(), Some("a"));
        assert_eq!(decode(b"\xFF\xFEa\0").as_deref(), Some("a"));
        assert_eq!(decode(b"\xFE\xFF\0a").as_deref(), Some("a"));
        assert_eq!(decode(b"plain").as_deref(), Some("plain"));
        assert_eq!(decode(b"G\0O\0").as_deref(), Some("GO"));
        assert_eq!(decode(b"\0G\0O").as_deref(), Some("GO"));
        assert_eq!(decode(b"\xFF\xFEa\0b"), None, "half a letter is not dropped");
        assert_eq!(decode(b"").as_deref(), Some(""));
        assert_eq!(decode(b"\x80"), None);
    }
}

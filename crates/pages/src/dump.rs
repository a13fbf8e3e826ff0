//! A page as text, for `hardpan page dump` and DBCC PAGE: header, slots, bytes; says where damage begins.

use std::fmt::Write as _;
use std::path::Path;

use os::{AlignedBuf, OpenOptions, Os};

use crate::checksum::{self, PageCheck};
use crate::data_file::page_of;
use crate::error::PageError;
use crate::file_header::{BootPage, FileHeader};
use crate::header::{self, PageType};
use crate::page_id::{PAGE_BYTES, PageBytes, PageId};
use crate::slots;

/// Reads page `page` of a closed or copied data file as it is, damage included, with the file's number from its header
/// (1 when it is not readable).
pub fn read_page_of_file(os: &Os, path: &Path, page: u32) -> Result<(PageId, Box<PageBytes>), PageError> {
    let file = os.disk().open(path, &OpenOptions::read_only())?;
    let mut buffer = AlignedBuf::new(PAGE_BYTES);
    file.read_exact_at(&mut buffer, 0)?;
    let file_id = FileHeader::decode(page_of(&buffer), path).map_or(1, |header| header.file_id);
    let id = PageId::new(file_id, page);
    file.read_exact_at(&mut buffer, id.offset())?;
    Ok((id, Box::new(*page_of(&buffer))))
}

/// The page as text. Works on any bytes.
pub fn dump_page(id: PageId, page: &PageBytes) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "PAGE: {id}");
    match checksum::check(page, id) {
        PageCheck::Sound => out.push_str("checksum: sound\n"),
        PageCheck::NeverFormatted => {
            out.push_str("never formatted (all zero)\n");
            return out;
        }
        other => {
            let _ = writeln!(out, "DAMAGED: {other:?}; what follows may be wrong");
        }
    }
    dump_header(&mut out, page);
    match header::page_type(page) {
        PageType::FileHeader => match FileHeader::decode(page, Path::new("")) {
            Ok(header) => {
                let _ = writeln!(out, "{header:#?}");
            }
            Err(error) => {
                let _ = writeln!(out, "{error}");
            }
        },
        PageType::Boot => match BootPage::decode(page, Path::new("")) {
            Ok(boot) => {
                let _ = writeln!(out, "checkpoint LSN: {}", log::Lsn::from_raw(boot.checkpoint_lsn));
                dump_bytes(&mut out, &boot.payload);
            }
            Err(error) => {
                let _ = writeln!(out, "{error}");
            }
        },
        PageType::AllocationMap => dump_bytes(&mut out, &page[crate::HEADER_BYTES..]),
        _ => dump_slots(&mut out, page),
    }
    out
}

fn dump_header(out: &mut String, page: &PageBytes) {
    let _ = writeln!(
        out,
        "version {} type {} level {} flags {:#04x} unit {} lsn {}\nid {} prev {} next {}\nslots {} ({} free, {} ghosts) \
         free bytes {} ({} reserved for undo, last remover {:x}) checksum {:#010x}",
        header::version(page),
        header::page_type(page).name(),
        header::level(page),
        header::flags(page),
        header::unit(page),
        header::lsn(page),
        header::id(page),
        header::prev(page),
        header::next(page),
        header::slot_count(page),
        header::free_slots(page),
        header::ghosts(page),
        header::free_bytes(page),
        header::reserved_bytes(page),
        header::last_remover(page),
        header::checksum(page),
    );
}

fn dump_slots(out: &mut String, page: &PageBytes) {
    if let Err(what) = slots::verify(page) {
        let _ = writeln!(out, "DAMAGED slots: {what}");
        dump_bytes(out, &page[crate::HEADER_BYTES..]);
        return;
    }
    for (slot, row, flags) in slots::occupied(page) {
        let _ = write!(out, "slot {slot}: {} bytes", row.len());
        for (flag, name) in
            [(slots::GHOST, " ghost"), (slots::FORWARD, " forwarding"), (slots::FORWARDED, " forwarded")]
        {
            if flags & flag != 0 {
                out.push_str(name);
            }
        }
        out.push('\n');
        dump_bytes(out, row);
    }
}

/// Hexadecimal and printable characters, 16 bytes a line; runs of zero lines are left out.
fn dump_bytes(out: &mut String, bytes: &[u8]) {
    for (index, line) in bytes.chunks(16).enumerate() {
        if line.iter().all(|&byte| byte == 0) {
            continue;
        }
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String =
            line.iter().map(|&byte| if (32..127).contains(&byte) { byte as char } else { '.' }).collect();
        let _ = writeln!(out, "  {:04x}: {:<47}  {text}", index * 16, hex.join(" "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_can_be_dumped() {
        let mut state = 1u64;
        for _ in 0..200 {
            let mut page = [0u8; PAGE_BYTES];
            for byte in page.iter_mut().step_by(3) {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                *byte = (state >> 56) as u8;
            }
            assert!(dump_page(PageId::new(1, 3), &page).contains("DAMAGED"));
            checksum::stamp(&mut page);
            assert!(dump_page(header::id(&page), &page).contains("PAGE"));
        }
    }
}

//! Any 8,192 bytes as a page, with and without a right checksum: judged, dumped and, when the slots are sound, used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pages::{PAGE_BYTES, PageBytes, PageType, checksum, dump_page, header, slots};

fuzz_target!(|data: &[u8]| {
    let mut page: Box<PageBytes> = Box::new([0; PAGE_BYTES]);
    // The first half of the input is the start of the page, the second its end: header and slot array are both reached.
    let (head, tail) = data.split_at(data.len() / 2);
    let head = &head[..head.len().min(PAGE_BYTES / 2)];
    let tail = &tail[..tail.len().min(PAGE_BYTES / 2)];
    page[..head.len()].copy_from_slice(head);
    page[PAGE_BYTES - tail.len()..].copy_from_slice(tail);
    let id = header::id(&page);
    let _ = dump_page(id, &page);
    if header::version(&page) == 0 {
        return;
    }
    checksum::stamp(&mut page);
    let _ = checksum::check(&page, id);
    let _ = dump_page(id, &page);
    if slots::verify(&page).is_err() {
        return;
    }
    let rows: Vec<Vec<u8>> = slots::occupied(&page).map(|(_, row, _)| row.to_vec()).collect();
    slots::compact(&mut page);
    assert_eq!(rows, slots::occupied(&page).map(|(_, row, _)| row.to_vec()).collect::<Vec<_>>());
    if slots::fits(&page, 16) && header::page_type(&page) != PageType::BTree {
        let slot = slots::vacant_slot(&page);
        slots::put(&mut page, slot, &[&[7; 16]], 0);
        slots::verify(&page).expect("still sound");
        slots::free(&mut page, slot);
        slots::verify(&page).expect("still sound");
    }
});

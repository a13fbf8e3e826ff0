//! Any 8,192 bytes as a page, with and without a right checksum: judged, dumped and, when the slots are sound, used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pages::{PAGE_BYTES, PageBytes, PageType, checksum, dump_page, header, slots, structure};

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
    if structure::verify(&page).is_err() {
        return;
    }
    slots::verify(&page).expect("part of the structure");
    let rows: Vec<Vec<u8>> = slots::occupied(&page).map(|(_, row, _)| row.to_vec()).collect();
    slots::compact(&mut page);
    assert_eq!(rows, slots::occupied(&page).map(|(_, row, _)| row.to_vec()).collect::<Vec<_>>());
    change(&mut page);
});

/// Every operation on what is sound leaves it sound.
fn change(page: &mut PageBytes) {
    let is_tree = match header::page_type(page) {
        PageType::BTree => true,
        PageType::Heap => false,
        _ => return,
    };
    // Rows of no meaning have no order.
    let verify = if is_tree { slots::verify } else { structure::verify };
    if slots::fits(page, 16) {
        let slot = if is_tree { header::slot_count(page) / 2 } else { slots::vacant_slot(page) };
        if is_tree { slots::insert(page, slot, &[&[7; 16]], 0) } else { slots::put(page, slot, &[&[7; 16]], 0) }
        verify(page).expect("still sound behind a new row");
        slots::splice(page, slot, 3, 9, &[8]);
        slots::set_flags(page, slot, slots::GHOST);
        verify(page).expect("still sound behind a change");
        if is_tree { slots::remove(page, slot) } else { slots::free(page, slot) }
    }
    verify(page).expect("still sound without the row");
    loop {
        let Some(slot) = slots::occupied(page).next().map(|(slot, _, _)| slot) else { break };
        if is_tree { slots::remove(page, slot) } else { slots::free(page, slot) }
    }
    verify(page).expect("still sound without rows");
    assert_eq!(header::slot_count(page), 0);
}

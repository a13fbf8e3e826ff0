//! Tests of the slotted page: random operations against a plain vector of rows.

use super::*;
use crate::page_id::PageId;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % below
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = 1 + self.roll(most);
        (0..length).map(|_| self.roll(256) as u8).collect()
    }
}

fn empty_page(page_type: PageType) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_BYTES]);
    header::format(&mut page, PageId::new(1, 8), page_type, 0, 1);
    page
}

#[test]
fn heap_operations_match_a_vector_of_options() {
    let mut dice = Dice(7);
    for _ in 0..30 {
        let mut page = empty_page(PageType::Heap);
        let mut model: Vec<Option<(Vec<u8>, u16)>> = Vec::new();
        for _ in 0..600 {
            let slot = dice.roll(model.len() as u64 + 1) as u16;
            match (dice.roll(4), model.get(usize::from(slot)).cloned().flatten()) {
                (0 | 1, _) => {
                    let row = dice.bytes(300);
                    if fits(&page, row.len()) {
                        let slot = vacant_slot(&page);
                        put(&mut page, slot, &[&row[..1], &row[1..]], 0);
                        if usize::from(slot) == model.len() {
                            model.push(None);
                        }
                        assert!(model[usize::from(slot)].is_none());
                        model[usize::from(slot)] = Some((row, 0));
                    }
                }
                (2, Some(_)) => {
                    free(&mut page, slot);
                    model[usize::from(slot)] = None;
                    while model.last().is_some_and(Option::is_none) {
                        model.pop();
                    }
                }
                (3, Some((row, flags))) => {
                    let at = dice.roll(row.len() as u64) as usize;
                    let old = dice.roll((row.len() - at) as u64 + 1) as usize;
                    let new = dice.bytes(80);
                    if new.len() <= old || new.len() - old <= room(&page) {
                        splice(&mut page, slot, at, old, &new);
                        let mut after = row.clone();
                        after.splice(at..at + old, new);
                        set_flags(&mut page, slot, flags ^ GHOST);
                        model[usize::from(slot)] = Some((after, flags ^ GHOST));
                    }
                }
                _ => {}
            }
            verify(&page).expect("sound");
            assert_eq!(usize::from(header::slot_count(&page)), model.len());
            for (slot, expected) in model.iter().enumerate() {
                let found = row(&page, slot as u16).map(|row| (row.to_vec(), flags(&page, slot as u16)));
                assert_eq!(&found, expected);
            }
        }
    }
}

#[test]
fn tree_operations_match_a_vector() {
    let mut dice = Dice(11);
    for _ in 0..30 {
        let mut page = empty_page(PageType::BTree);
        let mut model: Vec<Vec<u8>> = Vec::new();
        for _ in 0..600 {
            let slot = dice.roll(model.len() as u64 + 1) as u16;
            match dice.roll(5) {
                0..=2 => {
                    let row = dice.bytes(200);
                    if fits(&page, row.len()) {
                        insert(&mut page, slot, &[&row], 0);
                        model.insert(usize::from(slot), row);
                    }
                }
                3 if usize::from(slot) < model.len() => {
                    remove(&mut page, slot);
                    model.remove(usize::from(slot));
                }
                4 if dice.roll(20) == 0 => {
                    truncate(&mut page, slot);
                    model.truncate(usize::from(slot));
                }
                _ => {}
            }
            verify(&page).expect("sound");
            let found: Vec<Vec<u8>> = occupied(&page).map(|(_, row, _)| row.to_vec()).collect();
            assert_eq!(found, model);
        }
    }
}

#[test]
fn one_row_may_fill_the_page() {
    let mut page = empty_page(PageType::Heap);
    let row = vec![1; BODY_BYTES - SLOT_BYTES];
    assert!(fits(&page, row.len()) && !fits(&page, row.len() + 1));
    put(&mut page, 0, &[&row], 0);
    assert_eq!(header::free_bytes(&page), 0);
    verify(&page).expect("sound");
}

#[test]
fn reserved_bytes_are_kept_from_new_rows() {
    let mut page = empty_page(PageType::Heap);
    put(&mut page, 0, &[&[1; 4000]], 0);
    put(&mut page, 1, &[&[2; 4000]], 0);
    splice(&mut page, 1, 10, 3990, &[]);
    header::set_reserved_bytes(&mut page, 3990);
    assert!(!fits(&page, 200));
    splice(&mut page, 1, 10, 0, &[2; 3990]);
    assert_eq!(row(&page, 1), Some(&[2u8; 4000][..]));
}

#[test]
fn hostile_pages_are_refused_not_trusted() {
    let mut dice = Dice(3);
    for _ in 0..2000 {
        let mut page = empty_page(PageType::Heap);
        for slot in 0..20 {
            put(&mut page, slot, &[&dice.bytes(100)], 0);
        }
        for _ in 0..1 + dice.roll(4) {
            let at = if dice.roll(2) == 0 { dice.roll(96) } else { 8192 - 80 + dice.roll(80) };
            page[at as usize] = dice.roll(256) as u8;
        }
        if verify(&page).is_ok() {
            compact(&mut page);
            assert!(occupied(&page).map(|(_, row, _)| row.len()).sum::<usize>() <= BODY_BYTES);
        }
    }
}

//! Corrupt pages with a valid checksum ("lies") at the end of some worlds of scenario `schema`: an owner in the allocation map, a header field,
//! a slot, a link to another page, a row, the boot page; and pages that are valid on their own (`forged.rs`). CHECKDB must
//! report them, no statement may make the server panic, and a statement that must read one is refused (`refusal.rs`).

use std::path::Path;

use engine::Instance;
use os::Rng;
use os::sim::World;
use pages::{BOOT_PAGE, HEADER_BYTES, PAGE_BYTES, PageType, SLOT_BYTES, checksum, header, slots, structure};

use super::corrupt_pages::{Kind, Pages};
use super::refusal::{Refusal, Refused, Units};
use super::{DATA_FILE, DATABASE, forged, open, show};
use crate::client::{Client, shared};

/// The map's mark of a page that its owner is deallocating.
const PENDING: u32 = 0x8000_0000;
/// Header fields by their bytes: type, level, flags, LSN, slot count, previous page, end of the rows, next page, free bytes, unit, bytes
/// reserved for undo, free slots, last remover, ghost count.
const FIELDS: [(usize, usize); 14] = [
    (1, 1),
    (2, 1),
    (3, 1),
    (8, 8),
    (22, 2),
    (PREV, 6),
    (30, 2),
    (NEXT, 6),
    (38, 2),
    (40, 4),
    (44, 2),
    (46, 2),
    (48, 8),
    (56, 2),
];
/// The boot page.
const BOOT: usize = BOOT_PAGE.page as usize;
const CHECKSUM: usize = 4;
const PREV: usize = 24;
const NEXT: usize = 32;
/// Position of a large value piece's stamp, length and bytes.
const PIECE: usize = HEADER_BYTES;

/// The corruption of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lie {
    kind: Kind,
    page: usize,
    /// It contradicts the page itself, its neighbour or the map: CHECKDB must report it.
    must_be_told: bool,
    /// The table whose page it is; the test uses it first.
    table: Option<String>,
    /// The statement that must be refused.
    refusal: Refusal,
}

impl Lie {
    /// Its name for the counters.
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Owner => "lie about the owner of a page",
            Kind::Header => "lie in the header of a page",
            Kind::Slot => "lie in the slots of a page",
            Kind::Chain => "lie about the neighbour of a page",
            Kind::Child => "lie about the child of a page",
            Kind::Row => "lie in a row",
            Kind::Stub => "lie about where a row has moved",
            Kind::Piece => "lie in a piece of a large value",
            Kind::Boot => "lie in the boot page",
            Kind::Keys => "lie about the keys of a page",
            Kind::Future => "lie about the last change of a page",
            Kind::Circle => "lie of pages that follow each other in a circle",
            Kind::System => "lie about the owner of a page of the system",
            Kind::Given => "lie that a page which its table needs is free",
        }
    }
}

impl Pages {
    /// Changes one page, or several. `None`: there is no page of that kind; otherwise its number, and whether CHECKDB must report it.
    fn change(&mut self, rng: &mut Rng, kind: Kind, units: &Units) -> Option<(usize, bool)> {
        let forged = match kind {
            Kind::Keys => Some(forged::keys(self, rng)),
            Kind::Future => Some(forged::future(self, rng)),
            Kind::Circle => Some(forged::circle(self, rng)),
            Kind::System => Some(forged::system(self, rng, units)),
            Kind::Given => Some(forged::given(self, rng, units)),
            _ => None,
        };
        if let Some(page) = forged {
            return page.map(|page| (page, true));
        }
        let page = self.draw(rng, |page| match kind {
            Kind::Chain => header::page_type(page) != PageType::Lob,
            Kind::Child => header::level(page) > 0,
            Kind::Row => header::slot_count(page) > 0,
            Kind::Stub => slots::occupied(page).any(|(_, _, flags)| flags & slots::FORWARD != 0),
            Kind::Piece => header::page_type(page) == PageType::Lob,
            _ => true,
        })?;
        let neighbour = self.draw_neighbour(rng, page);
        let bytes = &mut self.0[page];
        let slots = u64::from(header::slot_count(bytes));
        match kind {
            Kind::Owner => {
                let told = self.owner(page);
                let page = if rng.below(6) == 0 { [0, 1, 9][rng.below(3) as usize] } else { page };
                let marked = if page > BOOT { told | PENDING } else { told };
                let other = [0, told + 1, marked][rng.below(3) as usize];
                let before = self.owner(page);
                self.set_owner(page, other);
                return Some((page, page > BOOT && before != other));
            }
            Kind::Header => {
                let (at, field_bytes) = FIELDS[rng.below(FIELDS.len() as u64) as usize];
                bytes[at + rng.below(field_bytes as u64) as usize] = rng.below(256) as u8;
            }
            Kind::Slot => {
                let at = PAGE_BYTES - 1 - rng.below((SLOT_BYTES as u64 * slots).max(1)) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
            Kind::Chain => {
                let at = [PREV, NEXT][rng.below(2) as usize];
                let is_other = bytes[at..at + 6] != neighbour;
                bytes[at..at + 6].copy_from_slice(&neighbour);
                return Some((page, is_other));
            }
            Kind::Child => {
                let row = slots::row_mut(bytes, rng.below(slots) as u16)?;
                let at = row.len() - neighbour.len();
                let is_other = row[at..] != neighbour;
                row[at..].copy_from_slice(&neighbour);
                return Some((page, is_other));
            }
            Kind::Row => {
                let row = slots::row_mut(bytes, rng.below(slots) as u16)?;
                row[rng.below(row.len() as u64) as usize] = rng.below(256) as u8;
            }
            Kind::Stub => {
                let stubs = slots::occupied(bytes).filter(|(_, _, flags)| flags & slots::FORWARD != 0);
                let stubs: Vec<u16> = stubs.map(|(slot, _, _)| slot).collect();
                let row = slots::row_mut(bytes, stubs[rng.below(stubs.len() as u64) as usize])?;
                let target = [&neighbour[..], &[rng.below(8) as u8, 0]].concat();
                row[..target.len()].copy_from_slice(&target);
            }
            Kind::Piece if rng.below(2) == 0 => bytes[NEXT..NEXT + 6].copy_from_slice(&neighbour),
            Kind::Piece => bytes[PIECE + rng.below(10) as usize] ^= 1 << rng.below(8),
            Kind::Boot => {
                let at = HEADER_BYTES + rng.below(160) as usize;
                self.0[BOOT][at] = rng.below(256) as u8;
                return Some((BOOT, false));
            }
            Kind::Keys | Kind::Future | Kind::Circle | Kind::System | Kind::Given => {
                unreachable!("they are forged")
            }
        }
        Some((page, false))
    }
}

/// Changes pages of the authors' database and recomputes their checksums. `None`: no page has changed. If the database was not closed,
/// recovery may repair the corruption, and its `units` are unknown.
pub(super) fn tell(world: &World, rng: &mut Rng, kinds: &[Kind], units: Option<&Units>) -> Option<Lie> {
    let file = world.file_bytes(Path::new(DATA_FILE))?;
    let pages = file.chunks_exact(PAGE_BYTES).map(|page| page.try_into().expect("whole"));
    let before = Pages(pages.collect());
    let mut after = before.clone();
    let kind = kinds[rng.below(kinds.len() as u64) as usize];
    let nothing_known = Units::default();
    let (page, must_be_told) = after.change(rng, kind, units.unwrap_or(&nothing_known))?;
    let lies_alone = !matches!(kind, Kind::Boot | Kind::Owner | Kind::System | Kind::Given);
    let must_be_told =
        units.is_some() && (must_be_told || lies_alone && structure::verify(&after.0[page]).is_err());
    let mut changed = 0;
    for (number, bytes) in
        after.0.iter_mut().enumerate().filter(|(number, bytes)| **bytes != before.0[*number])
    {
        // A page that was never formatted has no checksum. One that only claims to be unformatted has one (`checksum::stamp` would write none).
        if bytes.iter().any(|byte| *byte != 0) {
            let checksum = checksum::compute(bytes).to_le_bytes();
            bytes[CHECKSUM..CHECKSUM + 4].copy_from_slice(&checksum);
        }
        world.corrupt(Path::new(DATA_FILE), (number * PAGE_BYTES) as u64, bytes);
        changed += 1;
    }
    let (table, refusal) = match units {
        Some(units) => units.refusal(kind, page, (&before, &after)),
        None => (None, Refusal::Nobody),
    };
    (changed > 0).then_some(Lie { kind, page, must_be_told, table, refusal })
}

/// Opens the instance and uses the corrupt database; a wrong answer is a violation, a panic fails the run.
pub(super) fn listen(os: &os::Os, lie: &Lie) -> Result<(), String> {
    let instance = match open(os, 1 << 20) {
        Ok(instance) => instance,
        Err(_) => return Err("the instance does not start".to_owned()),
    };
    let checked = show::check(&shared(&instance));
    let worked = work(&instance, lie);
    instance.shutdown();
    match checked {
        Ok(()) if lie.must_be_told => Err(format!("CHECKDB is silent about a {}", lie.name())),
        _ => worked,
    }
}

/// Reads and changes every table, first in a transaction that rolls back and then with a commit. Errors are expected, but the server must go on;
/// a statement that must be refused is checked.
fn work(instance: &std::sync::Arc<Instance>, lie: &Lie) -> Result<(), String> {
    let mut client =
        Client::connect(&shared(instance), "master").map_err(|error| format!("master: {error:?}"))?;
    let mut believed = None;
    if client.execute(&format!("USE {DATABASE}")).errors.is_empty() {
        let names = client.execute("SELECT name FROM sys.tables ORDER BY name");
        let mut names: Vec<String> = names.rows.iter().filter_map(|row| row[0].as_text()).collect();
        names.sort_by_key(|name| lie.table.as_ref() != Some(name));
        for name in names.iter().filter(|name| !matches!(name.as_str(), "progress" | "contest")) {
            let is_told_of = lie.table.as_ref() == Some(name);
            if is_told_of && lie.kind == Kind::Given {
                client.execute(&one_more_of_each(name));
            }
            let refusal = work_with(&mut client, name);
            if is_told_of
                && matches!(lie.refusal, Refusal::Read | Refusal::Deletion)
                && !refusal.is_of(lie.refusal)
            {
                believed =
                    Some(format!("a {} is believed: {:?} of {name} is answered", lie.name(), lie.refusal));
            }
        }
        client.execute("CHECKPOINT");
        if lie.refusal == Refusal::NotTheDatabase {
            let answer = client.execute(&format!("USE {DATABASE}; SELECT COUNT(*) FROM sys.tables"));
            if !answer.errors.is_empty() {
                believed = Some(format!("a {} ends the database: {}", lie.name(), answer.error_text()));
            }
        }
    }
    let answer = client.execute("USE master; SELECT COUNT(*) FROM sys.databases");
    client.close();
    match believed {
        Some(text) => Err(text),
        None if answer.errors.is_empty() => Ok(()),
        None => Err(format!("master: {}", answer.error_text())),
    }
}

/// Reads, changes and drops a table.
fn work_with(client: &mut Client, name: &str) -> Refused {
    let mut refused = Refused::default();
    let is_common = matches!(name, "marks" | "shelf" | "wide");
    let read = match is_common {
        true => format!("SELECT SUM(version), SUM(LEN(filler)) FROM {name}"),
        false => format!("SELECT SUM(LEN(s)), SUM(DATALENGTH(l)) FROM {name}"),
    };
    refused.read = !client.execute(&read).errors.is_empty();
    client.execute("BEGIN TRAN");
    refused.deletion = !client.execute(&format!("DELETE FROM {name}")).errors.is_empty();
    client.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN");
    let statements = match is_common {
        true => [
            read,
            format!("UPDATE {name} SET filler = REPLICATE('q', 400), version = version + 1"),
            format!("DELETE FROM {name} WHERE id % 2 = 0"),
            one_more_of_each(name),
        ],
        false => [
            read,
            format!("UPDATE {name} SET s = REPLICATE('z', 300), k = k + 1"),
            format!("DELETE FROM {name} WHERE k % 2 = 0"),
            format!(
                "INSERT INTO {name} (k, l) SELECT k + 100000000000, REPLICATE(CAST('y' AS varchar(max)), 9000) FROM {name}"
            ),
        ],
    };
    for ending in ["ROLLBACK TRAN", "COMMIT TRAN"] {
        client.execute("BEGIN TRAN");
        statements.iter().for_each(|statement| drop(client.execute(statement)));
        client.execute(&format!("IF @@TRANCOUNT > 0 {ending}"));
    }
    client.execute(&format!("DROP TABLE {name}"));
    refused
}

/// Inserts as many rows as the table has, without large values.
fn one_more_of_each(name: &str) -> String {
    match name {
        "marks" | "shelf" | "wide" => {
            format!("INSERT INTO {name} (id, version) SELECT id + 7000, version FROM {name}")
        }
        _ => format!("INSERT INTO {name} (k, s) SELECT k + 200000000000, REPLICATE('w', 300) FROM {name}"),
    }
}

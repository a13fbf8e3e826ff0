//! Pages with a right checksum that lie, at the end of some worlds of scenario `schema`: an owner in the allocation map, a field of a header,
//! a slot. Whoever wrote them, CHECKDB tells, and no statement makes the server stumble over them.

use std::path::Path;

use engine::Instance;
use os::Rng;
use os::sim::World;
use pages::{HEADER_BYTES, PAGE_BYTES, PageBytes, SLOT_BYTES, checksum, header, structure};

use super::{DATA_FILE, DATABASE, open, show};
use crate::client::{Client, shared};

/// The allocation map of the file's first interval.
const MAP_PAGE: usize = 1;
/// Fields of the header, with their bytes: type, level, slots, end of the rows, free bytes, bytes kept for undo, free slots, ghosts.
const FIELDS: [(usize, usize); 8] = [(1, 1), (2, 1), (22, 2), (30, 2), (38, 2), (44, 2), (46, 2), (56, 2)];

/// What has been done to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lie {
    kind: Kind,
    /// It contradicts what the page itself or the map says: CHECKDB must tell it.
    must_be_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Owner,
    Header,
    Slot,
}

impl Lie {
    /// Its name among the counters.
    pub(super) fn name(self) -> &'static str {
        match self.kind {
            Kind::Owner => "lie about the owner of a page",
            Kind::Header => "lie in the header of a page",
            Kind::Slot => "lie in the slots of a page",
        }
    }
}

/// Changes a page of the authors' database, which is closed, and makes its checksum right. `None`: nothing has changed.
pub(super) fn tell(world: &World, rng: &mut Rng) -> Option<Lie> {
    let file = world.file_bytes(Path::new(DATA_FILE))?;
    let mut pages: Vec<PageBytes> =
        file.chunks_exact(PAGE_BYTES).map(|page| page.try_into().expect("whole")).collect();
    let owner = |page: usize| {
        let at = HEADER_BYTES + 4 * page;
        u32::from_le_bytes(pages[MAP_PAGE][at..at + 4].try_into().expect("four bytes"))
    };
    let used: Vec<usize> = (2..pages.len()).filter(|page| owner(*page) != 0).collect();
    let page = used[rng.below(used.len() as u64) as usize];
    let (changed, kind) = match rng.below(3) {
        0 => {
            let other = [0, owner(page) + 1, owner(page) | 0x8000_0000][rng.below(3) as usize];
            let at = HEADER_BYTES + 4 * page;
            pages[MAP_PAGE][at..at + 4].copy_from_slice(&other.to_le_bytes());
            (MAP_PAGE, Kind::Owner)
        }
        1 => {
            let (at, bytes) = FIELDS[rng.below(FIELDS.len() as u64) as usize];
            let at = at + rng.below(bytes as u64) as usize;
            pages[page][at] = rng.below(256) as u8;
            (page, Kind::Header)
        }
        _ => {
            let slots = usize::from(header::slot_count(&pages[page]));
            let at = PAGE_BYTES - 1 - rng.below((SLOT_BYTES * slots).max(1) as u64) as usize;
            pages[page][at] ^= 1 << rng.below(8);
            (page, Kind::Slot)
        }
    };
    let must_be_told = kind == Kind::Owner || structure::verify(&pages[changed]).is_err();
    checksum::stamp(&mut pages[changed]);
    let at = changed * PAGE_BYTES;
    world.corrupt(Path::new(DATA_FILE), at as u64, &pages[changed]);
    (pages[changed][..] != file[at..at + PAGE_BYTES]).then_some(Lie { kind, must_be_told })
}

/// Opens the instance and works with what has been changed; what is wrong with the answers is a violation, what panics fails the run.
pub(super) fn listen(os: &os::Os, lie: Lie) -> Result<(), String> {
    let instance = match open(os, 1 << 20) {
        Ok(instance) => instance,
        Err(_) => return Err("the instance does not start".to_owned()),
    };
    let checked = show::check(&shared(&instance));
    let worked = work(&instance);
    instance.shutdown();
    match checked {
        Ok(()) if lie.must_be_told => Err(format!("CHECKDB is silent about a {}", lie.name())),
        _ => worked,
    }
}

/// Every table is read and changed, all of it in vain and then for good. Errors are what is to be expected, except that the server goes on.
fn work(instance: &std::sync::Arc<Instance>) -> Result<(), String> {
    let mut client =
        Client::connect(&shared(instance), "master").map_err(|error| format!("master: {error:?}"))?;
    if client.execute(&format!("USE {DATABASE}")).errors.is_empty() {
        let names = client.execute("SELECT name FROM sys.tables ORDER BY name");
        for name in names.rows.iter().filter_map(|row| row[0].as_text()) {
            let statements = match name.as_str() {
                "marks" | "shelf" | "wide" => [
                    format!("SELECT SUM(version), SUM(LEN(filler)) FROM {name}"),
                    format!("UPDATE {name} SET filler = REPLICATE('q', 400), version = version + 1"),
                    format!("DELETE FROM {name} WHERE id % 2 = 0"),
                    format!("INSERT INTO {name} (id, version) SELECT id + 7000, version FROM {name}"),
                ],
                "progress" | "contest" => continue,
                _ => [
                    format!("SELECT SUM(LEN(s)), SUM(DATALENGTH(l)) FROM {name}"),
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
        }
        client.execute("CHECKPOINT");
    }
    let answer = client.execute("USE master; SELECT COUNT(*) FROM sys.databases");
    client.close();
    if answer.errors.is_empty() { Ok(()) } else { Err(format!("master: {}", answer.error_text())) }
}

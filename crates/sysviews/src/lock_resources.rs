//! Formats of locked resources in views: `sys.dm_tran_locks`, `wait_resource` of requests, `waitresource` of processes, `resource_description` of
//! waiting tasks. Also which lock a session waits for.

use engine::{Instance, LockRow, ObjectDef, Resource};
use plan_ir::context::SessionRow;
use plan_ir::runtime::Runtime;
use rustc_hash::FxHashMap;
use types::Value;

/// A number for a session's request of a resource, the same in sys.dm_tran_locks and sys.dm_os_waiting_tasks.
pub(super) fn lock_address(resource: &Resource, session_id: u32) -> Value {
    Value::binary(&lock_number(resource, session_id).to_be_bytes())
}

fn lock_number(resource: &Resource, session_id: u32) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    (resource, session_id).hash(&mut hasher);
    hasher.finish()
}

/// `resource_type` and `resource_description` of sys.dm_tran_locks.
pub(super) fn type_and_place(resource: &Resource) -> (&'static str, String) {
    let place = match resource {
        Resource::Database { .. } | Resource::Object { .. } => String::new(),
        Resource::Page { file, page, .. } => format!("{file}:{page}"),
        Resource::Rid { file, page, slot, .. } => format!("{file}:{page}:{slot}"),
        Resource::Key { hash, .. } => format!("({hash:012x})"),
        Resource::Application { hash, .. } => format!("0:[{hash:x}]"),
        Resource::Metadata { class, id, .. } => format!("class = {class}, id = {id:x}"),
    };
    (resource.type_name(), place)
}

/// `wait_resource` of sys.dm_exec_requests and `waitresource` of sys.sysprocesses.
fn wait_resource(resource: &Resource) -> String {
    let (kind, place) = type_and_place(resource);
    let database = resource.database();
    match *resource {
        // The last number is the lock's partition; there is only one.
        Resource::Object { object, .. } => format!("{kind}: {database}:{}:0", object.cast_signed()),
        Resource::Key { hobt, .. } => format!("{kind}: {database}:{hobt} {place}"),
        Resource::Database { .. } => format!("{kind}: {database}:0"),
        Resource::Metadata { .. } => format!("{kind}: database_id = {database} {place}"),
        Resource::Page { .. } | Resource::Rid { .. } | Resource::Application { .. } => {
            format!("{kind}: {database}:{place}")
        }
    }
}

/// `resource_description` of sys.dm_os_waiting_tasks; `mode` is the blocking mode, `entity` the associated entity of the resource.
pub(super) fn describe_wait(resource: &Resource, mode: &str, entity: i64) -> String {
    let database = resource.database();
    let id = format!("id=lock{:016x} mode={mode}", lock_number(resource, 0));
    match resource {
        Resource::Database { .. } => format!("databaselock subresource=FULL dbid={database} {id}"),
        Resource::Object { object, .. } => {
            let object = object.cast_signed();
            format!(
                "objectlock lockPartition=0 objid={object} subresource=FULL dbid={database} {id} associatedObjectId={object}"
            )
        }
        Resource::Page { file, page, .. } => format!(
            "pagelock fileid={file} pageid={page} dbid={database} subresource=FULL {id} associatedObjectId={entity}"
        ),
        Resource::Rid { file, page, slot, .. } => format!(
            "ridlock fileid={file} pageid={page} slot={slot} dbid={database} {id} associatedObjectId={entity}"
        ),
        Resource::Key { hobt, .. } => {
            format!("keylock hobtid={hobt} dbid={database} {id} associatedObjectId={entity}")
        }
        Resource::Metadata { class, id: what, .. } => {
            format!("metadatalock subresource={class} classid={what:x} dbid={database} {id}")
        }
        Resource::Application { hash, .. } => {
            format!("applicationlock hash={hash:x} databasePrincipalId=0 dbid={database} {id}")
        }
    }
}

/// `resource_associated_entity_id`: for an object its id; for a key, row or page the heap or index (`sys.partitions.hobt_id`); otherwise 0.
#[derive(Default)]
pub(super) struct Entities {
    /// Heaps (or clustered indexes) by object, of each database that was needed so far.
    heaps: FxHashMap<u16, FxHashMap<i32, i64>>,
}

impl Entities {
    pub(super) fn of(&mut self, runtime: &Runtime<'_>, resource: &Resource) -> i64 {
        match *resource {
            Resource::Object { object, .. } => i64::from(object.cast_signed()),
            Resource::Key { hobt, .. } => hobt.cast_signed(),
            Resource::Page { database, object, .. } | Resource::Rid { database, object, .. } => {
                let heaps = self.heaps.entry(database).or_insert_with(|| heaps_of(runtime, database));
                heaps.get(&object.cast_signed()).copied().unwrap_or(0)
            }
            Resource::Database { .. } | Resource::Metadata { .. } | Resource::Application { .. } => 0,
        }
    }
}

fn heaps_of(runtime: &Runtime<'_>, database: u16) -> FxHashMap<i32, i64> {
    let found = runtime.instance.database_by_id(database.cast_signed());
    let objects = found.map_or_else(Vec::new, |database| runtime.objects_of(&database));
    let heap = |object: ObjectDef| match object {
        ObjectDef::Table(table) => Some((table.object_id, i64::from(table.base().unit))),
        ObjectDef::Module(_) | ObjectDef::Sequence(_) => None,
    };
    objects.into_iter().filter_map(heap).collect()
}

/// A snapshot of the instance's locks, taken once and only when a session waits for a lock.
pub(super) struct LockWaits<'i> {
    instance: &'i Instance,
    rows: Option<Vec<LockRow>>,
}

impl<'i> LockWaits<'i> {
    pub(super) fn new(instance: &'i Instance) -> LockWaits<'i> {
        LockWaits { instance, rows: None }
    }

    /// The lock request that a session waits for, if any.
    pub(super) fn of(&mut self, session: &SessionRow) -> Option<LockRow> {
        session.wait_type.filter(|wait| wait.starts_with("LCK_M_"))?;
        let number = u32::from(session.session_id.unsigned_abs());
        let rows = self.rows.get_or_insert_with(|| self.instance.locks().snapshot());
        rows.iter().find(|row| row.session_id == number && row.is_waiting()).copied()
    }

    /// The blocking session and `wait_resource`; 0 and an empty text when the session waits for no lock.
    pub(super) fn shown(&mut self, session: &SessionRow) -> (i32, String) {
        let asked = self.of(session);
        asked.map_or_else(Default::default, |row| {
            (row.blocking_session_id.cast_signed(), wait_resource(&row.resource))
        })
    }

    /// The mode in which the blocking session holds the resource; the requested mode when the holder has just released it.
    pub(super) fn mode_in_the_way(&self, asked: &LockRow) -> &'static str {
        let mut rows = self.rows.iter().flatten();
        let held =
            rows.find(|row| row.session_id == asked.blocking_session_id && row.resource == asked.resource);
        held.map_or(asked.mode, |row| row.mode).name()
    }
}

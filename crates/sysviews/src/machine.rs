//! The server's machine: pages in the buffer pool, volumes under the files, the service.

use std::path::{Path, PathBuf};

use engine::PageType;
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::SqlError;

use super::dm_exec::moment;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_os_buffer_descriptors",
        "database_id int, file_id int, page_id int, page_level int, allocation_unit_id bigint, page_type nvarchar(60), row_count int, \
         free_space_in_bytes int, is_modified bit, numa_node int, read_microsec bigint, is_in_bpool_extension bit, error_code int",
        buffer_descriptors,
    ),
    SystemView::new(
        "dm_os_volume_stats",
        "database_id int not null, file_id int not null, volume_mount_point nvarchar(512), volume_id nvarchar(512), \
         logical_volume_name nvarchar(512), file_system_type nvarchar(512), total_bytes bigint not null, available_bytes bigint not null, \
         supports_compression tinyint, supports_alternate_streams tinyint, supports_sparse_files tinyint, is_read_only tinyint, \
         is_compressed tinyint, incurs_seek_penalty tinyint",
        volume_stats,
    )
    .with_parameters(2),
    SystemView::new(
        "dm_server_services",
        "servicename nvarchar(256) not null, startup_type int, startup_type_desc nvarchar(256) not null, status int, \
         status_desc nvarchar(256) not null, process_id int, last_startup_time datetimeoffset, service_account nvarchar(256) not null, \
         filename nvarchar(256) not null, is_clustered nvarchar(1) not null, cluster_nodename nvarchar(256), \
         instant_file_initialization_enabled nvarchar(1)",
        services,
    ),
];

/// Every page in the buffer pool. For a page that is being changed only its address is shown.
fn buffer_descriptors(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let databases = context.runtime.instance.databases();
    let numbers: Vec<(u16, i32)> =
        databases.iter().map(|database| (database.space().pool_number(), i32::from(database.id()))).collect();
    let mut pages = Vec::new();
    context.runtime.instance.pool().for_each_page(|page| pages.push(page));
    for page in pages {
        context.runtime.check_cancelled()?;
        let Some((_, database)) = numbers.iter().find(|(number, _)| *number == page.space) else { continue };
        let mut cells: Vec<(&str, Cell)> = vec![
            ("database_id", (*database).into()),
            ("file_id", i32::from(page.id.file).into()),
            ("page_id", i64::from(page.id.page).into()),
            ("is_modified", page.is_dirty.into()),
            ("numa_node", 0.into()),
        ];
        if let Some(header) = page.header {
            cells.extend([
                ("page_level", i32::from(header.level).into()),
                (
                    "allocation_unit_id",
                    super::storage::allocation_unit_id(header.unit, header.page_type).into(),
                ),
                ("page_type", shown(header.page_type).into()),
                ("row_count", i32::from(header.slots).into()),
                ("free_space_in_bytes", (header.free_bytes as i64).into()),
            ]);
        }
        context.row(&cells);
    }
    Ok(())
}

/// SQL Server's name of a page type.
fn shown(page_type: PageType) -> &'static str {
    match page_type {
        PageType::Empty => "UNLINKED_REORG_PAGE",
        PageType::Heap => "DATA_PAGE",
        PageType::BTree => "INDEX_PAGE",
        PageType::Lob => "TEXT_MIX_PAGE",
        PageType::AllocationMap => "IAM_PAGE",
        PageType::FileHeader => "FILEHEADER_PAGE",
        PageType::Boot => "BOOT_PAGE",
    }
}

/// `dm_os_volume_stats(database_id, file_id)`: the file system that contains the file.
fn volume_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let (Some(database), Some(file)) = (context.integer_argument(0), context.integer_argument(1)) else {
        return Ok(());
    };
    let databases = context.runtime.instance.databases();
    let Some(database) = databases.iter().find(|one| i64::from(one.id()) == database) else {
        return Ok(());
    };
    let disk = context.runtime.instance.os().disk();
    for found in super::database_files(context.runtime.instance, database) {
        if i64::from(found.file_id) != file {
            continue;
        }
        let path = Path::new(&found.path);
        let (Ok(total), Ok(free)) = (disk.total_bytes(path), disk.free_bytes(path)) else { continue };
        context.row(&[
            ("database_id", i32::from(database.id()).into()),
            ("file_id", found.file_id.into()),
            ("volume_mount_point", mount_point(disk, path).display().to_string().into()),
            ("total_bytes", total.into()),
            ("available_bytes", free.into()),
            ("supports_compression", 0.into()),
            ("supports_alternate_streams", 0.into()),
            ("supports_sparse_files", 1.into()),
            ("is_read_only", 0.into()),
            ("is_compressed", 0.into()),
        ]);
    }
    Ok(())
}

/// The mount point of a file's file system: the outermost folder in that file system.
fn mount_point(disk: &dyn os::Disk, path: &Path) -> PathBuf {
    let device = disk.device_of(path).ok();
    let folders = path.ancestors().skip(1);
    let inside = folders.take_while(|folder| device.is_some() && disk.device_of(folder).ok() == device);
    inside.last().unwrap_or(Path::new("/")).to_path_buf()
}

/// The only service: this process.
fn services(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let started = moment(context.runtime.state.server_start_ticks());
    let process = i64::from(os::process::id());
    context.row(&[
        ("servicename", "SQL Server (MSSQLSERVER)".into()),
        ("startup_type", 3.into()),
        ("startup_type_desc", "Manual".into()),
        ("status", 4.into()),
        ("status_desc", "Running".into()),
        ("process_id", process.into()),
        ("last_startup_time", started.into()),
        ("service_account", os::process::account().into()),
        ("filename", os::process::program().into()),
        ("is_clustered", "N".into()),
        // Space in data files is allocated without writing it.
        ("instant_file_initialization_enabled", "Y".into()),
    ]);
    Ok(())
}

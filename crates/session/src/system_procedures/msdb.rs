//! The job procedures of msdb, which are found in that database only. Their tables are ordinary tables of msdb; the first stored row creates
//! them (`sp_agent_make_tables`). So jobs are durable and transactional like other rows. The server does not run the jobs.

/// Name and text of each, in the order of the alphabet.
pub(super) const IN_MSDB: &[(&str, &str)] = &[
    ("sp_add_category", include_str!("sql/msdb/sp_add_category.sql")),
    ("sp_add_job", include_str!("sql/msdb/sp_add_job.sql")),
    ("sp_add_jobschedule", include_str!("sql/msdb/sp_add_jobschedule.sql")),
    ("sp_add_jobserver", include_str!("sql/msdb/sp_add_jobserver.sql")),
    ("sp_add_jobstep", include_str!("sql/msdb/sp_add_jobstep.sql")),
    ("sp_add_schedule", include_str!("sql/msdb/sp_add_schedule.sql")),
    ("sp_agent_make_tables", include_str!("sql/msdb/sp_agent_make_tables.sql")),
    ("sp_attach_schedule", include_str!("sql/msdb/sp_attach_schedule.sql")),
    ("sp_delete_category", include_str!("sql/msdb/sp_delete_category.sql")),
    ("sp_delete_job", include_str!("sql/msdb/sp_delete_job.sql")),
    ("sp_delete_jobserver", include_str!("sql/msdb/sp_delete_jobserver.sql")),
    ("sp_delete_jobstep", include_str!("sql/msdb/sp_delete_jobstep.sql")),
    ("sp_delete_schedule", include_str!("sql/msdb/sp_delete_schedule.sql")),
    ("sp_detach_schedule", include_str!("sql/msdb/sp_detach_schedule.sql")),
    ("sp_help_category", include_str!("sql/msdb/sp_help_category.sql")),
    ("sp_help_job", include_str!("sql/msdb/sp_help_job.sql")),
    ("sp_help_jobhistory", include_str!("sql/msdb/sp_help_jobhistory.sql")),
    (
        "sp_help_jobschedule",
        concat!(
            include_str!("sql/msdb/sp_help_jobschedule.sql"),
            include_str!("sql/msdb/described_schedules.sql")
        ),
    ),
    ("sp_help_jobserver", include_str!("sql/msdb/sp_help_jobserver.sql")),
    ("sp_help_jobstep", include_str!("sql/msdb/sp_help_jobstep.sql")),
    (
        "sp_help_schedule",
        concat!(
            include_str!("sql/msdb/sp_help_schedule.sql"),
            include_str!("sql/msdb/described_schedules.sql")
        ),
    ),
    ("sp_update_job", include_str!("sql/msdb/sp_update_job.sql")),
    ("sp_update_jobstep", include_str!("sql/msdb/sp_update_jobstep.sql")),
    ("sp_update_schedule", include_str!("sql/msdb/sp_update_schedule.sql")),
    ("sp_verify_job_identifiers", include_str!("sql/msdb/sp_verify_job_identifiers.sql")),
    ("sp_verify_schedule_identifiers", include_str!("sql/msdb/sp_verify_schedule_identifiers.sql")),
];

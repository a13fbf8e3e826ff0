//! Jobs of msdb are stored, shown and never run: the procedures with which scripts and tools create them, and the tables that they query.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

use hardpan_session as session;

#[test]
fn a_job_is_made_and_deleted() {
    let world = World::new("agent-job");
    let mut session = world.session();
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM msdb.dbo.sysjobs"), ["0"]);
    let seen = run(
        &mut session,
        "EXEC msdb.dbo.sp_add_job @job_name = N'case_job'; EXEC msdb.dbo.sp_delete_job @job_name = N'case_job';",
    );
    assert_eq!(numbers(&seen), [0], "one line that says so: {:?}", seen.messages);
    assert!(seen.messages[0].2.contains("never run"), "{:?}", seen.messages);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM msdb.dbo.sysjobs"), ["0"]);
}

/// As a tool scripts a job: everything in one transaction, the job's number in a binary(16), a category of its own.
const SCRIPT: &str = "BEGIN TRANSACTION
DECLARE @ReturnCode INT
SELECT @ReturnCode = 0
IF NOT EXISTS (SELECT name FROM msdb.dbo.syscategories WHERE name=N'Mine' AND category_class=1)
BEGIN
EXEC @ReturnCode = msdb.dbo.sp_add_category @class=N'JOB', @type=N'LOCAL', @name=N'Mine'
IF (@@ERROR <> 0 OR @ReturnCode <> 0) GOTO QuitWithRollback
END
DECLARE @jobId BINARY(16)
EXEC @ReturnCode = msdb.dbo.sp_add_job @job_name=N'nightly', @enabled=1, @notify_level_eventlog=0, @delete_level=0,
     @description=N'every night', @category_name=N'Mine', @owner_login_name=N'sa', @job_id = @jobId OUTPUT
IF (@@ERROR <> 0 OR @ReturnCode <> 0) GOTO QuitWithRollback
EXEC @ReturnCode = msdb.dbo.sp_add_jobstep @job_id=@jobId, @step_name=N'one', @step_id=1, @on_success_action=3, @subsystem=N'TSQL',
     @command=N'SELECT 1', @database_name=N'd', @flags=0
IF (@@ERROR <> 0 OR @ReturnCode <> 0) GOTO QuitWithRollback
EXEC @ReturnCode = msdb.dbo.sp_add_jobstep @job_id=@jobId, @step_name=N'two', @subsystem=N'CmdExec', @command=N'ls'
IF (@@ERROR <> 0 OR @ReturnCode <> 0) GOTO QuitWithRollback
EXEC @ReturnCode = msdb.dbo.sp_update_job @job_id = @jobId, @start_step_id = 1
IF (@@ERROR <> 0 OR @ReturnCode <> 0) GOTO QuitWithRollback
EXEC @ReturnCode = msdb.dbo.sp_add_jobschedule @job_id=@jobId, @name=N'at two', @enabled=1, @freq_type=4, @freq_interval=1,
     @active_start_date=20260101, @active_start_time=20000
IF (@@ERROR <> 0 OR @ReturnCode <> 0) GOTO QuitWithRollback
EXEC @ReturnCode = msdb.dbo.sp_add_jobserver @job_id = @jobId, @server_name = N'(local)'
IF (@@ERROR <> 0 OR @ReturnCode <> 0) GOTO QuitWithRollback
COMMIT TRANSACTION
GOTO EndSave
QuitWithRollback:
    IF (@@TRANCOUNT > 0) ROLLBACK TRANSACTION
EndSave:";

#[test]
fn a_scripted_job_is_kept_over_a_start_and_shown() {
    let mut world = World::new("agent-script");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE d");
    let seen = run(&mut session, &format!("BEGIN TRAN {SCRIPT} ROLLBACK"));
    assert_eq!(numbers(&seen), [0], "{:?}", seen.messages);
    assert_eq!(rows(&mut session, "SELECT COUNT(*), @@TRANCOUNT FROM msdb.dbo.sysjobs"), ["0|0"]);
    assert_eq!(numbers(&run(&mut session, SCRIPT)), [0]);
    drop(session);
    world.restart();
    let mut session = world.session();
    assert_eq!(
        rows(
            &mut session,
            "SELECT j.name, j.enabled, j.description, c.name, SUSER_SNAME(j.owner_sid), s.step_id, s.step_name, s.subsystem, s.command, \
             s.database_name, s.on_success_action \
             FROM msdb.dbo.sysjobs AS j JOIN msdb.dbo.sysjobsteps AS s ON s.job_id = j.job_id \
             JOIN msdb.dbo.syscategories AS c ON c.category_id = j.category_id ORDER BY s.step_id"
        ),
        [
            "nightly|1|every night|Mine|sa|1|one|TSQL|SELECT 1|d|3",
            "nightly|1|every night|Mine|sa|2|two|CmdExec|ls|NULL|1"
        ]
    );
    assert_eq!(
        rows(
            &mut session,
            "SELECT j.name, v.name, s.name, s.freq_type, s.active_start_date, o.server_id FROM msdb..sysjobs AS j \
             JOIN msdb.dbo.sysjobs_view AS v ON v.job_id = j.job_id JOIN msdb.dbo.sysjobschedules AS x ON x.job_id = j.job_id \
             JOIN msdb.dbo.sysschedules AS s ON s.schedule_id = x.schedule_id JOIN msdb.dbo.sysjobservers AS o ON o.job_id = j.job_id"
        ),
        ["nightly|nightly|at two|4|20260101|0"]
    );
    let seen = run(&mut session, "EXEC msdb.dbo.sp_help_job @job_name = N'nightly'");
    assert_eq!(seen.sets.iter().map(|set| set.1.len()).collect::<Vec<_>>(), [1, 2, 1, 1]);
    assert_eq!(seen.sets[0].1[0][2], "nightly");
    run(&mut session, "EXEC msdb.dbo.sp_delete_job @job_name = N'nightly'");
    let left = "SELECT (SELECT COUNT(*) FROM msdb.dbo.sysjobs), (SELECT COUNT(*) FROM msdb.dbo.sysjobsteps), \
                (SELECT COUNT(*) FROM msdb.dbo.sysschedules), (SELECT COUNT(*) FROM msdb.dbo.sysjobschedules), \
                (SELECT COUNT(*) FROM msdb.dbo.sysjobservers)";
    assert_eq!(rows(&mut session, left), ["0|0|0|0|0"]);
}

#[test]
fn steps_and_schedules_stay_in_order() {
    let world = World::new("agent-order");
    let (mut session, mut other) = (world.session(), world.session());
    run(&mut session, "USE msdb");
    for text in [
        "EXEC sp_add_job N'a'",
        "EXEC dbo.sp_add_jobstep @job_name = N'a', @step_name = N'first', @on_success_action = 4, @on_success_step_id = 2",
        "EXEC dbo.sp_add_jobstep @job_name = N'a', @step_name = N'last'",
        "EXEC dbo.sp_add_jobstep @job_name = N'a', @step_name = N'between', @step_id = 2",
        "EXEC dbo.sp_update_jobstep @job_name = N'a', @step_id = 3, @command = N'SELECT 3'",
        "EXEC dbo.sp_add_schedule @schedule_name = N's', @freq_type = 8, @freq_interval = 1, @freq_recurrence_factor = 1",
        "EXEC dbo.sp_attach_schedule @job_name = N'a', @schedule_name = N's'",
        "EXEC dbo.sp_update_job @job_name = N'a', @new_name = N'b', @enabled = 0",
    ] {
        let wrong: Vec<i32> = numbers(&run(&mut session, text)).into_iter().filter(|n| *n != 0).collect();
        assert_eq!(wrong, [0; 0], "{text}");
    }
    let steps =
        "SELECT step_id, step_name, on_success_step_id, command FROM msdb.dbo.sysjobsteps ORDER BY step_id";
    assert_eq!(rows(&mut other, steps), ["1|first|3|NULL", "2|between|0|NULL", "3|last|0|SELECT 3"]);
    run(&mut session, "EXEC sp_delete_jobstep @job_name = N'b', @step_id = 2");
    assert_eq!(rows(&mut other, steps), ["1|first|2|NULL", "2|last|0|SELECT 3"]);
    for (text, number) in [
        ("EXEC sp_add_job N'b'", 14261),
        ("EXEC sp_add_job N'c', @category_name = N'none'", 14234),
        ("EXEC sp_add_job N'c', @enabled = 2", 14266),
        ("EXEC sp_add_job N'c', @owner_login_name = N'nobody'", 14234),
        ("EXEC sp_add_jobstep @job_name = N'none', @step_name = N'x'", 14262),
        ("EXEC sp_add_jobstep @step_name = N'x'", 14294),
        ("EXEC sp_add_jobstep @job_name = N'b', @step_name = N'last'", 14261),
        ("EXEC sp_add_jobstep @job_name = N'b', @step_name = N'x', @step_id = 4", 14266),
        ("EXEC sp_add_jobstep @job_name = N'b', @step_name = N'x', @subsystem = N'none'", 14234),
        ("EXEC sp_add_schedule N'x', @freq_type = 3", 14266),
        ("EXEC sp_attach_schedule @job_name = N'b', @schedule_id = 99", 14262),
        ("EXEC sp_delete_schedule @schedule_name = N's'", 14372),
        ("EXEC sp_detach_schedule @job_name = N'b', @schedule_name = N'none'", 14262),
        ("EXEC sp_add_jobserver @job_name = N'b', @server_name = N'elsewhere'", 14262),
        ("EXEC sp_delete_jobserver @job_name = N'b', @server_name = N'(local)'", 14270),
        ("EXEC sp_delete_category N'JOB', N'Database Maintenance'", 14276),
        ("EXEC sp_delete_job @job_name = N'a'", 14262),
        ("EXEC sp_start_job N'b'", 40517),
        ("EXEC msdb.dbo.sp_stop_job N'b'", 40517),
        ("EXEC sp_add_operator N'o'", 40517),
    ] {
        assert_eq!(numbers(&run(&mut session, text)).first(), Some(&number), "{text}");
    }
    // They are procedures of msdb.
    run(&mut session, "USE master");
    assert_eq!(numbers(&run(&mut session, "EXEC sp_add_job N'c'")), [2812]);
    assert_eq!(rows(&mut session, "SELECT name, enabled FROM msdb.dbo.sysjobs"), ["b|0"]);
}

/// Jobs never run: their history has its columns and no rows. What is asked for is checked all the same.
#[test]
fn a_history_is_empty() {
    let world = World::new("agent-history");
    let mut session = world.session();
    run(&mut session, "USE msdb");
    let shown = |session: &mut session::Session, arguments: &str| {
        let seen = run(session, &format!("EXEC dbo.sp_help_jobhistory {arguments}"));
        assert_eq!((numbers(&seen), seen.sets.len(), seen.sets[0].1.len()), (vec![], 1, 0), "{arguments}");
        seen.sets[0].0.join(" ")
    };
    let summary = "job_id job_name run_status run_date run_time run_duration operator_emailed operator_netsent operator_paged \
                   retries_attempted server";
    let full = "instance_id job_id job_name step_id step_name sql_message_id sql_severity message run_status run_date run_time run_duration \
                operator_emailed operator_netsent operator_paged retries_attempted server";
    assert_eq!(shown(&mut session, ""), summary, "before there are jobs");
    run(&mut session, "EXEC sp_add_job N'a'");
    for arguments in
        ["", "@job_name = N'a'", "@job_name = N'a', @run_status = 0, @oldest_first = 1", "@mode = 'summary'"]
    {
        assert_eq!(shown(&mut session, arguments), summary, "{arguments}");
    }
    assert_eq!(
        shown(&mut session, "@sql_message_id = 50100, @sql_severity = 20, @run_status = 0, @mode = N'FULL'"),
        full
    );
    for (arguments, number) in [
        ("@job_name = N'none'", 14262),
        ("@job_name = N'a', @job_id = '00000000-0000-0000-0000-000000000000'", 14294),
        ("@run_status = 6", 14198),
        ("@run_status = -1", 14198),
        ("@mode = 'none'", 14266),
    ] {
        let seen = run(&mut session, &format!("EXEC sp_help_jobhistory {arguments}"));
        assert_eq!((numbers(&seen).first(), seen.sets.len()), (Some(&number), 0), "{arguments}");
    }
}

#[test]
fn schedules_are_shown_and_changed() {
    let world = World::new("agent-schedules");
    let mut session = world.session();
    run(&mut session, "USE msdb");
    assert_eq!(rows(&mut session, "EXEC sp_help_schedule"), [""; 0], "before there are any");
    for text in [
        "EXEC sp_add_job N'a'",
        "EXEC sp_add_schedule N'daily', @freq_type = 4, @freq_interval = 2, @active_start_date = 20260101, @active_start_time = 13005",
        "EXEC sp_add_schedule N'weekly', @freq_type = 8, @freq_interval = 34, @freq_recurrence_factor = 3, @freq_subday_type = 4, \
             @freq_subday_interval = 10, @active_start_date = 20260101",
        "EXEC sp_add_schedule N'last', @freq_type = 32, @freq_interval = 10, @freq_relative_interval = 16, @freq_recurrence_factor = 1, \
             @active_start_date = 20260101",
        "EXEC sp_add_schedule N'once', @freq_type = 1, @active_start_date = 20260203",
        "EXEC sp_add_schedule N'start', @freq_type = 64",
        "EXEC sp_attach_schedule @job_name = N'a', @schedule_name = N'weekly'",
    ] {
        let wrong: Vec<i32> = numbers(&run(&mut session, text)).into_iter().filter(|n| *n != 0).collect();
        assert_eq!(wrong, [0; 0], "{text}");
    }
    let shown = |session: &mut session::Session, arguments: &str| -> Vec<String> {
        let seen = run(session, &format!("EXEC dbo.sp_help_schedule {arguments}"));
        assert_eq!(numbers(&seen), [0; 0], "{arguments}");
        let (columns, rows) = &seen.sets[0];
        let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
        let wanted = ["schedule_name", "enabled", "job_count", "schedule_description"].map(at);
        rows.iter().map(|row| wanted.map(|at| row[at].clone()).join("|")).collect()
    };
    let none = "(Description not requested)";
    assert_eq!(
        shown(&mut session, ""),
        ["daily|1|0", "weekly|1|1", "last|1|0", "once|1|0", "start|1|0"].map(|row| format!("{row}|{none}"))
    );
    assert_eq!(shown(&mut session, "@attached_schedules_only = 1"), [format!("weekly|1|1|{none}")]);
    assert_eq!(shown(&mut session, "@schedule_name = N'once'"), [format!("once|1|0|{none}")]);
    assert_eq!(
        shown(&mut session, "@include_description = 1"),
        [
            "daily|1|0|Every 2 day(s) at 01:30:05",
            "weekly|1|1|Every 3 week(s) on Monday, Friday every 10 minute(s) between 00:00:00 and 23:59:59",
            "last|1|0|Every 1 month(s) on the last weekend day at 00:00:00",
            "once|1|0|Once on 20260203 at 00:00:00",
            "start|1|0|When SQL Server Agent starts",
        ]
    );
    let of_job = |session: &mut session::Session, arguments: &str| {
        let seen = run(session, &format!("EXEC sp_help_jobschedule @job_name = N'a'{arguments}"));
        assert_eq!((numbers(&seen), seen.sets[0].0[14].as_str()), (vec![], "schedule_description"));
        seen.sets[0].1.iter().map(|row| row[14].clone()).collect::<Vec<String>>()
    };
    assert_eq!(of_job(&mut session, ""), [none]);
    assert_eq!(of_job(&mut session, ", @include_description = 0, @schedule_name = N'weekly'"), [none]);
    assert_eq!(
        of_job(&mut session, ", @include_description = 1"),
        ["Every 3 week(s) on Monday, Friday every 10 minute(s) between 00:00:00 and 23:59:59"]
    );
    assert_eq!(of_job(&mut session, ", @include_description = 1, @schedule_name = N'daily'"), [""; 0]);
    let change = "EXEC sp_update_schedule @name = N'daily', @new_name = N'monthly', @enabled = 0, @freq_type = 16, @freq_interval = 5, \
                  @freq_recurrence_factor = 2";
    assert_eq!(numbers(&run(&mut session, change)), [0; 0]);
    assert_eq!(
        shown(&mut session, "@schedule_id = 1, @include_description = 1"),
        ["monthly|0|0|Every 2 month(s) on day 5 at 01:30:05"]
    );
    assert_eq!(
        rows(
            &mut session,
            "SELECT active_start_date, version_number, SUSER_SNAME(owner_sid) FROM sysschedules WHERE schedule_id = 1"
        ),
        ["20260101|2|sa"]
    );
    for (text, number) in [
        ("EXEC sp_help_schedule @schedule_name = N'daily'", 14262),
        ("EXEC sp_help_schedule @schedule_id = 1, @schedule_name = N'monthly'", 14373),
        ("EXEC sp_update_schedule @new_name = N'x'", 14373),
        ("EXEC sp_update_schedule @schedule_id = 99, @enabled = 0", 14262),
        ("EXEC sp_update_schedule @schedule_id = 1, @enabled = 2", 14266),
        ("EXEC sp_update_schedule @schedule_id = 1, @freq_type = 3", 14266),
        ("EXEC sp_update_schedule @schedule_id = 1, @owner_login_name = N'nobody'", 14234),
    ] {
        assert_eq!(numbers(&run(&mut session, text)).first(), Some(&number), "{text}");
    }
}

    -- The end of the procedures that show schedules (`s`): each in words, if that is wanted.
    CROSS APPLY (SELECT schedule_description = CAST(IIF(@include_description = 0, N'(Description not requested)', CONCAT(
               CASE s.freq_type
               WHEN 1 THEN CONCAT(N'Once on ', s.active_start_date)
               WHEN 4 THEN CONCAT(N'Every ', s.freq_interval, N' day(s)')
               WHEN 8 THEN CONCAT(N'Every ', s.freq_recurrence_factor, N' week(s) on ', SUBSTRING(CONCAT(
                    IIF(s.freq_interval & 1 <> 0, N', Sunday', N''), IIF(s.freq_interval & 2 <> 0, N', Monday', N''),
                    IIF(s.freq_interval & 4 <> 0, N', Tuesday', N''), IIF(s.freq_interval & 8 <> 0, N', Wednesday', N''),
                    IIF(s.freq_interval & 16 <> 0, N', Thursday', N''), IIF(s.freq_interval & 32 <> 0, N', Friday', N''),
                    IIF(s.freq_interval & 64 <> 0, N', Saturday', N'')), 3, 100))
               WHEN 16 THEN CONCAT(N'Every ', s.freq_recurrence_factor, N' month(s) on day ', s.freq_interval)
               WHEN 32 THEN CONCAT(N'Every ', s.freq_recurrence_factor, N' month(s) on the ',
                    CASE s.freq_relative_interval WHEN 1 THEN N'first' WHEN 2 THEN N'second' WHEN 4 THEN N'third' WHEN 8 THEN N'fourth'
                    WHEN 16 THEN N'last' END, N' ', CHOOSE(s.freq_interval, N'Sunday', N'Monday', N'Tuesday', N'Wednesday', N'Thursday',
                    N'Friday', N'Saturday', N'day', N'weekday', N'weekend day'))
               WHEN 64 THEN N'When SQL Server Agent starts'
               ELSE N'When the computer is idle' END,
               CASE WHEN s.freq_type >= 64 THEN N''
               WHEN s.freq_subday_type IN (2, 4, 8) THEN CONCAT(N' every ', s.freq_subday_interval,
                    CASE s.freq_subday_type WHEN 2 THEN N' second(s)' WHEN 4 THEN N' minute(s)' ELSE N' hour(s)' END, N' between ',
                    STUFF(STUFF(RIGHT(CONCAT(N'000000', s.active_start_time), 6), 5, 0, N':'), 3, 0, N':'), N' and ',
                    STUFF(STUFF(RIGHT(CONCAT(N'000000', s.active_end_time), 6), 5, 0, N':'), 3, 0, N':'))
               ELSE CONCAT(N' at ', STUFF(STUFF(RIGHT(CONCAT(N'000000', s.active_start_time), 6), 5, 0, N':'), 3, 0, N':')) END)) AS nvarchar(4000))) AS d
    ORDER BY s.schedule_id
    RETURN 0

CREATE PROCEDURE sys.sp_lock @spid1 int = NULL, @spid2 int = NULL AS
    SET NOCOUNT ON
    SELECT spid = CAST(l.req_spid AS smallint), dbid = l.rsc_dbid, ObjId = l.rsc_objid, IndId = l.rsc_indid,
           Type = CAST(CASE l.rsc_type WHEN 2 THEN N'DB' WHEN 3 THEN N'FIL' WHEN 5 THEN N'TAB' WHEN 6 THEN N'PAG' WHEN 7 THEN N'KEY' WHEN 8 THEN N'EXT'
                                       WHEN 9 THEN N'RID' WHEN 10 THEN N'APP' ELSE N'MD' END AS nchar(4)),
           Resource = l.rsc_text,
           Mode = CAST(CASE l.req_mode WHEN 1 THEN N'Sch-S' WHEN 2 THEN N'Sch-M' WHEN 3 THEN N'S' WHEN 4 THEN N'U' WHEN 5 THEN N'X' WHEN 6 THEN N'IS' WHEN 7 THEN N'IU'
                                       WHEN 8 THEN N'IX' WHEN 9 THEN N'SIU' WHEN 10 THEN N'SIX' WHEN 11 THEN N'UIX' WHEN 12 THEN N'BU' ELSE N'Range' END AS nvarchar(8)),
           Status = CAST(CASE l.req_status WHEN 1 THEN N'GRANT' WHEN 2 THEN N'CNVT' ELSE N'WAIT' END AS nvarchar(5))
    FROM sys.syslockinfo AS l
    WHERE @spid1 IS NULL OR l.req_spid IN (@spid1, @spid2)
    ORDER BY 1
    RETURN 0

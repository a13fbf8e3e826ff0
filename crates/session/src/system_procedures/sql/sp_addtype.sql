CREATE PROCEDURE sys.sp_addtype @typename sysname, @phystype sysname, @nulltype varchar(8) = NULL, @owner sysname = NULL AS
    SET NOCOUNT ON
    SET @nulltype = UPPER(LTRIM(RTRIM(@nulltype)))
    IF @nulltype IS NOT NULL AND @nulltype NOT IN ('NULL', 'NOT NULL', 'NONULL')
    BEGIN
        RAISERROR(15600, -1, -1, 'sp_addtype')
        RETURN 1
    END
    IF TYPE_ID(LTRIM(RTRIM(LEFT(@phystype, CHARINDEX(N'(', @phystype + N'(') - 1)))) IS NULL
    BEGIN
        RAISERROR(15036, -1, -1, @phystype)
        RETURN 1
    END
    DECLARE @text nvarchar(1000) = N'CREATE TYPE ' + QUOTENAME(ISNULL(@owner, N'dbo')) + N'.' + QUOTENAME(@typename) + N' FROM ' + @phystype
        + CASE WHEN @nulltype IN ('NOT NULL', 'NONULL') THEN N' NOT NULL' ELSE N' NULL' END
    EXEC (@text)
    RETURN 0

-- Views, procedures, functions and triggers, each in its batch.
SET ANSI_NULLS ON
SET QUOTED_IDENTIFIER ON
GO
CREATE OR ALTER VIEW Sales.OpenOrders (OrderId, Customer, Total)
WITH SCHEMABINDING, VIEW_METADATA
AS
WITH lines AS (SELECT OrderId, SUM(Quantity * Price) AS Total FROM Sales.OrderLine GROUP BY OrderId)
SELECT o.OrderId, c.[Full Name], ISNULL(l.Total, $0)
FROM Sales.OrderHeader AS o
JOIN dbo.Customer AS c ON c.CustomerId = o.CustomerId
LEFT OUTER JOIN lines AS l ON l.OrderId = o.OrderId
WHERE o.Status < 5
WITH CHECK OPTION;
GO
CREATE FUNCTION dbo.GetNums(@low AS BIGINT, @high AS BIGINT) RETURNS TABLE
AS
RETURN
  WITH
    L0 AS (SELECT c FROM (VALUES(1),(1)) AS D(c)),
    L1 AS (SELECT 1 AS c FROM L0 AS A CROSS JOIN L0 AS B),
    L2 AS (SELECT 1 AS c FROM L1 AS A CROSS JOIN L1 AS B),
    Nums AS (SELECT ROW_NUMBER() OVER(ORDER BY (SELECT NULL)) AS rownum FROM L2)
  SELECT TOP(@high - @low + 1) @low + rownum - 1 AS n
  FROM Nums
  ORDER BY rownum;
GO
CREATE FUNCTION dbo.LatestOrders(@n int = 10) RETURNS TABLE WITH SCHEMABINDING AS
RETURN (SELECT TOP (@n) OrderId, OrderDate FROM Sales.OrderHeader ORDER BY OrderDate DESC);
GO
CREATE FUNCTION dbo.Both() RETURNS TABLE AS RETURN (SELECT 1 AS a) UNION ALL (SELECT 2);
GO
CREATE FUNCTION dbo.ufn_Age (@born date, @today date = NULL)
RETURNS int
WITH RETURNS NULL ON NULL INPUT, INLINE = OFF
AS
BEGIN
    DECLARE @d date = COALESCE(@today, CAST(SYSDATETIME() AS date));
    RETURN DATEDIFF(YEAR, @born, @d)
         - CASE WHEN DATEADD(YEAR, DATEDIFF(YEAR, @born, @d), @born) > @d THEN 1 ELSE 0 END;
END
GO
CREATE FUNCTION dbo.Split (@text nvarchar(max), @sep nchar(1))
RETURNS @parts TABLE (Position int IDENTITY(1,1) PRIMARY KEY, Part nvarchar(4000) NOT NULL)
AS
BEGIN
    DECLARE @start int = 1, @end int;
    WHILE @start <= LEN(@text) + 1
    BEGIN
        SET @end = CHARINDEX(@sep, @text + @sep, @start);
        INSERT @parts (Part) SELECT SUBSTRING(@text, @start, @end - @start);
        SET @start = @end + 1;
    END
    RETURN
END
GO
CREATE PROCEDURE Sales.PlaceOrder
    @CustomerId int,
    @Lines Sales.LineList READONLY,
    @Comment nvarchar(200) = N'none',
    @Weight decimal(9, 3) = -1.5,
    @OrderId bigint = NULL OUTPUT,
    @Cursor cursor VARYING OUTPUT
WITH EXECUTE AS OWNER, RECOMPILE
AS
SET NOCOUNT, XACT_ABORT ON;
BEGIN TRY
    BEGIN TRANSACTION PlaceOrder WITH MARK N'placing';
    SELECT @OrderId = NEXT VALUE FOR Sales.OrderNumber;
    INSERT INTO Sales.OrderHeader WITH (ROWLOCK) (OrderId, CustomerId, OrderDate, Status)
    OUTPUT inserted.OrderId, inserted.OrderDate INTO @log (OrderId, At)
    VALUES (@OrderId, @CustomerId, DEFAULT, 1), (@OrderId + 1, @CustomerId, SYSUTCDATETIME(), 2);
    IF @@ROWCOUNT <> 2
        THROW 50001, N'Nothing was inserted.', 1;
    SAVE TRANSACTION Lines;
    INSERT Sales.OrderLine SELECT @OrderId, ROW_NUMBER() OVER (ORDER BY ProductId), ProductId, Quantity, p.Amount
    FROM @Lines AS l CROSS APPLY (SELECT Amount FROM dbo.Price WHERE ProductId = l.ProductId) AS p;
    COMMIT TRANSACTION PlaceOrder WITH (DELAYED_DURABILITY = ON);
END TRY
BEGIN CATCH
    IF XACT_STATE() <> 0 ROLLBACK;
    DECLARE @m nvarchar(2048) = ERROR_MESSAGE(), @s int = ERROR_SEVERITY();
    RAISERROR (N'%s (%d)', @s, 1, @m, 42) WITH NOWAIT, LOG;
    RETURN -1;
END CATCH
RETURN 0;
GO
CREATE PROC dbo.Old;2 (@a int, @b varchar(10) out) AS
    SELECT @b = 'x'
    RETURN
GO
CREATE PROCEDURE dbo.Native @id int NOT NULL
WITH NATIVE_COMPILATION, SCHEMABINDING, EXECUTE AS 'dbo'
AS BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english', DELAYED_DURABILITY = ON)
    UPDATE dbo.Cart SET UserId += 1 WHERE CartId = @id
END
GO
CREATE PROCEDURE dbo.Clr @x nvarchar(max) AS EXTERNAL NAME Tools.[Tools.Procs].Run
GO
ALTER TRIGGER Sales.tr_OrderLine ON Sales.OrderLine
AFTER INSERT, UPDATE, DELETE
NOT FOR REPLICATION
AS
IF @@ROWCOUNT = 0 RETURN;
IF UPDATE(Price) OR UPDATE(Quantity) AND NOT EXISTS (SELECT * FROM deleted)
    MERGE INTO dbo.Totals WITH (HOLDLOCK) AS t
    USING (SELECT OrderId, SUM(Total) AS Total FROM inserted GROUP BY OrderId) AS s (OrderId, Total)
    ON t.OrderId = s.OrderId
    WHEN MATCHED AND s.Total = 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET t.Total = s.Total, Changed = DEFAULT
    WHEN NOT MATCHED BY TARGET THEN INSERT (OrderId, Total) VALUES (s.OrderId, s.Total)
    WHEN NOT MATCHED BY SOURCE AND t.Total < 0 THEN UPDATE SET t.Total = 0
    OUTPUT $action, inserted.*, deleted.Total AS Before INTO dbo.Audit
    OPTION (LOOP JOIN);
GO
CREATE TRIGGER tr_ddl ON DATABASE FOR CREATE_TABLE, DROP_TABLE AS
    SET NOCOUNT ON;
    PRINT CAST(EVENTDATA() AS nvarchar(max));
GO
CREATE TRIGGER tr_logon ON ALL SERVER WITH EXECUTE AS 'sa' FOR LOGON AS ROLLBACK;
GO
CREATE TRIGGER v_insert ON Sales.OpenOrders INSTEAD OF INSERT AS BEGIN PRINT 'no' END
GO
DISABLE TRIGGER tr_ddl ON DATABASE;
ENABLE TRIGGER ALL ON Sales.OrderLine;
DROP TRIGGER IF EXISTS tr_ddl ON DATABASE;
DROP VIEW Sales.OpenOrders; DROP PROC dbo.Old, dbo.Clr; DROP FUNCTION IF EXISTS dbo.Split
ALTER SCHEMA dbo TRANSFER OBJECT::Sales.OrderLine
GO

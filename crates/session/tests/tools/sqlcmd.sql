-- What sqlcmd and the ODBC driver, when they connect, asks: the shape of the statements as traces of them show it. `-- gives:` text that the answer must hold.
GO
SET QUOTED_IDENTIFIER OFF SET TEXTSIZE 4096
GO
-- gives: test
SELECT CAST(SERVERPROPERTY('ServerName') AS nvarchar(128)) AS [Server]

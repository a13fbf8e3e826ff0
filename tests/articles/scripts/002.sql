--# The listing of article 002, "Diagnosing transaction log performance issues and limits of the Log Manager", as published. Lines that begin with --#
--# are the test's: see scripts.py.
--# setup: a database to look at
CREATE DATABASE watched;
GO
USE watched;
GO
--# listing: who waits for the log file
select vfs.database_id, df.name, df.physical_name
,vfs.file_id, ior.io_pending
,ior.io_handle, vfs.file_handle
from sys.dm_io_pending_io_requests ior
inner join sys.dm_io_virtual_file_stats (DB_ID(), NULL) vfs on (vfs.file_handle = ior.io_handle)
inner join sys.database_files df on (df.file_id = vfs.file_id)
where df.name = '[Logical Log File Name]'
GO

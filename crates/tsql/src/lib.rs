//! T-SQL text to syntax tree and back, with SQL Server's syntax errors.

//! Interprets T-SQL batches: control flow, variables, transactions, errors, procedures.

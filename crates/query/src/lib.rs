//! Binds, plans and runs one statement; serves the system views.

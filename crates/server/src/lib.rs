//! Accepts connections, authenticates, dispatches requests to workers.

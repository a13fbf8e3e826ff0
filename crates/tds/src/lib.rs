//! The wire codec of TDS, both ends, bytes to values, without sockets.

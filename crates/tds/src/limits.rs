//! The sizes of the protocol and the bounds this server puts on its peers, in one place.

/// Bytes of a packet header.
pub const PACKET_HEADER_BYTES: usize = 8;
/// Smallest packet size that may be negotiated (the protocol's own bound).
pub const PACKET_BYTES_MIN: usize = 512;
/// Greatest packet, header included (the protocol says 32,767; a header can express 65,535).
pub const PACKET_BYTES_MAX: usize = 32_767;
/// Packet size when the client leaves the choice to the server, and before login.
pub const PACKET_BYTES_DEFAULT: usize = 4_096;
/// Greatest packet before login has succeeded (reliability F17).
pub const PRE_LOGIN_PACKET_BYTES_MAX: usize = 4_096;
/// Everything that a client may send before login has succeeded, in bytes (reliability F17).
pub const PRE_LOGIN_TOTAL_BYTES_MAX: usize = 64 * 1024;
/// Greatest message (batch, RPC) after login unless configured otherwise, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Greatest procedure call after login unless configured otherwise, in bytes: a value of 2 GB and others. What memory has no room for is refused
/// before.
pub const CALL_BYTES_MAX: usize = (2 << 30) + MESSAGE_BYTES_MAX;
/// Most parameters of one RPC (2,100 in SQL Server). A call with more is read with one too many.
pub const RPC_PARAMETERS_MAX: usize = 2_100;
/// Most columns of a table-valued parameter (1,024 in SQL Server).
pub const TABLE_COLUMNS_MAX: usize = 1_024;
/// Most values of a table-valued parameter, each row counted as one more (a bound of ours).
pub const TABLE_VALUES_MAX: usize = 4_000_000;
/// Most remote procedure calls in one message (a bound of ours).
pub const RPC_CALLS_MAX: usize = 100_000;
/// Most columns of a result set that the client half takes.
pub const COLUMNS_MAX: usize = 4_096;

const _: () = assert!(PRE_LOGIN_PACKET_BYTES_MAX <= PACKET_BYTES_MAX);
const _: () = assert!(PACKET_BYTES_MIN < PACKET_BYTES_DEFAULT && PACKET_BYTES_DEFAULT <= PACKET_BYTES_MAX);
const _: () = assert!(PRE_LOGIN_TOTAL_BYTES_MAX < MESSAGE_BYTES_MAX);

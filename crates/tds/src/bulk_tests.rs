//! Tests of `bulk.rs`: rows cut anywhere, values in chunks, lengths and tokens that are wrong.

use types::Length;

use super::*;

const VERSION: TdsVersion = TdsVersion::V7_4;

fn bytes(columns: &[(&str, SqlType)], rows: &[Vec<Value>], nulls_in_bitmaps: bool) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, columns, rows, nulls_in_bitmaps, VERSION);
    out
}

/// All rows of the bytes, fed in pieces of so many bytes.
fn read(bytes: &[u8], piece_bytes: usize) -> Result<(Vec<BulkColumn>, Vec<Vec<Value>>), BulkError> {
    let mut reader = BulkReader::new(VERSION);
    let mut pieces = bytes.chunks(piece_bytes).peekable();
    let mut rows = Vec::new();
    loop {
        match reader.step()? {
            BulkStep::Columns => assert!(!reader.columns().is_empty()),
            BulkStep::Row => {
                let mut row = vec![Value::Bit(true)];
                reader.take_row(&mut row);
                rows.push(row);
            }
            BulkStep::NeedsMore => {
                let piece = pieces.next().expect("no more is asked for than there is");
                reader.feed(piece, pieces.peek().is_none());
            }
            BulkStep::End => return Ok((reader.columns().to_vec(), rows)),
        }
    }
}

fn some_columns() -> Vec<(&'static str, SqlType)> {
    vec![
        ("i", SqlType::Int),
        ("s", SqlType::nvarchar(10)),
        ("m", SqlType::VarChar(Length::Max)),
        ("t", SqlType::NText),
        ("g", SqlType::Image),
        ("d", SqlType::Decimal { precision: 10, scale: 2 }),
        ("v", SqlType::SqlVariant),
        ("x", SqlType::Xml),
        ("z", SqlType::DateTime2(7)),
    ]
}

fn some_rows() -> Vec<Vec<Value>> {
    let whole = vec![
        Value::Int(-7),
        Value::nvarchar("zw\u{F6}lf"),
        Value::Char(types::ByteStr::new(&vec![b'x'; 3_000])),
        Value::nvarchar("lang"),
        Value::Binary(types::ByteStr::new(&[0, 1, 2])),
        Value::Decimal(types::Decimal::new(-12345, 10, 2)),
        Value::Null,
        Value::nvarchar("<a/>"),
        Value::Null,
    ];
    vec![whole.clone(), vec![Value::Null; whole.len()], whole]
}

/// MS-TDS, "Bulk Load BCP": COLMETADATA, rows, DONE; a packet may end anywhere.
#[test]
fn rows_are_read_wherever_a_packet_ends() {
    for nulls_in_bitmaps in [false, true] {
        let bytes = bytes(&some_columns(), &some_rows(), nulls_in_bitmaps);
        for piece_bytes in [1, 2, 3, 7, 100, 4_088, bytes.len()] {
            let (columns, rows) = read(&bytes, piece_bytes).expect("well-formed");
            let types: Vec<_> = columns.iter().map(|column| column.sql_type).collect();
            assert_eq!(types, some_columns().iter().map(|(_, sql_type)| Some(*sql_type)).collect::<Vec<_>>());
            assert_eq!(columns[2].name, "m");
            assert_eq!(rows, some_rows(), "pieces of {piece_bytes}");
        }
    }
}

/// FreeTDS ends the message without DONE.
#[test]
fn a_message_may_end_without_done() {
    let whole = bytes(&[("i", SqlType::Int)], &vec![vec![Value::Int(1)]; 3], false);
    let (_, rows) = read(&whole[..whole.len() - 13], 5).expect("well-formed");
    assert_eq!(rows.len(), 3);
    assert_eq!(read(&bytes(&[("i", SqlType::Int)], &[], false), 4).map(|(_, rows)| rows.len()), Ok(0));
}

#[test]
fn a_message_that_ends_inside_a_row_is_no_row() {
    let whole = bytes(&some_columns(), &some_rows()[..1], false);
    let columns = bytes(&some_columns(), &[], false).len() - 13;
    for end in (columns + 1..whole.len() - 13).step_by(13) {
        assert_eq!(read(&whole[..end], 50), Err(BulkError::EndsEarly), "{end}");
    }
    assert_eq!(read(&whole[..columns - 1], 50), Err(BulkError::EndsEarly));
}

#[test]
fn chunks_are_joined_and_their_lengths_checked() {
    let head = &bytes(&[("m", SqlType::VarBinary(Length::Max))], &[], false);
    let head = &head[..head.len() - 13];
    let chunked = |total: u64, chunks: &[(u32, &[u8])]| {
        let mut all = [head, &[kind::ROW], &total.to_le_bytes()].concat();
        for (length, chunk) in chunks {
            all.extend_from_slice(&length.to_le_bytes());
            all.extend_from_slice(chunk);
        }
        all
    };
    let three = chunked(PLP_UNKNOWN, &[(2, &[1, 2]), (1, &[3]), (0, &[])]);
    for piece_bytes in 1..20 {
        let rows = read(&three, piece_bytes).expect("well-formed").1;
        assert_eq!(rows, [vec![Value::Binary(types::ByteStr::new(&[1, 2, 3]))]]);
    }
    let too_long = chunked(u64::from(u32::MAX), &[]);
    assert_eq!(read(&too_long, 100), Err(BulkError::ColumnLength(1)));
    let too_long = chunked(PLP_UNKNOWN, &[(u32::MAX, &[1; 50])]);
    assert_eq!(read(&too_long, 100), Err(BulkError::ColumnLength(1)));
    // A length that is allowed and never comes: no more is kept than was sent.
    let mut reader = BulkReader::new(VERSION);
    reader.feed(&chunked(PLP_UNKNOWN, &[(0x7FFF_0000, &[1; 50])]), false);
    assert_eq!(reader.step(), Ok(BulkStep::Columns));
    assert_eq!(reader.step(), Ok(BulkStep::NeedsMore));
    assert!(reader.kept_bytes() < 4_096);
}

/// Error 4815 is about a column: the stream is read to its end, the connection stays.
#[test]
fn values_with_wrong_lengths_name_their_column() {
    let head = |sql_type| {
        let whole = bytes(&[("a", SqlType::Int), ("b", sql_type)], &[], false);
        [&whole[..whole.len() - 13], &[kind::ROW, 4, 1, 0, 0, 0]].concat()
    };
    let of = |sql_type, value: &[u8]| read(&[&head(sql_type), value, &[0; 40]].concat(), 64).map(|_| ());
    assert_eq!(of(SqlType::varchar(3), &[4, 0, 1, 1, 1, 1]), Err(BulkError::ColumnLength(2)));
    assert_eq!(of(SqlType::nvarchar(3), &[8, 0]), Err(BulkError::ColumnLength(2)));
    assert_eq!(of(SqlType::nvarchar(3), &[3, 0, 1, 1, 1]), Err(BulkError::OddLength(2)));
    assert_eq!(of(SqlType::Int, &[3, 1, 1, 1]), Err(BulkError::ColumnLength(2)));
    assert_eq!(of(SqlType::SqlVariant, &[0xFF, 0xFF, 0, 0]), Err(BulkError::ColumnLength(2)));
    let decimal = SqlType::Decimal { precision: 3, scale: 0 };
    assert_eq!(of(decimal, &[5, 1, 0xFF, 0xFF, 0, 0]), Err(BulkError::ColumnValue(2)));
    assert_eq!(of(SqlType::Date, &[3, 0xFF, 0xFF, 0xFF]), Err(BulkError::ColumnValue(2)));
}

#[test]
fn other_tokens_and_too_many_columns_are_refused() {
    let whole = bytes(&[("i", SqlType::Int)], &[vec![Value::Int(1)]], false);
    let end = whole.len() - 13;
    for token in [0x00, kind::COLUMN_METADATA, kind::ERROR, 0xFE] {
        let other = [&whole[..end], &[token]].concat();
        assert!(matches!(read(&other, 99), Err(BulkError::Protocol(_))), "{token:x}");
    }
    assert!(matches!(read(&[&whole[..], &[0]].concat(), 99), Err(BulkError::Protocol(_))));
    assert!(matches!(read(&[kind::ROW, 1], 99), Err(BulkError::Protocol(_))));
    for count in [0_u16, 1_025, 0xFFFF] {
        let [low, high] = count.to_le_bytes();
        assert!(matches!(read(&[kind::COLUMN_METADATA, low, high], 99), Err(BulkError::Protocol(_))));
    }
}

/// No changed byte makes the decoder panic or keep more than a small multiple of what was sent.
#[test]
fn hostile_bytes_are_survived() {
    let mut rows = some_rows();
    rows.truncate(2);
    rows[0][2] = Value::Char(types::ByteStr::new(b"abc"));
    let whole = bytes(&some_columns(), &rows, false);
    for at in 0..whole.len() {
        for byte in (0..=255).step_by(5).chain([255]) {
            let mut changed = whole.clone();
            changed[at] = byte;
            let mut reader = BulkReader::new(VERSION);
            reader.feed(&changed, true);
            while let Ok(BulkStep::Columns | BulkStep::Row) = reader.step() {}
            assert!(reader.kept_bytes() < 16 * changed.len());
        }
    }
}

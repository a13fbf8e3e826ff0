//! The multiplexer: sessions, windows, the order of service, hostile bytes.

use super::*;

fn frame(kind: SmpKind, session: u16, sequence: u32, window: u32, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    SmpHeader { kind, session, length: (SMP_HEADER_BYTES + body.len()) as u32, sequence, window }
        .put(&mut out);
    out.extend_from_slice(body);
    out
}

/// A packet of TDS, the last of its message.
fn packet(kind: PacketKind, body: &[u8]) -> Vec<u8> {
    let length = ((PACKET_HEADER_BYTES + body.len()) as u16).to_be_bytes();
    [&[kind as u8, 1, length[0], length[1], 0, 0, 1, 0], body].concat()
}

fn data(session: u16, sequence: u32, window: u32, body: &[u8]) -> Vec<u8> {
    frame(SmpKind::Data, session, sequence, window, body)
}

fn batch(session: u16, sequence: u32, text: &[u8]) -> Vec<u8> {
    data(session, sequence, WINDOW, &packet(PacketKind::SqlBatch, text))
}

fn syn(session: u16) -> Vec<u8> {
    frame(SmpKind::Syn, session, 0, WINDOW, &[])
}

fn with(sessions: &[u16]) -> Multiplexer {
    let mut multiplexer = Multiplexer::new(ReadLimits::default());
    sessions.iter().for_each(|session| multiplexer.feed(&syn(*session)).expect("a session"));
    multiplexer
}

/// The headers of what is sent now, and the lengths of the bodies.
fn sent(multiplexer: &mut Multiplexer) -> Vec<SmpHeader> {
    let (mut out, mut headers) = (Vec::new(), Vec::new());
    multiplexer.put(&mut out);
    let mut rest = out.as_slice();
    while let Some(header) = rest.first_chunk() {
        let header = SmpHeader::decode(header).expect("a header");
        rest = &rest[header.length as usize..];
        headers.push(header);
    }
    assert!(rest.is_empty());
    headers
}

#[test]
fn messages_of_sessions_are_served_in_turns_and_kept_apart() {
    let mut multiplexer = with(&[0, 7]);
    let mut reader = MessageReader::default();
    let (long, short) =
        (packet(PacketKind::SqlBatch, b"of session seven"), packet(PacketKind::SqlBatch, b"a"));
    // Byte by byte, and a packet of TDS in two of the protocol below.
    let parts = [
        data(7, 1, 4, &long[..11]),
        data(0, 1, 4, &short),
        data(0, 2, 4, &short),
        data(7, 2, 4, &long[11..]),
    ];
    for byte in parts.concat() {
        multiplexer.feed(&[byte]).expect("a byte");
    }
    let mut served = Vec::new();
    while let Some(head) = multiplexer.take_message(&mut reader).expect("a message") {
        assert_eq!(head.kind, PacketKind::SqlBatch);
        served.push((multiplexer.current.expect("one in service"), reader.payload().to_vec()));
    }
    let wanted = [(0, b"a".to_vec()), (7, b"of session seven".to_vec()), (0, b"a".to_vec())];
    assert_eq!(served, wanted);
    assert!(!multiplexer.has_arrived());
    // Two packets were taken from each: the client may send as many more.
    let told: Vec<_> =
        sent(&mut multiplexer).iter().map(|h| (h.kind, h.session, h.sequence, h.window)).collect();
    assert_eq!(told, [(SmpKind::Ack, 0, 0, 6), (SmpKind::Ack, 7, 0, 6)]);
}

#[test]
fn an_answer_waits_for_the_window_and_numbers_go_round() {
    let mut multiplexer = with(&[3]);
    let mut reader = MessageReader::default();
    let lane = multiplexer.lanes.get_mut(&3).expect("a session");
    (lane.sent, lane.window) = (u32::MAX - 1, 2);
    (lane.received, lane.granted, lane.told) = (u32::MAX, 3, 3);
    multiplexer.feed(&data(3, 0, 2, &packet(PacketKind::SqlBatch, b"x"))).expect("a request");
    assert!(multiplexer.take_message(&mut reader).expect("a message").is_some());
    let answer = packet(PacketKind::TabularResult, b"rows").repeat(6);
    multiplexer.queue(&answer);
    let first = sent(&mut multiplexer);
    assert_eq!(first.iter().map(|header| header.sequence).collect::<Vec<_>>(), [u32::MAX, 0, 1, 2]);
    assert!(first.iter().all(|header| header.window == 4 && header.length == 16 + 12), "{first:?}");
    assert_eq!(sent(&mut multiplexer), []);
    multiplexer.feed(&frame(SmpKind::Ack, 3, 0, 3, &[])).expect("an acknowledgement");
    assert_eq!(sent(&mut multiplexer).len(), 1);
    multiplexer.feed(&frame(SmpKind::Ack, 3, 0, 100, &[])).expect("an acknowledgement");
    assert_eq!(sent(&mut multiplexer).len(), 1);
}

/// A request waits for a client that does not read, but not when the client wants another session first.
#[test]
fn a_full_queue_waits_unless_another_session_wants_to_be_served() {
    let mut multiplexer = with(&[0, 1]);
    let mut reader = MessageReader::default();
    multiplexer.feed(&batch(0, 1, b"a")).expect("a request");
    multiplexer.take_message(&mut reader).expect("a message");
    let answer = packet(PacketKind::TabularResult, &[0; 4088]).repeat(QUEUE_BYTES / 4096 + 5);
    multiplexer.queue(&answer);
    assert_eq!(sent(&mut multiplexer).len(), 4);
    assert!(multiplexer.must_wait());
    multiplexer.feed(&data(1, 1, 4, &packet(PacketKind::Attention, &[]))).expect("an idle attention");
    assert!(multiplexer.must_wait() && !multiplexer.is_cancelled());
    multiplexer.feed(&batch(1, 2, b"b")).expect("a request");
    assert!(!multiplexer.is_overfull());
    multiplexer.feed(&data(0, 2, 4, &packet(PacketKind::Attention, &[]))).expect("an attention");
    assert!(!multiplexer.must_wait() && multiplexer.is_cancelled());
    let much = packet(PacketKind::TabularResult, &[0; 32_000]).repeat(QUEUES_BYTES_MAX / 32_000 + 1);
    multiplexer.queue(&much);
    assert!(multiplexer.is_overfull());
    // The session ends: nothing of its answer is kept.
    multiplexer.feed(&frame(SmpKind::Fin, 0, 2, 4, &[])).expect("an end");
    assert!(multiplexer.is_cancelled() && multiplexer.is_ended());
    assert!(multiplexer.take_message(&mut reader).expect("another's").is_some());
    let ends: Vec<_> = sent(&mut multiplexer).into_iter().filter(|h| h.kind == SmpKind::Fin).collect();
    assert_eq!(ends.iter().map(|header| header.session).collect::<Vec<_>>(), [0]);
    assert!(!multiplexer.is_overfull() && !multiplexer.is_ended());
    // Its number may be used again.
    multiplexer.feed(&syn(0)).expect("a session");
    multiplexer.feed(&batch(0, 1, b"c")).expect("a request");
}

#[test]
fn what_the_protocol_does_not_allow_is_an_error() {
    let ok = batch(0, 1, b"a");
    let mut other_identifier = ok.clone();
    other_identifier[0] = 0x01;
    let mut two_flags = ok.clone();
    two_flags[1] = 0x09;
    let mut too_short = ok.clone();
    too_short[4..8].copy_from_slice(&15u32.to_le_bytes());
    let mut too_long = ok.clone();
    too_long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut long_syn = syn(5);
    long_syn[4] = 17;
    let bad = [
        other_identifier,
        two_flags,
        too_short,
        too_long,
        long_syn,
        packet(PacketKind::SqlBatch, b"without the protocol"),
        syn(0),
        batch(1, 1, b"no such session"),
        batch(0, 2, b"a number is left out"),
        batch(0, 0, b"a number comes again"),
        data(0, 1, 3, b"a smaller window"),
        frame(SmpKind::Ack, 0, 1, 4, &[]),
        frame(SmpKind::Fin, 0, 1, 4, &[]),
        (1..=5).flat_map(|number| batch(0, number, b"more than the window")).collect(),
        [frame(SmpKind::Fin, 0, 0, 4, &[]), batch(0, 1, b"after its end")].concat(),
    ];
    for bytes in bad {
        let mut multiplexer = with(&[0]);
        assert!(multiplexer.feed(&bytes).is_err(), "{bytes:02x?}");
        assert!(with(&[0]).feed(&ok).is_ok());
    }
    let mut multiplexer = Multiplexer::new(ReadLimits::default());
    let many = (0..=SESSIONS_MAX as u16).map(|session| multiplexer.feed(&syn(session)).is_ok());
    assert_eq!(many.filter(|is_ok| *is_ok).count(), SESSIONS_MAX);
}

/// No bytes make it panic.
#[test]
fn any_bytes_are_an_error_or_taken() {
    let good =
        [syn(0), syn(1), batch(0, 1, b"x"), batch(1, 1, b"y"), frame(SmpKind::Fin, 1, 1, 9, &[])].concat();
    for at in 0..good.len() {
        for byte in [0, 1, 4, 8, 16, 0x53, 0x7F, 0xFF] {
            let mut bytes = good.clone();
            bytes[at] = byte;
            let mut multiplexer = Multiplexer::new(ReadLimits::default());
            let mut reader = MessageReader::default();
            for piece in bytes.chunks(13) {
                if multiplexer.feed(piece).is_err() {
                    break;
                }
                let _ = multiplexer.take_message(&mut reader);
                multiplexer.queue(&packet(PacketKind::TabularResult, b"z"));
                multiplexer.put(&mut Vec::new());
            }
        }
    }
}

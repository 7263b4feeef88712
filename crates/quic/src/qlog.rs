//! The frames of a decrypted packet as qlog writes them (draft-ietf-quic-qlog-quic-events section
//! 9.13).

use std::fmt::{self, Write};

use crate::frames::{ACK_DELAY_EXPONENT, Reader};

/// The frames as a JSON array. A frame that is malformed or unknown ends it with the type
/// `unknown`.
pub(crate) fn frames(payload: &[u8]) -> String {
    let mut out = String::from("[");
    let mut reader = Reader { bytes: payload, at: 0 };
    while reader.at < payload.len() {
        if out.len() > 1 {
            out.push(',');
        }
        let (start, from) = (out.len(), reader.at);
        let written = frame(&mut reader, &mut out);
        if written.is_none() {
            out.truncate(start);
            let length = payload.len() - from;
            let unknown = format_args!(
                "{{\"frame_type\":\"unknown\",\"frame_type_bytes\":{},\"raw\":{{\"length\":{length}}}}}",
                payload[from]
            );
            put(&mut out, unknown);
            break;
        }
    }
    out.push(']');
    out
}

fn put(out: &mut String, text: fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes whatever is written");
}

/// Writes one frame and passes it.
fn frame(reader: &mut Reader<'_>, out: &mut String) -> Option<()> {
    let kind = reader.varint()?;
    match kind {
        0x00 => padding(reader, out),
        0x01 => named(out, "ping"),
        0x02 | 0x03 => return ack(reader, out, kind == 0x03),
        0x06 => {
            let offset = reader.varint()?;
            let length = reader.counted()?;
            put(
                out,
                format_args!(
                    "{{\"frame_type\":\"crypto\",\"offset\":{offset},\
                     \"raw\":{{\"payload_length\":{length}}}}}"
                ),
            );
        }
        0x08..=0x0f => return stream(reader, out, kind),
        0x10 => fields(reader, out, "max_data", &["maximum"])?,
        0x11 => fields(reader, out, "max_stream_data", &["stream_id", "maximum"])?,
        0x12 => fields(reader, out, "max_streams\",\"stream_type\":\"bidirectional", &["maximum"])?,
        0x13 => {
            fields(reader, out, "max_streams\",\"stream_type\":\"unidirectional", &["maximum"])?
        }
        0x14 => fields(reader, out, "data_blocked", &["limit"])?,
        0x15 => fields(reader, out, "stream_data_blocked", &["stream_id", "limit"])?,
        0x18 => {
            fields(reader, out, "new_connection_id", &["sequence_number", "retire_prior_to"])?;
            reader.connection_id()?;
        }
        0x19 => fields(reader, out, "retire_connection_id", &["sequence_number"])?,
        0x1c | 0x1d => return close(reader, out, kind == 0x1c),
        0x1e => named(out, "handshake_done"),
        0x1f => named(out, "immediate_ack"),
        0xaf => fields(
            reader,
            out,
            "ack_frequency",
            &[
                "sequence_number",
                "ack_eliciting_threshold",
                "requested_max_ack_delay",
                "reordering_threshold",
            ],
        )?,
        _ => return None,
    }
    Some(())
}

fn named(out: &mut String, name: &str) {
    put(out, format_args!("{{\"frame_type\":\"{name}\"}}"));
}

/// A frame of integers alone.
fn fields(reader: &mut Reader<'_>, out: &mut String, name: &str, keys: &[&str]) -> Option<()> {
    put(out, format_args!("{{\"frame_type\":\"{name}\""));
    for key in keys {
        let value = reader.varint()?;
        put(out, format_args!(",\"{key}\":{value}"));
    }
    out.push('}');
    Some(())
}

/// Consecutive padding is one entry.
fn padding(reader: &mut Reader<'_>, out: &mut String) {
    let rest = &reader.bytes[reader.at..];
    let more = rest.iter().take_while(|byte| **byte == 0).count();
    reader.at += more;
    let length = more + 1;
    put(out, format_args!("{{\"frame_type\":\"padding\",\"raw\":{{\"length\":{length}}}}}"));
}

fn ack(reader: &mut Reader<'_>, out: &mut String, has_counts: bool) -> Option<()> {
    let largest = reader.varint()?;
    let delay_us = u128::from(reader.varint()?) << ACK_DELAY_EXPONENT;
    let (ms, us) = (delay_us / 1000, delay_us % 1000);
    put(
        out,
        format_args!("{{\"frame_type\":\"ack\",\"ack_delay\":{ms}.{us:03},\"acked_ranges\":["),
    );
    let mut ranges = Vec::new();
    reader.ranges(largest, |range| ranges.push(range))?;
    for (place, range) in ranges.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        match range.start() == range.end() {
            true => put(out, format_args!("{comma}[{}]", range.start())),
            false => put(out, format_args!("{comma}[{},{}]", range.start(), range.end())),
        }
    }
    out.push(']');
    if has_counts {
        for key in ["ect0", "ect1", "ce"] {
            let count = reader.varint()?;
            put(out, format_args!(",\"{key}\":{count}"));
        }
    }
    out.push('}');
    Some(())
}

fn stream(reader: &mut Reader<'_>, out: &mut String, kind: u64) -> Option<()> {
    let id = reader.varint()?;
    let offset = if kind & 4 != 0 { reader.varint()? } else { 0 };
    let length = if kind & 2 != 0 { reader.counted()? } else { reader.rest() };
    let fin = if kind & 1 != 0 { ",\"fin\":true" } else { "" };
    put(
        out,
        format_args!(
            "{{\"frame_type\":\"stream\",\"stream_id\":{id},\"offset\":{offset}{fin},\
             \"raw\":{{\"payload_length\":{length}}}}}"
        ),
    );
    Some(())
}

fn close(reader: &mut Reader<'_>, out: &mut String, is_transport: bool) -> Option<()> {
    let code = reader.varint()?;
    if is_transport {
        reader.varint()?;
    }
    let length = reader.counted()?;
    let space = if is_transport { "transport" } else { "application" };
    put(
        out,
        format_args!(
            "{{\"frame_type\":\"connection_close\",\"error_space\":\"{space}\",\
             \"error_code\":{code},\"raw\":{{\"payload_length\":{length}}}}}"
        ),
    );
    Some(())
}

#[cfg(test)]
mod tests {
    use super::frames;

    #[test]
    fn frames_are_written_with_their_fields() {
        let packet = [
            &[0x01, 0x06, 0x00, 0x02, 9, 9][..],
            &[0x03, 0x41, 0x2c, 0x05, 0x01, 0x02, 0x00, 0x03, 0x01, 0x41, 0x2c, 0x40, 0x46],
            &[0x10, 0x44, 0x00, 0x00, 0x00, 0x0f, 0x04, 0x08, 0x01, 7, 0x08, 0x00, 1, 2],
        ]
        .concat();
        let expected = [
            r#"[{"frame_type":"ping"}"#,
            r#"{"frame_type":"crypto","offset":0,"raw":{"payload_length":2}}"#,
            concat!(
                r#"{"frame_type":"ack","ack_delay":0.040,"acked_ranges":[[298,300],[293,296]],"#,
                r#""ect0":1,"ect1":300,"ce":70}"#
            ),
            r#"{"frame_type":"max_data","maximum":1024}"#,
            r#"{"frame_type":"padding","raw":{"length":2}}"#,
            concat!(
                r#"{"frame_type":"stream","stream_id":4,"offset":8,"fin":true,"#,
                r#""raw":{"payload_length":1}}"#
            ),
            r#"{"frame_type":"stream","stream_id":0,"offset":0,"raw":{"payload_length":2}}]"#,
        ];
        assert_eq!(frames(&packet), expected.join(","));
    }

    #[test]
    fn a_frame_that_is_cut_ends_the_list() {
        let expected = concat!(
            r#"[{"frame_type":"ping"},{"frame_type":"unknown","frame_type_bytes":6,"#,
            r#""raw":{"length":3}}]"#
        );
        assert_eq!(frames(&[0x01, 0x06, 0x00, 0x42]), expected);
        proptest::proptest!(|(packet: Vec<u8>)| {
            let frames = frames(&packet);
            proptest::prop_assert!(frames.starts_with('[') && frames.ends_with(']'));
        });
    }
}

//! The handshake of MySQL's protocol: the server's version, the schema, and what both agree on. Authentication is skipped, not kept.
//!
//! Source: "Protocol::Handshake", "Protocol::HandshakeResponse41" and `COM_CHANGE_USER` of MySQL's source documentation.

use crate::literal::Cursor;
use sql::Letters;

pub const COMPRESS: u32 = 1 << 5;
const CONNECT_WITH_DB: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
pub const SSL: u32 = 1 << 11;
const SECURE_CONNECTION: u32 = 1 << 15;
const AUTH_LENENC: u32 = 1 << 21;
pub const ZSTD: u32 = 1 << 26;
pub const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// What the server greets with.
pub struct Greeting {
    pub version: String,
    pub capabilities: u32,
}

/// Whether `bytes` are a server's greeting: one packet of protocol version 10, or the error that it has no room.
pub fn is_greeting(bytes: &[u8]) -> bool {
    let Some([low, middle, 0, 0, kind]) = bytes.first_chunk::<5>().copied() else { return false };
    let length = usize::from(low) | usize::from(middle) << 8;
    length + 4 == bytes.len() && ((kind == 10 && length > 40) || (kind == 0xff && length > 3))
}

pub fn read_greeting(body: &[u8]) -> Option<Greeting> {
    let mut cursor = Cursor(body);
    (cursor.byte()? == 10).then_some(())?;
    let version = String::from_utf8_lossy(cursor.until_nul()?).into_owned();
    // The connection's number, and the first part of the challenge.
    cursor.bytes(4 + 8 + 1)?;
    let low = u16::from_le_bytes(cursor.array()?);
    // The character set and the status.
    let high = cursor.bytes(3).and_then(|_| cursor.array()).map_or(0, u16::from_le_bytes);
    // MariaDB puts a prefix before its version for old replicas.
    let version = version.strip_prefix("5.5.5-").unwrap_or(&version).to_owned();
    Some(Greeting { version, capabilities: u32::from(low) | u32::from(high) << 16 })
}

/// What the client answers.
pub struct Response {
    pub capabilities: u32,
    pub schema: String,
    pub letters: Letters,
}

/// `None` if it is cut, or of a client from before 4.1.
pub fn read_response(body: &[u8]) -> Option<Response> {
    let mut cursor = Cursor(body);
    let capabilities = u32::from_le_bytes(cursor.array()?);
    (capabilities & PROTOCOL_41 != 0).then_some(())?;
    // The largest packet before the character set, and behind it 23 bytes that are not used.
    cursor.bytes(4)?;
    let letters = Letters::of_collation(cursor.byte()?);
    cursor.bytes(23)?;
    if cursor.0.is_empty() {
        // The request for TLS is the beginning of the response.
        return Some(Response { capabilities, schema: String::new(), letters });
    }
    let capabilities = capabilities & !SSL;
    cursor.until_nul()?;
    skip_authentication(&mut cursor, capabilities)?;
    let schema = if capabilities & CONNECT_WITH_DB == 0 { None } else { cursor.until_nul() };
    let schema = String::from_utf8_lossy(schema.unwrap_or_default()).into_owned();
    Some(Response { capabilities, schema, letters })
}

fn skip_authentication(cursor: &mut Cursor<'_>, capabilities: u32) -> Option<()> {
    if capabilities & AUTH_LENENC != 0 {
        cursor.lenenc_bytes()?;
    } else if capabilities & SECURE_CONNECTION != 0 {
        let count = cursor.byte()?;
        cursor.bytes(count.into())?;
    } else {
        cursor.until_nul()?;
    }
    Some(())
}

/// The schema and the character set that `COM_CHANGE_USER` names, from the bytes after the command.
pub fn read_change(body: &[u8]) -> Option<(String, Letters)> {
    let mut cursor = Cursor(body);
    cursor.until_nul()?;
    skip_authentication(&mut cursor, SECURE_CONNECTION)?;
    let schema = String::from_utf8_lossy(cursor.until_nul()?).into_owned();
    let collation = cursor.array().map(u16::from_le_bytes).and_then(|number| u8::try_from(number).ok());
    Some((schema, collation.map_or(Letters::Unknown, Letters::of_collation)))
}

//! Commands and arguments in their binary form.
//!
//! In: arguments. Out: bytes behind others in a buffer. Limits: the length of a command is written by who knows where it ends.
//! <https://mariadb.com/kb/en/com_stmt_execute/>

use model::SqlArg;

pub const LONGLONG: u8 = 0x08;
pub const DOUBLE: u8 = 0x05;
pub const VAR_STRING: u8 = 0xfd;

/// Begins a command. Its length is written when it is complete.
#[inline]
pub fn begin_command(out: &mut Vec<u8>, command: u8) {
    out.extend_from_slice(&[0, 0, 0, 0, command]);
}

#[inline]
pub fn type_of(arg: &SqlArg) -> u8 {
    match arg {
        SqlArg::Int(_) => LONGLONG,
        SqlArg::Float(_) => DOUBLE,
        SqlArg::Text { .. } | SqlArg::Null => VAR_STRING,
        SqlArg::Kept(_) => unreachable!("kept values are filled in before"),
    }
}

#[inline]
pub fn put_argument(out: &mut Vec<u8>, arg: &SqlArg, text: &[u8]) {
    match *arg {
        // Numbers have the fixed width of their type; only texts have a length.
        SqlArg::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
        SqlArg::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
        SqlArg::Text { start, len } => {
            put_number(out, len);
            out.extend_from_slice(&text[start as usize..][..len as usize]);
        }
        SqlArg::Null => {}
        SqlArg::Kept(_) => unreachable!("kept values are filled in before"),
    }
}

/// A number in as many bytes as it needs.
#[inline]
pub fn put_number(out: &mut Vec<u8>, number: u32) {
    let [a, b, c, d] = number.to_le_bytes();
    match number {
        0..=250 => out.push(a),
        251..=0xffff => out.extend_from_slice(&[0xfc, a, b]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, a, b, c]),
        _ => out.extend_from_slice(&[0xfe, a, b, c, d, 0, 0, 0, 0]),
    }
}

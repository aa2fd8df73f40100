//! The TCP segments of a capture file, of pcap or pcapng.
//!
//! Formats: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html>, <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html>;
//! kinds of link: <https://www.tcpdump.org/linktypes.html>. Limit: a packet has at most [`BLOCK_BYTES_MAX`] bytes.

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The most bytes of a packet, or of another block of a capture file. The snap length of `tcpdump` is 256 KiB unless it is told otherwise.
const BLOCK_BYTES_MAX: usize = 16 << 20;
const BUFFER_BYTES: usize = 1 << 20;
/// More interfaces than a capture has.
const INTERFACES_MAX: usize = 4096;

/// Why a file cannot be read as a capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It is something else.
    #[error(
        "it is no capture: it begins neither as pcap nor as pcapng does; make one with `tcpdump -s0 -w FILE port PORT`"
    )]
    NotACapture,
    /// Its packets have headers that are not known.
    #[error(
        "its packets are of link type {0}, which is not read; capture on an Ethernet interface, on `lo` or on `any`"
    )]
    LinkType(i32),
    /// A packet is not as the format says.
    #[error("it is damaged after packet {packets}: {what}")]
    Damaged {
        /// How many packets come before it.
        packets: u64,
        what: &'static str,
    },
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Read(io::Error),
}

/// Whether a file that begins with these four bytes is a capture.
pub fn is_capture(first: [u8; 4]) -> bool {
    let pcap = [[0xa1, 0xb2, 0xc3, 0xd4], [0xa1, 0xb2, 0x3c, 0x4d], [0xa1, 0xb2, 0xcd, 0x34]];
    let reversed = |magic: [u8; 4]| [magic[3], magic[2], magic[1], magic[0]];
    first == [0x0a, 0x0d, 0x0d, 0x0a] || pcap.iter().any(|magic| first == *magic || first == reversed(*magic))
}

/// A packet, as far as it matters here.
pub enum Packet<'a> {
    Tcp(Segment<'a>),
    Fragment,
    Other,
}

pub struct Segment<'a> {
    /// In microseconds since 1970.
    pub at_us: i64,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub seq: u32,
    /// What the sender has of the other stream.
    pub acknowledged: Option<u32>,
    pub is_syn: bool,
    pub is_fin: bool,
    pub is_reset: bool,
    pub bytes: &'a [u8],
    /// Bytes that the snap length cut off.
    pub cut: u32,
}

/// How an interface stamps and wraps its packets.
#[derive(Clone, Copy)]
struct Interface {
    link: i32,
    /// Stamps in a second.
    resolution: u64,
    offset_s: i64,
}

/// Fills buffers to their end, so that a header is never split, and keeps the error that the parser does not pass on.
struct Filling<R> {
    reader: R,
    error: Arc<Mutex<Option<io::Error>>>,
}

impl<R: Read> Read for Filling<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kind = error.kind();
                    *self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                    return Err(kind.into());
                }
            }
        }
        Ok(filled)
    }
}

pub struct PacketReader<'r> {
    blocks: Box<dyn PcapReaderIterator + Send + 'r>,
    error: Arc<Mutex<Option<io::Error>>>,
    interfaces: Vec<Interface>,
    packets: u64,
    buffer_bytes: usize,
}

impl<'r> PacketReader<'r> {
    pub fn new(reader: impl Read + Send + 'r) -> Result<PacketReader<'r>, CaptureError> {
        let error = Arc::new(Mutex::new(None));
        let filling = Filling { reader, error: Arc::clone(&error) };
        let blocks = create_reader(BUFFER_BYTES, filling).map_err(|_| match take_error(&error) {
            Some(error) => CaptureError::Read(error),
            None => CaptureError::NotACapture,
        })?;
        Ok(PacketReader { blocks, error, interfaces: Vec::new(), packets: 0, buffer_bytes: BUFFER_BYTES })
    }

    /// Gives out packets until there are no more or the taker breaks off; false if the file ends within one.
    pub fn read_all(
        &mut self,
        on_packet: &mut impl FnMut(Packet<'_>) -> ControlFlow<()>,
    ) -> Result<bool, CaptureError> {
        loop {
            let is_exhausted = self.blocks.reader_exhausted();
            let error = match self.blocks.next() {
                Ok((block_bytes, block)) => {
                    let flow = take_block(&mut self.interfaces, &mut self.packets, &block, on_packet)?;
                    self.blocks.consume(block_bytes);
                    if flow.is_break() {
                        return Ok(true);
                    }
                    continue;
                }
                Err(error) => error,
            };
            match error {
                PcapError::Eof => return Ok(true),
                PcapError::UnexpectedEof => return Ok(false),
                PcapError::Incomplete(_) | PcapError::BufferTooSmall if is_exhausted => {
                    return Ok(self.blocks.data().is_empty());
                }
                PcapError::Incomplete(_) | PcapError::BufferTooSmall => self.refill()?,
                _ => return Err(self.damaged("the next one is not as the format says")),
            }
        }
    }

    /// Reads on. A buffer that is full and has no complete block grows.
    fn refill(&mut self) -> Result<(), CaptureError> {
        let data_bytes = self.blocks.data().len();
        let is_refilled = self.blocks.refill().is_ok();
        if let Some(error) = take_error(&self.error) {
            return Err(CaptureError::Read(error));
        }
        if is_refilled && (self.blocks.data().len() > data_bytes || self.blocks.reader_exhausted()) {
            return Ok(());
        }
        self.buffer_bytes *= 2;
        if self.buffer_bytes > BLOCK_BYTES_MAX || !self.blocks.grow(self.buffer_bytes) {
            return Err(self.damaged("the next one says that it has more than 16 MiB"));
        }
        Ok(())
    }

    fn damaged(&self, what: &'static str) -> CaptureError {
        CaptureError::Damaged { packets: self.packets, what }
    }
}

fn take_error(error: &Mutex<Option<io::Error>>) -> Option<io::Error> {
    error.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
}

/// Takes one block of a file: a packet is given out, an interface is kept for its packets.
fn take_block(
    interfaces: &mut Vec<Interface>,
    packets: &mut u64,
    block: &PcapBlockOwned<'_>,
    on_packet: &mut impl FnMut(Packet<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, CaptureError> {
    let (interface, stamp, bytes) = match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            add_interface(interfaces, Interface { link: header.network.0, resolution, offset_s: 0 })?;
            return Ok(ControlFlow::Continue(()));
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            return Ok(ControlFlow::Continue(()));
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(found)) => {
            let resolution = resolution_of(found.if_tsresol);
            add_interface(interfaces, Interface { link: found.linktype.0, resolution, offset_s: found.if_tsoffset })?;
            return Ok(ControlFlow::Continue(()));
        }
        PcapBlockOwned::Legacy(packet) => {
            let resolution = interfaces.first().map_or(1_000_000, |interface| interface.resolution);
            (0, u64::from(packet.ts_sec) * resolution + u64::from(packet.ts_usec), packet.data)
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let stamp = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            (packet.if_id as usize, stamp, packet.packet_data())
        }
        // A simple packet has no time, and other blocks have no packet.
        PcapBlockOwned::NG(Block::SimplePacket(_)) => (usize::MAX, 0, &[][..]),
        PcapBlockOwned::NG(_) => return Ok(ControlFlow::Continue(())),
    };
    *packets += 1;
    let Some(interface) = interfaces.get(interface) else { return Ok(on_packet(Packet::Other)) };
    Ok(on_packet(parse(interface.link, at_us(interface, stamp), bytes)))
}

fn add_interface(interfaces: &mut Vec<Interface>, interface: Interface) -> Result<(), CaptureError> {
    if !LINKS.contains(&interface.link) {
        return Err(CaptureError::LinkType(interface.link));
    }
    if interfaces.len() < INTERFACES_MAX {
        interfaces.push(interface);
    }
    Ok(())
}

/// Stamps in a second: the option `if_tsresol` is a power of 10, or with its high bit a power of 2. One that is too large is taken for the default.
fn resolution_of(power: u8) -> u64 {
    let resolution = if power & 0x80 == 0 {
        10_u64.checked_pow(u32::from(power))
    } else {
        1_u64.checked_shl(u32::from(power & 0x7f))
    };
    resolution.unwrap_or(1_000_000)
}

fn at_us(interface: &Interface, stamp: u64) -> i64 {
    let fraction = u128::from(stamp % interface.resolution) * 1_000_000 / u128::from(interface.resolution);
    let seconds = i64::try_from(stamp / interface.resolution).unwrap_or(i64::MAX);
    seconds
        .saturating_add(interface.offset_s)
        .saturating_mul(1_000_000)
        .saturating_add(i64::try_from(fraction).unwrap_or(0))
}

const NULL: i32 = 0;
const ETHERNET: i32 = 1;
const RAW: [i32; 5] = [12, 14, 101, 228, 229];
const LOOP: i32 = 108;
const SLL: i32 = 113;
const SLL2: i32 = 276;
const LINKS: [i32; 10] = [NULL, ETHERNET, RAW[0], RAW[1], RAW[2], RAW[3], RAW[4], LOOP, SLL, SLL2];

fn parse(link: i32, at_us: i64, bytes: &[u8]) -> Packet<'_> {
    let typed = |at: usize, start: usize| {
        let kind = u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
        Some(LaxSlicedPacket::from_ether_type(EtherType(kind), bytes.get(start..)?))
    };
    let sliced = match link {
        ETHERNET => LaxSlicedPacket::from_ethernet(bytes).ok(),
        // The four bytes before are the address family, in numbers that differ between systems: the first byte of IP says as much.
        NULL | LOOP => bytes.get(4..).and_then(|bytes| LaxSlicedPacket::from_ip(bytes).ok()),
        SLL => typed(14, 16),
        SLL2 => typed(0, 20),
        _ => LaxSlicedPacket::from_ip(bytes).ok(),
    };
    sliced.map_or(Packet::Other, |sliced| packet_of(at_us, &sliced))
}

fn packet_of<'a>(at_us: i64, sliced: &LaxSlicedPacket<'a>) -> Packet<'a> {
    // Where the IP packet ends by its own header; 0 for one that was captured before the network card cut it in parts.
    let (source, destination, payload, payload_bytes): (IpAddr, IpAddr, _, _) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let payload_bytes = usize::from(header.total_len()).saturating_sub(header.slice().len());
            (header.source_addr().into(), header.destination_addr().into(), ip.payload(), payload_bytes)
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            // Extensions are part of the length, and not of the payload.
            let payload = ip.payload();
            let extensions = ip.extensions().slice().len();
            let payload_bytes = usize::from(header.payload_length()).saturating_sub(extensions);
            (header.source_addr().into(), header.destination_addr().into(), payload, payload_bytes)
        }
        _ => return Packet::Other,
    };
    if payload.fragmented {
        return Packet::Fragment;
    }
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { return Packet::Other };
    let header_bytes = tcp.header_slice().len();
    let cut = payload_bytes.saturating_sub(header_bytes + tcp.payload().len());
    Packet::Tcp(Segment {
        at_us,
        source: SocketAddr::new(source, tcp.source_port()),
        destination: SocketAddr::new(destination, tcp.destination_port()),
        seq: tcp.sequence_number(),
        acknowledged: tcp.ack().then(|| tcp.acknowledgment_number()),
        is_syn: tcp.syn(),
        is_fin: tcp.fin(),
        is_reset: tcp.rst(),
        bytes: tcp.payload(),
        cut: u32::try_from(cut).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_microseconds_whatever_their_resolution_is() {
        let at = |resolution, stamp| at_us(&Interface { link: ETHERNET, resolution, offset_s: 0 }, stamp);
        assert_eq!(at(resolution_of(6), 1_700_000_000_123_456), 1_700_000_000_123_456);
        assert_eq!(at(resolution_of(9), 1_700_000_000_123_456_789), 1_700_000_000_123_456);
        assert_eq!(at(resolution_of(0x80 | 10), 1024 * 3 + 512), 3_500_000);
        assert_eq!(at(resolution_of(0xff), 5), 5);
    }

    #[test]
    fn a_vlan_tag_a_loopback_header_and_a_cooked_header_lead_to_the_same_segment() {
        let mut ip = vec![0x45, 0, 0, 45, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        ip.extend([0x9c, 0x40, 0x0c, 0xea, 0, 0, 0, 9, 0, 0, 0, 0, 0x50, 0x18, 0, 0, 0, 0, 0, 0]);
        ip.extend(b"abc"); // 2 of 5 bytes are cut off
        let with = |header: &[u8]| [header, &ip].concat();
        let mut sll = vec![0; 16];
        sll[14..].copy_from_slice(&[8, 0]);
        let mut sll2 = vec![0; 20];
        sll2[..2].copy_from_slice(&[8, 0]);
        let vlan = [&[0; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat();
        let ethernet = [&[0; 12][..], &[8, 0]].concat();
        for (link, bytes) in [
            (ETHERNET, with(&ethernet)),
            (ETHERNET, with(&vlan)),
            (NULL, with(&[2, 0, 0, 0])),
            (LOOP, with(&[0, 0, 0, 2])),
            (SLL, with(&sll)),
            (SLL2, with(&sll2)),
            (RAW[2], ip.clone()),
        ] {
            let Packet::Tcp(segment) = parse(link, 1, &bytes) else { panic!("link type {link}") };
            assert_eq!((segment.seq, segment.bytes, segment.cut), (9, &b"abc"[..], 2), "link type {link}");
            assert_eq!(segment.destination.to_string(), "10.0.0.2:3306");
        }
    }
}

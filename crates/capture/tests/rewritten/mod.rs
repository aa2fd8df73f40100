//! A capture taken apart into its packets, and written again: fewer of them, shorter, or in another form of file.

/// A packet of an Ethernet capture.
#[derive(Clone)]
pub struct Packet {
    seconds: u32,
    microseconds: u32,
    original_len: u32,
    bytes: Vec<u8>,
}

impl Packet {
    /// When it was captured, in microseconds since 1970.
    pub fn at_us(&self) -> i64 {
        i64::from(self.seconds) * 1_000_000 + i64::from(self.microseconds)
    }

    /// Whether it was sent from this port of TCP over IPv4.
    pub fn is_from(&self, port: u16) -> bool {
        let ip_bytes = usize::from(self.bytes[14] & 15) * 4;
        self.bytes[14 + ip_bytes..].starts_with(&port.to_be_bytes())
    }

    /// As a capture with this snap length has it.
    pub fn snapped(&self, len: usize) -> Packet {
        Packet { bytes: self.bytes[..self.bytes.len().min(len)].to_vec(), ..self.clone() }
    }
}

/// The packets of what `tcpdump` wrote on a little-endian machine.
pub fn packets_of(capture: &[u8]) -> Vec<Packet> {
    let mut rest = &capture[24..];
    let mut packets = Vec::new();
    while let Some((header, after)) = rest.split_at_checked(16) {
        let word = |at: usize| u32::from_le_bytes(*header[at..].first_chunk().expect("four bytes"));
        let (bytes, next) = after.split_at(word(8) as usize);
        packets.push(Packet { seconds: word(0), microseconds: word(4), original_len: word(12), bytes: bytes.to_vec() });
        rest = next;
    }
    packets
}

/// A pcap file of these packets.
pub fn with_packets(packets: &[Packet]) -> Vec<u8> {
    pcap(packets, 1, u32::to_le_bytes)
}

/// All forms that are read, with their names.
pub fn forms(packets: &[Packet]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("pcap", pcap(packets, 1, u32::to_le_bytes)),
        ("pcap, nanoseconds", pcap(packets, 1000, u32::to_le_bytes)),
        ("pcap, big-endian", pcap(packets, 1, u32::to_be_bytes)),
        ("pcap, big-endian, nanoseconds", pcap(packets, 1000, u32::to_be_bytes)),
        ("pcapng", pcapng(packets, 6, u32::to_le_bytes)),
        ("pcapng, nanoseconds", pcapng(packets, 9, u32::to_le_bytes)),
        ("pcapng, big-endian", pcapng(packets, 6, u32::to_be_bytes)),
    ]
}

type ToBytes = fn(u32) -> [u8; 4];

fn pcap(packets: &[Packet], per_microsecond: u32, to_bytes: ToBytes) -> Vec<u8> {
    let magic = if per_microsecond == 1 { 0xa1b2_c3d4 } else { 0xa1b2_3c4d };
    // Version 2.4 is two words of 16 bits.
    let version = if to_bytes(1)[0] == 1 { 2 | 4 << 16 } else { 2 << 16 | 4 };
    let mut file: Vec<u8> = [magic, version, 0, 0, 262_144, 1].into_iter().flat_map(to_bytes).collect();
    for packet in packets {
        let stored = u32::try_from(packet.bytes.len()).expect("a packet");
        let header = [packet.seconds, packet.microseconds * per_microsecond, stored, packet.original_len];
        file.extend(header.into_iter().flat_map(to_bytes));
        file.extend(&packet.bytes);
    }
    file
}

fn pcapng(packets: &[Packet], resolution: u8, to_bytes: ToBytes) -> Vec<u8> {
    let is_little = to_bytes(1)[0] == 1;
    let halves = |first: u32, second: u32| if is_little { first | second << 16 } else { first << 16 | second };
    let mut file = Vec::new();
    let mut add = |kind: u32, body: Vec<u8>| {
        let length = u32::try_from(body.len() + 12).expect("a block");
        file.extend([to_bytes(kind).to_vec(), to_bytes(length).to_vec(), body, to_bytes(length).to_vec()].concat());
    };
    add(0x0a0d_0d0a, [0x1a2b_3c4d, halves(1, 0), u32::MAX, u32::MAX].into_iter().flat_map(to_bytes).collect());
    let mut interface: Vec<u8> = [halves(1, 0), 0, halves(9, 1)].into_iter().flat_map(to_bytes).collect();
    interface.extend([resolution, 0, 0, 0, 0, 0, 0, 0]);
    add(1, interface);
    for packet in packets {
        let stamp = u64::try_from(packet.at_us()).expect("after 1970") * if resolution == 9 { 1000 } else { 1 };
        let stored = u32::try_from(packet.bytes.len()).expect("a packet");
        let header = [0, (stamp >> 32) as u32, stamp as u32, stored, packet.original_len];
        let mut body: Vec<u8> = header.into_iter().flat_map(to_bytes).collect();
        body.extend(&packet.bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        add(6, body);
    }
    file
}

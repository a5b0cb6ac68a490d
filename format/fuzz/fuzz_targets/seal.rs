//! Bytes with the checksums that they ought to have.

const FILE_HEADER: usize = 64;
const BLOCK_HEADER: usize = 48;

/// Repairs what only an honest writer gets right, as far as there are blocks.
pub(crate) fn seal(file: &mut [u8]) {
    let Some(header) = file.get_mut(..FILE_HEADER) else { return };
    header[..12].copy_from_slice(b"\x89CSPP\r\n\x1a\x01\0\0\0");
    let run: [u8; 4] = [header[0x10], header[0x11], header[0x12], header[0x13]];
    let sum = crc32fast::hash(&header[..0x3c]).to_le_bytes();
    header[0x3c..].copy_from_slice(&sum);
    let mut rest = &mut file[FILE_HEADER..];
    let mut number = 0_u32;
    while let Some((header, after)) = rest.split_at_mut_checked(BLOCK_HEADER) {
        let stored = [header[0x20], header[0x21], header[0x22], header[0x23]];
        let length = (u32::from_le_bytes(stored) as usize).min(after.len());
        let (payload, after) = after.split_at_mut(length);
        header[..4].copy_from_slice(b"\xd8BLK");
        header[0x0c..0x10].copy_from_slice(&number.to_le_bytes());
        header[0x20..0x24].copy_from_slice(&(length as u32).to_le_bytes());
        if header[0x09] == 0 {
            // Not compressed: one length.
            header[0x1c..0x20].copy_from_slice(&(length as u32).to_le_bytes());
        }
        header[0x24..0x28].copy_from_slice(&run);
        header[0x28..0x2c].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
        let sum = crc32fast::hash(&header[..0x2c]).to_le_bytes();
        header[0x2c..].copy_from_slice(&sum);
        number += 1;
        rest = after;
    }
}

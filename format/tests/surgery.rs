//! Takes a file apart and joins it again with right checksums, by what `FORMAT.md` says and
//! without the code that is tested.

/// A file, header and blocks apart.
pub(crate) struct Parts {
    pub(crate) header: Vec<u8>,
    pub(crate) blocks: Vec<Part>,
}

/// The 48 header bytes of a block and its stored payload.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) header: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

impl Part {
    pub(crate) fn kind(&self) -> u16 {
        u16::from_le_bytes([self.header[4], self.header[5]])
    }

    fn seal(&mut self) {
        let stored = (self.payload.len() as u32).to_le_bytes();
        self.header[0x20..0x24].copy_from_slice(&stored);
        let sum = crc32fast::hash(&self.payload).to_le_bytes();
        self.header[0x28..0x2c].copy_from_slice(&sum);
        let sum = crc32fast::hash(&self.header[..0x2c]).to_le_bytes();
        self.header[0x2c..].copy_from_slice(&sum);
    }

    /// Replaces the payload by one that is not compressed.
    pub(crate) fn set_payload(&mut self, payload: &[u8]) {
        self.payload = payload.to_vec();
        self.header[0x09] = 0;
        self.header[0x1c..0x20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    }

    /// The payload, decompressed.
    pub(crate) fn decoded(&self) -> Vec<u8> {
        let length = u32::from_le_bytes(self.header[0x1c..0x20].try_into().expect("four bytes"));
        match self.header[0x09] {
            0 => self.payload.clone(),
            _ => lz4_flex::block::decompress(&self.payload, length as usize)
                .expect("a payload that was just compressed"),
        }
    }
}

impl Parts {
    pub(crate) fn of(file: &[u8]) -> Self {
        let (header, mut rest) = file.split_at(64);
        let mut blocks = Vec::new();
        while !rest.is_empty() {
            let (header, after) = rest.split_at(48);
            let stored = u32::from_le_bytes(header[0x20..0x24].try_into().expect("four bytes"));
            let (payload, after) = after.split_at(stored as usize);
            blocks.push(Part { header: header.to_vec(), payload: payload.to_vec() });
            rest = after;
        }
        Self { header: header.to_vec(), blocks }
    }

    /// The block of this kind; there is one in a small file.
    pub(crate) fn block(&mut self, kind: u16) -> &mut Part {
        self.blocks.iter_mut().find(|part| part.kind() == kind).expect("the file has this kind")
    }

    /// A copy of the block of this kind.
    pub(crate) fn block_of(mut self, kind: u16) -> Part {
        self.block(kind).clone()
    }

    /// Gives the blocks the numbers of their places, and the end block their count.
    pub(crate) fn renumber(&mut self) {
        let count = self.blocks.len();
        for (number, part) in self.blocks.iter_mut().enumerate() {
            part.header[0x0c..0x10].copy_from_slice(&(number as u32).to_le_bytes());
            if number + 1 == count {
                part.payload[0] = number as u8;
            }
        }
    }

    /// The file with right checksums.
    pub(crate) fn join(mut self) -> Vec<u8> {
        let sum = crc32fast::hash(&self.header[..0x3c]).to_le_bytes();
        self.header[0x3c..].copy_from_slice(&sum);
        let mut file = self.header;
        for mut part in self.blocks {
            part.seal();
            file.extend(part.header);
            file.extend(part.payload);
        }
        file
    }
}

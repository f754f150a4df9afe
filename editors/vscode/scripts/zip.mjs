// A zip file, as small as a .vsix needs it; the same input gives the same bytes.
import * as zlib from "node:zlib";

const DOS_DATE = ((2020 - 1980) << 9) | (1 << 5) | 1;

/** @param {[string, Buffer][]} files names and contents, in order */
export function zip(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, content] of files) {
    const path = Buffer.from(name, "utf8");
    const packed = zlib.deflateRawSync(content);
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0); // version needed
    head.writeUInt16LE(0x800, 2); // names are UTF-8
    head.writeUInt16LE(8, 4); // deflate
    head.writeUInt16LE(DOS_DATE, 8);
    head.writeUInt32LE(crc(content), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(content.length, 18);
    head.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), head, path, packed]);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE(0o100644 * 0x10000, 6);
    entry.writeUInt32LE(offset, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\x03", "latin1"), head, entry, path);
    parts.push(local);
    offset += local.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, index, end]);
}

function crc(content) {
  if (zlib.crc32 !== undefined) return zlib.crc32(content);
  let value = ~0;
  for (const byte of content) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return ~value >>> 0;
}

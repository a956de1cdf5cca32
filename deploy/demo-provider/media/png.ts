// Draws the pictures of the demo model: a pattern of squares in four colours, the left half mirrored, as a PNG file.
import { crc32, deflateSync } from 'node:zlib';
import { digest } from '../answers.ts';

export type PictureSize = { readonly width: number; readonly height: number };

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Squares in a row and in a column. */
const squares = 8;
const bitsPerPixel = 2;
const pixelsPerByte = 8 / bitsPerPixel;
const colours = 2 ** bitsPerPixel;

/** A PNG whose pattern and colours depend on `seed` alone. */
export function drawPng(seed: string, { width, height }: PictureSize): Buffer {
  const random = Buffer.from(digest(seed), 'hex');
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([bitsPerPixel, 3], 8); // pixels are numbers of colours
  const palette = Buffer.from(Array.from({ length: colours * 3 }, (_, index) => random[31 - index] ?? 0));
  const rows = Array.from({ length: squares }, (_, row) => rowOf(random, row, width));
  const pixels = Array.from({ length: height }, (_, y) => rows[Math.floor((y * squares) / height)] ?? Buffer.alloc(0));
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(Buffer.concat(pixels))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A row of pixels, behind a byte that says that they stand as they are. */
function rowOf(random: Buffer, row: number, width: number): Buffer {
  const bytes = Buffer.alloc(1 + Math.ceil(width / pixelsPerByte));
  for (let x = 0; x < width; x += 1) {
    const column = Math.floor((x * squares) / width);
    const colour = (random[row] ?? 0) >> (Math.min(column, squares - 1 - column) * bitsPerPixel);
    const at = 1 + Math.floor(x / pixelsPerByte);
    const shift = (pixelsPerByte - 1 - (x % pixelsPerByte)) * bitsPerPixel;
    bytes[at] = (bytes[at] ?? 0) | ((colour % colours) << shift);
  }
  return bytes;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

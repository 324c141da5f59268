import { crc32 } from 'node:zlib';
import type { ScriptedEvent } from './reply.ts';

const HEADERS = {
  ':event-type': 'chunk',
  ':content-type': 'application/json',
  ':message-type': 'event',
} as const;
const STRING = 7;
const PRELUDE_BYTES = 12;
const CRC_BYTES = 4;

/**
 * Makes one message of an AWS event stream, as InvokeModelWithResponseStream sends it: two lengths and their checksum,
 * headers, the payload `{ bytes: base64 of the event }`, and a checksum of all.
 */
export function eventStreamFrame(event: ScriptedEvent): Uint8Array<ArrayBuffer> {
  const headers = Buffer.concat(Object.entries(HEADERS).map(([name, value]) => headerOf(name, value)));
  const bytes = Buffer.from(JSON.stringify(event)).toString('base64');
  const payload = Buffer.from(JSON.stringify({ bytes }));
  const prelude = Buffer.alloc(PRELUDE_BYTES);
  prelude.writeUInt32BE(PRELUDE_BYTES + headers.length + payload.length + CRC_BYTES, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headers, payload]);
  const checksum = Buffer.alloc(CRC_BYTES);
  checksum.writeUInt32BE(crc32(message), 0);
  return Buffer.concat([message, checksum]);
}

function headerOf(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value), 0);
  return Buffer.concat([
    Buffer.from([Buffer.byteLength(name)]),
    Buffer.from(name),
    Buffer.from([STRING]),
    length,
    Buffer.from(value),
  ]);
}

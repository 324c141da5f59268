import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { toBase64 } from '@smithy/core/serde';
import type { HttpAnswer } from '../wire.ts';

/** The algorithms in the order of preference; the first that an answer has is checked. */
const ALGORITHMS = ['sha256', 'sha1', 'crc32', 'crc32c', 'crc64nvme'] as const;

type Algorithm = (typeof ALGORITHMS)[number];

/**
 * Compares a body with the checksum that the server says it has. A checksum that was made of the checksums of parts
 * says nothing of the whole body, and is passed over.
 *
 * @throws when the body is not the one that the server stored.
 */
export async function verifyChecksum(body: Uint8Array, headers: HttpAnswer['headers']): Promise<void> {
  const told = ALGORITHMS.filter((algorithm) => headers[headerOf(algorithm)]);
  if (told.every((algorithm) => isOfParts(headers[headerOf(algorithm)] ?? ''))) return;
  const [algorithm] = told;
  if (algorithm === undefined) return;
  if ((await sumOf(algorithm, body)) !== headers[headerOf(algorithm)]) {
    throw new Error(`Checksum mismatch in response header "${headerOf(algorithm)}".`);
  }
}

function headerOf(algorithm: Algorithm): string {
  return `x-amz-checksum-${algorithm}`;
}

/** Ends with the number of parts. */
function isOfParts(checksum: string): boolean {
  const parts = /-([1-9]\d*)$/.exec(checksum)?.[1];
  return parts !== undefined && Number(parts) <= 10_000;
}

async function sumOf(algorithm: Algorithm, body: Uint8Array): Promise<string> {
  switch (algorithm) {
    case 'sha256':
    case 'sha1':
      return hash(algorithm, body, 'base64');
    case 'crc32':
      return crc32Of(body);
    case 'crc32c':
    case 'crc64nvme': {
      // AWS computes these where a writer gave none, and Node has neither.
      const { Crc32c, Crc64Nvme } = await import('@aws-sdk/checksums/crc');
      const sum = algorithm === 'crc32c' ? new Crc32c() : new Crc64Nvme();
      sum.update(body);
      return toBase64(await sum.digest());
    }
  }
}

/** CRC-32 as S3 writes it: base64 of four bytes, the highest first. */
export function crc32Of(body: Uint8Array): string {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, crc32(body));
  return toBase64(bytes);
}

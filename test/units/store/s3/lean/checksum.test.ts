import { expect, it } from 'vitest';
import { crc32Of, verifyChecksum } from '../../../../../src/store/s3/lean/checksum.ts';

const BODY = new TextEncoder().encode('123456789');
/** Check values that the catalogues of these algorithms give for this text. */
const SUMS = {
  sha256: base64('15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225'),
  sha1: base64('f7c3bc1d808e04732adf679965ccc34ca7ae3441'),
  crc32: base64('cbf43926'),
  crc32c: base64('e3069283'),
  crc64nvme: base64('ae8b14860a799888'),
};
const headerOf = (algorithm: string): string => `x-amz-checksum-${algorithm}`;

it.each(Object.entries(SUMS))('a body is held to its checksum by %s', async (algorithm, sum) => {
  await verifyChecksum(BODY, { [headerOf(algorithm)]: sum });
  const other = verifyChecksum(BODY.subarray(1), { [headerOf(algorithm)]: sum });
  await expect(other).rejects.toThrow(headerOf(algorithm));
});

it('a body without a checksum is taken as it is', async () => {
  await verifyChecksum(BODY, {});
  await verifyChecksum(BODY, { [headerOf('md5')]: 'x', [headerOf('sha1')]: '' });
});

it.each(Object.keys(SUMS).map((_, at) => at))(
  'of several checksums the first in the order of preference counts: %d',
  async (at) => {
    const entries = Object.entries(SUMS).slice(at);
    const wrong = entries.map(([name], place): [string, string] => [headerOf(name), place === 0 ? 'x' : '']);
    const headers = Object.fromEntries(entries.map(([name, sum]) => [headerOf(name), sum]));
    const [first = ['', '']] = wrong;
    await expect(verifyChecksum(BODY, { ...headers, [first[0]]: first[1] })).rejects.toThrow(first[0]);
    const [own = ['', '']] = entries;
    const others = Object.fromEntries(entries.slice(1).map(([name]) => [headerOf(name), 'x']));
    await verifyChecksum(BODY, { ...others, [headerOf(own[0])]: own[1] });
  },
);

it.each([
  ['x-1', true],
  ['x-10', true],
  ['x-10000', true],
  ['x-10001', false],
  ['x-0', false],
  ['x-', false],
  ['x-1a', false],
  ['x1', false],
])('the checksum %s is one of parts, which says nothing of the whole: %s', async (sum, isOfParts) => {
  const verified = verifyChecksum(BODY, { [headerOf('crc32')]: sum });
  if (isOfParts) await verified;
  else await expect(verified).rejects.toThrow('mismatch');
});

it('a checksum of the whole counts beside one of parts', async () => {
  const headers = { [headerOf('sha256')]: 'x', [headerOf('crc32')]: 'x-2' };
  await expect(verifyChecksum(BODY, headers)).rejects.toThrow(headerOf('sha256'));
});

it('CRC-32 is written highest byte first', () => {
  expect(crc32Of(BODY)).toBe(SUMS.crc32);
});

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

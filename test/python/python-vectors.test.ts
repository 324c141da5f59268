import { describe, expect, it } from 'vitest';
import { contentOfGolden, GOLDEN, GOLDEN_HISTORY } from '../format/golden.ts';
import { BOX_CASES, HASH_KAT, HASH_LENGTHS, KDF_CASES } from '../format/known-answers.ts';
import { seedOfRun } from '../runner/draws.ts';
import { isNotRun } from '../runner/not-run.ts';
import { amount } from '../runner/thorough.ts';
import { findPython, type PythonAnswer, type PythonRequest } from './python.ts';

const python = await findPython(process.env);
const isMissing = isNotRun('The data files, asked of Python', python);

type Fields = Readonly<Record<string, unknown>>;

/** The kinds of records that are one JSON object and nothing else. */
const ONE_OBJECT = /^(?:journal|receipts|answers|actors)\b|\/(?:head|body)$/;

const b64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
/** Brings ids back from hexadecimal to what stands in records. */
const idAsWritten = (_: string, value: unknown): unknown =>
  typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)
    ? Buffer.from(value, 'hex').toString('base64url')
    : value;
const hex = (text: string): string => Buffer.from(text, 'hex').toString('base64');
const outcome = ({ result, code }: PythonAnswer): unknown => code ?? result;

/** Asks PyNaCl and hashlib; without them every test fails with the reason. */
async function ask(requests: readonly PythonRequest[]): Promise<readonly unknown[]> {
  if ('reason' in python) throw new Error(python.reason);
  return (await python.ask(requests)).map(outcome);
}

describe.skipIf(isMissing)('the known answers', { timeout: 60_000 }, () => {
  it('of XChaCha20-Poly1305 are those of PyNaCl', async () => {
    const cases = BOX_CASES.filter(({ nonce }) => nonce.length === 24);
    const request = (one: (typeof cases)[number]) => ({
      key: b64(one.key),
      nonce: b64(one.nonce),
      additional: b64(one.additional),
    });
    const opened = await ask(cases.map((one) => ({ action: 'openBox', ...request(one), box: b64(one.box) })));
    expect(opened).toEqual(cases.map(({ isValid, message }) => (isValid ? b64(message) : 'integrity')));
    const valid = cases.filter(({ isValid }) => isValid);
    const sealed = await ask(
      valid.map((one) => ({ action: 'sealBox', ...request(one), message: b64(one.message) })),
    );
    expect(sealed).toEqual(valid.map(({ box }) => b64(box)));
  });

  it('of keyed BLAKE2b are those of hashlib', async () => {
    const cases = [...HASH_KAT, ...HASH_LENGTHS];
    const hashed = await ask(
      cases.map(({ length, key, message }) => ({
        action: 'hash',
        length,
        key: b64(key),
        message: b64(message),
      })),
    );
    expect(hashed).toEqual(cases.map(({ hash }) => hex(hash)));
  });

  it("of the key derivation are those of hashlib's BLAKE2b with salt and personalisation", async () => {
    const derived = await ask(
      KDF_CASES.map(({ key, index, context }) => ({ action: 'deriveKey', key: b64(key), index, context })),
    );
    expect(derived).toEqual(KDF_CASES.map((one) => hex(one.derived)));
  });
});

describe.skipIf(isMissing)('the test vectors of format 1', { timeout: 300_000 }, () => {
  it('are to the byte what their generator makes, and its reader takes all of them as told', async () => {
    if ('reason' in python) throw new Error(python.reason);
    expect(await python.complaintOf('make_vectors.py', '--check')).toBe('');
  });

  it('notice each rule of the format that is broken in its reader', async () => {
    if ('reason' in python) throw new Error(python.reason);
    const count = amount({ usual: 24, thorough: 72 });
    const some = ['--some', String(count), String(seedOfRun(process.env))];
    expect(await python.complaintOf('break_rules.py', ...some)).toBe('');
  });
});

describe.skipIf(isMissing)('the golden stores of format 1', { timeout: 60_000 }, () => {
  const sets = GOLDEN.flatMap((set) => (set.format === 1 ? set.stores : []));
  const stores = [...sets, GOLDEN_HISTORY];

  it.each(stores)('are read by the second implementation: $tenant, $names names', async (golden) => {
    const { objects, rootKey, tenant, files, records } = golden;
    const request = { action: 'readStore', objects, root: rootKey, tenant, prefix: '' };
    const [read] = await ask([request]);
    const { keyring, ...rest } = read as { readonly keyring: object };
    expect(keyring).toMatchObject({ epoch: golden.keyring.epoch, mode: golden.names === 'plain' ? 0 : 1 });
    expect(rest).toEqual({
      foreign: [],
      files: Object.fromEntries(
        Object.entries(files).map(([path, file]) => [
          path,
          {
            content: b64(contentOfGolden(file)),
            mtime: file.mtime,
            bound: file.bound,
            previous: hex(file.previous),
            writer: hex(file.writer),
            origin: hex(file.origin),
            versionId: hex(file.versionId),
            drawnUnder: file.drawnUnder,
          },
        ]),
      ),
      records: Object.fromEntries(
        Object.entries(records).map(([name, { content, mtime }]) => [
          name,
          expect.objectContaining({ content, mtime }),
        ]),
      ),
    });
  });

  it('say the same of a history to the second implementation, record by record', async () => {
    const { objects, rootKey, tenant, records, line, texts, transcripts } = GOLDEN_HISTORY;
    const request = { objects, root: rootKey, tenant, prefix: '', line };
    const encoded = Object.entries(texts).map(
      ([version, text]) => [version, b64(Buffer.from(text))] as const,
    );
    const [answer] = await ask([{ action: 'readRecords', ...request, texts: Object.fromEntries(encoded) }]);
    const read = answer as {
      readonly records: Readonly<Record<string, { readonly kind: string; readonly record: Fields | null }>>;
      readonly checkpoint: { readonly head: Fields; readonly lines: readonly (readonly unknown[])[] } | null;
      readonly hashes: Readonly<Record<string, string>>;
    };
    expect(Object.keys(read.records).sort()).toEqual(Object.keys(records).sort());
    const saved: Fields[] = [];
    for (const [name, { kind, record }] of Object.entries(read.records)) {
      const content = Buffer.from(records[name]?.content ?? '', 'base64');
      expect(kind, name).toBe(records[name]?.kind);
      expect(record, name).not.toBeNull();
      if (kind.startsWith('history/')) {
        const { text: _, ...facts } = JSON.parse(JSON.stringify(record), idAsWritten) as Fields;
        const head = content.subarray(4, 4 + content.readUInt32BE(0));
        expect(JSON.parse(head.toString()), name).toMatchObject(facts);
        if (kind !== 'history/replaced') continue;
        const text = Buffer.from(String(record?.['text']), 'hex').toString();
        expect(text, name).toBe(texts[String(facts['id'])]);
        saved.push(facts);
      } else if (kind === 'sessions') {
        expect(transcripts).toContainEqual({ key: record?.['key'], lines: record?.['lines'] });
      } else if (ONE_OBJECT.test(kind)) {
        expect(JSON.parse(content.toString()), name).toMatchObject(record ?? {});
      }
    }
    // One version was saved for a delete that failed, and sealed anew; a later edit saved it a second time.
    const twice = saved.filter((record) =>
      saved.some((other) => other !== record && other['id'] === record['id']),
    );
    expect(twice.map((record) => record['for'])).toEqual(['delete', undefined]);

    expect(read.checkpoint?.lines.length).toBeGreaterThan(1);
    for (const [path, version, , , , , , , hash] of read.checkpoint?.lines ?? []) {
      expect(hash, String(path)).toBe(read.hashes[String(version)]);
    }
  });
});

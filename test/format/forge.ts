import { concat, domain, lengthPrefixed, NO_BYTES, u16, u32 } from '../../src/format/encoding.ts';
import { deriveKey, hash, sealBox } from '../../src/format/sodium.ts';
import { encodeText } from '../../src/language/text.ts';
import {
  contentOf,
  expand,
  fromHex,
  input,
  type KeyEntry,
  type KeyringFields,
  type KeyringForgery,
  type ObjectFields,
  type ObjectForgery,
} from './format-vectors.ts';

/**
 * Objects and keyrings as a holder of every key could write them who follows the format only at will.
 * Laid out field by field from docs/format.md, apart from the code under test but for the primitives.
 */
export function forgeObject(
  fields: ObjectFields & ObjectForgery,
  ring: { readonly tenant: string; readonly keyringId: string },
): Uint8Array {
  const keyringId = input(fields.keyringId ?? ring.keyringId);
  const bodyKeyringId = input(fields.bodyKeyringId ?? fields.keyringId ?? ring.keyringId);
  const content = contentOf(fields);
  const fixedStart = concat(
    fromHex(fields.magic ?? '89534d310d0a1a0a'),
    fromHex(fields.version ?? '01011000'),
  );
  const start = concat(fixedStart, input(fields.versionId));
  const bodyStart = fields.bodyVersionId ? start : fixedStart;
  const bodyOf = (dataKey: Uint8Array): Uint8Array =>
    hash(64, dataKey, concat(domain('body'), bodyKeyringId, bodyStart));
  const committed = bodyOf(input(fields.bodyDek ?? fields.dek));
  const commitment = fields.commitment === undefined ? committed.slice(32) : input(fields.commitment);
  const tenantKey = input(fields.key);
  const head = concat(start, commitment, hash(16, tenantKey, domain('key-id')));
  const nonce = input(fields.nonce);
  const wrap = sealBox(
    concat(
      input(fields.dek),
      fields.shortWrap ? NO_BYTES : u32(fields.drawnUnder),
      bigEndian64(fields.length ?? content.length),
      bigEndian64(fields.mtime),
      bigEndian64(fields.bound),
      input(fields.previous),
      input(fields.writer),
      input(fields.origin),
    ),
    {
      key: deriveKey(tenantKey, 1, 'smem-tk1'),
      nonce,
      additional: concat(
        domain('wrap'),
        head,
        keyringId,
        lengthPrefixed(encodeText(fields.tenant ?? ring.tenant)),
        lengthPrefixed(encodeText(fields.name)),
      ),
    },
  );
  const bodyKey = (fields.chunkDek === undefined ? committed : bodyOf(input(fields.chunkDek))).slice(0, 32);
  const chunks = (fields.chunks ?? chunksOf(content)).map(([plain, number, last]) =>
    sealBox(typeof plain === 'string' ? describedContent(plain) : plain, {
      key: bodyKey,
      nonce: concat(new Uint8Array(15), bigEndian64(number), Uint8Array.of(last)),
      additional: NO_BYTES,
    }),
  );
  return concat(head, nonce, wrap, fromHex(fields.afterWrap ?? ''), ...chunks);
}

export function forgeKeyring(fields: KeyringFields & KeyringForgery): Uint8Array {
  const root = input(fields.root);
  const rootId = expand(fields.rootId ?? `env:${base64url(hash(16, root, domain('root-id')))}`);
  const rootNonce = input(fields.rootNonce);
  const wrapped =
    fields.wrapped === undefined
      ? concat(
          rootNonce,
          sealBox(input(fields.wrappedKK ?? fields.KK), {
            key: deriveKey(root, 1, 'smem-rk1'),
            nonce: rootNonce,
            additional: concat(
              domain('root'),
              canon({
                keyringId: input(fields.wrapKeyringId ?? fields.keyringId),
                tenant: fields.wrapTenant ?? fields.tenant,
              }),
            ),
          }),
        )
      : fromHex(expand(fields.wrapped));
  const head = concat(
    fromHex('89534d4b0d0a1a0a'),
    fromHex(fields.version ?? '01010000'),
    u32(fields.epoch),
    input(fields.keyringId),
    lengthPrefixed(encodeText(rootId)),
    lengthPrefixed(wrapped),
  );
  const keys = entriesOf(fields);
  const secret = concat(
    Uint8Array.of(fields.mode, fields.flags),
    u16(fields.n ?? keys.length),
    input(fields.NK),
    ...keys.flatMap(([version, created, key]) => [u32(version), bigEndian64(created), input(key)]),
    fromHex(fields.extra ?? ''),
  );
  const nonce = input(fields.nonce);
  const box = sealBox(secret, {
    key: input(fields.KK),
    nonce,
    additional: concat(
      domain('keyring'),
      head,
      lengthPrefixed(encodeText(fields.aadTenant ?? fields.tenant)),
    ),
  });
  return concat(head, nonce, box);
}

/** The root wrap's context in its one order. */
export function canon({
  keyringId,
  tenant,
}: {
  readonly keyringId: Uint8Array;
  readonly tenant: string;
}): Uint8Array {
  const texts = [
    'app',
    'sealed-memory',
    'keyring',
    base64url(keyringId),
    'kind',
    'keyring',
    'tenant',
    tenant,
    'version',
    '1',
  ];
  return concat(u32(5), ...texts.map((text) => lengthPrefixed(encodeText(text))));
}

/** A keyring case's keys; `count` n stands for versions 1..n of 30 zeros ‖ u16 version. */
export function entriesOf({
  keys,
  count,
}: {
  readonly keys: readonly KeyEntry[];
  readonly count?: number | undefined;
}): readonly KeyEntry[] {
  if (count === undefined) return keys;
  return Array.from({ length: count }, (_, index): KeyEntry => {
    const version = index + 1;
    return [version, 1_700_000_000_000, version.toString(16).padStart(64, '0')];
  });
}

function chunksOf(content: Uint8Array): readonly (readonly [Uint8Array, number, number])[] {
  const count = Math.max(1, Math.ceil(content.length / 65_536));
  return Array.from(
    { length: count },
    (_, index) =>
      [content.slice(index * 65_536, (index + 1) * 65_536), index, index === count - 1 ? 1 : 0] as const,
  );
}

function describedContent(description: string): Uint8Array {
  const [kind, value = ''] = description.split(':');
  return kind === 'zeros' ? new Uint8Array(Number(value)) : encodeText(value);
}

function bigEndian64(value: number | string): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

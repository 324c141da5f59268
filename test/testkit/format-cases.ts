import { createHash } from 'node:crypto';
import { forgeKeyring, forgeObject } from '../format/forge.ts';
import { added, applyOps, contentOf, expand, format1, input, toHex } from '../format/format-vectors.ts';
import { drawnUnderOf, keyringFields, objectFields, vectorBytes } from '../format/vector-parts.ts';
import type { Answer, Case, Request } from './case.ts';

/**
 * The vectors of docs/format.md as questions that stand for themselves: every reference is followed, every change is
 * made. Wants libsodium to be loaded.
 */
export function formatCases(): readonly Case[] {
  return [...reading(), ...refusing(), ...naming(), ...sizing()];
}

function reading(): readonly Case[] {
  const opened = format1.keyrings.cases.filter(({ id }) => keyringFields(id).rootId === undefined);
  const keyrings = opened.map(({ id }) => {
    const { tenant, epoch, keyringId, mode, flags, NK, root } = keyringFields(id);
    const ring = {
      epoch,
      keyringId: toHex(input(keyringId)),
      mode,
      flags: flags ?? 0,
      nameKey: toHex(input(NK)),
    };
    return single('read', `keyring ${id}`, askKeyring(vectorBytes(id), tenant, [root]), { result: ring });
  });
  const objects = [...format1.objects.cases, ...format1.forgedObjects].map(({ id }) => {
    const fields = objectFields(id);
    const result = { ...resultOf(fields, contentOf(fields)), bound: String(fields.bound) };
    return single('read', `object ${id}`, askObject(vectorBytes(id), fields.keyring, fields.name), {
      result,
    });
  });
  const rebinds = format1.rebinds.map(({ id, base, keyring, to, bound, origin }) => {
    const fields = objectFields(base);
    const result = {
      ...resultOf({ ...fields, origin: origin ?? fields.origin }, contentOf(fields)),
      bound: String(bound),
    };
    return single('read', `re-bound ${id}`, askObject(vectorBytes(id), keyring, to), { result });
  });
  return [...keyrings, ...objects, ...rebinds];
}

function refusing(): readonly Case[] {
  const { refuseObjects, refuseKeyrings } = format1;
  const objects = refuseObjects.cases.map(({ id, what, base, keyring, name, ops, forge }) => {
    const from = base ?? refuseObjects.defaults.base;
    const made =
      forge === undefined
        ? applyOps(vectorBytes(from), ops ?? [], vectorBytes)
        : forgeObject({ ...objectFields(from), ...forge }, keyringFields(objectFields(from).keyring));
    const ask = askObject(made, keyring ?? 'two', name ?? refuseObjects.defaults.name);
    return single('refuse', `object ${id}: ${what}`, ask, { code: 'integrity' });
  });
  const keyrings = refuseKeyrings.cases.map((refused) => {
    const { id, what, base, ops, forge, tenant, roots, expect } = { ...refuseKeyrings.defaults, ...refused };
    const made =
      forge === undefined
        ? applyOps(vectorBytes(base), ops ?? [], vectorBytes)
        : forgeKeyring({ ...keyringFields(base), ...forge });
    return single('refuse', `keyring ${id}: ${what}`, askKeyring(made, tenant, roots), { code: expect });
  });
  const tombstones = (['valid', 'invalid'] as const).flatMap((kind) =>
    added.tombstones[kind].map((bytes, index) =>
      single(
        'refuse',
        `${kind} tombstone ${index + 1}`,
        { do: 'is_tombstone', bytes },
        {
          result: kind === 'valid',
        },
      ),
    ),
  );
  return [...objects, ...keyrings, ...tombstones];
}

function naming(): readonly Case[] {
  const place = (mode: number) => ({ nameKey: toHex(input('NK')), mode });
  const decode = (mode: number, text: string): Request => ({ do: 'decode_file', ...place(mode), text });
  const encode = (mode: number, segments: readonly string[]): Request => ({
    do: 'encode_file',
    ...place(mode),
    segments,
  });
  const known = added.fileKeys.flatMap(({ mode, segments, text }, index) => {
    const path = segments.map(expand);
    return [
      single('names', `file key ${index + 1}, made`, encode(mode, path), { result: text }),
      single('names', `file key ${index + 1}, read`, decode(mode, text), { result: path }),
    ];
  });
  const invalid = added.invalidPaths.map(({ mode, segments }, index) =>
    single('names', `invalid path ${index + 1}`, encode(mode, segments.map(expand)), {
      code: 'invalid_path',
    }),
  );
  const segments = (['accept', 'refuse'] as const).flatMap((verdict) =>
    added.segments[verdict].map((segment, index) => {
      const ask = { do: 'is_segment', segment: expand(segment) };
      return single('names', `segment, ${verdict} ${index + 1}`, ask, { result: verdict === 'accept' });
    }),
  );
  const foreign = added.foreignKeys.map(({ id, what, mode, text }) =>
    single('names', `${id}: ${what}`, decode(mode, text), { result: null }),
  );
  const hashes = added.keyedHashes.map(({ class: cls, text, hash }, index) => {
    const ask = { do: 'keyed_hash', nameKey: toHex(input('NK')), class: cls, text: expand(text) };
    return single('names', `keyed hash ${index + 1}`, ask, { result: hash });
  });
  return [...known, ...invalid, ...segments, ...foreign, ...hashes];
}

function sizing(): readonly Case[] {
  const known = format1.sizes.lengthToSize.flatMap(([length, size]) => [
    single('sizes', `${length} bytes, sealed`, { do: 'sealed_size', length }, { result: size }),
    single('sizes', `${size} bytes, opened`, { do: 'content_length', size }, { result: length }),
  ]);
  const foreign = format1.sizes.foreign.map((size) =>
    single('sizes', `${size} bytes, no object`, { do: 'content_length', size }, { result: null }),
  );
  return [...known, ...foreign];
}

function single(group: Case['group'], id: string, ask: Request, answer: Answer): Case {
  return { group, id, steps: [{ ask, answer }] };
}

function askKeyring(bytes: Uint8Array, tenant: string, roots: readonly string[]): Request {
  return {
    do: 'open_keyring',
    tenant,
    roots: roots.map((root) => toHex(input(root))),
    keyring: toHex(bytes),
  };
}

function askObject(bytes: Uint8Array, keyring: string, name: string): Request {
  const { tenant, root } = keyringFields(keyring);
  const ring = askKeyring(vectorBytes(keyring), tenant, [root]);
  return { ...ring, do: 'open_object', name, object: toHex(bytes) };
}

function resultOf(fields: ReturnType<typeof objectFields>, content: Uint8Array) {
  const { versionId, mtime, previous, writer, origin } = fields;
  return {
    size: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    versionId: toHex(input(versionId)),
    drawnUnder: drawnUnderOf(fields),
    mtime: Number(mtime),
    previous: toHex(input(previous)),
    writer: toHex(input(writer)),
    origin: toHex(input(origin)),
  };
}

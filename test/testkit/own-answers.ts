import { createHash } from 'node:crypto';
import { MemoryError } from '../../src/errors.ts';
import type { Keyring } from '../../src/format/keyring-bytes.ts';
import { createNames, type Names } from '../../src/format/names.ts';
import { open } from '../../src/format/object.ts';
import type { LogicalName } from '../../src/format/object-keys.ts';
import { contentLength, sealedSize } from '../../src/format/sizes.ts';
import { isTombstone } from '../../src/format/tombstone.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { openKeyring } from '../../src/keys/keyring.ts';
import { isValidSegment } from '../../src/language/path.ts';
import type { DriverOptions, Input, MemoryDriver } from '../contracts/memory-tool/driver.ts';
import { libraryDriver } from '../contracts/memory-tool/library-driver.ts';
import type { Answer } from './case.ts';

type Asked = Readonly<Record<string, unknown>>;

const text = (asked: Asked, field: string): string => String(asked[field]);
const bytes = (asked: Asked, field: string): Uint8Array =>
  new Uint8Array(Buffer.from(text(asked, field), 'hex'));
const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex');

async function keyringOf(asked: Asked): Promise<Keyring> {
  const roots = (asked['roots'] as readonly string[]).map((root) => new Uint8Array(Buffer.from(root, 'hex')));
  const rootKeys = roots.map((root) => envRootKey(root));
  return openKeyring({ bytes: bytes(asked, 'keyring'), tenant: text(asked, 'tenant'), rootKeys });
}

function namesOf(asked: Asked): Names {
  return createNames({ mode: asked['mode'] === 0 ? 'plain' : 'encrypted', nameKey: bytes(asked, 'nameKey') });
}

async function openObject(asked: Asked): Promise<unknown> {
  const { keyringId, tenantKeys } = await keyringOf(asked);
  const active = tenantKeys.at(-1);
  if (active === undefined) throw new Error('a keyring without a key was opened');
  const find = (id: Uint8Array) => tenantKeys.find(({ keyId }) => hex(keyId) === hex(id));
  const opened = open({
    keys: { tenant: text(asked, 'tenant'), keyringId, active, find },
    name: text(asked, 'name') as LogicalName,
    object: bytes(asked, 'object'),
  });
  return {
    size: opened.content.length,
    sha256: createHash('sha256').update(opened.content).digest('hex'),
    versionId: hex(opened.id),
    drawnUnder: opened.drawnUnder,
    mtime: opened.mtime,
    previous: hex(opened.previous),
    writer: hex(opened.writer),
    origin: hex(opened.origin),
    bound: String(opened.bound),
  };
}

function encodeFile(asked: Asked): string {
  const segments = asked['segments'] as readonly string[];
  if (!segments.every(isValidSegment)) throw new MemoryError('invalid_path', 'A segment is not valid.');
  return namesOf(asked).encodeFile(segments);
}

const openDriver = libraryDriver(() => ({ store: 'memory:' }));
let driver: MemoryDriver | undefined;

function memory(): MemoryDriver {
  if (driver === undefined) throw new Error('no memory is open');
  return driver;
}

async function run(asked: Asked): Promise<Answer> {
  const outcome = await memory().run(asked['input'] as Input);
  if (outcome.ok) return { result: outcome.content };
  return { code: outcome.code, content: outcome.content };
}

const ACTIONS: Readonly<Record<string, (asked: Asked) => unknown>> = {
  async open_keyring(asked) {
    const { epoch, keyringId, nameMode, keepsHistory, keptSince, nameKey } = await keyringOf(asked);
    const mode = nameMode === 'plain' ? 0 : 1;
    return {
      epoch,
      keyringId: hex(keyringId),
      mode,
      flags: (keepsHistory ? 1 : 0) | (keptSince === undefined ? 0 : 2),
      nameKey: hex(nameKey),
    };
  },
  open_object: openObject,
  is_tombstone: (asked) => isTombstone(bytes(asked, 'bytes')),
  encode_file: encodeFile,
  decode_file: (asked) => namesOf(asked).decodeFile([], text(asked, 'text')) ?? null,
  is_segment: (asked) => isValidSegment(text(asked, 'segment')),
  keyed_hash: (asked) => namesOf(asked).keyedHash(text(asked, 'class'), text(asked, 'text')),
  sealed_size: (asked) => sealedSize(Number(asked['length'])),
  content_length: (asked) => contentLength(Number(asked['size'])) ?? null,
  async memory(asked) {
    await driver?.close();
    driver = await openDriver(asked['settings'] as DriverOptions);
    return null;
  },
  async put(asked) {
    await memory().put(text(asked, 'path'), new Uint8Array(Buffer.from(text(asked, 'base64'), 'base64')));
    return null;
  },
  files: () => memory().dump(),
};

/** Answers a request of the testkit as this library does. Wants libsodium to be loaded. */
export async function ownAnswer(asked: Asked): Promise<Answer> {
  if (asked['do'] === 'command') return run(asked);
  const action = ACTIONS[text(asked, 'do')];
  if (action === undefined) return { code: 'unknown_request' };
  try {
    return { result: await action(asked) };
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    return { code: error.code };
  }
}

/** Closes the memory that the last request opened. */
export async function closeOwn(): Promise<void> {
  await driver?.close();
  driver = undefined;
}

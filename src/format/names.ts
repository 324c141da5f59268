import { MemoryError } from '../errors.ts';
import { isValidSegment } from '../language/path.ts';
import { decodeText, encodeText } from '../language/text.ts';
import { concat, copyOf, domain, fromBase64url, toBase64url, u32 } from './encoding.ts';
import { deriveKey, equalBytes, hash, KEY_BYTES, wipe } from './sodium.ts';

/** Whether the segments of file names are encrypted; fixed when the tenant is created. */
export type NameMode = 'plain' | 'encrypted';

/** What the key of a file ends in. Directories have no suffix, so no file's key stands before a slash in another's. */
export const FILE_SUFFIX = '.sealed';

/** How one tenant's logical names stand in object keys (docs/format.md, "Names"). */
export interface Names {
  readonly mode: NameMode;
  /**
   * The key text of a file, one for each valid segment, joined by `/`, and the suffix.
   *
   * @throws MemoryError `invalid_path` with the rule `directory_suffix` when names are plain and that of a directory
   * ends like a file's key.
   */
  encodeFile(segments: readonly string[]): string;
  /** The key text of a directory; empty for the root. */
  encodeDirectory(segments: readonly string[]): string;
  /**
   * The segments below the directory `base` of the file whose key has the text `relative` after that directory's
   * prefix; undefined when the key is foreign.
   */
  decodeFile(base: readonly string[], relative: string): readonly string[] | undefined;
  /** 43 characters that stand for `text` in the class `cls`, unguessable without the tenant's name key. */
  keyedHash(cls: string, text: string): string;
  /** Overwrites the keys; every later call throws `reason`, `aborted` unless given. */
  wipe(reason?: MemoryError): void;
}

interface NameKeys extends SegmentKeys {
  /** K_id */
  readonly id: Uint8Array;
}

/** A directory met before: its children's tweak, and the children that are directories, by name and by text. */
interface Directory {
  readonly segment: string;
  readonly text: string;
  readonly tweak: Uint8Array;
  readonly byName: Map<string, Directory>;
  readonly byText: Map<string, Directory>;
}

const REMEMBERED_DIRECTORIES = 20_000;

/** Copies what it needs of `nameKey` (32 bytes). */
export function createNames({
  mode,
  nameKey,
}: {
  readonly mode: NameMode;
  readonly nameKey: Uint8Array;
}): Names {
  const keys: NameKeys = {
    mac: deriveKey(nameKey, 1, 'smem-nk1'),
    encryption: deriveKey(nameKey, 2, 'smem-nk1'),
    id: deriveKey(nameKey, 3, 'smem-nk1'),
  };
  const codec = mode === 'plain' ? plainCodec : encryptedCodec(keys);
  let wiped: MemoryError | undefined;
  const refuseWiped = (): void => {
    if (wiped !== undefined) throw wiped;
  };
  return {
    mode,
    encodeFile(segments) {
      refuseWiped();
      if (mode === 'plain' && segments.slice(0, -1).some(hasSuffix)) throw directorySuffix();
      return `${codec.encode(segments)}${FILE_SUFFIX}`;
    },
    encodeDirectory(segments) {
      refuseWiped();
      return codec.encode(segments);
    },
    decodeFile(base, relative) {
      refuseWiped();
      return hasSuffix(relative)
        ? codec.decode(base, relative.slice(0, -FILE_SUFFIX.length).split('/'))
        : undefined;
    },
    keyedHash(cls, text) {
      refuseWiped();
      return toBase64url(hash(KEY_BYTES, keys.id, concat(domain(cls), encodeText(text))));
    },
    wipe(reason = new MemoryError('aborted', 'The keyring was closed.')) {
      wiped = reason;
      wipe(keys.mac, keys.encryption, keys.id);
    },
  };
}

interface Codec {
  encode(segments: readonly string[]): string;
  decode(base: readonly string[], texts: readonly string[]): readonly string[] | undefined;
}

const plainCodec: Codec = {
  encode: (segments) => segments.join('/'),
  decode(base, texts) {
    const directories = [...base, ...texts.slice(0, -1)];
    return texts.every(isValidSegment) && !directories.some(hasSuffix) ? texts : undefined;
  },
};

function hasSuffix(text: string): boolean {
  return text.endsWith(FILE_SUFFIX);
}

function directorySuffix(): MemoryError {
  return new MemoryError('invalid_path', 'The name of a directory ends like the key of a file.', {
    details: { rule: 'directory_suffix', suffix: FILE_SUFFIX },
  });
}

function encryptedCodec(keys: SegmentKeys): Codec {
  const directories = rememberDirectories(keys);
  return {
    encode(segments) {
      let directory = directories.root();
      const texts: string[] = [];
      for (const [index, segment] of segments.entries()) {
        const last = index === segments.length - 1;
        const known = directory.byName.get(segment);
        if (last) {
          texts.push(known?.text ?? encodeSegment(keys, directory.tweak, segment));
        } else {
          directory = known ?? directories.enter(directory, segment);
          texts.push(directory.text);
        }
      }
      return texts.join('/');
    },
    decode(base, texts) {
      let directory = directories.root();
      for (const segment of base)
        directory = directory.byName.get(segment) ?? directories.enter(directory, segment);
      const segments: string[] = [];
      for (const [index, text] of texts.entries()) {
        const known = directory.byText.get(text);
        const segment = known?.segment ?? decodeSegment(keys, directory.tweak, text);
        if (segment === undefined) return undefined;
        segments.push(segment);
        if (index < texts.length - 1) directory = known ?? directories.enter(directory, segment, text);
      }
      return segments;
    },
  };
}

/** Thousands of keys of one listing share a few directories: their tweaks are computed once, within a bound. */
function rememberDirectories(keys: SegmentKeys): {
  root(): Directory;
  enter(parent: Directory, segment: string, text?: string): Directory;
} {
  let top = directoryOf('', '', ROOT_TWEAK);
  let count = 0;
  return {
    root() {
      if (count > REMEMBERED_DIRECTORIES) {
        top = directoryOf('', '', ROOT_TWEAK);
        count = 0;
      }
      return top;
    },
    enter(parent, segment, text = encodeSegment(keys, parent.tweak, segment)) {
      const child = directoryOf(segment, text, childTweak(keys, parent.tweak, segment));
      parent.byName.set(segment, child);
      parent.byText.set(text, child);
      count += 1;
      return child;
    },
  };
}

function directoryOf(segment: string, text: string, tweak: Uint8Array): Directory {
  return { segment, text, tweak, byName: new Map(), byText: new Map() };
}

interface SegmentKeys {
  /** K_nmac */
  readonly mac: Uint8Array;
  /** K_nenc */
  readonly encryption: Uint8Array;
}

const BLOCK = 16;
const STREAM_BLOCK = 64;
const END_OF_NAME = 0x80;
const SHORTEST_TEXT = 43;
const LONGEST_TEXT = 214;
const SEG = encodeText('seg');
const DIR = encodeText('dir');

/** What stands for the root directory in the names of its children; other directories have `childTweak`. */
export const ROOT_TWEAK: Uint8Array = new Uint8Array(BLOCK);

/** The text of one segment (1–143 bytes of UTF-8) in the directory of `tweak`: 43–214 characters of base64url. */
function encodeSegment(keys: SegmentKeys, tweak: Uint8Array, segment: string): string {
  return encodePadded(keys, tweak, pad(encodeText(segment)));
}

/** The segment that is encoded as `text` in the directory of `tweak`; undefined when the text is foreign there. */
function decodeSegment(keys: SegmentKeys, tweak: Uint8Array, text: string): string | undefined {
  if (text.length < SHORTEST_TEXT || text.length > LONGEST_TEXT) return undefined;
  const bytes = fromBase64url(text);
  if (bytes === undefined || bytes.length % BLOCK !== 0) return undefined;
  const siv = bytes.subarray(0, BLOCK);
  const padded = copyOf(bytes, BLOCK);
  applyStream(keys, siv, padded);
  if (!equalBytes(siv, sivOf(keys, tweak, padded))) return undefined;
  const name = unpad(padded);
  const segment = name === undefined ? undefined : decodeText(name);
  return segment !== undefined && isValidSegment(segment) ? segment : undefined;
}

/** The tweak for the children of `segment`, itself in the directory of `tweak`. */
export function childTweak(keys: SegmentKeys, tweak: Uint8Array, segment: string): Uint8Array {
  return hash(BLOCK, keys.mac, concat(DIR, tweak, encodeText(segment)));
}

function encodePadded(keys: SegmentKeys, tweak: Uint8Array, padded: Uint8Array): string {
  const siv = sivOf(keys, tweak, padded);
  applyStream(keys, siv, padded);
  return toBase64url(concat(siv, padded));
}

function sivOf(keys: SegmentKeys, tweak: Uint8Array, padded: Uint8Array): Uint8Array {
  return hash(BLOCK, keys.mac, concat(SEG, tweak, padded));
}

/** XORs the key stream of `siv` over `bytes`, in place. */
function applyStream(keys: SegmentKeys, siv: Uint8Array, bytes: Uint8Array): void {
  for (let start = 0; start < bytes.length; start += STREAM_BLOCK) {
    const stream = hash(STREAM_BLOCK, keys.encryption, concat(siv, u32(start / STREAM_BLOCK)));
    const end = Math.min(start + STREAM_BLOCK, bytes.length);
    for (let index = start; index < end; index++)
      bytes[index] = (bytes[index] ?? 0) ^ (stream[index - start] ?? 0);
  }
}

function pad(name: Uint8Array): Uint8Array {
  const padded = new Uint8Array(paddedLength(name.length));
  padded.set(name);
  padded[name.length] = END_OF_NAME;
  return padded;
}

function unpad(padded: Uint8Array): Uint8Array | undefined {
  const length = padded.findLastIndex((byte) => byte !== 0);
  const exact = length >= 0 && padded[length] === END_OF_NAME && padded.length === paddedLength(length);
  return exact ? padded.subarray(0, length) : undefined;
}

function paddedLength(length: number): number {
  return Math.ceil((length + 1) / BLOCK) * BLOCK;
}

import { MemoryError } from '../errors.ts';
import { isValidSegment, refusedPath } from '../language/path.ts';
import { encodeText } from '../language/text.ts';
import { createRecent } from '../recent.ts';
import { concat, domain, toBase64url } from './encoding.ts';
import { childTweak, decodeSegment, encodeSegment, ROOT_TWEAK, type SegmentKeys } from './segments.ts';
import { deriveKey, hash, KEY_BYTES, wipe } from './sodium.ts';

/** The form of the segments in file names, plain or encrypted; fixed when the tenant is created. */
export type NameMode = 'plain' | 'encrypted';

/** The suffix of a file's key. Directories have none, so a file's key never stands before a slash in another's. */
export const FILE_SUFFIX = '.sealed';

/** The encoding of one tenant's logical names in object keys (docs/format.md, "Names"). */
export interface Names {
  readonly mode: NameMode;
  /**
   * Encodes a file into the text of its key: one text for each valid segment, joined by `/`, and the suffix.
   *
   * @throws MemoryError `invalid_path` with the rule `directory_suffix` when names are plain and that of a directory
   * ends like a file's key.
   */
  encodeFile(segments: readonly string[]): string;
  /** Encodes a directory into the text of its key; empty for the root. */
  encodeDirectory(segments: readonly string[]): string;
  /**
   * Decodes the segments below the directory `base` of the file whose key has the text `relative` after that
   * directory's prefix; undefined when the key is foreign.
   */
  decodeFile(base: readonly string[], relative: string): readonly string[] | undefined;
  /** Computes 43 characters that stand for `text` in the class `cls`, unguessable without the tenant's name key. */
  keyedHash(cls: string, text: string): string;
  /** Computes 43 characters that stand for the content of a file: the keyed hash of these bytes in the class `text`. */
  textHash(content: Uint8Array): string;
  /** Computes 16 bytes that stand for an actor in the wrap of every version that is written on its behalf. */
  writerId(actor: string): Uint8Array;
  /** Overwrites the keys; every later call throws `reason`, `aborted` unless given. */
  wipe(reason?: MemoryError): void;
}

interface NameKeys extends SegmentKeys {
  /** K_id */
  readonly id: Uint8Array;
}

/** A directory met before: its children's tweak, and its child directories, by name and by text. */
interface Directory {
  readonly tweak: Uint8Array;
  readonly byName: Map<string, ChildDirectory>;
  readonly byText: Map<string, ChildDirectory>;
}

interface ChildDirectory extends Directory {
  readonly segment: string;
  readonly text: string;
}

const WRITER_BYTES = 16;
const REMEMBERED_DIRECTORIES = 20_000;
/**
 * The most encoded paths that are remembered; a command asks for the same one several times, and the next one often
 * again.
 */
const REMEMBERED_PATHS = 4_096;

/** Makes the names of a tenant. It copies the parts of `nameKey` (32 bytes) that it needs. */
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
  const hashOf = (cls: string, bytes: Uint8Array): string =>
    toBase64url(hash(KEY_BYTES, keys.id, concat(domain(cls), bytes)));
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
      return hashOf(cls, encodeText(text));
    },
    textHash(content) {
      refuseWiped();
      return hashOf('text', content);
    },
    writerId(actor) {
      refuseWiped();
      return hash(WRITER_BYTES, keys.id, concat(domain('writer'), encodeText(actor)));
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
  return refusedPath({ rule: 'directory_suffix', suffix: FILE_SUFFIX });
}

function encryptedCodec(keys: SegmentKeys): Codec {
  const directories = rememberDirectories(keys);
  const encoded = createRecent<string, string>({ most: REMEMBERED_PATHS });
  return {
    encode(segments) {
      const path = segments.join('/');
      const remembered = encoded.get(path);
      if (remembered !== undefined) return remembered;
      let directory = directories.root();
      const texts: string[] = [];
      for (const [index, segment] of segments.entries()) {
        const last = index === segments.length - 1;
        const known = directory.byName.get(segment);
        if (last) {
          texts.push(known?.text ?? encodeSegment(keys, directory.tweak, segment));
        } else {
          const child = known ?? directories.enter(directory, segment);
          texts.push(child.text);
          directory = child;
        }
      }
      const text = texts.join('/');
      encoded.set(path, text);
      return text;
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

/**
 * Remembers directories, within a bound: thousands of keys of one listing share a few, whose tweaks are computed once.
 */
function rememberDirectories(keys: SegmentKeys): {
  root(): Directory;
  enter(parent: Directory, segment: string, text?: string): ChildDirectory;
} {
  let top = directoryOf(ROOT_TWEAK);
  let count = 0;
  return {
    root() {
      if (count > REMEMBERED_DIRECTORIES) {
        top = directoryOf(ROOT_TWEAK);
        count = 0;
      }
      return top;
    },
    enter(parent, segment, text = encodeSegment(keys, parent.tweak, segment)) {
      const child = { segment, text, ...directoryOf(childTweak(keys, parent.tweak, segment)) };
      parent.byName.set(segment, child);
      parent.byText.set(text, child);
      count += 1;
      return child;
    },
  };
}

function directoryOf(tweak: Uint8Array): Directory {
  return { tweak, byName: new Map(), byText: new Map() };
}

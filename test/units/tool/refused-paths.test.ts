import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Memory, openMemory } from '../../../src/index.ts';

/** A wrong path and what is said of it; never the path, as the caller may log what it reads. */
const REFUSED: readonly (readonly [string, string])[] = [
  ['a.md', 'The path must start with /memories, as /memories/notes.md does: a relative path leads nowhere.'],
  ['', 'The path must start with /memories, as /memories/notes.md does: a relative path leads nowhere.'],
  ['/etc/passwd', 'The path must start with /memories, as /memories/notes.md does.'],
  ['//memories', 'The path must start with /memories, as /memories/notes.md does: begin it with one slash.'],
  [
    '///memories/a.md',
    'The path must start with /memories, as /memories/notes.md does: begin it with one slash.',
  ],
  ['memories/a.md', 'The path must start with /memories, as /memories/notes.md does: begin it with a slash.'],
  ['/Memories/a.md', 'The path must start with /memories, as /memories/notes.md does, in small letters.'],
  [
    '/memories_a.md',
    'The path must start with /memories, as /memories/notes.md does: a slash must follow /memories.',
  ],
  [
    '/memories/../a.md',
    'The path is not allowed: a segment named .. would escape /memories directory or hide where the path leads.',
  ],
  ['/memories/./a.md', 'The path is not allowed: leave out the segment named ..'],
  ['/memories/a\\b', 'The path contains a backslash: separate its segments with /.'],
  [
    '/memories/a\0b',
    'The path contains the character U+0000: control, format and line separator characters are not allowed.',
  ],
  ['/memories/a\ud800', 'The path must be valid Unicode text: it contains half of a surrogate pair.'],
  [
    '/memories/%2e%2e',
    'The path would escape /memories directory or change its segments if it were decoded: percent-encoded dots, slashes, backslashes and NULs are not allowed.',
  ],
  [
    `/memories/${'x'.repeat(144)}`,
    'The path has a segment of 144 bytes: at most 143 bytes of UTF-8 are allowed between two slashes.',
  ],
];

const WRITTEN_ONLY: typeof REFUSED = [
  [`/memories${'/a'.repeat(21)}`, 'The path has 21 segments: at most 20 are allowed below /memories.'],
];

/** Each method that takes a path. */
const METHODS: Readonly<Record<string, (memory: Memory, path: string) => Promise<unknown>>> = {
  'files.read': ({ files }, path) => files.read(path),
  'files.write': ({ files }, path) => files.write(path, 'x'),
  'files.append': ({ files }, path) => files.append(path, 'x'),
  'files.list': async ({ files }, path) => files.list(path)[Symbol.asyncIterator]().next(),
  'files.stat': ({ files }, path) => files.stat(path),
  'files.exists': ({ files }, path) => files.exists(path),
  'files.copy': ({ files }, path) => files.copy(path, '/memories/copy'),
  'files.copy to it': ({ files }, path) => files.copy('/memories/file', path),
  'files.rename': ({ files }, path) => files.rename(path, '/memories/new'),
  'files.rename to it': ({ files }, path) => files.rename('/memories/file', path),
  'files.remove': ({ files }, path) => files.remove(path),
  'history.list': ({ history }, path) => history.list(path),
  'history.read': ({ history }, path) => history.read({ path, version: 'aaaaaaaa' }),
  'history.restore': ({ history }, path) => history.restore({ path, version: 'aaaaaaaa' }),
  'history.restoreAt': ({ history }, path) => history.restoreAt(new Date(0), { below: path }),
  'history.redact': ({ history }, path) => history.redact({ path, version: 'aaaaaaaa' }),
  'history.trace': ({ history }, path) => history.trace({ path }),
};

describe('a path that is none', () => {
  let memory: Memory;
  beforeAll(async () => {
    memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(4) });
    await memory.files.write('/memories/file', 'x');
  });
  afterAll(() => memory.close());

  it.each(Object.entries(METHODS))(
    'is refused in a whole sentence, without the path itself: %s',
    async (_, call) => {
      for (const [path, message] of REFUSED) {
        const told = expect(call(memory, path), JSON.stringify(path)).rejects;
        await told.toMatchObject({ code: 'invalid_path', message });
      }
    },
  );

  it.each(['files.write', 'files.append', 'files.copy to it', 'files.rename to it'])(
    'is refused so too where it is too deep for a new file: %s',
    async (method) => {
      for (const [path, message] of WRITTEN_ONLY) {
        await expect(METHODS[method]?.(memory, path)).rejects.toMatchObject({
          code: 'invalid_path',
          message,
        });
      }
    },
  );
});

describe('what the model sends that is no command', () => {
  it('is told to the operator without the path, and without the name of a rule', async () => {
    await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32) });
    for (const [path] of REFUSED) {
      const message = 'The command has a path that is refused in its field new_path.';
      const error = { code: 'invalid_path', message };
      const command = { command: 'rename', old_path: '/memories/a', new_path: path };
      expect(await memory.execute(command)).toMatchObject({ isError: true, error });
    }
  });

  it.each([
    ['text', 'The command is no object with the field command and those of that command.'],
    [{ command: 'look' }, 'The command is none of view, create, str_replace, insert, delete, rename.'],
    [{ command: 'view' }, 'The command lacks its field path.'],
    [
      { command: 'create', path: '/memories/a', file_text: 1 },
      'The command has a value of another type in its field file_text.',
    ],
    [
      { command: 'create', path: '/memories/a', file_text: '\ud800' },
      'The command has half of a surrogate pair in its field file_text.',
    ],
    [{ command: 'view', path: '/memories', canary: 1 }, 'The command has a field that it does not know.'],
  ])('is told to the operator in a sentence: %j', async (input, message) => {
    await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32) });
    const result = await memory.execute(input);
    expect(result).toMatchObject({ isError: true, error: { code: 'invalid_command', message } });
  });
});

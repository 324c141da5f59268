import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import type { Command } from 'commander';
import { unpackTar } from 'modern-tar';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createProgram } from '../../../src/cli/program/program.ts';
import { type Action, explain } from '../../../src/cli/run/invocation.ts';
import { typedMounts, typedPath } from '../../../src/cli/run/typed.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { invocationOf } from '../../stage/invocation.ts';

/** A directory and a file whose names have two forms each, which look the same. */
const [DIRECTORY, FILE] = ['/memories/café', '/memories/café/résumé.md'];

/** Other ways to type a path. */
const FORMS: Readonly<Record<string, (path: string) => string>> = {
  'a slash behind it': (path) => `${path}/`,
  'two slashes behind it': (path) => `${path}//`,
  'two slashes within': (path) => path.replaceAll(/(?<=.)\//g, '//'),
  'its letters and accents apart': (path) => path.normalize('NFD'),
  'all of that': (path) => `${path.replaceAll(/(?<=.)\//g, '//').normalize('NFD')}///`,
};

/** The same for people alone. */
const FORMS_OF_PEOPLE: typeof FORMS = {
  'no slash and no root before it': (path) => path.replace(/^\/memories(\/|$)/, '') || '.',
  'no slash before it': (path) => path.slice(1),
  'two slashes before it': (path) => `/${path}`,
  'dots within': (path) => path.replaceAll(/(?<=.)\//g, '/./'),
};

/** Lines with their paths; VERSION is that of the file before its last write, LOCAL a folder, OUT does not exist. */
const LINES: readonly (readonly string[])[] = [
  ['ls', DIRECTORY],
  ['ls', '/memories'],
  ['ls', '-l', FILE],
  ['ls', '-R', DIRECTORY],
  ['tree', DIRECTORY],
  ['tree', FILE],
  ['du', DIRECTORY],
  ['du', FILE],
  ['du', '/memories'],
  ['stat', DIRECTORY],
  ['stat', FILE],
  ['grep', 'two', DIRECTORY],
  ['cat', FILE, '/memories/plain.md'],
  ['put', FILE, '--text', 'three'],
  ['put', FILE, '--create', '--text', 'three'],
  ['put', '/memories/näher/new.md', '--text', 'three'],
  ['put', FILE, '--append', '--text', 'three'],
  ['get', FILE, 'OUT'],
  ['edit', FILE],
  ['diff', FILE, 'LOCAL/a.md'],
  ['diff', 'LOCAL/a.md', FILE],
  ['diff', FILE, '/memories/plain.md'],
  ['diff', FILE, 'VERSION'],
  ['cp', FILE, '/memories/café/cópia.md'],
  ['cp', '-r', DIRECTORY, '/memories/cópia'],
  ['cp', '-r', '-f', DIRECTORY, '/memories/thé'],
  ['cp', '-r', DIRECTORY, '/memories/café/within'],
  ['cp', DIRECTORY, '/memories/cópia'],
  ['mv', FILE, '/memories/résumé.md'],
  ['mv', DIRECTORY, '/memories/cópia'],
  ['mv', DIRECTORY, '/memories/thé'],
  ['rm', FILE],
  ['rm', DIRECTORY],
  ['rm', '-r', DIRECTORY, '/memories/plain.md'],
  ['rm', '-r', '/memories'],
  ['rm', '/memories/nöthing'],
  ['import', 'LOCAL', '/memories/né'],
  ['import', 'LOCAL', '/memories', '--force'],
  ['export', '/memories', 'OUT'],
  ['export', DIRECTORY, 'OUT'],
  ['export', FILE, 'OUT'],
  ['export', '/memories', 'OUT', '--age', 'RECIPIENT'],
  ['export', DIRECTORY, 'OUT', '--age', 'RECIPIENT'],
  ['export', FILE, 'OUT', '--age', 'RECIPIENT'],
  ['export', DIRECTORY, 'OUT', '--html'],
  ['log', FILE],
  ['log', '/memories/nöthing'],
  ['show', FILE, 'VERSION'],
  ['restore', FILE, 'VERSION', '--yes'],
  ['restore-at', 'THEN', '--below', FILE, '--yes'],
  ['restore-at', 'THEN', '--below', DIRECTORY, '--dry-run', '--diff'],
  ['restore-at', 'THEN', '--below', '/memories/nöthing', '--yes'],
  ['redact', FILE, 'VERSION', '--yes'],
  ['redact', FILE, 'VERSION', '--dry-run'],
  ['trace', FILE],
  ['trace', FILE, 'VERSION'],
  ['names', 'encode', FILE],
  ['names', 'encode', DIRECTORY],
  ['ls', '--mount', '/memories/née=org:ro', '/memories/née'],
  ['cat', '--mount', '/memories/née=org:ro', '/memories/née/rules.md'],
];

/** As the model gives them: the answer has the path as it was given. */
const MODELS_LINES: typeof LINES = [
  ['tool', 'view', DIRECTORY],
  ['tool', 'view', FILE],
  ['tool', 'create', '/memories/café/new.md', '--text', 'new'],
  ['tool', 'str-replace', FILE, '--old', 'two', '--new', 'three'],
  ['tool', 'insert', FILE, '0', '--text', 'zero'],
  ['tool', 'delete', DIRECTORY],
  ['tool', 'rename', DIRECTORY, '/memories/cópia'],
];

let folder: string;
let rootKeyFile: string;
let filled: string;
const words: Record<string, string> = {};
let identity: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-typed-'));
  rootKeyFile = join(folder, 'root.key');
  const rootKey = Buffer.alloc(32, 7).toString('base64');
  writeFileSync(rootKeyFile, rootKey, { mode: 0o600 });
  filled = join(folder, 'filled.sqlite');
  const memory = await openMemory({
    store: `sqlite:${filled}`,
    tenant: 'acme',
    rootKey,
    history: { days: 30 },
  });
  const { files, history } = memory;
  await files.write(FILE, 'one\n');
  await files.write(`${DIRECTORY}/thé/b.md`, 'two b\n');
  await files.write('/memories/plain.md', 'plain\n');
  const [before] = await history.list(FILE);
  await vi.waitUntil(() => Date.now() > (before?.time.getTime() ?? 0) + 1, { interval: 1 });
  words['THEN'] = new Date().toISOString();
  await files.write(FILE, 'two\n');
  await memory.close();
  await using org = await openMemory({ store: `sqlite:${filled}`, tenant: 'org', rootKey });
  await org.files.write('/memories/rules.md', 'rules\n');
  words['VERSION'] = `v${before?.version ?? ''}`;
  identity = await generateX25519Identity();
  words['RECIPIENT'] = await identityToRecipient(identity);
  await answer(['checkpoint'], { store: filled });
  vi.stubEnv('EDITOR', 'printf edited >');
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

let count = 0;

const MAKE_PIPE = 'mkfifo';

/** Makes what lies at LOCAL/a.md, or at OUT; what it returns is called when the line has run. */
const PLACES: Readonly<Record<Place, (path: string, text: string) => (() => void) | undefined>> = {
  file: (path, text) => void writeFileSync(path, text),
  'link to a file': (path, text) => {
    writeFileSync(`${path}.real`, text);
    return void symlinkSync(`${path}.real`, path);
  },
  'pipe that is read from': (path, text) => {
    execFileSync(MAKE_PIPE, [path]);
    return void spawn('sh', ['-c', 'printf %s "$1" >"$2"', 'sh', text, path]);
  },
  'pipe that is written to': (path) => {
    execFileSync(MAKE_PIPE, [path]);
    // Its reader is there before the line runs, and reads until this end is closed.
    const end = openSync(path, constants.O_RDWR);
    const read = openSync(path, 'r');
    const keep = 'cat >"$1.part" && mv "$1.part" "$1.real"';
    spawn('sh', ['-c', keep, 'sh', path], { stdio: [read, 'ignore', 'inherit'] });
    closeSync(read);
    return () => closeSync(end);
  },
};

type Place = 'file' | 'link to a file' | 'pipe that is read from' | 'pipe that is written to';

/** The user's own places: what lies at LOCAL/a.md, and at OUT unless nothing does. */
interface Around {
  readonly store?: string;
  readonly local?: Place;
  readonly out?: Place;
  /** The folders are reached through links. */
  readonly isLinked?: boolean;
}

/** Runs a line: what it is answered with, what the memory holds afterwards, and what was written outside of it. */
async function answer(
  line: readonly string[],
  { store, local: at = 'file', out: to, isLinked }: Around = {},
) {
  const own = join(folder, String(count++));
  const [local, out] = [join(own, 'local'), join(own, 'out')];
  mkdirSync(isLinked ? `${local}.real` : local, { recursive: true });
  if (isLinked) {
    mkdirSync(`${out}.real`);
    for (const each of [local, out]) symlinkSync(`${each}.real`, each);
  }
  PLACES[at](join(local, 'a.md'), 'of the folder\n');
  const end = to && PLACES[to](out, 'old\n');
  const path = store ?? join(own, 'store.sqlite');
  if (store === undefined) copyFileSync(filled, path);
  const all: Readonly<Record<string, string>> = { ...words, LOCAL: local, OUT: out };
  const typed = line.map((word) => word.replace(/^[A-Z]+(?=$|\/)/, (name) => all[name] ?? name));
  const flags = { store: `sqlite:${path}`, tenant: 'acme', rootKeyFile };
  let action: Action | undefined;
  const program = createProgram((chosen) => {
    action = chosen;
  });
  program.parse(typed, { from: 'user' });
  const { invocation, shown, complaints } = invocationOf({
    flags: { ...flags, ...program.opts() },
    isForEyes: line[0] === 'edit',
  });
  const code = await (action ?? expect.unreachable())(invocation).catch((error: unknown) =>
    explain(error, invocation),
  );
  end?.();
  if (end) await vi.waitUntil(() => existsSync(`${out}.real`), { timeout: 10_000 });
  const written = await outside(existsSync(`${out}.real`) ? `${out}.real` : out);
  const text = [...shown, ...complaints].join('').replaceAll(own, '');
  return { code, text: withoutTimes(text), out: written, files: await filesIn(flags) };
}

/** Versions that the line itself made, and their times, differ from run to run. */
function withoutTimes(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/→ v[\w-]{8}(?![\w-])/g, '→ VERSION');
}

async function filesIn({ store, tenant }: { readonly store: string; readonly tenant: string }) {
  await using memory = await openMemory({ store, tenant, rootKey: readFileSync(rootKeyFile, 'utf8') });
  const texts: Record<string, string | undefined> = {};
  for await (const { path } of memory.files.list('/memories', { recursive: true }))
    texts[path] = (await memory.files.read(path))?.text();
  return texts;
}

/** The files of a folder or of an archive with their texts, or the text of a page. */
async function outside(out: string): Promise<unknown> {
  if (!existsSync(out) || (statSync(out).isDirectory() && readdirSync(out).length === 0)) return undefined;
  if (statSync(out).isDirectory()) {
    const names = readdirSync(out, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    return Object.fromEntries(
      names.map(({ parentPath, name }) => {
        const file = join(parentPath, name);
        return [relative(out, file), readFileSync(file, 'utf8')];
      }),
    );
  }
  const bytes = readFileSync(out);
  if (!bytes.subarray(0, 4).equals(Buffer.from('age-'))) return withoutTimes(bytes.toString());
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const entries = await unpackTar(await decrypter.decrypt(bytes));
  return entries.map(({ header, data }) => [header.name, Buffer.from(data ?? []).toString()]);
}

describe('a file or a folder of the user', { timeout: 60_000 }, () => {
  const named = (lines: typeof LINES) => lines.map((line) => ({ line, words: line.join(' ') }));
  it.each(
    named([
      ['put', FILE, '--file', 'LOCAL/a.md'],
      ['put', FILE, '--append', '--file', 'LOCAL/a.md'],
      ['diff', FILE, 'LOCAL/a.md'],
      ['diff', 'LOCAL/a.md', FILE],
      ['tool', 'create', '/memories/new.md', '--file', 'LOCAL/a.md'],
    ]),
  )('is read the same behind a link, and from a pipe: $words', async ({ line }) => {
    const plain = await answer(line);
    expect(await answer(line, { local: 'link to a file' })).toEqual(plain);
    expect(await answer(line, { local: 'pipe that is read from' })).toEqual(plain);
  });

  it.each(
    named([
      ['get', FILE, 'OUT', '--force'],
      ['export', DIRECTORY, 'OUT', '--force', '--html'],
      ['export', DIRECTORY, 'OUT', '--force', '--age', 'RECIPIENT'],
    ]),
  )('is written the same behind a link, and to a pipe: $words', async ({ line }) => {
    const plain = await answer(line, { out: 'file' });
    expect(plain.code).toBe(0);
    expect(await answer(line, { out: 'link to a file' })).toEqual(plain);
    expect(await answer(line, { out: 'pipe that is written to' })).toEqual(plain);
  });

  it.each(
    named([
      ['import', 'LOCAL', '/memories/new'],
      ['export', DIRECTORY, 'OUT'],
    ]),
  )('is taken the same behind a link to its folder: $words', async ({ line }) => {
    expect(await answer(line, { isLinked: true })).toEqual(await answer(line));
  });
});

describe('a path that a person typed', { timeout: 60_000 }, () => {
  const named = (lines: typeof LINES) => lines.map((line) => ({ line, words: line.join(' ') }));
  const inForms = (line: readonly string[], forms = FORMS) =>
    Object.entries(forms).map(
      ([form, typed]) => [form, line.map((word) => word.replace(/^\/memories[^=]*/, typed))] as const,
    );

  it.each(named(LINES))('leads to the same, and says the same, in any form: $words', async ({ line }) => {
    const plain = await answer(line);
    const forms = { ...FORMS, ...FORMS_OF_PEOPLE };
    for (const [form, odd] of inForms(line, forms)) expect(await answer(odd), form).toEqual(plain);
  });

  it.each(named(MODELS_LINES))(
    'is refused where it is the form of people alone: $words',
    async ({ line }) => {
      const { files } = await answer(['ls']);
      for (const [form, odd] of inForms(line, FORMS_OF_PEOPLE)) {
        const { code, files: after } = await answer(odd);
        expect({ code, after }, form).toEqual({ code: 1, after: files });
      }
    },
  );

  it('begins at /memories, whatever lies in the current folder', () => {
    const forms = [
      'notes/a.md',
      './notes/a.md',
      'memories/notes/a.md',
      '//memories/notes/a.md',
      'notes//./a.md/',
    ];
    expect(forms.map(typedPath)).toEqual(forms.map(() => '/memories/notes/a.md'));
    expect(['.', './', 'memories', '/memories/', '//memories'].map(typedPath)).toEqual(
      Array.from({ length: 5 }, () => '/memories'),
    );
    expect(typedPath('/memories/memories/a')).toBe('/memories/memories/a');
    expect(['', '/', '/etc/passwd', '/memoriesx'].map(typedPath)).toEqual([
      '',
      '/',
      '/etc/passwd',
      '/memoriesx',
    ]);
    expect(typedMounts('handbook=org:ro,/memories/team=team-7')).toEqual([
      '/memories/handbook=org:ro,/memories/team=team-7',
    ]);
  });

  it.each(named(MODELS_LINES))('leads to the same in any form: $words', async ({ line }) => {
    const { code, files } = await answer(line);
    for (const [form, odd] of inForms(line)) {
      const other = await answer(odd);
      expect({ code: other.code, files: other.files }, form).toEqual({ code, files });
    }
  });

  it('is tried of each verb that takes one', () => {
    const program = createProgram(() => {});
    const PATHS = new Set(['path', 'from', 'to', 'left', 'right', 'old', 'new']);
    const takesPath = ({ registeredArguments, options }: Command): boolean =>
      registeredArguments.some((argument) => PATHS.has(argument.name())) ||
      options.some(({ flags }) => flags.endsWith('<path>'));
    const namesOf = (command: Command, above = ''): readonly string[] => [
      ...(takesPath(command) ? [`${above}${command.name()}`] : []),
      ...command.commands.flatMap((each) => namesOf(each, command === program ? '' : `${command.name()} `)),
    ];
    const tried = [...LINES, ...MODELS_LINES].map((line) => line.join(' '));
    const names = namesOf(program);
    expect(names.length).toBeGreaterThan(25);
    expect(names.filter((name) => !tried.some((line) => line.startsWith(`${name} `)))).toEqual([]);
  });
});

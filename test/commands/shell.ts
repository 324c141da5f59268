import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import type { FakeDynamo } from '../stage/fake-dynamodb.ts';
import type { Answer, Place } from './place.ts';

/** A program that a transcript may type beside ours, without a process; text and bytes that it returns are written. */
type Builtin = (args: readonly string[], input: Uint8Array, place: Place) => unknown;

/** As much as a pipe holds for a reader that comes late. */
const PIPE_BYTES = 65_536;
/** The ends of pipes that `hold` has opened. */
const held = new Map<string, number>();

/** The table that `table` has begun. */
let table: FakeDynamo | undefined;

const DAY_MS = 86_400_000;
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS };

const BUILTINS: Readonly<Record<string, Builtin>> = {
  /** `age -d -i KEY FILE`. */
  age: async ([, , key = '', file = ''], _, { at }) => {
    const { Decrypter } = await import('age-encryption');
    const decrypter = new Decrypter();
    decrypter.addIdentity(readFileSync(at(key), 'utf8').trim());
    return decrypter.decrypt(readFileSync(at(file)));
  },
  /** `age-keygen FILE`: writes a key, and says who may be written to. */
  'age-keygen': async ([file = ''], _, { at }) => {
    const { generateX25519Identity, identityToRecipient } = await import('age-encryption');
    const identity = await generateX25519Identity();
    writeFileSync(at(file), identity);
    return `${await identityToRecipient(identity)}\n`;
  },
  cat: (files, input, { at }) =>
    files.length === 0 ? input : Buffer.concat(files.map((file) => readFileSync(at(file)))),
  chmod: ([mode = '', file = ''], _, { at }) => chmodSync(at(file), Number.parseInt(mode, 8)),
  cmp: ([one = '', other = ''], _, { at }) =>
    readFileSync(at(one)).equals(readFileSync(at(other))) ? '' : `${one} ${other} differ\n`,
  cp: ([from = '', to = ''], _, { at }) => writeFileSync(at(to), readFileSync(at(from))),
  echo: (words) => `${words.join(' ')}\n`,
  /** `drain PIPE`: what was written to a pipe that `hold PIPE` has opened. */
  drain: ([pipe = ''], _, { at }) => {
    const end = held.get(at(pipe)) ?? Number.NaN;
    const bytes = Buffer.alloc(PIPE_BYTES);
    const length = readSync(end, bytes);
    closeSync(end);
    return bytes.subarray(0, length);
  },
  export: (settings, _, place) => settings.forEach((setting) => void place.set(...named(setting))),
  /** `feed PIPE`: writes what it is given to a pipe, once a program of a later line reads it. */
  feed: ([pipe = ''], input, { at }) => void writeFile(at(pipe), input),
  grep: ([text = '', file = ''], _, { at }) =>
    readFileSync(at(file), 'utf8')
      .split('\n')
      .filter((line) => line.includes(text))
      .map((line) => `${line}\n`)
      .join(''),
  /** `head -c COUNT /dev/zero`: a large input. */
  head: ([, count]) => new Uint8Array(Number(count)),
  hold: ([pipe = ''], _, { at }) => void held.set(at(pipe), openSync(at(pipe), constants.O_RDWR)),
  /** `later 3d`: lets time pass on the clock of the transcript. */
  later: ([time = ''], _, place) =>
    place.later(Number(time.slice(0, -1)) * (UNITS[time.at(-1) ?? ''] ?? Number.NaN)),
  ln: ([, to = '', link = ''], _, { at }) => symlinkSync(to, at(link)),
  ls: ([folder = '.'], _, { at }) =>
    readdirSync(at(folder))
      .sort()
      .map((name) => `${name}\n`)
      .join(''),
  /** `meanwhile LINE`: another person's line, or `ctrl-c`, while the program of the next line asks. */
  meanwhile: (words, _, place) =>
    place.meanwhile(async () => {
      if (words[0] === 'ctrl-c') return place.ctrlC();
      const { code, stderr } = await runCommand(words, new Uint8Array(), place);
      if (code !== 0 || stderr !== '') throw new Error(`${words.join(' ')}: ${stderr}`);
    }),
  mkdir: ([, folder = ''], _, { at }) => void mkdirSync(at(folder), { recursive: true }),
  mkfifo: async ([pipe = ''], _, { at }) => {
    const { execFileSync } = await import('node:child_process');
    execFileSync('mkfifo', [at(pipe)]);
  },
  printf: ([text = '']) =>
    Buffer.from(
      text.replaceAll(/\\(n|r|t|\\|x([0-9a-f]{2}))/g, (_, sign: string, hex?: string) =>
        hex === undefined
          ? ({ n: '\n', r: '\r', t: '\t' }[sign] ?? '\\')
          : String.fromCharCode(Number.parseInt(hex, 16)),
      ),
      // Text beyond ASCII is written as it stands, and so are bytes where one is named.
      text.includes('\\x') ? 'latin1' : 'utf8',
    ),
  rm: ([, path = ''], _, { at }) => rmSync(at(path), { recursive: true }),
  sqlite3: ([file = '', change = ''], _, { at }) => {
    const database = new DatabaseSync(at(file));
    database.exec(change);
    database.close();
  },
  /** `stat -c %a FILE`: who may read it; `stat -c %Y FILE`: when it was written. */
  stat: ([, what, file = ''], _, { at }) => {
    const { mode, mtimeMs } = statSync(at(file));
    return `${what === '%Y' ? Math.round(mtimeMs / 1_000) : (mode & 0o777).toString(8)}\n`;
  },
  /**
   * `table`: begins an empty table of tenants, which the settings name; `table TENANT TEXT`: somebody writes an item, and
   * `table TENANT` shows what it holds.
   */
  table: async ([tenant, text], _, place) => {
    if (tenant === undefined) {
      const { startFakeDynamo } = await import('../stage/fake-dynamodb.ts');
      table = await startFakeDynamo();
      place.closeAtEnd(table);
      for (const setting of Object.entries(table.env)) place.set(...setting);
      place.set('SEALED_MEMORY_TENANTS', `dynamodb:${table.table}`);
      return '';
    }
    if (text !== undefined) return table?.put(tenant, text);
    return `${table?.items.get(tenant)?.['settings']?.['S'] ?? 'no item'}\n`;
  },
  /** `tar -t`: the files in an archive, with their texts. */
  tar: async (_, archive) => {
    const { unpackTar } = await import('modern-tar');
    const files = await unpackTar(archive);
    return files
      .map(({ header, data }) => `${header.name}: ${Buffer.from(data ?? []).toString()}\n`)
      .join('');
  },
  unset: (names, _, place) => names.forEach((name) => void place.set(name, undefined)),
};

/**
 * Runs a line: `NAME=value program words <in | program words >out`, with what stands below it as standard input. Behind
 * `screen` the program is at a screen, and what stands below the line is typed; behind `interrupted` it meets Ctrl-C.
 */
export async function runLine(line: string, here: Uint8Array, place: Place): Promise<Answer> {
  const commands = partsOf(line);
  let input = here;
  let [code, stderr] = [0, ''];
  for (const { words, from, to, isAdded } of commands) {
    if (from !== undefined) input = readFileSync(place.at(from));
    const answer = await runCommand(words, input, place);
    stderr += answer.stderr;
    code = answer.code;
    input = answer.stdout;
    if (to === undefined) continue;
    writeFileSync(place.at(to), input, isAdded ? { flag: 'a' } : {});
    input = new Uint8Array();
  }
  return { code, stderr, stdout: input };
}

async function runCommand(words: readonly string[], input: Uint8Array, place: Place): Promise<Answer> {
  const start = words.findIndex((word) => !/^[A-Za-z_\d]+=/.test(word));
  const settings = words.slice(0, start < 0 ? 0 : start).map(named);
  const typed = words.slice(Math.max(start, 0));
  const isAtScreen = typed[0] === 'screen';
  const isInterrupted = typed[0] === 'interrupted';
  const [program = '', ...args] = typed.slice(isAtScreen || isInterrupted ? 1 : 0);
  if (program === 'sealed-memory')
    return place.sealedMemory(args, {
      ...{ input, isAtScreen, isInterrupted },
      settings: Object.fromEntries(settings),
    });
  const builtin = BUILTINS[program];
  if (builtin === undefined) throw new Error(`A transcript has no program ${program}.`);
  const said = await builtin(args, input, place);
  const stdout = said instanceof Uint8Array ? said : Buffer.from(typeof said === 'string' ? said : '');
  return { code: 0, stderr: '', stdout };
}

const named = (setting: string): [string, string] => {
  const end = setting.indexOf('=');
  return [setting.slice(0, end), setting.slice(end + 1)];
};

interface Part {
  readonly words: string[];
  from?: string;
  to?: string;
  isAdded?: boolean;
}

/** Takes a line apart as a shell does, quotes within words and all; `#` after a space begins a remark. */
function partsOf(line: string): readonly Part[] {
  const parts: Part[] = [{ words: [] }];
  for (const [, quoted, sign, word = ''] of line.matchAll(
    /\s*(?:(#.*)|(>>|[|<>])|((?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\|<>])+))/g,
  )) {
    const part = parts.at(-1) as Part;
    if (quoted !== undefined) break;
    if (sign === '|') parts.push({ words: [] });
    else if (sign === '<') part.from = '';
    else if (sign !== undefined) [part.to, part.isAdded] = ['', sign === '>>'];
    else if (part.from === '') part.from = plain(word);
    else if (part.to === '') part.to = plain(word);
    else part.words.push(plain(word));
  }
  return parts;
}

function plain(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g,
    (_, single?: string, double?: string, one?: string) =>
      single ?? double?.replaceAll(/\\(["\\$])/g, '$1') ?? one ?? '',
  );
}

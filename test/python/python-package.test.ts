import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli } from '../../infra/bundle-cli.ts';
import { isNotRun } from '../runner/not-run.ts';
import { PROGRAM_ENV } from '../stage/programs.ts';
import { commands, lastResults, type PlayedClaude, playClaude } from '../stage/scripted-claude.ts';
import { findPythonSdks } from './python-sdks.ts';

const python = await findPythonSdks(process.env);
const isMissing = isNotRun('The Python package', python);

/** One test of test/python/package; `wrong` is empty when it passed. */
interface Outcome {
  readonly group: string;
  readonly name: string;
  readonly wrong: string;
}

/** The classes of test/python/package, and how many tests each has. */
const GROUPS = {
  Commands: 6,
  Contracts: 2,
  Ends: 6,
  Failures: 16,
  Pages: 3,
  ToolRunner: 3,
  Transcripts: 6,
} as const;

const WRITE = { command: 'create', path: '/memories/tea.txt', file_text: 'With milk.\n' };
const PARTS = [
  commands({ command: 'view', path: '/memories/none' }, WRITE),
  commands({ command: 'view', path: WRITE.path }),
  { say: 'Tea.' },
];

describe.skipIf(isMissing)('the Python package', () => {
  let folder: string;
  let claudes: readonly PlayedClaude[];
  let pages: PlayedClaude;
  let outcomes: readonly Outcome[];

  beforeAll(async () => {
    if ('reason' in python) throw new Error(python.reason);
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-python-package-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    claudes = [await playClaude(PARTS), await playClaude(PARTS)];
    pages = await playClaude([...PARTS, ...PARTS]);
    await Promise.all([bundleCli(join(folder, 'cli')), install(python.interpreter, folder)]);
    const child = spawn(python.interpreter, ['-B', resolve('test/python/package/run.py')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...PROGRAM_ENV,
        PYTHONPATH: join(folder, 'installed'),
        SCRATCH: folder,
        DRIVER_COMMAND: JSON.stringify([process.execPath, join(folder, 'cli/main.cjs')]),
        CLAUDE: claudes[0]?.url,
        ASYNC_CLAUDE: claudes[1]?.url,
        PAGE_CLAUDE: pages.url,
      },
    });
    const [output, complaint] = [text(child.stdout), text(child.stderr)];
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`run.py ended with ${code}: ${await complaint}`);
    const lines = (await output).trimEnd().split('\n');
    outcomes = lines.map((line) => JSON.parse(line) as Outcome);
  }, 300_000);
  afterAll(async () => {
    await Promise.all([...(claudes ?? []), pages].map((claude) => claude?.[Symbol.asyncDispose]()));
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it.each(Object.entries(GROUPS))('passes every test of %s, %i of them', (group, count) => {
    const own = outcomes.filter((outcome) => outcome.group === group);
    expect(own.filter(({ wrong }) => wrong !== '')).toEqual([]);
    expect(own).toHaveLength(count);
  });

  it('has no test beside those', () => {
    const others = outcomes.filter(({ group }) => !Object.hasOwn(GROUPS, group));
    expect(others).toEqual([]);
  });

  it('tells Claude what the memory says, refusals as refusals', () => {
    for (const { scenes } of claudes) {
      expect(scenes).toHaveLength(PARTS.length);
      const [, second, third] = scenes.map(lastResults);
      expect(second).toEqual([
        { text: 'The path /memories/none does not exist. Please provide a valid path.', isError: true },
        { text: `File created successfully at: ${WRITE.path}`, isError: false },
      ]);
      expect(third).toEqual([{ text: expect.stringContaining('     1\tWith milk.'), isError: false }]);
    }
  });
});

/** Installs the package as pip does from the folder, without asking any index. */
async function install(interpreter: string, folder: string): Promise<void> {
  const source = join(folder, 'source');
  cpSync('examples/python/sealed_memory', source, { recursive: true });
  const offline = ['--no-index', '--no-deps', '--no-build-isolation', '--disable-pip-version-check'];
  const target = ['--target', join(folder, 'installed'), source];
  await promisify(execFile)(interpreter, ['-m', 'pip', 'install', '--quiet', ...offline, ...target]);
}

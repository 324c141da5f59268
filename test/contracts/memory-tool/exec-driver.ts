import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { CLI_PROGRAM, PROGRAM_ENV } from '../../stage/programs.ts';
import type { Dump, MemoryDriver, OpenDriver, Outcome } from './driver.ts';
import { freshTenant } from './library-driver.ts';

type Answer = Outcome & { readonly id: number; readonly files?: unknown };

/** Drives a process that runs `exec --jsonl`; `environment` names its store, and its root key unless it has one of its own. */
export function execDriver(environment: () => Readonly<Record<string, string>>): OpenDriver {
  const ownKey = { SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64') };
  return async ({ tenant = freshTenant(), wording, onExists, maxFileBytes, names } = {}) => {
    const settings = {
      SEALED_MEMORY_TENANT: tenant,
      SEALED_MEMORY_HARNESS: '1',
      SEALED_MEMORY_WORDING: wording,
      SEALED_MEMORY_ON_EXISTS: onExists,
      SEALED_MEMORY_NAMES: names,
      SEALED_MEMORY_MAX_FILE_BYTES: maxFileBytes?.toString(),
    };
    return driveProcess(
      spawn(process.execPath, [CLI_PROGRAM, 'exec', '--jsonl'], {
        env: { ...PROGRAM_ENV, ...ownKey, ...environment(), ...settings },
      }),
    );
  };
}

function driveProcess(child: ChildProcessWithoutNullStreams): MemoryDriver {
  const exited = once(child, 'exit');
  const waiting = new Map<number, PromiseWithResolvers<Answer>>();
  let said = '';
  let sent = 0;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as Answer;
    waiting.get(answer.id)?.resolve(answer);
    waiting.delete(answer.id);
  });
  child.stdin.on('error', () => {});
  void exited.then(([code]) => {
    for (const { reject } of waiting.values()) reject(new Error(`exec ended with ${code}: ${said}`));
  });

  /** Requests that are written together run side by side. */
  const ask = (requests: readonly object[]): Promise<readonly Answer[]> => {
    const asked = requests.map((request) => {
      const id = sent++;
      const answer = Promise.withResolvers<Answer>();
      waiting.set(id, answer);
      return { line: `${JSON.stringify({ id, ...request })}\n`, answer: answer.promise };
    });
    child.stdin.write(asked.map(({ line }) => line).join(''));
    return Promise.all(asked.map(({ answer }) => answer));
  };
  const runAll = async (inputs: readonly object[]): Promise<readonly Outcome[]> =>
    (await ask(inputs)).map(({ id, ...outcome }) => outcome);
  const harness = async (request: object): Promise<Answer> => {
    const [answer] = await ask([request]);
    if (answer?.ok !== true) throw new Error(`the harness refused: ${answer?.content}`);
    return answer;
  };

  return {
    async run(input) {
      const [outcome] = await runAll([input]);
      if (outcome === undefined) throw new Error('no answer');
      return outcome;
    },
    runAll,
    async put(path, bytes) {
      await harness({ harness: 'put', path, base64: Buffer.from(bytes).toString('base64') });
    },
    async dump() {
      return (await harness({ harness: 'dump' })).files as Dump;
    },
    async reset() {
      await harness({ harness: 'reset' });
    },
    async close() {
      child.stdin.end();
      const [code] = await exited;
      if (code !== 0) throw new Error(`exec ended with ${code}: ${said}`);
    },
  };
}

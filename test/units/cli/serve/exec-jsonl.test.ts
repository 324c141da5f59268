import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type ExecOptions, execJsonLines } from '../../../../src/cli/serve/exec-jsonl.ts';
import { MemoryError } from '../../../../src/errors.ts';

type Input = Readonly<Record<string, unknown>>;

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

const lines = (...inputs: readonly unknown[]): string =>
  inputs.map((input) => `${JSON.stringify(input)}\n`).join('');

async function answers(text: string, options: Partial<ExecOptions> = {}): Promise<readonly Input[]> {
  const written: string[] = [];
  await execJsonLines({
    input: bytesOf(text),
    write: async (line) => {
      written.push(line);
    },
    execute: async (input) => ({ isError: false, content: JSON.stringify(input) }),
    onThrown: () => {},
    ...options,
  });
  return written.map((line) => {
    // Nothing that some reader of lines takes for the end of one.
    expect(line).toMatch(/^[^\n\r\u0085\u2028\u2029]+\n$/);
    return JSON.parse(line) as Input;
  });
}

/** An `execute` whose calls end when they are told to. */
function gatedExecute() {
  const started: string[] = [];
  const gates = new Map<string, () => void>();
  return {
    started,
    finish: (name: string) => gates.get(name)?.(),
    execute: async (input: unknown) => {
      const { name } = input as { readonly name: string };
      started.push(name);
      await new Promise<void>((resolve) => gates.set(name, resolve));
      return { isError: false, content: name } as const;
    },
  };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) {
    await nextTurn();
  }
}

describe('execJsonLines', () => {
  it('ends a line nowhere but at its end, whatever the texts hold', async () => {
    const path = 'a\u0085b\u2028c\u2029d\re';
    const content = JSON.stringify({ command: 'view', path });
    expect(await answers(lines({ command: 'view', path }))).toEqual([{ ok: true, content }]);
  });

  it('answers a success, a failure and content blocks', async () => {
    const image = [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
    ] as const;
    const results = [
      { isError: false, content: 'text' },
      { isError: false, content: [...image] },
      {
        isError: true,
        content: 'Error: nothing there',
        error: new MemoryError('not_found', 'operator only'),
      },
    ] as const;
    let call = 0;
    const execute: ExecOptions['execute'] = async () => {
      const result = results[call++];
      if (result === undefined) throw new Error('one call too many');
      return result.isError ? result : { isError: false, content: result.content as string };
    };
    expect(await answers(lines({}, {}, {}), { execute })).toEqual([
      { ok: true, content: 'text' },
      { ok: true, content: image },
      { ok: false, content: 'Error: nothing there', code: 'not_found' },
    ]);
  });

  it('answers what is no request with invalid_command and goes on', async () => {
    const text = `nonsense\n\n[1]\n{"id":null}\n \r\n${'x'.repeat(100)}\n{"a":1}\r\n{"b":2}`;
    const given = await answers(text, { maxLineBytes: 50 });
    expect(given.map(({ ok, code }) => [ok, code])).toEqual([
      [false, 'invalid_command'],
      [false, 'invalid_command'],
      [false, 'invalid_command'],
      [false, 'invalid_command'],
      [true, undefined],
      [true, undefined],
    ]);
  });

  it('runs lines with an id side by side and answers them as they end', async () => {
    const gate = gatedExecute();
    const done = answers(lines({ id: 1, name: 'a' }, { id: 2, name: 'b' }, { id: 3, name: 'c' }), gate);
    await settle();
    expect(gate.started).toEqual(['a', 'b', 'c']);
    for (const name of ['c', 'a', 'b']) {
      gate.finish(name);
      await settle();
    }
    expect((await done).map(({ id }) => id)).toEqual([3, 1, 2]);
  });

  it('lets a line without an id wait for all before it, and all after it for the line', async () => {
    const gate = gatedExecute();
    const done = answers(
      lines(
        { id: 1, name: 'a' },
        { id: 2, name: 'b' },
        { name: 'barrier' },
        { id: 3, name: 'c' },
        { name: 'last' },
      ),
      gate,
    );
    await settle();
    expect(gate.started).toEqual(['a', 'b']);
    gate.finish('b');
    await settle();
    expect(gate.started).toEqual(['a', 'b']);
    gate.finish('a');
    await settle();
    expect(gate.started).toEqual(['a', 'b', 'barrier']);
    gate.finish('barrier');
    await settle();
    expect(gate.started).toEqual(['a', 'b', 'barrier', 'c']);
    gate.finish('c');
    await settle();
    gate.finish('last');
    expect((await done).map(({ content }) => content)).toEqual(['b', 'a', 'barrier', 'c', 'last']);
  });

  it('stops reading while 256 lines are running', async () => {
    const gate = gatedExecute();
    const inputs = Array.from({ length: 300 }, (_, index) => ({ id: index, name: `${index}` }));
    const done = answers(lines(...inputs), gate);
    await settle();
    expect(gate.started).toHaveLength(256);
    for (const { name } of inputs) {
      gate.finish(name);
      await settle();
    }
    expect(await done).toHaveLength(300);
  });

  it('stops reading while as many bytes run as a line may have', async () => {
    const gate = gatedExecute();
    const inputs = Array.from({ length: 10 }, (_, index) => ({
      id: index,
      name: `${index}`.padEnd(80, '.'),
    }));
    const done = answers(lines(...inputs), { ...gate, maxLineBytes: 300 });
    await settle();
    // Lines of 100 bytes: the fourth is taken before there are too many.
    expect(gate.started).toHaveLength(4);
    for (const { name } of inputs) {
      gate.finish(name);
      await settle();
    }
    expect(await done).toHaveLength(10);
  });

  it('resolves only after the last answer is out', async () => {
    const out: string[] = [];
    await answers(lines({ id: 1, name: 'a' }), {
      write: async (line) => {
        await settle();
        out.push(line);
      },
    });
    expect(out).toHaveLength(1);
  });

  it('stops when the answers are not read any more', async () => {
    let executed = 0;
    const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    const run = answers(lines({}, {}, {}), {
      write: () => Promise.reject(gone),
      execute: async () => {
        executed++;
        return { isError: false, content: '' };
      },
    });
    await expect(run).rejects.toBe(gone);
    expect(executed).toBe(1);
  });

  it('stops when the answers are not read any more, although the input stays open and another line runs', async () => {
    const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    const aborted: unknown[] = [];
    const input = async function* () {
      yield* bytesOf(lines({ id: 1, name: 'slow' }, { id: 2, name: 'quick' }));
      await new Promise(() => {});
    };
    const run = execJsonLines({
      input: input(),
      write: () => Promise.reject(gone),
      execute: async (given, signal) => {
        const { name } = given as { readonly name: string };
        if (name === 'slow') await new Promise((resolve) => signal.addEventListener('abort', resolve));
        aborted.push([name, signal.aborted]);
        return { isError: false, content: '' };
      },
      onThrown: () => {},
    });
    await expect(run).rejects.toBe(gone);
    expect(aborted).toEqual([
      ['quick', false],
      ['slow', true],
    ]);
  });

  it('hands on the signal that it is given', async () => {
    const controller = new AbortController();
    const seen: boolean[] = [];
    const execute: ExecOptions['execute'] = async (_, signal) => {
      seen.push(signal.aborted);
      controller.abort();
      return { isError: false, content: '' };
    };
    await answers(lines({}, {}), { execute, signal: controller.signal });
    expect(seen).toEqual([false, true]);
  });

  it('answers a defect with outcome_unknown and shows nothing of it', async () => {
    const thrown: unknown[] = [];
    const defect = new TypeError('private text');
    const given = await answers(lines({ id: 1 }, {}), {
      execute: () => Promise.reject(defect),
      onThrown: (error) => thrown.push(error),
    });
    expect(given.map(({ code }) => code)).toEqual(['outcome_unknown', 'outcome_unknown']);
    expect(JSON.stringify(given)).not.toContain('private');
    expect(thrown).toEqual([defect, defect]);
  });

  it('refuses deep nesting without running out of stack', async () => {
    const given = await answers(`${'['.repeat(1_000_000)}\n${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(given.map(({ code }) => code)).toEqual(['invalid_command', 'invalid_command']);
  });
});

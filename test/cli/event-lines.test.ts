import { describe, expect, it } from 'vitest';
import { createEventLines } from '../../src/cli/admin-command.ts';
import type { Terminal } from '../../src/cli/terminal.ts';

function fakeTerminal(isForEyes: boolean) {
  const said: string[] = [];
  const terminal: Terminal = {
    stdin: (async function* () {})(),
    out: async (text) => void said.push(String(text)),
    complain: (line) => said.push(line),
    progress: () => {},
    status: (line) => said.push(`~${line}`),
    isInteractive: isForEyes,
    isForEyes,
  };
  return { terminal, said };
}

describe('createEventLines', () => {
  it('writes JSON lines where nobody looks, progress once a second and at every new stage', async () => {
    const { terminal, said } = fakeTerminal(false);
    let time = 0;
    const events = createEventLines(terminal, { json: false, now: () => time });
    const unseen = { line: 'unseen', stage: 'one' };
    for (; time < 2_500; time += 100) events.progress({ done: time }, unseen);
    events.progress({ waiting: true }, { line: 'unseen', stage: 'two' });
    await events.done({ objects: 3 }, ['unseen']);
    expect(said.filter((line) => line !== '~')).toEqual([
      '{"event":"progress","done":0}\n',
      '{"event":"progress","done":1000}\n',
      '{"event":"progress","done":2000}\n',
      '{"event":"progress","waiting":true}\n',
      '{"event":"done","objects":3}\n',
    ]);
  });

  it('writes lines on a screen, and the progress over itself', async () => {
    const { terminal, said } = fakeTerminal(true);
    const events = createEventLines(terminal, { json: false, now: () => 0 });
    events.progress({ done: 1 }, { line: '1 of 2', stage: 'one' });
    events.progress({ done: 2 }, { line: '2 of 2', stage: 'one' });
    await events.done({}, ['one', 'two']);
    await events.cutOff('failed', { code: 'timeout' });
    expect(said).toEqual(['~1 of 2', '~', 'one\ntwo\n', '~']);
  });

  it('writes JSON lines on a screen when told to', async () => {
    const { terminal, said } = fakeTerminal(true);
    const events = createEventLines(terminal, { json: true, now: () => 0 });
    await events.cutOff('interrupted', {});
    expect(said.filter((line) => line !== '~')).toEqual(['{"event":"interrupted"}\n']);
  });

  it('does not fail over what cut the command off when nobody reads any more', async () => {
    const { terminal } = fakeTerminal(false);
    const gone = { ...terminal, out: () => Promise.reject(new Error('write EPIPE')) };
    await createEventLines(gone, { json: true, now: () => 0 }).cutOff('failed', { code: 'timeout' });
  });
});

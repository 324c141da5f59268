import type { WriteStream } from 'node:tty';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createReport } from '../../../../src/cli/show/report.ts';

function reportTo(options: { readonly json: boolean; readonly now?: () => number }) {
  const said: string[] = [];
  const out = async (text: string | Uint8Array): Promise<void> => void said.push(String(text));
  return { report: createReport({ out, progressStream: undefined, note: () => {} }, options), said };
}

describe('createReport', () => {
  it('writes JSON lines with --json, progress once a second and at once where words say what it is at', async () => {
    let time = 0;
    const { report, said } = reportTo({ json: true, now: () => time });
    for (; time < 2_500; time += 100)
      report.progress({ done: time }, { what: 'files', done: time, total: 9 });
    report.progress({ waiting: true }, { line: 'waiting' });
    await report.entry({ path: '/memories/a' }, 'unseen');
    await report.done({ objects: 3 }, ['unseen']);
    expect(said).toEqual([
      '{"event":"progress","done":1000}\n',
      '{"event":"progress","done":2000}\n',
      '{"event":"progress","waiting":true}\n',
      '{"event":"entry","path":"/memories/a"}\n',
      '{"event":"done","objects":3}\n',
    ]);
  });

  it('writes lines for people otherwise, and nothing where there is nothing to say', async () => {
    const { report, said } = reportTo({ json: false });
    report.progress({ done: 1 }, { what: 'files', done: 1, total: 2 });
    await report.entry({ path: '/memories/a' }, 'a');
    await report.done({}, ['one', 'two']);
    await report.done({});
    await report.cutOff('failed', { code: 'timeout' });
    expect(said).toEqual(['a\n', 'one\ntwo\n']);
  });

  it('tells programs what cut the command off', async () => {
    const { report, said } = reportTo({ json: true });
    await report.cutOff('interrupted', {});
    expect(said).toEqual(['{"event":"interrupted"}\n']);
  });

  it('does not fail over what cut the command off when its reader is gone', async () => {
    const out = () => Promise.reject(new Error('write EPIPE'));
    const report = createReport({ out, progressStream: undefined, note: () => {} }, { json: true });
    await report.cutOff('failed', { code: 'timeout' });
  });
});

describe('a report of long work', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function reportOnScreen({ isScreen = true, json = false } = {}) {
    const seen: string[] = [];
    const write = (text: string): boolean => seen.push(text) > 0;
    const screen = Object.assign(Object.create(null), { write, isTTY: true, columns: 80 });
    const progressStream = isScreen ? (screen as WriteStream) : undefined;
    let time = 0;
    const pass = (milliseconds: number): void => {
      for (let left = milliseconds; left > 0; left -= 100) {
        time += Math.min(left, 100);
        vi.advanceTimersByTime(Math.min(left, 100));
      }
    };
    const out = async (text: string | Uint8Array): Promise<void> => void seen.push(`out: ${text}`);
    const terminal = { out, progressStream, note: (line: string) => seen.push(`note: ${line}`) };
    return { report: createReport(terminal, { json, now: () => time }), seen, pass };
  }

  it('says what takes longer than a second, and takes it away before anything else is written', async () => {
    const { report, seen, pass } = reportOnScreen();
    await report.during('opening', async () => pass(999));
    expect(seen).toEqual([]);
    await report.during('listing', async () => pass(1_000));
    expect(seen).toEqual(['\r\u001b[Klisting …', '\r\u001b[K']);
    await report.done({}, ['done']);
    expect(seen.slice(2)).toEqual(['out: done\n']);
  });

  it('shows how far it is in place of that', async () => {
    const { report, seen, pass } = reportOnScreen();
    await report.during('renaming', async () => {
      pass(500);
      report.progress({}, { what: 'files', done: 1, total: 4 });
      pass(600);
      report.progress({}, { what: 'files', done: 2, total: 4 });
      pass(600);
      report.progress({}, { what: 'files', done: 3, total: 5 });
      pass(600);
    });
    expect(seen.join('')).toContain('2 of 4 files');
    expect(seen.join('')).toContain('3 of 5 files');
    expect(seen.join('')).not.toContain('renaming');
  });

  it('goes on showing how far it is while nothing more is told of it', async () => {
    const { report, seen, pass } = reportOnScreen();
    await report.during('removing', async () => {
      report.progress({}, { what: 'files', done: 7, total: 9 });
      pass(3_000);
    });
    expect(seen.join('')).toContain('7 of 9 files');
    expect(seen.join('')).not.toContain('removing');
  });

  it('comes back to the words of the whole when a part of it has ended', async () => {
    const { report, seen, pass } = reportOnScreen();
    await report.during('the whole', async () => {
      await report.during('a part', async () => pass(1_500));
      pass(1_500);
    });
    const words = seen.join('').split('\r\u001b[K');
    expect([...new Set(words)].filter((word) => word !== '')).toEqual(['a part …', 'the whole …']);
  });

  it('waits for a second without a line before it shows itself between lines', async () => {
    const { report, seen, pass } = reportOnScreen();
    await report.during('searching', async () => {
      for (let i = 0; i < 5; i++) {
        pass(700);
        await report.entry({}, `${i}`);
      }
      expect(seen.join('')).not.toContain('searching');
      pass(2_000);
      expect(seen.join('')).toContain('searching');
    });
  });

  it('says without a screen how far it is after five seconds, then every ten, on lines of their own', async () => {
    const { report, seen, pass } = reportOnScreen({ isScreen: false });
    await report.during('copying', async () => {
      pass(4_900);
      expect(seen).toEqual([]);
      pass(1_100);
      expect(seen).toEqual(['note: copying …']);
      for (let done = 0; done < 30; done++) {
        report.progress({}, { what: 'files', done, total: 30 });
        pass(1_000);
      }
    });
    await report.done({}, ['done']);
    expect(seen).toEqual([
      'note: copying …',
      'note: 8 of 30 files',
      'note: 18 of 30 files',
      'note: 28 of 30 files',
      'out: done\n',
    ]);
  });

  it('repeats without a screen until when it waits', async () => {
    const { report, seen, pass } = reportOnScreen({ isScreen: false });
    await report.during('reaching the store', async () => {
      report.progress({}, { line: 'waiting until noon' });
      pass(26_000);
    });
    expect(seen).toEqual(Array.from({ length: 3 }, () => 'note: waiting until noon'));
  });

  it('leaves how far it is to the lines of JSON', async () => {
    const { report, seen, pass } = reportOnScreen({ json: true });
    await report.during('removing', async () => {
      pass(1_100);
      report.progress({ done: 1 }, { what: 'files', done: 1, total: 4 });
      pass(600);
    });
    expect(seen.join('')).not.toContain('of 4 files');
    expect(seen).toContain('out: {"event":"progress","done":1}\n');
  });
});

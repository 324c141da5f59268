import type { WriteStream } from 'node:tty';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createReport } from '../../../src/cli/verbs/report.ts';

function reportTo(options: { readonly json: boolean; readonly now?: () => number }) {
  const said: string[] = [];
  const out = async (text: string | Uint8Array): Promise<void> => void said.push(String(text));
  return { report: createReport({ out, progressStream: undefined }, options), said };
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
    const report = createReport({ out, progressStream: undefined }, { json: true });
    await report.cutOff('failed', { code: 'timeout' });
  });
});

describe('a report on a screen', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function reportOnScreen() {
    const seen: string[] = [];
    const write = (text: string): boolean => seen.push(text) > 0;
    const progressStream = Object.assign(Object.create(null), { write, isTTY: true, columns: 80 });
    let time = 0;
    const pass = (milliseconds: number): void => {
      time += milliseconds;
      vi.advanceTimersByTime(milliseconds);
    };
    const out = async (text: string | Uint8Array): Promise<void> => void seen.push(`out: ${text}`);
    const terminal = { out, progressStream: progressStream as WriteStream };
    return { report: createReport(terminal, { json: false, now: () => time }), seen, pass };
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
});

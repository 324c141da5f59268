import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Task } from './parts.ts';
import { runTasks } from './run-tasks.ts';

const task = (what: string, program: string): Task => ({
  part: 'part',
  what,
  count: 3,
  args: ['-e', program],
  tried: /^(\d+) tried/gm,
});

describe('the programs of the proof', () => {
  it('hold where they end well and say that they tried as much as was asked for, and only there', async () => {
    const told: string[] = [];
    const tasks = [
      task('whole', 'console.log("1 tried"); console.log("3 tried")'),
      task('less', 'console.log("2 tried")'),
      task('silent', ''),
      task('failed', 'console.log("3 tried"); console.error("why"); process.exitCode = 1'),
      task('killed', 'console.log("3 tried"); setTimeout(() => process.kill(process.pid, "SIGKILL"), 100)'),
    ];
    const results = await runTasks(tasks, {
      atOnce: 2,
      signal: new AbortController().signal,
      tell: (line) => void told.push(line),
    });
    expect(results.map(({ verdict }) => verdict)).toEqual(['holds', 'FAILED', 'FAILED', 'FAILED', 'FAILED']);
    expect(told.join('\n')).toContain('why');
  });

  it('end with the signal, with what they have started, and what was not begun does not begin', async () => {
    const ending = new AbortController();
    process.once('SIGUSR2', () => ending.abort());
    const forever = 'setInterval(() => {}, 1e6);';
    const started = `process.kill(${process.pid}, "SIGUSR2"); ${forever}`;
    const starts = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(started)}], { stdio: "inherit" });`;
    const tasks = [task('forever', starts + forever), task('later', 'console.log("3 tried")')];
    // A program is not at its end while another one holds its output open.
    const results = await runTasks(tasks, { atOnce: 1, signal: ending.signal, tell: () => {} });
    expect(results.map(({ verdict }) => verdict)).toEqual(['cut off', 'cut off']);
  });
});

describe('npm run prove history', () => {
  const start = async (...args: readonly string[]) => {
    const child = spawn(process.execPath, ['test/history-proof/main.ts', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  };

  it('runs the parts that are named, as much as is asked for, and says what holds', async () => {
    const parts = ['simulation', 'checkpoints', 'states', 'chain'].flatMap((part) => ['--part', part]);
    const { code, output } = await start('--share', '0.0002', ...parts);
    expect(code, output).toBe(0);
    const table = output.slice(output.indexOf('The proof of the history:'));
    expect(table.match(/^ {2}holds/gm)).toHaveLength(11);
    expect(table).toContain('2 simulations, 0 failed');
    expect(table).toContain('2 restored states (2 states were restored)');
    expect(table).toContain('20 honest runs (20 honest runs raised no alarm)');
    expect(table).not.toContain('traces');
  });

  it('refuses a part that is not there', async () => {
    const { code, output } = await start('--part', 'nothing');
    expect(code).toBe(2);
    expect(output).toContain('npm run prove history');
  });
});

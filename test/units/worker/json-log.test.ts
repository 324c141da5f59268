import { describe, expect, it } from 'vitest';
import { createJsonLogger } from '../../../src/worker/json-log.ts';

const clock = () => Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const TIME = '2026-01-02T03:04:05.006Z';

describe('createJsonLogger', () => {
  it('writes one JSON object a line: time, level, message, then the fields', () => {
    const lines: string[] = [];
    const log = createJsonLogger({ write: (line) => lines.push(line), clock });
    log.info('turn answered', { code: 'answered', durationMs: 12 });
    log.error('two\nlines');
    expect(lines).toEqual([
      `{"time":"${TIME}","level":"info","message":"turn answered","code":"answered","durationMs":12}`,
      `{"time":"${TIME}","level":"error","message":"two\\nlines"}`,
    ]);
  });

  it('keeps what is below its level to itself', () => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      const log = createJsonLogger({ write, level, clock });
      log.debug('d');
      log.info('i');
      log.warn('w');
      log.error('e');
    }
    expect(lines.map((line) => JSON.parse(line).message).join('')).toBe('diweiwewee');
  });

  it('carries common fields into every line, and leaves the log it came from as it was', () => {
    const lines: string[] = [];
    const log = createJsonLogger({ write: (line) => lines.push(line), clock });
    const own = log.with({ tenant: 'acme' });
    own.with({ command: 'view' }).warn('slow', { tenant: 'bolt' });
    own.info('one');
    log.info('two');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { time: TIME, level: 'warn', message: 'slow', tenant: 'bolt', command: 'view' },
      { time: TIME, level: 'info', message: 'one', tenant: 'acme' },
      { time: TIME, level: 'info', message: 'two' },
    ]);
  });
});

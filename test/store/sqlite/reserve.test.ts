import { existsSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { diskReserve } from '../../../src/store/sqlite/reserve.ts';
import { timesOpen } from '../../support/times-open.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-reserve-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('the reserve is taken, made whole and given back, and its file is not kept open', () => {
  const database = join(folder, 'store.sqlite');
  const path = `${database}-reserve`;
  const reserve = diskReserve(database);
  reserve.take();
  expect([statSync(path).size, statSync(path).mode & 0o777, timesOpen(path)]).toEqual([131_072, 0o600, 0]);
  truncateSync(path, 1_000);
  reserve.take();
  reserve.take();
  expect([statSync(path).size, timesOpen(path)]).toEqual([131_072, 0]);
  reserve.release();
  expect(existsSync(path)).toBe(false);
  reserve.release();
});

it('a reserve that cannot be taken or given back is of no help, and no failure', () => {
  const reserve = diskReserve(join(folder, 'not/there'));
  expect(() => reserve.take()).not.toThrow();
  expect(() => reserve.release()).not.toThrow();
});

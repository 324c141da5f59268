import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { diskReserve } from '../../../../src/store/sqlite/reserve.ts';
import { timesOpen } from '../../../stage/measures.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-reserve-'));
afterAll(() => rmSync(folder, { recursive: true }));

const WHOLE = 1_310_720;

it('the reserve is taken, made whole and given back, and its file is not kept open', () => {
  const database = join(folder, 'store.sqlite');
  const path = `${database}-reserve`;
  const reserve = diskReserve(database);
  expect(reserve.take()).toBe(true);
  expect([statSync(path).size, statSync(path).mode & 0o777, timesOpen(path)]).toEqual([WHOLE, 0o600, 0]);
  truncateSync(path, 1_000);
  expect([reserve.take(), reserve.take()]).toEqual([true, true]);
  expect([statSync(path).size, timesOpen(path)]).toEqual([WHOLE, 0]);
  truncateSync(path, 2_000);
  expect(reserve.release()).toBe(2_000);
  expect(existsSync(path)).toBe(false);
  expect(reserve.release()).toBe(0);
});

it('a reserve for which the disk has no room is not whole', () => {
  const database = join(folder, 'full.sqlite');
  symlinkSync('/dev/full', `${database}-reserve`);
  expect(diskReserve(database).take()).toBe(false);
});

it('a reserve that cannot be taken or given back is of no help, no failure, and no sign of a full disk', () => {
  const reserve = diskReserve(join(folder, 'not/there'));
  expect([reserve.take(), reserve.release()]).toEqual([true, 0]);
});

import { DatabaseSync, StatementSync } from 'node:sqlite';
import { openMemory } from '../../../src/open/open-memory.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

/**
 * Deletes a path of the tenant `acme` and kills itself directly before the statement of that number which the delete
 * gives SQLite, or prints `done`. With `full` the disk is full at the first attempt. Usage: `killed-delete.ts FILE PATH
 * STATEMENT as-usual|full`
 */
const [file = '', path = '', at = '', disk = ''] = process.argv.slice(2);
const SQLITE_FULL = 13;

const memory = await openMemory({
  store: `sqlite:${file}`,
  tenant: 'acme',
  rootKey: new Uint8Array(32).fill(5),
  logger: silentLogger,
});
// This call loads what the delete needs, so that the statements counted after it are those of the delete.
await memory.files.exists(path);

let [statement, isFull] = [0, disk === 'full'];
const meet = (): void => {
  if (++statement === Number(at)) process.kill(process.pid, 'SIGKILL');
};
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (sql) {
  meet();
  if (isFull && sql.startsWith('BEGIN IMMEDIATE')) {
    isFull = false;
    throw Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL });
  }
  exec.call(this, sql);
};
const { run } = StatementSync.prototype;
StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
  meet();
  return run.apply(this, values);
} as typeof run;
const result = await memory.execute({ command: 'delete', path });
if (result.isError) throw new Error(result.error.code);
console.log('done');

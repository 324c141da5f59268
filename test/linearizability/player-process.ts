import { createInterface } from 'node:readline';
import { MemoryError } from '../../src/errors.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { createMemoryPool, type MemoryPool } from '../../src/open/pool.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import type { Result } from '../simulation/history.ts';
import { readLog } from './judge-log.ts';
import { KEPT } from './plan.ts';
import type { PlayerAnswer, PlayerRequest } from './player-lines.ts';

// node player-process.ts: carries out the commands and the operator's verbs that come as JSON lines, side by side, on
// tenants of the store of the environment, and answers each with a line that says when it began and ended.

const options = { ...optionsFromEnvironment(), lazy: true, actor: `process ${process.pid}` };
const pool: MemoryPool = createMemoryPool(options);
const keepingPool: MemoryPool = createMemoryPool({ ...options, history: { days: 30 } });

function open(tenant: string): Promise<Memory> {
  return (tenant.endsWith(KEPT) ? keepingPool : pool).open(tenant);
}

async function execute(tenant: string, command: unknown): Promise<Result> {
  const memory = await open(tenant);
  const answer = await memory.execute(command);
  if (!answer.isError) return { ok: true, content: String(answer.content) };
  const { code, details } = answer.error;
  const reason = details['reason'];
  return { ok: false, code, reason: typeof reason === 'string' ? reason : undefined };
}

/** A new key, and every object brought under it. Whatever fails is the operator's affair: it is told and run again. */
async function operate(tenant: string): Promise<Result> {
  await using admin = await openAdmin(optionsFromEnvironment(undefined, { tenant }));
  try {
    await admin.rotate({ force: true });
    const { rebound } = await admin.migrate();
    return { ok: true, content: String(rebound) };
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    return { ok: false, code: error.code, reason: error.message };
  }
}

async function log(tenant: string): Promise<Result> {
  return { ok: true, content: JSON.stringify(await readLog((await open(tenant)).history)) };
}

async function answer({ id, tenant, command }: PlayerRequest): Promise<void> {
  const call = Number(process.hrtime.bigint());
  const verbs = { operate, log };
  const result = await (typeof command === 'string' ? verbs[command](tenant) : execute(tenant, command));
  const line: PlayerAnswer = { id, call, end: Number(process.hrtime.bigint()), result };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

createInterface({ input: process.stdin }).on('line', (line) => void answer(JSON.parse(line)));
process.stdin.on('end', () => process.exit(0));

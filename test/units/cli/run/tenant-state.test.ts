import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCat } from '../../../../src/cli/files/cat.ts';
import { runDiff } from '../../../../src/cli/files/diff.ts';
import { runExport } from '../../../../src/cli/files/export.ts';
import { runGet } from '../../../../src/cli/files/get.ts';
import { runGrep } from '../../../../src/cli/files/grep.ts';
import { runDu, runLs, runStat, runTree } from '../../../../src/cli/files/list.ts';
import { runLog } from '../../../../src/cli/history/log.ts';
import { runRestoreVersion } from '../../../../src/cli/history/restore-version.ts';
import { runShow } from '../../../../src/cli/history/show.ts';
import { runTrace } from '../../../../src/cli/history/trace.ts';
import { runVerify } from '../../../../src/cli/history/verify.ts';
import { runExpire } from '../../../../src/cli/keys/expire.ts';
import { runTenants } from '../../../../src/cli/keys/tenants.ts';
import { type Flags, failureLine, type Invocation } from '../../../../src/cli/run/invocation.ts';
import { type FileRun, tellIfNobodys } from '../../../../src/cli/run/memory.ts';
import { openMemory } from '../../../../src/index.ts';
import { invocationOf } from '../../../doubles/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../../../support/kept-memory.ts';

const ROOT = '/memories';
const PATH = '/memories/a.md';
const ABSENT = 'nothing was ever written for the tenant typo: is its name right?';
const OFF =
  'the tenant plain keeps no history: "sealed-memory tenant history on --tenant plain" keeps it from then on';

type Verb = (invocation: Invocation) => Promise<number>;

let kept: KeptMemory;
let folder: string;
let version: string;
beforeAll(async () => {
  kept = await openKeptMemory();
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-absent-'));
  await kept.memory.files.write(PATH, 'one\n');
  const rootKey = Buffer.alloc(32, 7).toString('base64');
  await using plain = await openMemory({ store: kept.flags.store, tenant: 'plain', rootKey });
  await plain.files.write(PATH, 'one\n');
  const [entry] = await plain.history.list(PATH);
  version = entry?.version ?? '';
});
afterAll(async () => {
  await kept.remove();
  rmSync(folder, { recursive: true });
});

async function run(verb: Verb, flags: Flags) {
  const { invocation, shown, complaints } = invocationOf({ flags: { ...kept.flags, json: true, ...flags } });
  const code = await verb(invocation);
  return { code, complaints, last: JSON.parse(shown.at(-1) ?? '{}') as Record<string, unknown> };
}

describe('a tenant that does not exist', () => {
  it.each<[string, number, Verb]>([
    ['ls', 0, (on) => runLs(ROOT, {}, on)],
    ['ls -R', 0, (on) => runLs(ROOT, { recursive: true }, on)],
    ['tree', 0, (on) => runTree(ROOT, on)],
    ['du', 0, (on) => runDu(ROOT, on)],
    ['grep', 1, (on) => runGrep({ pattern: 'x', path: ROOT }, {}, on)],
    ['export', 0, (on) => runExport({ path: ROOT, to: join(folder, 'out') }, {}, on)],
    ['export --html', 0, (on) => runExport({ path: ROOT, to: join(folder, 'o.html') }, { html: true }, on)],
    ['log', 0, (on) => runLog(undefined, {}, on)],
    ['log PATH', 1, (on) => runLog(PATH, {}, on)],
    ['verify', 0, (on) => runVerify({}, on)],
    ['expire', 0, (on) => runExpire({ dryRun: true, after: 30 }, on)],
  ])('is told by %s, in one line and a field', async (_, code, verb) => {
    const told = await run(verb, { tenant: 'typo' });
    rmSync(join(folder, 'o.html'), { force: true });
    expect(told).toMatchObject({ code, complaints: [ABSENT], last: { tenantExists: false } });
    const known = await run(verb, { tenant: 'plain' });
    expect(known.complaints.join()).not.toContain('is its name right');
    expect(known.last).not.toHaveProperty('tenantExists');
  });

  it.each<[string, Verb]>([
    ['ls PATH', (on) => runLs(PATH, {}, on)],
    ['stat', (on) => runStat(PATH, on)],
    ['cat', (on) => runCat([PATH], {}, on)],
    ['get', (on) => runGet(PATH, { to: join(folder, 'got') }, on)],
  ])('is told by the refusal of %s', async (_, verb) => {
    const refusal = await run(verb, { tenant: 'typo' }).catch((error: unknown) => error);
    expect(failureLine(refusal)).toMatch(/^There is (?:nothing|no file) at \/memories\/a\.md: /);
    expect(failureLine(refusal)).toContain(ABSENT);
    const path = '/memories/b.md';
    const elsewhere = await run((on) => runCat([path], {}, on), {}).catch((error: unknown) => error);
    expect(failureLine(elsewhere)).toBe(`There is no file at ${path}.`);
  });

  it('is told beside a mount, and not of what lies in the mount', async () => {
    const flags = { tenant: 'typo', mount: ['/memories/handbook=plain'] };
    expect((await run((on) => runLs(ROOT, {}, on), flags)).complaints).toEqual([ABSENT]);
    expect((await run((on) => runLs('/memories/handbook', {}, on), flags)).complaints).toEqual([]);
  });

  it('is not asked after where there is a file', async () => {
    const { invocation } = invocationOf({});
    const history = { state: () => Promise.reject(new Error('asked')) } as unknown as FileRun['history'];
    const asked = { history, options: {}, invocation } as unknown as FileRun;
    expect(await tellIfNobodys(asked, ROOT, [{ path: PATH }])).toEqual({});
    await expect(tellIfNobodys(asked, ROOT, [])).rejects.toThrow('asked');
  });

  it('is none of many: a store without tenants says so', async () => {
    const store = `sqlite:${join(folder, 'empty.sqlite')}`;
    const { code, complaints } = await run(runTenants, { store });
    expect([code, complaints]).toEqual([0, ['no tenant has a keyring in this store: is its name right?']]);
    expect((await run(runTenants, {})).complaints).toEqual([]);
  });
});

describe('a tenant that keeps no history', () => {
  it.each<[string, Verb]>([
    ['log', (on) => runLog(undefined, {}, on)],
    ['log PATH', (on) => runLog(PATH, {}, on)],
    ['show', (on) => runShow({ path: PATH, version }, on)],
    ['diff PATH VERSION', (on) => runDiff({ left: PATH, right: `v${version}` }, on)],
    ['trace', (on) => runTrace({ path: PATH, version: undefined }, on)],
    ['restore PATH VERSION', (on) => runRestoreVersion({ path: PATH, version, yes: true }, on)],
  ])('is told by %s, in one line and a field', async (_, verb) => {
    const told = await run(verb, { tenant: 'plain' });
    expect(told).toMatchObject({ code: 0, complaints: [OFF], last: { history: 'off' } });
  });

  it('is told where a version is not known', async () => {
    const { invocation, complaints } = invocationOf({ flags: { ...kept.flags, tenant: 'plain' } });
    await expect(runShow({ path: PATH, version: 'abcdefgh' }, invocation)).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(complaints).toEqual([OFF]);
  });

  it('is nothing to a diff of files, and to a tenant that keeps it', async () => {
    const files: Verb = (on) => runDiff({ left: PATH, right: PATH }, on);
    expect((await run(files, { tenant: 'plain' })).complaints).toEqual([]);
    const log = await run((on) => runLog(PATH, {}, on), {});
    expect(log.complaints).toEqual([]);
    expect(log.last).not.toHaveProperty('history');
  });
});

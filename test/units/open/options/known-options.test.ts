import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createMemoryPool,
  type Memory,
  openAdmin,
  openMemory,
  type TenantAdmin,
} from '../../../../src/index.ts';

const options = { store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(6) };
const path = '/memories/file.md';
const version = { path, version: 'aaaaaaaa' };
const key = { projectKey: 'p', sessionId: 's' };

type Call = (room: { readonly memory: Memory; readonly admin: TenantAdmin }, options: never) => unknown;

/** Each method that takes options, and one of them with a letter too few. */
const METHODS: Readonly<Record<string, readonly [Call, wrong: string, meant: string]>> = {
  'files.read': [({ memory: { files } }, of) => files.read(path, of), 'signl', 'signal'],
  'files.write': [({ memory: { files } }, of) => files.write(path, 'x', of), 'mod', 'mode'],
  'files.append': [({ memory: { files } }, of) => files.append(path, 'x', of), 'acto', 'actor'],
  'files.list': [async ({ memory: { files } }, of) => files.list('/memories', of), 'recursiv', 'recursive'],
  'files.stat': [({ memory: { files } }, of) => files.stat(path, of), 'onTuch', 'onTouch'],
  'files.exists': [({ memory: { files } }, of) => files.exists(path, of), 'signa', 'signal'],
  'files.copy': [({ memory: { files } }, of) => files.copy(path, '/memories/b', of), 'mde', 'mode'],
  'files.rename': [
    ({ memory: { files } }, of) => files.rename(path, '/memories/b', of),
    'onProgres',
    'onProgress',
  ],
  'files.remove': [({ memory: { files } }, of) => files.remove(path, of), 'ifUnchange', 'ifUnchanged'],
  'history.list': [({ memory: { history } }, of) => history.list(path, of), 'limt', 'limit'],
  'history.read': [({ memory: { history } }, of) => history.read(version, of), 'signl', 'signal'],
  'history.restore': [({ memory: { history } }, of) => history.restore(version, of), 'actr', 'actor'],
  'history.restoreAt': [
    ({ memory: { history } }, of) => history.restoreAt(new Date(), of),
    'dryrun',
    'dryRun',
  ],
  'history.undo': [({ memory: { history } }, of) => history.undo(of), 'dryRn', 'dryRun'],
  'history.redact': [({ memory: { history } }, of) => history.redact(version, of), 'acter', 'actor'],
  'history.state': [({ memory: { history } }, of) => history.state(of), 'signl', 'signal'],
  'history.trace': [({ memory: { history } }, of) => history.trace({ path }, of), 'signl', 'signal'],
  'sessions.append': [({ memory: { sessions } }, of) => sessions.append(key, [], of), 'fld', 'fold'],
  'sessions.load': [({ memory: { sessions } }, of) => sessions.load(key, of), 'signl', 'signal'],
  'sessions.list': [({ memory: { sessions } }, of) => sessions.list('p', of), 'fol', 'fold'],
  'sessions.subpaths': [({ memory: { sessions } }, of) => sessions.subpaths(key, of), 'signl', 'signal'],
  'sessions.remove': [({ memory: { sessions } }, of) => sessions.remove(key, of), 'signl', 'signal'],
  'memory.tool': [async ({ memory }, of) => memory.tool(of), 'cache_contrl', 'cache_control'],
  'admin.keyStatus': [({ admin }, of) => admin.keyStatus(of), 'signl', 'signal'],
  'admin.rootKeyStatus': [({ admin }, of) => admin.rootKeyStatus(of), 'signl', 'signal'],
  'admin.rotate': [({ admin }, of) => admin.rotate(of), 'ifActiv', 'ifActive'],
  'admin.migrate': [({ admin }, of) => admin.migrate(of), 'reencryt', 'reencrypt'],
  'admin.rewrapRoot': [({ admin }, of) => admin.rewrapRoot(of), 'forc', 'force'],
  'admin.switchHistory': [({ admin }, of) => admin.switchHistory('on', of), 'signl', 'signal'],
  'admin.shred': [({ admin }, of) => admin.shred(of), 'ttlMS', 'ttlMs'],
  'admin.encodeName': [({ admin }, of) => admin.encodeName(path, of), 'signl', 'signal'],
  'admin.decodeName': [({ admin }, of) => admin.decodeName('any', of), 'signl', 'signal'],
  'admin.verify': [({ admin }, of) => admin.verify(of), 'repar', 'repair'],
  'admin.checkpoint': [({ admin }, of) => admin.checkpoint(of), 'sinse', 'since'],
  'admin.expire': [({ admin }, of) => admin.expire(of), 'dryrun', 'dryRun'],
  'admin.export': [({ admin }, of) => admin.export(of), 'too', 'to'],
};

/** The members that take no options, the model's own input, or what a framework hands its tools. */
const WITHOUT_OPTIONS = ['close', 'tenant', 'history', 'files', 'sessions', 'handlers', 'execute'];

describe('the options of a method', () => {
  let room: { readonly memory: Memory; readonly admin: TenantAdmin };
  beforeEach(async () => {
    room = { memory: await openMemory(options), admin: await openAdmin(options) };
  });
  afterEach(async () => {
    await room.memory.close();
    await room.admin.close();
  });

  it('are all tried below', () => {
    const { memory, admin } = room;
    const rooms = { files: memory.files, history: memory.history, sessions: memory.sessions, memory, admin };
    const methods = Object.entries(rooms).flatMap(([name, verbs]) =>
      Object.keys(verbs).flatMap((verb) => (WITHOUT_OPTIONS.includes(verb) ? [] : [`${name}.${verb}`])),
    );
    expect(Object.keys(METHODS).sort()).toEqual(methods.sort());
  });

  it('are taken by execute as a framework hands them to its tools', async () => {
    const context = { signal: new AbortController().signal, toolUse: { id: 'toolu_1' } };
    const { isError } = await room.memory.execute({ command: 'view', path: '/memories' }, context);
    expect(isError).toBe(false);
  });

  it.each(Object.entries(METHODS))(
    'are refused where one is unknown, and the one that is meant is named: %s',
    async (name, [call, wrong, meant]) => {
      await expect(async () => call(room, { [wrong]: true } as never)).rejects.toMatchObject({
        code: 'misconfigured',
        message: `${wrong} is not an option of ${name}. Did you mean ${meant}?`,
      });
    },
  );

  it.each(Object.entries(METHODS))(
    'are refused where they are no object, and the known ones are named: %s',
    async (name, [call, , meant]) => {
      for (const none of ['create', null]) {
        await expect(async () => call(room, none as never)).rejects.toMatchObject({
          code: 'misconfigured',
          message: expect.stringMatching(
            new RegExp(`^The options of ${name} must be an object with .*\\b${meant}\\b`),
          ),
        });
      }
    },
  );

  it('make the call reject, but for a listing and a definition, which are no promises and throw at once', async () => {
    const wrong = { nothing: true } as never;
    const { files, tool, history } = room.memory;
    for (const atOnce of [() => files.list('/memories', wrong), () => tool(wrong)]) {
      expect(atOnce).toThrow(/^nothing is not an option/);
    }
    const calls = [files.read(path, wrong), history.list(path, wrong), room.admin.rotate(wrong)];
    for (const call of calls) await expect(call).rejects.toThrow(/^nothing is not an option/);
  });

  it('name the known ones where none is near', async () => {
    await expect(room.memory.files.read(path, { encoding: 'utf8' } as never)).rejects.toThrow(
      'encoding is not an option of files.read. Known are signal, onProgress, onRedacted, actor, onTouch.',
    );
  });

  it('change nothing where they are refused', async () => {
    const { files } = room.memory;
    await files.write(path, 'kept');
    await expect(files.write(path, 'lost', { mde: 'create' } as never)).rejects.toThrow(/^mde is not/);
    await expect(files.remove(path, { ifUnchangd: 'x' } as never)).rejects.toThrow(/^ifUnchangd is not/);
    expect((await files.read(path))?.text()).toBe('kept');
  });

  it('are the same in the history of an administration and in the memories of a pool', async () => {
    const { history } = room.admin;
    await expect(history.undo({ writer: 'a', dryRn: true } as never)).rejects.toThrow(/^dryRn is not/);
    const { tenant, ...shared } = options;
    await using pool = createMemoryPool(shared);
    const { files } = await pool.open(tenant);
    await expect(files.read(path, { signl: true } as never)).rejects.toThrow(/^signl is not/);
  });
});

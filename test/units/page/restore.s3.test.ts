import { expect, it } from 'vitest';
import { createLayout, parseTenantId } from '../../../src/format/object-keys.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ResultOf } from '../../../src/page/protocol.ts';
import { openTenantView } from '../../../src/page/server/tenant-view.ts';
import { openS3ObjectStore } from '../../../src/store/s3/s3-store.ts';
import { describeOnS3 } from '../../stage/s3.ts';
import { whereTextIs } from '../../stage/traces.ts';
import { createVersionedBucket } from '../../stage/versioned-bucket.ts';

const rootKey = new Uint8Array(32).fill(8);
const SECRET = 'the card is 4929 1838';
const PATH = '/memories/a.md';

describeOnS3('a page, in a bucket that keeps versions', ['minio'], (server) => {
  /** The acts that bring a text back, each with the judgement of the policy after which the text is written. */
  const ACTS = [
    { act: 'restore', last: 1, code: 'not_found' },
    // The text that was redacted is another plan.
    { act: 'carryOut', last: 3, code: 'version_conflict' },
  ] as const;

  it.each(ACTS)(
    'leaves no byte of a text that is redacted while it is brought back: $act',
    async ({ act, last, code }) => {
      await using bucket = await createVersionedBucket(server());
      const { bucket: name, credentials, ...s3 } = bucket.storeOptions;
      const options = { store: `s3://${name}/p`, s3, credentials, tenant: 'acme', rootKey };
      await using memory = await openMemory({ ...options, history: { days: 30 } });
      await memory.files.write(PATH, SECRET);
      await memory.files.write(PATH, 'clean');
      const [now, secret] = (await memory.history.list(PATH)).filter((entry) => entry.kind === 'written');
      if (now === undefined || secret === undefined) throw new Error('there are no versions');
      await using admin = await openAdmin(options);
      let judgements = 0;
      const policy = async () => {
        if (++judgements === last) await admin.history.redact(secret);
        return 'allow' as const;
      };
      await using view = await openTenantView({ ...options, policy }, { lineOf: String, canWrite: true });
      const asking = { signal: new AbortController().signal, send: async () => {} };
      const ask = async (question: string, input: object): Promise<unknown> =>
        view.questions[question]?.({ ...input }, asking);
      const input =
        act === 'restore'
          ? { path: PATH, version: secret.version, base: now.version }
          : { at: now.time.toISOString() };
      const plan = act === 'carryOut' ? ((await ask('plan', input)) as ResultOf<'plan'>) : undefined;
      await ask(act, { ...input, digest: plan?.digest }).catch((error: unknown) => {
        expect(error).toMatchObject({ code });
      });
      expect(judgements).toBe(last);
      expect((await memory.files.read(PATH))?.text()).toBe('clean');
      const versions = openS3ObjectStore(bucket.storeOptions).versions;
      const found = [];
      for await (const page of versions.below('p/')) {
        for (const { key, versionId, size } of page) {
          const body = size === undefined ? undefined : await versions.get(key, versionId);
          if (body !== undefined) found.push({ key, body });
        }
      }
      const layout = createLayout({ prefix: 'p', tenant: parseTenantId('acme') });
      expect(await whereTextIs(found, { layout, rootKey }, SECRET)).toEqual([]);
    },
  );
});

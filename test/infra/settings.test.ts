import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BOUNDS } from '../../src/cdk/bounds.ts';
import { checkSettings, SETTINGS, type WorkerSettings } from '../../src/cdk/worker-settings.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { readExpiryConfig, readWorkerConfig } from '../../src/worker/settings.ts';
import { onlyResource, type Template } from './iam/template.ts';
import { synthesize } from './synthesized.ts';

const example = readFileSync('.env.example', 'utf8');
const page = readFileSync('docs/deployment.md', 'utf8');

/** A text for every setting, other than its default. */
const GIVEN: Readonly<Record<keyof WorkerSettings, string>> = {
  model: 'claude-opus-5-5',
  maxTokens: '9000',
  maxRequests: '9',
  effort: 'low',
  systemPrompt: 'You keep the books.\nBe short.',
  reply: 'pointer',
  tokensPerDay: '70000',
  expireAfterDays: '90',
  expireDryRun: 'false',
  checkpoints: 'true',
  historyDays: '30',
  mounts: '/memories/handbook=org:ro:expires=false,/memories/team=team-7:expires=true',
  policy: 'secrets,email,redact',
  maxFileBytes: '2000000',
  maxFiles: '500',
  maxTenantBytes: '90000000',
  cacheBytes: '0',
  keyringTtlSeconds: '60',
  createTenants: 'false',
  readOnly: 'false',
  names: 'plain',
  wording: 'sdk',
  onExists: 'overwrite',
  s3Client: 'sdk',
};

const template = synthesize(GIVEN);

/** The variables of a function, but for those whose values are places of the stack. */
function variablesOf(name: string, of: Template = template): Readonly<Record<string, string>> {
  const { Environment } = onlyResource(of, 'AWS::Lambda::Function', `Memory${name}`).properties;
  const { Variables } = Environment as { readonly Variables: Readonly<Record<string, unknown>> };
  const texts = Object.entries(Variables).map(([key, value]) => [
    key,
    key === 'SEALED_MEMORY_ROOT_KEY' || typeof value !== 'string' ? '' : value,
  ]);
  return Object.fromEntries(texts);
}

const listed = [...example.matchAll(/^#?([A-Z]\w+)=/gm)].flatMap(({ 1: name }) => name ?? []);
const set: ReadonlySet<string> = new Set(Object.values(SETTINGS).map(({ variable }) => variable));

describe('a variable of .env.example', () => {
  const [, rows = ''] =
    /has no setting for:\n\n\| variable \| why \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(page) ?? [];
  const none = new Map(
    rows.split('\n').flatMap((row) => {
      const [, names = '', why = ''] = row.split('|').map((cell) => cell.trim());
      return [...names.matchAll(/`(\w+)`/g)].map(({ 1: name = '' }) => [name, why] as const);
    }),
  );

  it.each(listed)('is a setting of a deployment, or docs/deployment.md says why it has none: %s', (name) => {
    expect([set.has(name), none.has(name)].filter(Boolean)).toHaveLength(1);
    if (none.has(name)) expect(none.get(name)?.length).toBeGreaterThan(20);
  });

  it('is one that is there, wherever a setting or the page names it', () => {
    const named = [...none.keys(), ...[...set].filter((name) => !name.startsWith('SEALED_MEMORY_WORKER_'))];
    expect(named.filter((name) => !listed.includes(name))).toEqual([]);
    expect(listed.length).toBeGreaterThan(30);
  });
});

describe('a setting of the functions', () => {
  const rows = Object.entries(SETTINGS).map(([name, row]) => ({
    name: name as keyof WorkerSettings,
    ...row,
  }));

  it.each(rows)('reaches who needs it, and nobody else: $name', ({ name, variable, told, form }) => {
    const text = GIVEN[name];
    const wanted = form === 'flag' ? (text === 'true' ? '1' : '0') : text;
    const of = (who: string) => variablesOf(who)[variable];
    expect(of('Worker')).toBe(told === 'expiry' ? undefined : wanted);
    expect(of('Expiry')).toBe(told === 'worker' ? undefined : wanted);
  });

  it.each(rows)('stands in the table of docs/deployment.md: $name', ({ name }) => {
    const [settings = ''] = page.slice(page.indexOf('### Settings')).split('\n\nRequests to S3');
    expect(settings).toMatch(new RegExp(`^\\|[^|]*\`${name}\`[^|]*\\|`, 'm'));
  });

  it.each(rows.filter(({ form }) => form === 'number'))(
    'has the bounds of its function: $name',
    ({ name, variable, told }) => {
      const env = variablesOf(told === 'expiry' ? 'Expiry' : 'Worker');
      const { least, most } = BOUNDS[name as keyof typeof BOUNDS];
      const reading = (value: number) => () => {
        const changed = { ...env, [variable]: String(value) };
        optionsFromEnvironment(changed);
        readWorkerConfig(changed);
      };
      for (const value of [least, most]) expect(reading(value)).not.toThrow();
      for (const value of [least - 1, most + 1]) expect(reading(value)).toThrow(variable);
    },
  );

  it.each([
    ['policy', ['secrets', 'email, redact', 'redact,phone', 'redact,card,redact,iban']],
    ['mounts', ['/memories/a=b', '/memories/a=b:ro', '/memories/a=b:ro:expires=true, /memories/c=d']],
  ] as const)('is taken where its function takes it: %s', (name, texts) => {
    for (const text of texts) {
      expect(() => checkSettings({ [name]: text })).not.toThrow();
      expect(() => optionsFromEnvironment({ [SETTINGS[name].variable]: text })).not.toThrow();
    }
  });

  it.each([
    ['policy', ['redact', 'secret', 'secrets;email', '']],
    ['mounts', ['/memories/a', 'a=b', '/memories/a=b:rw', '/memories/a=B', '']],
    ['effort', ['most']],
    ['names', ['hidden']],
    ['historyDays', ['0', '3651', 'ten']],
    ['cacheBytes', ['-1', '01', '1073741825']],
    ['readOnly', ['1']],
    ['systemPrompt', ['é'.repeat(1_025)]],
    ['mounts', [Array.from({ length: 100 }, (_, i) => `/memories/mount-${i}=a`).join()]],
  ])('is refused before anything is deployed where it is malformed: %s', (name, texts) => {
    for (const text of texts) {
      expect(() => synthesize({ [name]: text })).toThrow(`sealed-memory:${name}`);
    }
  });

  it('goes with the others: the functions have room for the cache that they are told of', () => {
    expect(() => synthesize({ cacheBytes: '1073741824' })).toThrow('memorySize must be at least 1407 MiB');
    expect(() => synthesize({ cacheBytes: '1073741824', memorySize: '1407' })).not.toThrow();
    expect(() => synthesize({ memorySize: '398' })).toThrow('sealed-memory:memorySize');
  });

  it('goes with the others: nothing expires by reads that are not recorded', () => {
    expect(() => synthesize({ readOnly: 'true', expireAfterDays: '90' })).toThrow('readOnly');
    expect(variablesOf('Worker', synthesize({ readOnly: 'true' }))['SEALED_MEMORY_READ_ONLY']).toBe('1');
  });
});

describe('both functions', () => {
  it('know of history, of what expires and of what is mounted, as the worker and the expiry read it', () => {
    const both = {
      history: { days: 30 },
      expireAfterDays: 90,
      keyring: { ttlMs: 60_000 },
      mounts: [
        { at: '/memories/handbook', tenant: 'org', readOnly: true, expires: false },
        { at: '/memories/team', tenant: 'team-7', readOnly: false, expires: true },
      ],
    };
    const [worker, expiry] = [variablesOf('Worker'), variablesOf('Expiry')];
    expect(optionsFromEnvironment(expiry)).toMatchObject(both);
    expect(optionsFromEnvironment(worker)).toMatchObject({
      ...both,
      policy: 'secrets,email,redact',
      limits: { fileBytes: 2_000_000, files: 500, tenantBytes: 90_000_000 },
    });
    expect(readWorkerConfig({ ...worker, SEALED_MEMORY_WORKER_QUEUE_URL: 'https://q' })).toMatchObject({
      systemPrompt: GIVEN.systemPrompt,
    });
    expect(readExpiryConfig({ ...expiry, SEALED_MEMORY_WORKER_EXPIRY_QUEUE_URL: 'https://q' })).toMatchObject(
      {
        checkpoints: true,
        expireDryRun: false,
      },
    );
  });

  it('keep no history unless they are told to', () => {
    const of = synthesize();
    for (const name of ['Worker', 'Expiry']) {
      expect(variablesOf(name, of)).not.toHaveProperty('SEALED_MEMORY_HISTORY_DAYS');
    }
  });
});

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { App, Stack } from 'aws-cdk-lib';
import { afterEach, describe, expect, it } from 'vitest';
import { SealedMemory } from '../../src/cdk/index.ts';
import { blocksOf } from '../docs/pages.ts';
import { onlyResource, type Template } from './iam/template.ts';

const [recipe] = blocksOf('docs/deployment.md', 'ts').filter(({ text }) => text.includes('price_of'));

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A project with a worker of its own, which has the package, and esbuild unless it is said to lack that. */
function projectWith(
  text: string,
  { lacksPackages = false } = {},
): { readonly folder: string; readonly entry: string } {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-own-'));
  folders.push(folder);
  const entry = join(folder, 'my-worker.ts');
  writeFileSync(entry, text);
  const paths = {
    'sealed-memory': [resolve('src/index.ts')],
    'sealed-memory/worker': [resolve('src/worker/index.ts')],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { paths } }));
  if (!lacksPackages) symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return { folder, entry };
}

/** The code of each function, as it is sent to AWS, and the variables of the worker. */
function deploy({ folder, entry }: { readonly folder: string; readonly entry: string }) {
  const bundle = mkdtempSync(join(folder, 'given-'));
  writeFileSync(join(bundle, 'index.mjs'), 'export const expire = () => {};\n');
  const app = new App({ outdir: join(folder, 'cdk.out') });
  new SealedMemory(new Stack(app, 'Own'), 'Memory', { bundle, entry, direct: true });
  const assembly = app.synth();
  const template = assembly.getStackByName('Own').template as Template;
  const propertiesOf = (name: string) =>
    onlyResource(template, 'AWS::Lambda::Function', `Memory${name}`).properties;
  const codeOf = (name: string): string => {
    const { S3Key } = propertiesOf(name)['Code'] as { readonly S3Key: string };
    return join(assembly.directory, `asset.${S3Key.replace('.zip', '')}`);
  };
  const { Variables } = propertiesOf('Worker')['Environment'] as {
    readonly Variables: Readonly<Record<string, unknown>>;
  };
  const env = Object.fromEntries(
    Object.entries(Variables).map(([name, value]) => [name, typeof value === 'string' ? value : 'a-place']),
  );
  return { codeOf, env };
}

describe('a worker of one’s own', { timeout: 60_000 }, () => {
  it('is bundled as docs/deployment.md has it, and starts with the variables of the stack', () => {
    const { codeOf, env } = deploy(projectWith(recipe?.text ?? ''));
    expect(codeOf('DirectWorker')).toBe(codeOf('Worker'));
    expect(codeOf('Expiry')).not.toBe(codeOf('Worker'));
    const script = `
      const worker = await import(${JSON.stringify(pathToFileURL(join(codeOf('Worker'), 'index.mjs')).href)});
      const context = { awsRequestId: 'r', getRemainingTimeInMillis: () => 60_000 };
      const handled = await worker.handler({ Records: [] }, context);
      const refused = await worker.invoke({ tenant: 'acme' }, context).catch(({ name, message }) => ({ name, message }));
      console.error(JSON.stringify({ exports: Object.keys(worker).sort(), handled, refused }));`;
    const rootKey = 'aws-kms:arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555';
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      env: {
        ...env,
        SEALED_MEMORY_STORE: 's3://bucket',
        SEALED_MEMORY_ROOT_KEY: rootKey,
        AWS_REGION: 'eu-central-1',
      },
    });
    expect(JSON.parse(stderr)).toEqual({
      exports: ['handler', 'invoke'],
      handled: { batchItemFailures: [] },
      refused: { name: 'TurnFailed', message: 'invalid_command' },
    });
    expect(stdout).toContain('"a message holds no turn"');
  });

  it.each<[string, () => string, RegExp]>([
    ['is not there', () => './nowhere.ts', /^entry names no file: \.\/nowhere\.ts$/],
    [
      'does not compile',
      () => projectWith('export const = 1;').entry,
      /^entry could not be bundled: (.|\n)*my-worker\.ts:1:13/,
    ],
    [
      'has no esbuild beside it',
      () => projectWith('', { lacksPackages: true }).entry,
      /npm install --save-dev esbuild$/,
    ],
  ])('is refused where it %s', (_, entryOf, message) => {
    const stack = new Stack(new App(), 'Own');
    expect(() => new SealedMemory(stack, 'Memory', { bundle: '.ci', entry: entryOf() })).toThrow(message);
  });
});

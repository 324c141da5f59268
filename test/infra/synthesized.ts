import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../infra/app.ts';
import type { Template } from './iam/template.ts';

/**
 * The template of infra/app.ts, synthesized into a temporary folder with a placeholder for the bundle and
 * without cdk-nag, which test/infra/app.test.ts asks.
 *
 * @param settings as in docs/deployment.md, without their namespace.
 */
export function synthesize(settings: Readonly<Record<string, string>> = {}): Template {
  return JSON.parse(synthesizeText(settings)) as Template;
}

/** The same as CloudFormation gets it. */
export function synthesizeText(settings: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-synth-'));
  try {
    const bundle = join(folder, 'bundle');
    mkdirSync(bundle);
    writeFileSync(join(bundle, 'index.mjs'), 'export const handler = () => {};\n');
    const context = Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [`sealed-memory:${name}`, value]),
    );
    const app = createApp({ bundle, checks: false, outdir: join(folder, 'out'), context });
    const assembly = app.synth();
    return readFileSync(join(assembly.directory, 'SealedMemory.template.json'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

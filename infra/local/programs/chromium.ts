import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { type Environment, findCommand } from './find-program.ts';

/** Names the shell first: it lays out and runs pages alike, and starts without the pages of a browser's own window. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** Says how to get a Chromium. */
export const NO_CHROMIUM =
  'tests in a browser NOT RUN: no Chromium. "apt-get install chromium-headless-shell" brings it; TEST_CHROMIUM may name its program.';

/** The path of a Chromium: the one that is named, or one on PATH. @throws Error when CI is to run and there is none. */
export async function findChromium(env: Environment): Promise<string | undefined> {
  const named = env['TEST_CHROMIUM'];
  const found = named || (await firstOf(NAMES.map((name) => findCommand(env, name))));
  if (found !== undefined) {
    await promisify(execFile)(found, ['--version']);
    return found;
  }
  if (env['CI'] === 'true' || env['CI'] === '1') throw new Error(NO_CHROMIUM);
  process.stderr.write(`${NO_CHROMIUM}\n`);
  return undefined;
}

async function firstOf(looks: readonly Promise<string | undefined>[]): Promise<string | undefined> {
  return (await Promise.all(looks)).find((path) => path !== undefined);
}

/** As root Chromium has no sandbox. `hosts` are names that lead to this machine. */
export function launchChromium(executablePath: string, hosts: readonly string[] = []): Promise<Browser> {
  const rules = hosts.map((host) => `MAP ${host} 127.0.0.1`).join(', ');
  return chromium.launch({
    executablePath,
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ...(rules === '' ? [] : [`--host-resolver-rules=${rules}`]),
      '--force-color-profile=srgb',
    ],
  });
}

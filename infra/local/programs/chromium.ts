import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { type Environment, findCommand } from './find-program.ts';

/** Names the shell first: it lays out and runs pages alike, and starts without the pages of a browser's own window. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** Says how to get a Chromium. */
const NO_CHROMIUM =
  'there is no Chromium; "apt-get install chromium-headless-shell" brings it, and TEST_CHROMIUM may name its program';

/** The program of a Chromium, or how to get one. */
type FoundChromium = { readonly program: string } | { readonly reason: string };

/** Finds a Chromium: the one that is named, or one on PATH. */
export async function findChromium(env: Environment): Promise<FoundChromium> {
  const named = env['TEST_CHROMIUM'];
  const found = named || (await firstOf(NAMES.map((name) => findCommand(env, name))));
  if (found === undefined) return { reason: NO_CHROMIUM };
  await promisify(execFile)(found, ['--version']);
  return { program: found };
}

async function firstOf(looks: readonly Promise<string | undefined>[]): Promise<string | undefined> {
  return (await Promise.all(looks)).find((path) => path !== undefined);
}

/**
 * Starts it; as root it has no sandbox.
 *
 * @param hosts names that lead to this machine.
 * @throws Error that says how to get one, where none was found.
 */
export async function launchChromium(found: FoundChromium, hosts: readonly string[] = []): Promise<Browser> {
  if ('reason' in found) throw new Error(found.reason);
  const rules = hosts.map((host) => `MAP ${host} 127.0.0.1`).join(', ');
  return chromium.launch({
    executablePath: found.program,
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ...(rules === '' ? [] : [`--host-resolver-rules=${rules}`]),
      '--force-color-profile=srgb',
    ],
  });
}

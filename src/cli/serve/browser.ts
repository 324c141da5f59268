import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The user's browser. */
export interface Browser extends AsyncDisposable {
  /** Resolves to `failed` where it is known that nothing was opened. */
  open(address: string): Promise<'asked' | 'failed' | 'unwanted'>;
  /** Hears that the browser has the address: the file that took it there may go. */
  opened(): void;
}

/** The commands that open a file with the program that its user has for it. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
};

/**
 * Opens the browser at an address that is good for the first who comes. Other users of the machine can see the
 * arguments of programs, so the address goes into a file for its owner alone, which sends the browser on.
 */
export function browserFor(
  platform: NodeJS.Platform,
  { wanted, temporary = tmpdir() }: { readonly wanted: boolean; readonly temporary?: string },
): Browser {
  let folder: string | undefined;
  const remove = async (): Promise<void> => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  return {
    async open(address) {
      if (!wanted) return 'unwanted';
      const [program, ...args] = OPENERS[platform] ?? [];
      if (program === undefined) return 'failed';
      folder = await mkdtemp(join(temporary, 'sealed-memory-open-'));
      const file = join(folder, 'open.html');
      await writeFile(file, redirectTo(address), { mode: 0o600 });
      const child = spawn(program, [...args, pathToFileURL(file).href], { stdio: 'ignore', detached: true });
      child.unref();
      try {
        await once(child, 'spawn');
      } catch {
        return 'failed';
      }
      return 'asked';
    },
    opened: () => void remove().catch(() => {}),
    [Symbol.asyncDispose]: remove,
  };
}

function redirectTo(address: string): string {
  return `<!doctype html><meta charset="utf-8"><title>sealed-memory</title><meta http-equiv="refresh" content="0; url=${address}">`;
}

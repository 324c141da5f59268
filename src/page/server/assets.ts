import { readFileSync } from 'node:fs';
import { misconfigured } from '../../errors.ts';

export interface Asset {
  readonly type: string;
  readonly body: Uint8Array;
}

const FILES: readonly (readonly [url: string, name: string, type: string])[] = [
  ['/', 'index.html', 'text/html; charset=utf-8'],
  ['/page.js', 'page.js', 'text/javascript; charset=utf-8'],
  ['/page.css', 'page.css', 'text/css; charset=utf-8'],
  ['/icon.svg', 'icon.svg', 'image/svg+xml'],
];

/**
 * The page's own files by the paths of their URLs, as `infra/bundle-page.ts` writes them.
 *
 * @throws MemoryError `misconfigured` where they are not there.
 */
export function readAssets(folder: URL): ReadonlyMap<string, Asset> {
  try {
    return new Map(
      FILES.map(([url, name, type]) => [url, { type, body: readFileSync(new URL(name, folder)) }]),
    );
  } catch (error) {
    throw misconfigured('The files of the page are missing: "npm run build" makes them.', error);
  }
}

import { useEffect, useRef } from 'preact/hooks';
import { ask } from './ask.ts';
import { isToken } from './post.ts';
import { ROOT } from './tree-rows.ts';
import { type FileLook, LOOK_WORDS, type View } from './view-state.ts';

/** The place that an address of the page leads to. */
export interface PageAddress {
  readonly view: View;
  readonly path: string;
  readonly look: FileLook | undefined;
}

export const START: PageAddress = { view: 'memory', path: ROOT, look: undefined };

/*
 * Browsers keep addresses and titles on disk, and some copy them to other machines. A path is a secret, so an address
 * has a random name for it, which the server alone turns back, until it ends: `#/NAME/versions`. No title has a path.
 */
const names = new Map<string, string>();
const paths = new Map<string, string>();

function learn(name: string, path: string): void {
  names.set(path, name);
  paths.set(name, path);
}

function nameOf(path: string): string {
  const known = names.get(path);
  if (known !== undefined) return known;
  const name = crypto.randomUUID();
  learn(name, path);
  // A server that has ended is noticed by the watch.
  ask('keepPlace', { name, path }).catch(() => {});
  return name;
}

function hashOf({ view, path, look }: PageAddress): string {
  if (view !== 'memory') return `#/${view}`;
  if (path === ROOT) return '';
  return look === undefined ? `#/${nameOf(path)}` : `#/${nameOf(path)}/${look}`;
}

/** Finds the place that the fragment of an address leads to; undefined where that is not known any more. */
export async function placeAt(hash: string): Promise<Partial<PageAddress> | undefined> {
  if (hash === '') return START;
  const [, name = '', look] = /^#\/([\w-]+)(?:\/([a-z]+))?$/.exec(hash) ?? [];
  if (name === 'history' || name === 'health') return { view: name };
  if (name === '') return undefined;
  const path = paths.get(name) ?? (await ask('place', { name }).catch(() => undefined))?.path;
  if (path === undefined) return undefined;
  learn(name, path);
  return { view: 'memory', path, look: isLook(look) ? look : undefined };
}

function isLook(text: string | undefined): text is FileLook {
  return text !== undefined && Object.hasOwn(LOOK_WORDS, text);
}

/** Keeps the address and the title of what is shown, and goes where Back, Forward and bookmarks lead. */
export function useAddress(
  { view, path, look, kind }: PageAddress & { readonly kind: 'File' | 'Directory' },
  go: (place: Partial<PageAddress>) => void,
): void {
  const latest = useRef(go);
  latest.current = go;
  /** The fragments that were followed and are not shown yet, the oldest first: Back may have led on before they are. */
  const followed = useRef<string[]>([]);
  useEffect(() => {
    const hash = hashOf({ view, path, look });
    const at = followed.current.indexOf(hash);
    followed.current = at === -1 ? [] : followed.current.slice(at + 1);
    if (at === -1 && location.hash !== hash) history.pushState(null, '', `/${hash}`);
  }, [view, path, look]);
  useEffect(() => {
    document.title = `${titleOf({ view, path, look }, kind)} · sealed-memory`;
  }, [view, path, look, kind]);
  useEffect(() => {
    const follow = async (): Promise<void> => {
      const { hash } = location;
      // The page begins anew with it.
      if (isToken(hash)) return location.reload();
      const place = await placeAt(hash);
      if (location.hash !== hash) return;
      if (place === undefined) history.replaceState(null, '', '/');
      followed.current.push(hashOf({ ...START, ...place }));
      latest.current(place ?? START);
    };
    const listen = (): void => void follow();
    addEventListener('popstate', listen);
    return () => removeEventListener('popstate', listen);
  }, []);
}

function titleOf({ view, path, look }: PageAddress, kind: string): string {
  if (view !== 'memory') return view === 'history' ? 'History' : 'Health';
  const what = path === ROOT ? 'Memory' : kind;
  return look === undefined ? what : `${what}, ${LOOK_WORDS[look]}`;
}

import { beginWatch, exchange, isToken } from './data/post.ts';

/**
 * Exchanges the token of the address for a cookie, and takes it out of the address before anything else happens. The
 * server then reads the tree while the browser loads the app.
 */
async function start(): Promise<void> {
  const { hash } = location;
  if (isToken(hash)) {
    history.replaceState(null, '', '/');
    await exchange(hash.slice(1)).catch(() => false);
  }
  const begun = document.hidden ? undefined : beginWatch();
  const { show } = await import('./app.tsx');
  const element = document.getElementById('page');
  if (element !== null) await show(element, begun);
}

void start();

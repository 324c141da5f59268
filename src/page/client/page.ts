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
  const element = document.getElementById('page');
  if (element === null) return;
  const begun = document.hidden ? undefined : beginWatch();
  try {
    const { show } = await import('./app.tsx');
    await show(element, begun);
  } catch (error) {
    console.error(error);
    begun?.ending.abort();
    element.textContent =
      'The page could not be loaded. Is the program that shows it still running? Reload, or start it anew.';
  }
}

void start();
